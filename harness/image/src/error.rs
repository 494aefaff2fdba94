//! What can go wrong, in words for the person who gave the input.

/// Why an image could not be built or an archive not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is not a fully qualified `registry/repository:tag`.
    #[error("image name {name:?}: {problem}; write it like probity.local/agnhost-rs:dev")]
    Name {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The program can't run alone in an image.
    #[error("the program {problem}")]
    Program {
        /// What is wrong, and what to do about it.
        problem: String,
    },
    /// The time of creation is outside what a date can say.
    #[error("time of creation {seconds}: not a date; give seconds since 1970, like SOURCE_DATE_EPOCH")]
    Created {
        /// The seconds as given.
        seconds: i64,
    },
    /// A tree or an archive was asked for that no importer would take.
    #[error("{problem}")]
    Content {
        /// What is wrong.
        problem: String,
    },
    /// An archive that was read contradicts itself or its format.
    #[error("archive: {place}: {problem}")]
    Archive {
        /// The file in the archive, or the image.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// One of the OCI documents could not be put together.
    #[error("OCI document: {0}")]
    Document(#[from] oci_spec::OciSpecError),
    /// One of the OCI documents could not be written as JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A tar or gzip stream in memory could not be written or read.
    #[error("tar: {0}")]
    Tar(#[from] std::io::Error),
}

impl Error {
    /// A finding at a place in an archive.
    pub(crate) fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Archive { place: place.into(), problem: problem.into() }
    }

    /// Input of the caller that can't become an image.
    pub(crate) fn content(problem: impl Into<String>) -> Self {
        Self::Content { problem: problem.into() }
    }
}
