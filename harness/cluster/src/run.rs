//! A whole run: lay the ground, direct all cases, clean up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use probity_case::manifest::{self, Setting};
use probity_case::{Case, CaseName};
use probity_model::clause::Need;
use probity_model::verdict::Skip;
use probity_report::run_log::Usage;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::books::Books;
use crate::connect::Ground;
use crate::director::{Stage, direct};
use crate::error::{ClusterError, Refusal, SendError};
use crate::incoming::Incoming;
use crate::metronome::Metronome;
use crate::namespace::Namespace;
use crate::recorder::Recorder;
use crate::schedule::{self, Slots};
use crate::ticker::Ticker;
use crate::watch::watch;
use crate::{Progress, Zero, usage};

/// What is watched for every case; a case may name more.
const WATCHED: [&str; 4] = ["Pod", "Event", "EndpointSlice", "Service"];

/// How long the clean-up waits for what was deleted to be gone.
const CLEAR_WITHIN: Duration = Duration::from_secs(45);

/// What the user chose.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run's name: it labels everything, and names the namespaces that are made.
    pub run: String,
    /// A namespace that is given, and is neither made nor removed.
    pub namespace: Option<String>,
    /// The only node to use.
    pub node: Option<String>,
    /// The target's image.
    pub image: String,
    /// How it is pulled.
    pub pull_policy: String,
    /// The command for verbs on nodes.
    pub node_command: Option<Vec<String>>,
    /// Whether everything is left for the user to look at.
    pub keep: bool,
    /// How many pods start at the same time on a node.
    pub starts: u32,
    /// How many pods are there at the same time; as many as the nodes take if not said.
    pub pods: Option<u32>,
}

/// A pod or a workload that the API server refuses, found by a dry run.
#[derive(Debug)]
pub struct RefusedPod {
    /// The case.
    pub case: CaseName,
    /// The key of the pod or the workload in it.
    pub pod: String,
    /// The answer.
    pub refusal: Refusal,
}

/// Why a run did not come about.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Some pods are refused; nothing was created.
    #[error("the API server refuses {} of the pods; nothing was created", .0.len())]
    Refused(Vec<RefusedPod>),
}

/// Asks the API server by dry runs what it makes of every pod and workload, before anything is created. What only the run's own
/// namespace can decide (Pod Security, quotas) is left to it.
///
/// # Errors
///
/// If some are refused.
pub async fn rehearse(ground: &Ground, options: &RunOptions, cases: &[Case]) -> Result<(), RunError> {
    let namespace = options.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let mut refused = Vec::new();
    for case in cases {
        let of_pods = case.pods.iter().map(|(key, pod)| {
            let setting = rehearsal(options, &namespace, manifest::placeholders(pod));
            (key, manifest::pod(case, key, pod, &setting))
        });
        let of_workloads = case.workloads.iter().map(|(key, of)| {
            let placeholders = manifest::placeholders_in(&of.workload, &of.target);
            (key, manifest::workload(case, key, of, &rehearsal(options, &namespace, placeholders)))
        });
        for (key, manifest) in of_pods.chain(of_workloads) {
            if let Err(SendError::Refused { refusal, .. }) = ground.create(&namespace, &manifest, true).await
                && matches!(refusal.code, 400 | 422)
            {
                refused.push(RefusedPod { case: case.name.clone(), pod: key.clone(), refusal });
            }
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(RunError::Refused(refused)) }
}

/// A setting in which each placeholder has some address.
fn rehearsal(options: &RunOptions, namespace: &str, placeholders: Vec<String>) -> Setting {
    let addresses = placeholders.into_iter().map(|name| (name, "192.0.2.1".to_owned())).collect();
    Setting { addresses, ..setting(options, namespace, "", "rehearsal") }
}

fn setting(options: &RunOptions, namespace: &str, recorder: &str, token: &str) -> Setting {
    Setting {
        run: options.run.clone(),
        namespace: namespace.to_owned(),
        image: options.image.clone(),
        pull_policy: options.pull_policy.clone(),
        recorder: recorder.to_owned(),
        token: token.to_owned(),
        node: options.node.clone(),
        addresses: BTreeMap::new(),
    }
}

/// Runs cases, tells what happens, and cleans up: on success, on failure, and when `stop` is set.
///
/// # Errors
///
/// If the ground could not be laid. What was made until then is removed, or told as a leftover.
pub async fn conduct(
    ground: Ground,
    options: RunOptions,
    cases: Vec<Case>,
    zero: Zero,
    out: UnboundedSender<Progress>,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let mut made: Vec<Namespace> = Vec::new();
    let tally = play(&ground, &options, cases, zero, &out, &stop, &mut made).await;
    if !options.keep {
        let removals = made.iter().map(|namespace| namespace.remove(&ground, CLEAR_WITHIN));
        for left in join_all(removals).await.into_iter().flatten() {
            let _ = out.send(Progress::Leftover { what: left.what, why: left.why });
        }
    }
    let mut usage = tally?;
    let (cpu_us, peak_memory) = usage::of_this_process();
    usage.wall_us = zero.us();
    usage.cpu_us = cpu_us;
    usage.peak_memory = peak_memory;
    usage.requests = ground.requests();
    usage.interrupted = stop.is_cancelled();
    let _ = out.send(Progress::Finished(usage));
    Ok(())
}

/// Everything between the first object and the last case.
async fn play(
    ground: &Ground,
    options: &RunOptions,
    cases: Vec<Case>,
    zero: Zero,
    out: &UnboundedSender<Progress>,
    stop: &CancellationToken,
    made: &mut Vec<Namespace>,
) -> Result<Usage, RunError> {
    let (incoming, entries) = unbounded_channel();
    let books = Books::new(zero);
    let _clerk = AbortOnDropHandle::new(tokio::spawn(books.clone().keep(entries)));
    let ticker = Ticker::start(zero, incoming.clone());

    let restricted = match &options.namespace {
        Some(name) => Namespace::given(ground, name, &options.run).await?,
        None => Namespace::make(ground, &options.run, &options.run, "restricted").await?,
    };
    let main = restricted.name.clone();
    made.push(restricted);
    let (cases, privileged) = with_privileged(ground, options, cases, out, made).await;

    let kinds = watched(&cases);
    let label = format!("{}={}", manifest::RUN, options.run);
    let mut watches = Vec::new();
    for namespace in made.iter() {
        for kind in &kinds {
            let labels = (kind != "Event").then_some(label.as_str());
            watches.push(watch(ground, &namespace.name, kind, labels, zero, incoming.clone()));
        }
    }
    let token = uuid::Uuid::new_v4().simple().to_string();
    let recorder = Recorder::deploy(ground, &main, &setting(options, &main, "", &token)).await?;
    let heard = setting(options, &main, recorder.address(), &token);
    let _ear = recorder.listen(zero, incoming.clone());
    let nodes = ground.node_facts(options.node.as_deref()).await;
    let _metronome = keep_time(
        ground.clone(),
        heard.clone(),
        nodes.keys().cloned().collect(),
        zero,
        incoming,
        out.clone(),
    );
    let laid_us = zero.us();
    let _ = out.send(Progress::Ready {
        context: ground.context.clone(),
        server: ground.server_version.clone(),
        namespace: main,
        nodes: nodes.clone(),
        image: recorder.image_digest().to_owned(),
        us: laid_us,
    });

    let count = u32::try_from(nodes.len().max(1)).unwrap_or(1);
    let room = match options.pods {
        Some(pods) => pods,
        None => ground.free_pods(options.node.as_deref()).await.unwrap_or(60),
    };
    let slots = Slots::new(room, options.starts * count, books.clone(), zero);
    let stage = Stage {
        ground: ground.clone(),
        zero,
        books,
        slots,
        out: out.clone(),
        stop: stop.clone(),
        nodes,
        node_command: options.node_command.clone(),
        keep: options.keep,
    };
    let number = cases.len() as u64;
    let place = |case: &Case| {
        let privileged =
            case.needs.contains(&Need::PrivilegedNamespace).then(|| privileged.clone()).flatten();
        let namespace = privileged.unwrap_or_else(|| heard.namespace.clone());
        Setting { namespace, ..heard.clone() }
    };
    let (together, alone) = schedule::order(cases);
    let mut running = JoinSet::new();
    for case in together {
        let setting = place(&case);
        running.spawn(direct(stage.clone(), case, setting));
        // The order of asking for room is the order of starting.
        tokio::task::yield_now().await;
    }
    let mut longest_us = join(&mut running, out).await;
    for case in alone {
        let setting = place(&case);
        running.spawn(direct(stage.clone(), case, setting));
        longest_us = longest_us.max(join(&mut running, out).await);
    }
    let (stalls, stalled_us) = ticker.totals();
    Ok(Usage { laid_us, longest_us, cases: number, stalls, stalled_us, ..Usage::default() })
}

/// The kinds that these cases want watched. Workloads, and what their controllers make between them and their pods, are
/// watched only where there are any: each kind costs a request a minute.
fn watched(cases: &[Case]) -> BTreeSet<String> {
    let named = cases.iter().flat_map(|case| case.watch.iter().map(String::as_str));
    let workloads = cases.iter().flat_map(|case| case.workloads.values());
    let of_workloads = workloads.flat_map(|workload| match workload.kind() {
        "Deployment" => vec!["Deployment", "ReplicaSet"],
        kind => vec![kind],
    });
    WATCHED.into_iter().chain(named).chain(of_workloads).map(str::to_owned).collect()
}

/// Starts the metronomes while the first cases begin, and reads the clocks of their nodes from then on.
fn keep_time(
    ground: Ground,
    setting: Setting,
    nodes: Vec<String>,
    zero: Zero,
    incoming: UnboundedSender<Incoming>,
    out: UnboundedSender<Progress>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        match Metronome::deploy(&ground, &setting.namespace, &setting, &nodes).await {
            Ok(metronome) => {
                for warning in &metronome.warnings {
                    let _ = out.send(Progress::Warning(warning.clone()));
                }
                let _readers = metronome.read_clocks(zero, &incoming);
                std::future::pending::<()>().await;
            }
            Err(error) => {
                let why =
                    format!("there is no metronome, so clocks and noise of the nodes are unknown: {error}");
                let _ = out.send(Progress::Warning(why));
            }
        }
    }))
}

/// Waits for all directors; the longest time that one of them took.
async fn join(running: &mut JoinSet<i64>, out: &UnboundedSender<Progress>) -> i64 {
    let mut longest = 0;
    while let Some(ended) = running.join_next().await {
        match ended {
            Ok(took) => longest = longest.max(took),
            Err(error) => {
                let why = format!("the director of a case failed: {error}; please report it");
                let _ = out.send(Progress::Warning(why));
            }
        }
    }
    longest
}

/// Makes the privileged namespace if a case needs one; without it those cases are skipped, with the reason.
async fn with_privileged(
    ground: &Ground,
    options: &RunOptions,
    cases: Vec<Case>,
    out: &UnboundedSender<Progress>,
    made: &mut Vec<Namespace>,
) -> (Vec<Case>, Option<String>) {
    let needs = |case: &Case| case.needs.contains(&Need::PrivilegedNamespace);
    if !cases.iter().any(needs) {
        return (cases, None);
    }
    let why = if options.namespace.is_some() {
        "a namespace was given, and this case needs one at the privileged Pod Security level".to_owned()
    } else {
        let name = format!("{}-privileged", options.run);
        match Namespace::make(ground, &name, &options.run, "privileged").await {
            Ok(namespace) => {
                made.push(namespace);
                return (cases, Some(name));
            }
            Err(error) => format!("a privileged namespace could not be made: {error}"),
        }
    };
    let (without, rest): (Vec<_>, Vec<_>) = cases.into_iter().partition(needs);
    for case in without {
        let (reason, why) = (Skip::Precondition, why.clone());
        let _ = out.send(Progress::Skipped { case: case.name, reason, why });
    }
    (rest, None)
}
