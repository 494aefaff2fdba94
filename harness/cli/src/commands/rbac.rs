//! `probity rbac`: the rights that a run needs, as a manifest for `kubectl apply`.

use probity_cluster::rights;

use crate::args::RbacArgs;
use crate::exit::{Exit, Failure};
use crate::say;

/// Prints the manifest.
pub(crate) fn run(args: &RbacArgs) -> Result<Exit, Failure> {
    let text = rights::rbac_yaml(args.namespace.as_deref());
    say::out(&if text.ends_with('\n') { text } else { text + "\n" })
}
