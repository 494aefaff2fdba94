//! Keeps the time of a run: measures how late the watch is, starts the metronomes while the first cases start, and reads the
//! clocks of each node as soon as its metronome is ready.

use futures_util::StreamExt as _;
use probity_case::manifest::Setting;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::listen::echo;
use crate::listen::incoming::Incoming;
use crate::run::progress::Progress;
use crate::run_clock::RunClock;
use crate::setup::echo_pod;
use crate::setup::metronome::{self, WithoutMetronome};

/// How many nodes without a metronome are named, each with the reason.
const NAMED: usize = 20;

/// What a run needs to keep its time.
pub(super) struct Timekeeper {
    pub(super) cluster: ClusterClient,
    pub(super) setting: Setting,
    pub(super) clock: RunClock,
    pub(super) out: UnboundedSender<Progress>,
    pub(super) incoming: UnboundedSender<Incoming>,
}

impl Timekeeper {
    /// Keeps time on these nodes until it is dropped. Sends `deployed` when the metronome of each node is ready or
    /// could not start.
    pub(super) async fn work(self, nodes: Vec<String>, deployed: oneshot::Sender<()>) {
        let _echoes = self.send_echoes().await;
        let (mut readers, mut without) = (Vec::new(), Vec::new());
        let mut starting = metronome::deploy(&self.cluster, &self.setting, &nodes);
        while let Some(started) = starting.next().await {
            match started {
                Ok(metronome) => {
                    let (cluster, setting, clock) = (&self.cluster, &self.setting, self.clock);
                    readers.push(metronome.read_clocks(cluster, setting, clock, &self.incoming));
                }
                Err(missing) => without.push(missing),
            }
        }
        drop(starting);
        for warning in warnings(&without, readers.is_empty()) {
            let _ = self.out.send(Progress::Warning(warning));
        }
        // Most runs do not wait for this signal.
        let _ = deployed.send(());
        std::future::pending::<()>().await;
    }

    /// Starts to measure how long changes take to return on the watch, until the handle is dropped.
    async fn send_echoes(&self) -> Option<AbortOnDropHandle<()>> {
        let manifest = echo_pod::manifest(&self.setting);
        match self.cluster.create(&self.setting.namespace, &manifest, false).await {
            Err(error) if error.is_rejection() => {
                let warning = format!(
                    "delays of the API server cannot be measured, so they cannot be distinguished from delays of the kubelet: {error}"
                );
                let _ = self.out.send(Progress::Warning(warning));
                None
            }
            // After any other failure, the first change finds no pod, and creates it.
            _ => Some(echo::keep_changing(&self.cluster, manifest, self.clock, self.incoming.clone())),
        }
    }
}

/// The warnings about nodes without a metronome. `all` if there is no metronome at all.
fn warnings(without: &[WithoutMetronome], all: bool) -> Vec<String> {
    if let Some(WithoutMetronome { error, .. }) = without.first().filter(|_| all) {
        return vec![format!("there is no metronome, so clocks and noise of the nodes are unknown: {error}")];
    }
    let warning = |WithoutMetronome { node, error }: &WithoutMetronome| {
        format!(
            "the node {node} has no metronome, so its lateness cannot be distinguished from a fault: {error}"
        )
    };
    let mut warnings: Vec<String> = without.iter().take(NAMED).map(warning).collect();
    let more = without.len().saturating_sub(NAMED);
    match more {
        0 => {}
        1 => warnings.push("one more node has no metronome".to_owned()),
        _ => warnings.push(format!("{more} more nodes have no metronome")),
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ClusterError;

    fn without(nodes: usize) -> Vec<WithoutMetronome> {
        let missing = |at: usize| {
            let error = ClusterError::NotReady { pod: "p".to_owned(), seconds: 60, why: "no".to_owned() };
            WithoutMetronome { node: format!("n{at}"), error }
        };
        (0..nodes).map(missing).collect()
    }

    #[test]
    fn a_thousand_nodes_without_a_metronome_are_not_all_named() {
        assert_eq!(warnings(&without(2), false).len(), 2);
        let many = warnings(&without(1_000), false);
        assert_eq!(many.len(), NAMED + 1);
        assert!(many[NAMED].starts_with("980 more"), "{}", many[NAMED]);
        assert_eq!(warnings(&without(1_000), true).len(), 1);
        assert!(warnings(&[], false).is_empty());
    }
}
