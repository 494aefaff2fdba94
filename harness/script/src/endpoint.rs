//! The names of things that have a script.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

/// Something that has a script in the plan and a count in the witness.
///
/// An endpoint is written as one string, in plans, changes and witness lines alike: `http:/ready` (listener and path),
/// `grpc:liveness` (listener and service), `web@connections`, `web@listen`, `exec live`, `stop`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// A path or a gRPC service of a listener.
    Of {
        /// The listener's name.
        listener: String,
        /// The path, or the service's name.
        name: String,
    },
    /// The connections of a listener.
    Connections(String),
    /// The state of a listener's port.
    Listen(String),
    /// A command run by a probe or a hook.
    Exec(String),
    /// The reaction to a stop signal.
    Stop,
}

impl Endpoint {
    /// The name from which the random numbers of the endpoint are derived; see [`crate::Plan::dice`].
    #[must_use]
    pub fn chance_name(&self) -> Cow<'_, str> {
        match self {
            Self::Of { name, .. } | Self::Connections(name) | Self::Listen(name) => name.into(),
            Self::Exec(_) | Self::Stop => self.to_string().into(),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of { listener, name } => write!(f, "{listener}:{name}"),
            Self::Connections(listener) => write!(f, "{listener}@connections"),
            Self::Listen(listener) => write!(f, "{listener}@listen"),
            Self::Exec(name) => write!(f, "exec {name}"),
            Self::Stop => f.write_str("stop"),
        }
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "stop" {
            return Ok(Self::Stop);
        }
        if let Some(name) = text.strip_prefix("exec ") {
            return Ok(Self::Exec(name.to_owned()));
        }
        if let Some((listener, name)) = text.split_once(':') {
            return Ok(Self::Of { listener: listener.to_owned(), name: name.to_owned() });
        }
        match text.split_once('@') {
            Some((listener, "connections")) => Ok(Self::Connections(listener.to_owned())),
            Some((listener, "listen")) => Ok(Self::Listen(listener.to_owned())),
            _ => Err(format!(
                "`{text}` is not an endpoint; write listener:/path, listener:service, listener@connections, \
                 listener@listen, exec name or stop"
            )),
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in
            ["http:/ready", "grpc:", "grpc:my:service", "web@connections", "web@listen", "exec live", "stop"]
        {
            assert_eq!(text.parse::<Endpoint>().map(|e| e.to_string()), Ok(text.to_owned()));
        }
        assert!("ready".parse::<Endpoint>().is_err());
        assert!("web@doors".parse::<Endpoint>().is_err());
    }
}
