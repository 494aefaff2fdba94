//! `probity gc`: removes what a run left on a cluster when it could not clean up: it was killed, or the cluster went away.

use probity_cluster::{connect, gc};

use crate::args::GcArgs;
use crate::commands::run::of_cluster;
use crate::exit::{Exit, Failure};
use crate::say;

/// Removes what is found, and names each thing.
pub(crate) fn run(args: &GcArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))?;
    let removed = runtime.block_on(async {
        let ground = connect(&args.cluster.access()).await.map_err(|error| of_cluster(&error))?;
        say::err(&format!("probity: context {} ({})\n", ground.context, ground.server_version));
        Ok::<_, Failure>(gc::gc(&ground, args.namespace.as_deref(), args.older_than.0).await)
    })?;
    if removed.is_empty() {
        return say::out("nothing of ours is left\n");
    }
    let mut exit = Exit::Success;
    for (what, done) in removed {
        match done {
            Ok(()) => {
                say::out(&format!("removed {what}\n"))?;
            }
            Err(why) => {
                say::err(&format!("probity gc: could not remove {what}: {why}\n"));
                exit = Exit::LeftBehind;
            }
        }
    }
    Ok(exit)
}
