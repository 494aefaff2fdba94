//! The manifests of a run inside the cluster: namespaces, accounts, minimal permissions, and a Job.
//!
//! The pods of the Job run in a separate namespace and store their results there. Each shard has a second namespace for
//! its cases, so the account needs no permission to create or delete anything elsewhere, and shards do not interfere.

use std::fmt::Write as _;

use super::permissions::{Need, RULES, write_role};

/// The user's choices for a Job.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// The namespace of the Job, and the prefix of the namespaces of its shards.
    pub namespace: String,
    /// The image of this program.
    pub image: String,
    /// Whether nodes pull it.
    pub pull_policy: String,
    /// How many pods share the run.
    pub shards: u32,
    /// The flags of `probity run` that the user chose, in addition to the flags that the Job sets.
    pub run: Vec<String>,
}

/// The name of the Job, of its account, and of the stored results.
pub const JOB: &str = "probity";

/// The level of Pod Security of the namespaces.
const LEVEL: &str = "pod-security.kubernetes.io/enforce: restricted";

/// The flags of `probity run` that the Job sets. The user must not set any of them.
#[must_use]
pub fn own_flags(options: &JobOptions) -> Vec<String> {
    let (namespace, shards) = (&options.namespace, options.shards);
    [
        "--in-cluster".to_owned(),
        format!("--namespace={namespace}-$(PROBITY_SHARD)"),
        format!("--shard=$(PROBITY_SHARD)/{shards}"),
        "--out=/results/run".to_owned(),
        format!("--store={namespace}"),
        format!("--store-name={JOB}"),
    ]
    .into()
}

/// The manifests for `kubectl apply`.
#[must_use]
pub fn job_yaml(options: &JobOptions) -> String {
    let home = &options.namespace;
    let mut yaml = format!(
        "# A run of probity inside the cluster, in {} shard{}. `probity fetch` downloads the report.\n\
         # `kubectl delete -f FILE` deletes the namespaces, with everything in them.\n",
        options.shards,
        if options.shards == 1 { "" } else { "s" },
    );
    namespace(&mut yaml, home, "for the Job and its results");
    let _ = write!(
        yaml,
        "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{ name: {JOB}, namespace: {home} }}\n"
    );
    let results = "  # to store the results, and to replace those of an earlier run\n  - { apiGroups: [\"\"], \
                   resources: [\"configmaps\"], verbs: [create, delete, get, list] }\n";
    write_role(&mut yaml, "Role", (JOB, Some(home)), home, results);
    for index in 0..options.shards {
        let place = format!("{home}-{index}");
        namespace(&mut yaml, &place, &format!("for the cases of shard {index}"));
        write_role(&mut yaml, "Role", (JOB, Some(&place)), home, &inside());
    }
    write_role(&mut yaml, "ClusterRole", (&format!("{home}-job"), None), home, &wide());
    job(&mut yaml, options);
    yaml
}

fn namespace(yaml: &mut String, name: &str, purpose: &str) {
    let _ = write!(
        yaml,
        "---\n# {purpose}\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n  labels: {{ {LEVEL} }}\n"
    );
}

/// The permissions in the namespace of a shard.
fn inside() -> String {
    RULES.iter().filter(|rule| rule.namespaced).map(super::permissions::rule_yaml).collect()
}

/// The permissions in the whole cluster, all of them read-only.
fn wide() -> String {
    let wide = RULES.iter().filter(|rule| !rule.namespaced && rule.need != Need::ToMakeNamespaces);
    let cluster = "  # to tell clusters apart when runs are merged\n  - { apiGroups: [\"\"], resources: [\"namespaces\"], \
                   resourceNames: [\"kube-system\"], verbs: [get] }\n";
    wide.map(super::permissions::rule_yaml).collect::<String>() + cluster
}

fn job(yaml: &mut String, options: &JobOptions) {
    let JobOptions { namespace, image, pull_policy, shards, .. } = options;
    let flags = own_flags(options).into_iter().chain(options.run.iter().cloned());
    let quoted = |word: String| serde_json::Value::String(word).to_string();
    let args: String = std::iter::once("run".to_owned())
        .chain(flags)
        .map(|flag| format!("            - {}\n", quoted(flag)))
        .collect();
    let image = quoted(image.clone());
    let _ = write!(
        yaml,
        r#"---
apiVersion: batch/v1
kind: Job
metadata: {{ name: {JOB}, namespace: {namespace}, labels: {{ app.kubernetes.io/name: probity }} }}
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {shards}
  # A shard that fails is not repeated, and does not affect the others (Kubernetes 1.29 or later).
  backoffLimitPerIndex: 0
  template:
    metadata: {{ labels: {{ app.kubernetes.io/name: probity }} }}
    spec:
      serviceAccountName: {JOB}
      restartPolicy: Never
      # An evicted pod has time to clean up and to store its results.
      terminationGracePeriodSeconds: 120
      securityContext: {{ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {{ type: RuntimeDefault }} }}
      containers:
        - name: probity
          image: {image}
          imagePullPolicy: {pull_policy}
          args:
{args}          env:
            - name: PROBITY_SHARD
              valueFrom: {{ fieldRef: {{ fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" }} }}
            - name: PROBITY_JOB_UID
              valueFrom: {{ fieldRef: {{ fieldPath: "metadata.labels['batch.kubernetes.io/controller-uid']" }} }}
          securityContext: {{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {{ drop: [ALL] }} }}
          resources: {{ requests: {{ cpu: 200m, memory: 128Mi }} }}
          volumeMounts: [{{ name: results, mountPath: /results }}]
      volumes: [{{ name: results, emptyDir: {{}} }}]
"#
    );
}
