//! Bytes with their digest, and the function with which this crate writes all JSON.

use data_encoding::HEXLOWER;
use oci_spec::image::{Descriptor, DescriptorBuilder, Digest as OciDigest, MediaType};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Error;

/// Content that is addressed by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    hex: String,
    bytes: Vec<u8>,
}

impl Blob {
    /// Creates a blob and computes its digest.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { hex: sha256(&bytes), bytes }
    }

    /// The digest as 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The digest as it is written in documents: `sha256:…`.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("sha256:{}", self.hex)
    }

    /// The content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place of this blob in an OCI layout.
    #[must_use]
    pub fn path(&self) -> String {
        format!("blobs/sha256/{}", self.hex)
    }

    /// A descriptor of this blob, to be completed and built by the caller.
    pub(crate) fn descriptor(&self, media_type: MediaType) -> Result<DescriptorBuilder, Error> {
        let digest = OciDigest::try_from(self.digest())?;
        Ok(DescriptorBuilder::default().media_type(media_type).digest(digest).size(self.bytes.len() as u64))
    }

    /// A descriptor of this blob with only the three required fields.
    pub(crate) fn plain_descriptor(&self, media_type: MediaType) -> Result<Descriptor, Error> {
        Ok(self.descriptor(media_type)?.build()?)
    }
}

/// The SHA-256 of some bytes in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// JSON with sorted keys. The OCI types keep labels and annotations in hash maps, whose order changes from run to run.
/// Whether `serde_json` sorts depends on the features that other crates in the build enable.
pub(crate) fn canonical_json(document: &impl Serialize) -> Result<Vec<u8>, Error> {
    Ok(serde_json::to_vec(&sorted(serde_json::to_value(document)?))?)
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_digest_is_the_well_known_one() {
        let blob = Blob::new(b"abc".to_vec());
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((blob.hex(), blob.path()), (known, format!("blobs/sha256/{known}")));
        let descriptor = blob.plain_descriptor(MediaType::ImageConfig).unwrap();
        assert_eq!((descriptor.size(), descriptor.digest().to_string()), (3, blob.digest()));
    }

    #[test]
    fn hash_maps_come_out_sorted_at_every_depth() {
        let labels = |keys: &[&str]| keys.iter().map(|k| ((*k).to_owned(), 1)).collect::<HashMap<_, _>>();
        let inner = labels(&["d", "a", "c", "b"]);
        let document: HashMap<&str, Vec<HashMap<String, i32>>> =
            [("z", vec![inner.clone()]), ("y", vec![inner])].into();
        let json = String::from_utf8(canonical_json(&document).unwrap()).unwrap();
        assert_eq!(json, r#"{"y":[{"a":1,"b":1,"c":1,"d":1}],"z":[{"a":1,"b":1,"c":1,"d":1}]}"#);
    }
}
