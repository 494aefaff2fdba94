//! The table: which fields the API server must reject or accept, and which defaults it must set.
//!
//! A new clause about a rejected field is one entry here. The path of a field begins at the container; `*Probe` stands
//! for each of the three probes, and `spec.` for the pod itself.

use probity_model::timeline::Port;
use serde_json::Value;

use super::{ManifestField, is_unset};

/// A rule about fields that are rejected if and only if they are not valid.
pub(super) struct FieldRule {
    /// The clause that says so.
    pub(super) clause: &'static str,
    /// The paths of the fields.
    pub(super) fields: &'static [&'static str],
    /// Whether a field is valid; none if the rule does not apply to it.
    pub(super) valid: fn(&ManifestField<'_>) -> Option<bool>,
    /// The text that a rejection must contain, if it is not the last two words of the path.
    pub(super) words: Option<&'static str>,
    /// Whether the right answer is evidence that the clause holds. Otherwise only wrong answers count.
    pub(super) proves: bool,
    /// Whether the reference implementation replaces zero by the default instead of rejecting it.
    pub(super) zero_means_default: bool,
}

const fn rule(
    clause: &'static str,
    fields: &'static [&'static str],
    valid: fn(&ManifestField<'_>) -> Option<bool>,
) -> FieldRule {
    FieldRule { clause, fields, valid, words: None, proves: true, zero_means_default: false }
}

/// The default that the API server sets for a field that is not set.
pub(super) struct FieldDefault {
    /// The clause that says so.
    pub(super) clause: &'static str,
    /// The path of the field.
    pub(super) field: &'static str,
    /// The values that may be read back, as JSON; null stands for a field that stays unset.
    pub(super) read_back: &'static [&'static str],
    /// Whether a pod that shows the default is evidence that the clause holds. Otherwise only dry runs are evidence,
    /// because the pod's probes show more than its spec.
    pub(super) pods_prove: bool,
}

const fn default(
    clause: &'static str,
    field: &'static str,
    read_back: &'static [&'static str],
) -> FieldDefault {
    FieldDefault { clause, field, read_back, pods_prove: true }
}

impl FieldDefault {
    /// Whether this value may be read back.
    pub(super) fn allows(&self, value: &Value) -> bool {
        self.read_back.contains(&value.to_string().as_str())
    }
}

const CONFIG: &str = "probe.config.defaults";
const MINIMUMS: &str = "probe.config.minimums";
const ONE_SUCCESS: &str = "probe.success-threshold.liveness-startup-must-be-1";
const READINESS_GRACE: &str = "probe.tgps.readiness-refused";
const SCHEME: &str = "probe.http.default-scheme";
const INIT_FIELDS: &str = "init.all-fields-except";
const SIDECAR_PROBES: &str = "sidecar.probes-allowed";
const POLICY: &str = "restart.policy.values-default";
const RESTART_RULES: &str = "restart.rules.validation";

const SUCCESSES: &[&str] = &["livenessProbe.successThreshold", "startupProbe.successThreshold"];
const GRACES: &[&str] =
    &["livenessProbe.terminationGracePeriodSeconds", "startupProbe.terminationGracePeriodSeconds"];
const PROBES_AND_HOOKS: &[&str] = &["*Probe", "lifecycle"];
const ORDINARY: &[&str] = &["resources", "volumeMounts", "env", "securityContext"];
const PORTS: &[&str] = &["*Probe.httpGet.port", "*Probe.tcpSocket.port"];
const COUNTS: &[&str] = &[
    "*Probe.periodSeconds",
    "*Probe.timeoutSeconds",
    "*Probe.failureThreshold",
    "readinessProbe.successThreshold",
];

pub(super) const DEFAULTS: &[FieldDefault] = &[
    default(CONFIG, "*Probe.periodSeconds", &["10"]),
    default(CONFIG, "*Probe.timeoutSeconds", &["1"]),
    default(CONFIG, "*Probe.successThreshold", &["1"]),
    default(CONFIG, "*Probe.failureThreshold", &["3"]),
    default(CONFIG, "*Probe.initialDelaySeconds", &["null", "0"]),
    default(CONFIG, "*Probe.terminationGracePeriodSeconds", &["null"]),
    default(CONFIG, "spec.terminationGracePeriodSeconds", &["null", "30"]),
    FieldDefault {
        pods_prove: false,
        ..default("probe.http.default-path", "*Probe.httpGet.path", &["\"/\""])
    },
    FieldDefault { pods_prove: false, ..default(POLICY, "spec.restartPolicy", &["\"Always\""]) },
    FieldDefault { pods_prove: false, ..default(SCHEME, "*Probe.httpGet.scheme", &["\"HTTP\""]) },
];

/// The valid values, field by field, according to the Kubernetes API reference.
pub(super) const RULES: &[FieldRule] = &[
    rule(MINIMUMS, &["*Probe.initialDelaySeconds"], |delay| at_least(0, delay)),
    FieldRule { zero_means_default: true, ..rule(MINIMUMS, COUNTS, |count| at_least(1, count)) },
    // The rule ONE_SUCCESS covers the numbers above 1.
    FieldRule {
        zero_means_default: true,
        ..rule(MINIMUMS, SUCCESSES, |count| at_least(1, count).filter(|_| count.number() <= Some(1)))
    },
    rule(MINIMUMS, GRACES, |grace| at_least(1, grace)),
    rule(ONE_SUCCESS, SUCCESSES, |count| {
        count.number().filter(|number| *number >= 1).map(|number| number == 1)
    }),
    rule(ONE_SUCCESS, &["readinessProbe.successThreshold"], |count| {
        at_least(1, count).filter(|valid| *valid)
    }),
    rule(READINESS_GRACE, &["readinessProbe.terminationGracePeriodSeconds"], forbidden),
    rule(READINESS_GRACE, GRACES, |grace| at_least(1, grace).filter(|valid| *valid)),
    FieldRule {
        words: Some("handler type"),
        ..rule("probe.handler.exactly-one", &["*Probe"], has_one_handler)
    },
    rule("probe.http.port-number-range", PORTS, |port| port.number().map(is_port)),
    FieldRule {
        proves: false,
        ..rule("probe.http.port-name-unresolvable", PORTS, |port| port.value.as_str().map(Port::is_name))
    },
    rule(SCHEME, &["*Probe.httpGet.scheme"], |scheme| {
        (!is_unset(scheme.value)).then(|| scheme.value == "HTTP" || scheme.value == "HTTPS")
    }),
    rule("probe.http.header-name-validation", &["*Probe.httpGet.httpHeaders"], |headers| {
        let headers = headers.value.as_array().filter(|headers| !headers.is_empty())?;
        Some(headers.iter().all(|header| is_header_name(header["name"].as_str().unwrap_or_default())))
    }),
    rule("probe.grpc.port-required", &["*Probe.grpc.port"], |port| Some(port.number().is_some_and(is_port))),
    rule("probe.grpc.no-host", &["*Probe.grpc.host"], forbidden),
    rule("validation.exec-command-required", &["*Probe.exec.command"], |command| {
        Some(command.value.as_array().is_some_and(|words| !words.is_empty()))
    }),
    rule(POLICY, &["spec.restartPolicy"], |policy| {
        let policy = policy.value.as_str().filter(|policy| !policy.is_empty())?;
        Some(["Always", "OnFailure", "Never"].contains(&policy))
    }),
    FieldRule {
        words: Some("may not be set for init containers"),
        ..rule(INIT_FIELDS, PROBES_AND_HOOKS, |field| {
            set_in(field, false)
                .filter(|_| field.init_container().is_some_and(|of| of["restartPolicy"].is_null()))?;
            Some(false)
        })
    },
    rule(INIT_FIELDS, ORDINARY, |field| set_in(field, false)),
    rule(SIDECAR_PROBES, PROBES_AND_HOOKS, |field| set_in(field, true)),
    FieldRule {
        words: Some("Duplicate value"),
        ..rule("init.names-unique", &["spec.initContainers"], |inits| {
            let lists = [inits.value, &inits.spec["containers"]].into_iter().filter_map(Value::as_array);
            let names: Vec<&str> =
                lists.flatten().filter_map(|container| container["name"].as_str()).collect();
            let unique = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
            inits.value.is_array().then_some(unique)
        })
    },
    FieldRule {
        words: Some("restartPolicy"),
        ..rule("sidecar.policy-values", &["restartPolicy"], |policy| {
            policy.init_container()?;
            policy.value.as_str().map(|policy| ["Always", "OnFailure", "Never"].contains(&policy))
        })
    },
    FieldRule { words: Some("restartPolicy"), ..rule(RESTART_RULES, &["restartPolicy"], is_policy_of_main) },
    FieldRule {
        words: Some("restartPolicy"),
        ..rule(RESTART_RULES, &["restartPolicyRules"], |rules| {
            let all = rules.value.as_array().filter(|all| !all.is_empty())?;
            // Whether this action is valid depends on a separate feature gate.
            let known = !all.iter().any(|rule| rule["action"] == "RestartAllContainers");
            known.then(|| {
                rules.container().is_some_and(|of| of["restartPolicy"].is_string()) && all.iter().all(is_rule)
            })
        })
    },
    FieldRule {
        words: Some("conditionType"),
        ..rule("readinessgate.name-format", &["spec.readinessGates"], |gates| {
            let mut names = gates.value.as_array()?.iter().filter_map(|gate| gate["conditionType"].as_str());
            Some(names.all(is_label_key))
        })
    },
    FieldRule {
        words: Some("pod contains any hostProcess containers"),
        ..rule("pod.windows-hostprocess", &["spec.containers"], |containers| host_process(containers.spec))
    },
    rule("validation.prestop-sleep-range", &["lifecycle.preStop.sleep"], |sleep| {
        let grace = sleep.spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        sleep.value["seconds"].as_i64().map(|seconds| (0..=grace).contains(&seconds))
    }),
];

/// Whether all containers of a Windows pod are HostProcess containers, in the host network; none if no container is.
fn host_process(spec: &Value) -> Option<bool> {
    let of = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
    let lists = ["initContainers", "containers"].into_iter().filter_map(|list| spec[list].as_array());
    let all: Vec<bool> =
        lists.flatten().map(|container| of(container).or(of(spec)).unwrap_or(false)).collect();
    all.contains(&true).then(|| !all.contains(&false) && spec["hostNetwork"] == true)
}

fn at_least(least: i64, field: &ManifestField<'_>) -> Option<bool> {
    field.number().map(|number| number >= least)
}

fn is_policy_of_main(policy: &ManifestField<'_>) -> Option<bool> {
    let own = policy.value.as_str().filter(|_| policy.init_container().is_none())?;
    Some(["Always", "OnFailure", "Never"].contains(&own))
}

/// Whether a rule has a known action and exit codes with a known operator.
fn is_rule(rule: &Value) -> bool {
    let operator = &rule["exitCodes"]["operator"];
    rule["action"] == "Restart" && (operator == "In" || operator == "NotIn")
}

/// Whether a field may be set in its init container: only if that container is of this kind.
fn set_in(field: &ManifestField<'_>, sidecar: bool) -> Option<bool> {
    let is_sidecar = field.init_container()?["restartPolicy"] == "Always";
    (!field.value.is_null() && is_sidecar == sidecar).then_some(true)
}

fn forbidden(field: &ManifestField<'_>) -> Option<bool> {
    (!field.value.is_null()).then_some(false)
}

fn has_one_handler(probe: &ManifestField<'_>) -> Option<bool> {
    let handlers = ["exec", "grpc", "httpGet", "tcpSocket"];
    let count = handlers.iter().filter(|handler| probe.value.get(handler).is_some()).count();
    probe.value.is_object().then_some(count == 1)
}

fn is_port(number: i64) -> bool {
    (1..=i64::from(u16::MAX)).contains(&number)
}

/// The longest name in a label's key, according to the Kubernetes documentation.
const LABEL_NAME: usize = 63;

/// Whether a text has the format of a label's key: a name, optionally after a domain name and a slash.
fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let framed = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let of_domain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
    prefix.is_none_or(|prefix| framed(prefix) && prefix.bytes().all(of_domain))
        && framed(name)
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
        && name.len() <= LABEL_NAME
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}
