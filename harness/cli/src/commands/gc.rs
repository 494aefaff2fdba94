//! `probity gc`: removes what a run left on a cluster when it could not clean up: it was killed, or the cluster went away.

use std::time::{Duration, Instant};

use probity_cluster::{ClusterClient, connect, gc};

use crate::args::GcArgs;
use crate::commands::run::of_cluster;
use crate::exit::{Exit, Failure};
use crate::say;

/// What was asked to go is waited for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Removes what is found, and names each thing.
pub(crate) fn run(args: &GcArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))?;
    runtime.block_on(async {
        let ground = connect(&args.cluster.access()).await.map_err(|error| of_cluster(&error))?;
        say::err(&format!("probity: context {} ({})\n", ground.context, ground.server_version));
        clear(&ground, args).await
    })
}

/// Asks for everything to be deleted, and again until nothing is found: what was asked to go takes a while.
async fn clear(ground: &ClusterClient, args: &GcArgs) -> Result<Exit, Failure> {
    let pass = || gc::gc(ground, args.namespace.as_deref(), args.older_than.0);
    let found = pass().await;
    if found.is_empty() {
        return say::out("nothing of ours is left\n");
    }
    let began = Instant::now();
    let mut left = found.clone();
    while !left.is_empty() && began.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_secs(1)).await;
        left = pass().await;
    }
    for (what, _) in found.iter().filter(|(what, _)| !left.iter().any(|(still, _)| still == what)) {
        say::out(&format!("removed {what}\n"))?;
    }
    for (what, done) in &left {
        let why = done.as_ref().err().cloned();
        let why = why.unwrap_or_else(|| {
            format!("it was asked to go, and is still there after {} s", PATIENCE.as_secs())
        });
        say::err(&format!("probity gc: could not remove {what}: {why}\n"));
    }
    Ok(if left.is_empty() { Exit::Success } else { Exit::LeftBehind })
}
