//! The kinds of hints about things that are allowed in a case but probably not intended. If the author intended such a
//! thing, the case acknowledges the hint and gives the reason.

use serde::{Deserialize, Serialize};

/// A kind of hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HintKind {
    /// A field of a target that is replaced, such as its `image`.
    ReplacedField,
    /// A probe that no plan answers.
    UnansweredProbe,
    /// A probe of a named port that its container does not declare.
    UndeclaredPort,
    /// A container with probes that has neither an image nor a plan.
    SilentContainer,
    /// An init container that never terminates.
    EndlessInit,
    /// A case whose containers have no probe and no hook, although it has plans, or has nothing else that it could be about.
    NothingProbed,
    /// A clause under `judges` that cannot apply to the case.
    CannotApply,
    /// An event with a reason that no known component of Kubernetes uses.
    UnknownReason,
    /// A case with the same name as a case in the book.
    NameOfTheBook,
}

impl HintKind {
    /// The word for this kind of hint in a case file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReplacedField => "replaced-field",
            Self::UnansweredProbe => "unanswered-probe",
            Self::UndeclaredPort => "undeclared-port",
            Self::SilentContainer => "silent-container",
            Self::EndlessInit => "endless-init",
            Self::NothingProbed => "nothing-probed",
            Self::CannotApply => "cannot-apply",
            Self::UnknownReason => "unknown-reason",
            Self::NameOfTheBook => "name-of-the-book",
        }
    }
}
