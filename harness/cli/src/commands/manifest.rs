//! `probity manifest`: runs inside the cluster, as manifests.

use clap::Parser;
use probity_cluster::job::{self, JobOptions};

use crate::arguments::in_cluster::{JobArgs, ManifestArgs, ManifestOf, RunInPodArgs, SonobuoyArgs};
use crate::arguments::{CommandLine, Verb};
use crate::cases::book::Book;
use crate::exit_status::{Exit, Failure};
use crate::output;

/// Where Sonobuoy looks for results.
const SONOBUOY_RESULTS: &str = "/tmp/sonobuoy/results";

/// The flags of `probity run` that the manifest itself sets.
const TAKEN: [&str; 10] = [
    "--kubeconfig",
    "--context",
    "--in-cluster",
    "--namespace",
    "--shard",
    "--out",
    "--store",
    "--store-name",
    "--sonobuoy",
    "--image",
];

/// The flags of `probity run` that are useless in a pod: they name files or programs, or they prevent cases from
/// running.
const WITHOUT_MEANING: [&str; 6] =
    ["--suite", "--only-suite", "--node-command", "--kubectl", "--logfile", "--list"];

/// Prints the manifest.
pub(crate) fn run(args: &ManifestArgs) -> Result<Exit, Failure> {
    output::out(&match &args.of {
        ManifestOf::Job(args) => job_yaml(args)?,
        ManifestOf::Sonobuoy(args) => plugin_yaml(args)?,
    })
}

fn job_yaml(args: &JobArgs) -> Result<String, Failure> {
    let options = JobOptions {
        namespace: args.namespace.clone(),
        image: args.run.image.clone(),
        pull_policy: args.run.pull_policy.clone(),
        shards: args.shards,
        run: run_flags(&args.run)?,
    };
    // Flags that the pods would reject are rejected here.
    let flags = job::own_flags(&options).into_iter().map(|flag| flag.replace("$(PROBITY_SHARD)", "0"));
    accepted(flags.chain(options.run.iter().cloned()).collect())?;
    Ok(job::job_yaml(&options))
}

fn plugin_yaml(args: &SonobuoyArgs) -> Result<String, Failure> {
    let flags: Vec<String> = [
        "--in-cluster".to_owned(),
        format!("--out={SONOBUOY_RESULTS}/probity"),
        format!("--sonobuoy={SONOBUOY_RESULTS}"),
    ]
    .into_iter()
    .chain(run_flags(&args.run)?)
    .collect();
    accepted(flags.clone())?;
    let quoted = |word: &str| serde_json::Value::String(word.to_owned()).to_string();
    let args_yaml: String = flags.iter().map(|flag| format!("    - {}\n", quoted(flag))).collect();
    let RunInPodArgs { image, pull_policy, .. } = &args.run;
    let image = quoted(image);
    Ok(format!(
        "# A plugin for Sonobuoy: sonobuoy run --plugin FILE\n\
         sonobuoy-config:\n  driver: Job\n  plugin-name: probity\n  result-format: junit\n\
         spec:\n  name: plugin\n  image: {image}\n  imagePullPolicy: {pull_policy}\n  command: [\"/probity\"]\n  args:\n    - run\n{args_yaml}  \
         securityContext: {{ allowPrivilegeEscalation: false, capabilities: {{ drop: [ALL] }} }}\n  \
         volumeMounts:\n    - {{ name: results, mountPath: {SONOBUOY_RESULTS} }}\n"
    ))
}

/// The flags of `probity run` that the user chose.
fn run_flags(args: &RunInPodArgs) -> Result<Vec<String>, Failure> {
    let named = |flag: &&String, names: &[&str]| names.contains(&flag.split('=').next().unwrap_or_default());
    if let Some(flag) = args.run.iter().find(|flag| named(flag, &TAKEN)) {
        let why =
            format!("the manifest sets `{flag}`; `probity manifest --help` shows the flags that change it");
        return Err(Failure::wrong_use(why));
    }
    if let Some(flag) = args.run.iter().find(|flag| named(flag, &WITHOUT_MEANING)) {
        let why = format!(
            "`{flag}` cannot be used here: the pod has no access to the files and programs of this machine, and it \
             must run the cases, not list them"
        );
        return Err(Failure::wrong_use(why));
    }
    let mut flags =
        vec![format!("--image={}", args.target_image), format!("--pull-policy={}", args.pull_policy)];
    if !args.profile.is_empty() {
        flags.push(format!("--profile={}", args.profile.join(",")));
    }
    flags.extend(args.run.iter().cloned());
    Ok(flags)
}

/// Checks that `probity run` accepts these flags, and that they leave cases to run.
fn accepted(flags: Vec<String>) -> Result<(), Failure> {
    let words = ["probity".to_owned(), "run".to_owned()].into_iter().chain(flags);
    match CommandLine::try_parse_from(words) {
        Ok(CommandLine { verb: Verb::Run(args) }) => {
            let book = Book::built_in()?;
            args.filter.check(book.cases())?;
            let some = book.cases().any(|case| args.filter.runs(case));
            if some { Ok(()) } else { Err(Failure::wrong_use(args.filter.nothing(book.cases()))) }
        }
        Ok(_) => Err(Failure::wrong_use("these are not flags of `probity run`")),
        Err(error) => {
            // The rest of the message from clap is about a command line that the user did not write.
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let why = first.strip_prefix("error: ").unwrap_or(first).trim_end();
            Err(Failure::wrong_use(format!("`probity run` does not take these flags: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_cluster::permissions::{Need, RULES};

    use super::*;

    fn printed(words: &[&str]) -> Result<String, String> {
        let words = [&["probity", "manifest"], words].concat();
        let parsed = CommandLine::try_parse_from(words).map_err(|error| error.to_string())?;
        let CommandLine { verb: Verb::Manifest(args) } = parsed else { panic!("it is another verb") };
        match &args.of {
            ManifestOf::Job(args) => job_yaml(args),
            ManifestOf::Sonobuoy(args) => plugin_yaml(args),
        }
        .map_err(|failure| failure.to_string())
    }

    fn documents(yaml: &str) -> Vec<serde_json::Value> {
        let objects = yaml.split("---\n").filter(|text| text.contains("kind:"));
        objects.map(|text| probity_document::read("yaml", "object", text).unwrap()).collect()
    }

    #[test]
    fn the_manifests_of_a_job_with_two_shards() {
        insta::assert_snapshot!(printed(&["job", "--shards", "2", "--", "--label", "a=b"]).unwrap());
    }

    #[test]
    fn the_manifest_of_a_sonobuoy_plugin() {
        insta::assert_snapshot!(printed(&["sonobuoy", "--profile", "core"]).unwrap());
    }

    #[test]
    fn the_account_may_change_nothing_outside_of_its_namespaces() {
        let yaml = printed(&["job", "--namespace", "mine", "--shards", "3"]).unwrap();
        let objects = documents(&yaml);
        let wide = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
        for rule in wide["rules"].as_array().unwrap() {
            let verbs = rule["verbs"].as_array().unwrap();
            assert!(verbs.iter().all(|verb| verb == "get" || verb == "list"), "{rule}");
        }
        for index in 0..3 {
            let place = format!("mine-{index}");
            let role = objects
                .iter()
                .find(|object| object["kind"] == "Role" && object["metadata"]["namespace"] == place.as_str());
            let rules = role.unwrap()["rules"].as_array().unwrap();
            let wanted = RULES.iter().filter(|rule| rule.namespaced && rule.need != Need::ByHand).count();
            assert_eq!(rules.len(), wanted);
        }
    }

    #[test]
    fn flags_that_the_pod_would_refuse_are_refused_here() {
        for (words, why) in [
            (vec!["job", "--", "--context", "x"], "the manifest sets"),
            (vec!["job", "--", "--suite=mine.yaml"], "this machine"),
            (vec!["job", "--", "--list"], "must run the cases"),
            (vec!["job", "--", "--exact", "probe_tcp/conections"], "probe_tcp/connections"),
            (vec!["job", "--profile", "cores"], "core"),
            (vec!["job", "--", "--no-such-flag"], "--no-such-flag"),
            (vec!["job", "--namespace", "Mine"], "lowercase"),
            (vec!["job", "--namespace", "kube-system"], "belongs to Kubernetes"),
        ] {
            let said = printed(&words).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
