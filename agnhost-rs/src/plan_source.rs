//! The source of the plan: a file, standard input, the command line, or the environment. Exactly one of them.
//!
//! It is read before anything is bound, so a wrong plan causes only an error message and exit status 2.

use std::env::VarError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use probity_script::Plan;
use probity_script::problem::Problem;

use probity_document as document;

/// The variable that holds a plan's text.
pub const VARIABLE: &str = "AGNHOST_PLAN";

/// The plan's text in the environment, if there is one.
///
/// # Errors
///
/// If the variable does not hold text in UTF-8.
pub fn environment() -> Result<Option<String>, PlanError> {
    match std::env::var(VARIABLE) {
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(error) => {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            Err(PlanError::Unreadable { name: VARIABLE.to_owned(), error })
        }
    }
}

/// One source of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// Text on the command line.
    Inline(String),
    /// Text in the environment.
    Environment(String),
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Two flags name a plan.
    #[error("--plan and --plan-inline exclude each other: give only one of them")]
    Twice,
    /// Nothing names a plan.
    #[error(
        "there is no plan: give --plan FILE (- is standard input), --plan-inline TEXT, or {VARIABLE} in the environment"
    )]
    None,
    /// The source cannot be read.
    #[error("failed to read the plan from {name}: {error}")]
    Unreadable {
        /// The source's name.
        name: String,
        /// What happened.
        error: io::Error,
    },
    /// The plan is wrong.
    #[error("{0}")]
    Wrong(Box<Problem>),
}

impl PlanSource {
    /// Chooses the source. A flag has priority over the environment. Two flags are an error. An empty variable counts as
    /// unset.
    ///
    /// # Errors
    ///
    /// If two flags name a plan, or nothing does.
    pub fn choose(
        file: Option<PathBuf>,
        inline: Option<String>,
        environment: Option<String>,
    ) -> Result<Self, PlanError> {
        match (file, inline, environment.filter(|text| !text.is_empty())) {
            (Some(_), Some(_), _) => Err(PlanError::Twice),
            (Some(path), None, _) if path == Path::new("-") => Ok(Self::StandardInput),
            (Some(path), None, _) => Ok(Self::File(path)),
            (None, Some(text), _) => Ok(Self::Inline(text)),
            (None, None, Some(text)) => Ok(Self::Environment(text)),
            (None, None, None) => Err(PlanError::None),
        }
    }

    /// The source's name in messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::StandardInput => "standard input".to_owned(),
            Self::Inline(_) => "--plan-inline".to_owned(),
            Self::Environment(_) => VARIABLE.to_owned(),
        }
    }

    /// Reads the plan.
    ///
    /// # Errors
    ///
    /// If the source cannot be read or does not contain a plan.
    pub fn read(&self) -> Result<Plan, PlanError> {
        let text = match self {
            Self::File(path) => File::open(path).and_then(bounded),
            Self::StandardInput => bounded(io::stdin().lock()),
            Self::Inline(text) | Self::Environment(text) => Ok(text.clone()),
        };
        let text = text.map_err(|error| PlanError::Unreadable { name: self.name(), error })?;
        document::plan(&self.name(), &text).map_err(PlanError::Wrong)
    }
}

/// Reads a text up to the maximum length.
fn bounded(from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(document::LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > document::LARGEST {
        return Err(io::Error::other(format!("it is longer than {} bytes", document::LARGEST)));
    }
    String::from_utf8(bytes).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not text in UTF-8: {error}"))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn choose(
        file: Option<&str>,
        inline: Option<&str>,
        environment: Option<&str>,
    ) -> Result<PlanSource, String> {
        let text = |text: Option<&str>| text.map(str::to_owned);
        PlanSource::choose(file.map(PathBuf::from), text(inline), text(environment))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_flag_wins_over_the_environment() {
        assert_eq!(choose(Some("p.yaml"), None, Some("{}")), Ok(PlanSource::File("p.yaml".into())));
        assert_eq!(choose(Some("-"), None, Some("{}")), Ok(PlanSource::StandardInput));
        assert_eq!(choose(None, Some("{}"), Some("seed: 1")), Ok(PlanSource::Inline("{}".to_owned())));
        assert_eq!(choose(None, None, Some("{}")), Ok(PlanSource::Environment("{}".to_owned())));
    }

    #[test]
    fn no_plan_and_two_plans_are_refused() {
        assert!(choose(Some("p.yaml"), Some("{}"), None).unwrap_err().contains("exclude each other"));
        assert!(choose(None, None, None).unwrap_err().contains("there is no plan"));
        assert!(choose(None, None, Some("")).unwrap_err().contains("there is no plan"));
    }

    #[test]
    fn a_file_is_named_in_what_is_said_about_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.yaml");
        let read = || PlanSource::File(path.clone()).read();
        let message = read().unwrap_err().to_string();
        assert!(message.contains("plan.yaml") && message.contains("No such file"), "{message}");
        std::fs::write(&path, "sed: 3").unwrap();
        let message = read().unwrap_err().to_string();
        assert!(message.contains("plan.yaml, line 1, column 1: ") && message.contains("`seed`"), "{message}");
        std::fs::write(&path, [0xFF, 0xFE, 0x00]).unwrap();
        assert!(read().unwrap_err().to_string().contains("not text in UTF-8"));
        std::fs::write(&path, vec![b'#'; document::LARGEST + 1]).unwrap();
        assert!(read().unwrap_err().to_string().contains("longer than 1048576 bytes"));
        std::fs::write(&path, "seed: 3").unwrap();
        assert_eq!(read().unwrap().seed, 3);
    }

    #[test]
    fn the_environment_is_named_as_the_source() {
        let source = PlanSource::choose(None, None, Some("seed: many".to_owned())).unwrap();
        let message = source.read().unwrap_err().to_string();
        assert!(message.starts_with("AGNHOST_PLAN, line 1, column 7: "), "{message}");
    }
}
