//! The errors, in words for the user who gave the input.

/// Why an image could not be built, or an archive could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is not a fully qualified `registry/repository:tag`.
    #[error("image name {name:?}: {problem}; write it like probity.local/agnhost-rs:dev")]
    Name {
        /// The name as given.
        name: String,
        /// What is wrong with the name.
        problem: String,
    },
    /// The program cannot run in an image without other files.
    #[error("the program {problem}")]
    Program {
        /// What is wrong, and what to do about it.
        problem: String,
    },
    /// The time of creation is not a valid date.
    #[error("time of creation {seconds}: not a date; give seconds since 1970, like SOURCE_DATE_EPOCH")]
    Created {
        /// The seconds as given.
        seconds: i64,
    },
    /// No importer would accept the requested tree or archive.
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
    /// An OCI document could not be built.
    #[error("OCI document: {0}")]
    Document(#[from] oci_spec::OciSpecError),
    /// An OCI document could not be written as JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A tar or gzip stream in memory could not be written or read.
    #[error("tar: {0}")]
    Tar(#[from] std::io::Error),
}

impl Error {
    /// A problem at a place in an archive.
    pub(crate) fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Archive { place: place.into(), problem: problem.into() }
    }

    /// Input from which no image can be built.
    pub(crate) fn content(problem: impl Into<String>) -> Self {
        Self::Content { problem: problem.into() }
    }
}
