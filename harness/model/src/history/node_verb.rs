//! The verbs for nodes, and the signs that a verb took effect.

use serde::{Deserialize, Serialize};

use crate::clause::Need;
use crate::measure::SECOND;

/// The verb that restarts a node's kubelet.
pub const RESTART_KUBELET: &str = "restart-kubelet";

/// The verb that removes the sandbox of a pod from the runtime.
pub const REMOVE_SANDBOX: &str = "remove-sandbox";

/// The verb that overrides settings in the configuration of a node's kubelet, and restarts the kubelet.
pub const CONFIGURE_KUBELET: &str = "configure-kubelet";

/// The verb that places the manifest of a static pod on a node.
pub const PLACE_STATIC_POD: &str = "place-static-pod";

/// The verb that removes the manifests of all static pods that were placed on a node.
pub const REMOVE_STATIC_PODS: &str = "remove-static-pods";

/// The verb that reports what the runtime and the control groups of a node contain for a pod.
pub const DESCRIBE_POD: &str = "describe-pod";

/// The verb that sets flags of the controller manager, and restarts the controller manager.
pub const CONFIGURE_CONTROLLERS: &str = "configure-controllers";

/// The verb that announces a shutdown of its node to a kubelet. The node does not shut down.
pub const ANNOUNCE_SHUTDOWN: &str = "announce-shutdown";

/// The verb that cancels an announced shutdown.
pub const CANCEL_SHUTDOWN: &str = "cancel-shutdown";

/// A verb that the user's command carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeVerb {
    /// The word that the command receives.
    pub word: &'static str,
    /// The verb that undoes the effect. The run applies it however the case ends.
    pub undo: Option<&'static str>,
    /// Whether the verb takes the node away from the cluster.
    pub takes_away: bool,
    /// Whether the kubelet ends all pods of the node because of the verb.
    pub ends_pods: bool,
    /// Whether the verb is about one pod, whose UID the command receives.
    pub about_pod: bool,
    /// Whether the command reads an object from its standard input.
    pub input: bool,
    /// Whether the command must print a JSON object.
    pub output: bool,
    /// Whether the verb restarts the kubelet, so that the node shows a start.
    pub restarts_kubelet: bool,
    /// Whether the verb has no effect on anything that is already running on the node.
    pub harmless: bool,
    /// What a case that uses this verb must declare besides `node-verbs`.
    pub needs: Option<Need>,
}

/// A verb without an input and without an output.
const PLAIN: NodeVerb = NodeVerb {
    word: "",
    undo: None,
    takes_away: false,
    ends_pods: false,
    about_pod: false,
    input: false,
    output: false,
    restarts_kubelet: false,
    harmless: false,
    needs: None,
};

/// A verb that makes a node unavailable, with the verb that brings the node back.
const fn takes_away(word: &'static str, back: &'static str) -> NodeVerb {
    NodeVerb { word, undo: Some(back), takes_away: true, needs: Some(Need::MultiNode), ..PLAIN }
}

/// All verbs for nodes. `ci/cluster node` implements them, and any other `--node-command` receives the same words.
pub const NODE_VERBS: [NodeVerb; 18] = [
    NodeVerb { word: RESTART_KUBELET, restarts_kubelet: true, ..PLAIN },
    NodeVerb { word: REMOVE_SANDBOX, about_pod: true, ..PLAIN },
    takes_away("stop", "start"),
    takes_away("kill", "start"),
    takes_away("cut", "heal"),
    takes_away("freeze", "thaw"),
    NodeVerb { word: "start", ..PLAIN },
    NodeVerb { word: "heal", ..PLAIN },
    NodeVerb { word: "thaw", ..PLAIN },
    NodeVerb {
        word: CONFIGURE_KUBELET,
        undo: Some("restore-kubelet"),
        input: true,
        output: true,
        restarts_kubelet: true,
        needs: Some(Need::KubeletConfig),
        ..PLAIN
    },
    NodeVerb { word: "restore-kubelet", restarts_kubelet: true, ..PLAIN },
    NodeVerb { word: PLACE_STATIC_POD, undo: Some(REMOVE_STATIC_PODS), input: true, harmless: true, ..PLAIN },
    NodeVerb { word: REMOVE_STATIC_PODS, ..PLAIN },
    NodeVerb { word: DESCRIBE_POD, about_pod: true, output: true, harmless: true, ..PLAIN },
    NodeVerb {
        word: CONFIGURE_CONTROLLERS,
        undo: Some("restore-controllers"),
        input: true,
        output: true,
        needs: Some(Need::CpConfig),
        ..PLAIN
    },
    NodeVerb { word: "restore-controllers", ..PLAIN },
    NodeVerb {
        word: ANNOUNCE_SHUTDOWN,
        undo: Some(CANCEL_SHUTDOWN),
        ends_pods: true,
        output: true,
        needs: Some(Need::MultiNode),
        ..PLAIN
    },
    NodeVerb { word: CANCEL_SHUTDOWN, output: true, ..PLAIN },
];

impl NodeVerb {
    /// The verb with this word. A history may contain words that this version does not know.
    #[must_use]
    pub fn of(word: &str) -> Self {
        NODE_VERBS.into_iter().find(|verb| verb.word == word).unwrap_or(PLAIN)
    }
}

/// The verb that brings back the node; `None` for verbs that do not make a node unavailable.
#[must_use]
pub fn brings_back(verb: &str) -> Option<&'static str> {
    let verb = NodeVerb::of(verb);
    verb.undo.filter(|_| verb.takes_away)
}

/// What a node showed before and after an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeProof {
    /// When the user's command ended, on the harness's clock. The deed ends later, when the harness observed the
    /// effect.
    pub ended_us: i64,
    /// Before.
    pub before: KubeletSigns,
    /// After.
    pub after: KubeletSigns,
}

/// What a node shows about the start of its kubelet. Values are absent if the harness has no permission to read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KubeletSigns {
    /// The number of start events that kubelets recorded for the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<u64>,
    /// When the kubelet's process was started, on the node's wall clock, to within a second or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_us: Option<i64>,
}

impl NodeProof {
    /// Whether the kubelet restarted between two readings; `None` if no sign was readable in both.
    #[must_use]
    pub fn restarted(&self) -> Option<bool> {
        let (before, after) = (self.before, self.after);
        let said = before.starts.zip(after.starts).map(|(before, after)| after > before);
        // The instant is computed from the time since the machine's start, which is known to within a second.
        let apart = |(before, after): (i64, i64)| (after - before).abs() > PROCESS_START_APART;
        let process = before.process_us.zip(after.process_us).map(apart);
        match (said, process) {
            (None, None) => None,
            (said, process) => Some(said == Some(true) || process == Some(true)),
        }
    }
}

/// Start times that differ by more than this belong to different processes.
const PROCESS_START_APART: i64 = 2 * SECOND;

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;
    use crate::history::Did;

    #[test]
    fn every_undo_is_a_verb_that_needs_no_undo() {
        for verb in NODE_VERBS {
            let Some(undo) = verb.undo else { continue };
            let undo = NODE_VERBS.into_iter().find(|known| known.word == undo).unwrap();
            assert!(undo.undo.is_none() && !undo.input && !undo.about_pod, "{}", verb.word);
        }
        assert_eq!((brings_back("cut"), brings_back(CONFIGURE_KUBELET)), (Some("heal"), None));
    }

    #[test]
    fn what_a_command_must_show_and_what_it_did_not() {
        let configured = |output: Option<Value>, after: u64| {
            let signs = |starts| KubeletSigns { starts: Some(starts), process_us: None };
            let proof = Some(NodeProof { ended_us: 0, before: signs(1), after: signs(after) });
            let (node, verb) = ("n".to_owned(), CONFIGURE_KUBELET.to_owned());
            let did = Did::NodeVerb { node, verb, uid: None, input: None, exit: Some(0), output, proof };
            (did.unproven().is_none(), did.kubelet_refused())
        };
        assert_eq!(configured(Some(json!({ "running": true })), 2), (true, false));
        assert_eq!(configured(Some(json!({ "running": true })), 1), (false, false));
        assert_eq!(configured(Some(json!({ "running": false, "error": "x" })), 1), (true, true));
        assert_eq!(configured(None, 2), (false, false));
        let looks = Did::verb("n", DESCRIBE_POD, Some(0), None);
        assert!(looks.unproven().is_some() && !looks.acts_on_node());
        assert!(Did::verb("n", REMOVE_SANDBOX, Some(0), None).acts_on_node());
    }
}
