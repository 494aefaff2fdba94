//! One voice for all who speak while a run goes on, so that lines and a moving screen do not tear each other apart.

use std::io::{self, Write};

use indicatif::MultiProgress;

use crate::say;

/// Speaks on standard output and standard error, around the screen if there is one.
#[derive(Clone, Default)]
pub(crate) struct Voice {
    screen: Option<MultiProgress>,
}

impl Voice {
    /// A voice beside this screen.
    pub(crate) fn beside(screen: MultiProgress) -> Self {
        Self { screen: Some(screen) }
    }

    /// Says something to people.
    pub(crate) fn err(&self, text: &str) {
        match &self.screen {
            Some(screen) => screen.suspend(|| say::err(text)),
            None => say::err(text),
        }
    }

    /// Writes to standard output. A reader that went away is none of a run's troubles.
    pub(crate) fn out(&self, bytes: &[u8]) {
        let write = || {
            let mut stream = io::stdout().lock();
            let _ = stream.write_all(bytes).and_then(|()| stream.flush());
        };
        match &self.screen {
            Some(screen) => screen.suspend(write),
            None => write(),
        }
    }
}
