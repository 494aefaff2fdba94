//! One console for all output during a run, so that lines and a moving screen do not overwrite each other.

use std::io::{self, Write};

use indicatif::MultiProgress;

use crate::output;

/// Writes to standard output and standard error, around the screen if there is one.
#[derive(Clone, Default)]
pub(crate) struct Console {
    screen: Option<MultiProgress>,
}

impl Console {
    /// A console beside this screen.
    pub(crate) fn beside(screen: MultiProgress) -> Self {
        Self { screen: Some(screen) }
    }

    /// Writes to standard error.
    pub(crate) fn err(&self, text: &str) {
        match &self.screen {
            Some(screen) => screen.suspend(|| output::err(text)),
            None => output::err(text),
        }
    }

    /// Writes to standard output. The caller decides what an error means, because it must not end a run.
    pub(crate) fn out(&self, bytes: &[u8]) -> io::Result<()> {
        let write = || {
            let mut stream = io::stdout().lock();
            stream.write_all(bytes).and_then(|()| stream.flush())
        };
        match &self.screen {
            Some(screen) => screen.suspend(write),
            None => write(),
        }
    }
}
