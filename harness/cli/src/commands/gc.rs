//! `probity gc`: removes the objects of a run that could not clean up because it was killed or lost the cluster.

use std::time::{Duration, Instant};

use probity_cluster::{ClusterClient, connect, gc};

use crate::arguments::GcArgs;
use crate::exit_status::{Exit, Failure};
use crate::pipeline::words;
use crate::{output, pipeline};

/// How long to wait until deleted objects are gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// Removes the objects that it finds, and prints the name of each.
pub(crate) fn run(args: &GcArgs) -> Result<Exit, Failure> {
    pipeline::runtime()?.block_on(async {
        let ground = connect(&args.cluster.access()).await?;
        output::err(&format!("probity: context {} ({})\n", ground.context, ground.server_version));
        clear(&ground, args).await
    })
}

/// Deletes everything, and repeats this until nothing is found, because deletion takes a while. It also stops when the
/// API server has refused twice to delete each remaining object.
async fn clear(ground: &ClusterClient, args: &GcArgs) -> Result<Exit, Failure> {
    let command = args.node_command.as_deref().map(words);
    let pass = || gc::gc(ground, args.namespace.as_deref(), args.older_than.0, command.as_deref());
    let found = pass().await;
    if found.is_empty() {
        return output::out("nothing is left\n");
    }
    let began = Instant::now();
    let mut left = found.clone();
    let mut refused = false;
    while !left.is_empty() && !refused && began.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = std::mem::replace(&mut left, pass().await);
        refused = left == before && left.iter().all(|(_, done)| done.is_err());
    }
    let gone = |what: &String| !left.iter().any(|(still, _)| still == what);
    for (what, _) in found.iter().filter(|(what, done)| done.is_ok() && gone(what)) {
        output::out(&format!("removed {what}\n"))?;
    }
    for (what, done) in &left {
        let why = done.as_ref().err().cloned();
        let why =
            why.unwrap_or_else(|| format!("it still exists {} s after its deletion", PATIENCE.as_secs()));
        output::err(&format!("probity gc: could not remove {what}: {why}\n"));
    }
    Ok(if left.is_empty() { Exit::Success } else { Exit::LeftBehind })
}
