//! Creates an enum from a list of defects.

#[macro_use]
#[path = "basics.rs"]
mod basics;
#[macro_use]
#[path = "careless.rs"]
mod careless;
#[macro_use]
#[path = "combined.rs"]
mod combined;
#[macro_use]
#[path = "conditions.rs"]
mod conditions;
#[macro_use]
#[path = "disruption.rs"]
mod disruption;
#[macro_use]
#[path = "ephemeral.rs"]
mod ephemeral;
#[macro_use]
#[path = "identity.rs"]
mod identity;
#[macro_use]
#[path = "init.rs"]
mod init;
#[macro_use]
#[path = "leaving.rs"]
mod leaving;
#[macro_use]
#[path = "life.rs"]
mod life;
#[macro_use]
#[path = "neighbors.rs"]
mod neighbors;
#[macro_use]
#[path = "nodes.rs"]
mod nodes;
#[macro_use]
#[path = "reports.rs"]
mod reports;
#[macro_use]
#[path = "later.rs"]
mod later;
#[macro_use]
#[path = "halves.rs"]
mod halves;
#[macro_use]
#[path = "rare.rs"]
mod rare;
#[macro_use]
#[path = "requests.rs"]
mod requests;
#[macro_use]
#[path = "resizes.rs"]
mod resizes;
#[macro_use]
#[path = "resources.rs"]
mod resources;
#[macro_use]
#[path = "scope.rs"]
mod scope;
#[macro_use]
#[path = "subtle.rs"]
mod subtle;
#[macro_use]
#[path = "termination.rs"]
mod termination;
#[macro_use]
#[path = "told.rs"]
mod told;
#[macro_use]
#[path = "untimely.rs"]
mod untimely;
#[macro_use]
#[path = "unexplained.rs"]
mod unexplained;
#[macro_use]
#[path = "granted.rs"]
mod granted;
#[macro_use]
#[path = "handlers.rs"]
mod handlers;
#[macro_use]
#[path = "http.rs"]
mod http;
#[macro_use]
#[path = "inside.rs"]
mod inside;
#[macro_use]
#[path = "interrupted.rs"]
mod interrupted;
#[macro_use]
#[path = "kept.rs"]
mod kept;
#[macro_use]
#[path = "kubelet.rs"]
mod kubelet;
#[macro_use]
#[path = "pending.rs"]
mod pending;
#[macro_use]
#[path = "overlooked.rs"]
mod overlooked;
#[macro_use]
#[path = "endings.rs"]
mod endings;
#[macro_use]
#[path = "reused.rs"]
mod reused;
#[macro_use]
#[path = "guessed.rs"]
mod guessed;
#[macro_use]
#[path = "narrow.rs"]
mod narrow;
#[macro_use]
#[path = "settings.rs"]
mod settings;
#[macro_use]
#[path = "shutdowns.rs"]
mod shutdowns;
#[macro_use]
#[path = "situations.rs"]
mod situations;
#[macro_use]
#[path = "users.rs"]
mod users;

/// Defines the list once, for the type, its names and [`Defect::ALL`].
macro_rules! defects {
    ([] $($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One planted defect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Defect {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Defect {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
        }
    };
}
