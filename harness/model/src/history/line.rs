//! The line of an event: its time, and one field that is named after what happened.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Deed, Event, Gap, Happening, Heard, Noise, Reading, Sighting};

/// A line as it is read: the time and one of the other fields.
#[derive(Deserialize)]
struct EventLine {
    us: i64,
    deed: Option<Deed>,
    sighting: Option<Sighting>,
    witness: Option<Heard>,
    gap: Option<Gap>,
    noise: Option<Noise>,
    reading: Option<Reading>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(Some(2))?;
        line.serialize_entry("us", &self.us)?;
        match &self.what {
            Happening::Deed(deed) => line.serialize_entry("deed", deed)?,
            Happening::Sighting(sighting) => line.serialize_entry("sighting", sighting)?,
            Happening::Witness(heard) => line.serialize_entry("witness", heard)?,
            Happening::Gap(gap) => line.serialize_entry("gap", gap)?,
            Happening::Noise(noise) => line.serialize_entry("noise", noise)?,
            Happening::Reading(reading) => line.serialize_entry("reading", reading)?,
        }
        line.end()
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = EventLine::deserialize(deserializer)?;
        let what = (line.deed.map(Happening::Deed))
            .or(line.sighting.map(Happening::Sighting))
            .or(line.witness.map(Happening::Witness))
            .or(line.gap.map(Happening::Gap))
            .or(line.noise.map(Happening::Noise))
            .or(line.reading.map(Happening::Reading));
        let why = "an event has one of the fields deed, sighting, witness, gap, noise and reading";
        Ok(Self { us: line.us, what: what.ok_or_else(|| D::Error::custom(why))? })
    }
}
