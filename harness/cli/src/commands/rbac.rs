//! `probity rbac`: the permissions that a run needs, as a manifest for `kubectl apply`.

use probity_cluster::permissions;

use crate::arguments::RbacArgs;
use crate::exit_status::{Exit, Failure};
use crate::output;

/// Prints the manifest.
pub(crate) fn run(args: &RbacArgs) -> Result<Exit, Failure> {
    let text = permissions::rbac_yaml(args.namespace.as_deref());
    output::out(&if text.ends_with('\n') { text } else { text + "\n" })
}
