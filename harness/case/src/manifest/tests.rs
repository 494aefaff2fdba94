#![expect(clippy::unwrap_used, reason = "tests")]

use probity_script::Plan;
use serde_json::{Value, json};

use super::{CASE, NAMESPACE, POD, RUN, Setting, object, update, workload};
use crate::{Case, Step, UpdateStep};

const TEXT: &str = "\
case: a/b
story: because
workloads:
  web:
    workload:
      spec:
        replicas: 2
        template:
          metadata: { labels: { app: x } }
          spec:
            initContainers: [{ name: side, restartPolicy: Always }]
            containers: [{ name: target }, { name: other }]
    target:
      side: {}
      target: { process: { clients: [{ name: c, url: \"http://{service-ip:web}:80/\", every: 1s, for: 9s }] } }
steps:
  - update: { workload: web, target: { side: {}, target: {} } }
";

fn case() -> Case {
    Case::read("a.yaml", TEXT).unwrap().remove(0)
}

fn setting() -> Setting {
    let addresses = [("service-ip:web".to_owned(), "10.9.8.7".to_owned())].into();
    let text = str::to_owned;
    Setting { run: text("r"), namespace: text("n"), image: text("i"), addresses, ..Setting::default() }
}

fn sent() -> Value {
    let case = case();
    workload(&case, "web", &case.workloads["web"], &setting())
}

fn variable(container: &Value, name: &str) -> String {
    let env = container["env"].as_array().unwrap();
    let found = env.iter().find(|one| one["name"] == name).unwrap();
    found["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_workload_and_its_pods_can_be_found_by_run_case_and_key() {
    let sent = sent();
    assert_eq!((&sent["kind"], &sent["apiVersion"]), (&json!("Deployment"), &json!("apps/v1")));
    assert_eq!((&sent["metadata"]["name"], &sent["metadata"]["namespace"]), (&json!("a-b-web"), &json!("n")));
    assert_eq!(sent["spec"]["selector"], json!({ "matchLabels": { CASE: "a-b", POD: "web" } }));
    for metadata in [&sent["metadata"], &sent["spec"]["template"]["metadata"]] {
        let labels = &metadata["labels"];
        assert_eq!((&labels[RUN], &labels[CASE], &labels[POD]), (&json!("r"), &json!("a-b"), &json!("web")));
    }
    assert_eq!(sent["spec"]["template"]["metadata"]["labels"]["app"], "x");
    assert!(sent["spec"]["template"]["metadata"].get("name").is_none(), "names are the controller's choice");
}

#[test]
fn the_template_is_prepared_as_a_pod_is() {
    let sent = sent();
    let spec = &sent["spec"]["template"]["spec"];
    let (side, target, other) = (&spec["initContainers"][0], &spec["containers"][0], &spec["containers"][1]);
    assert_eq!((&target["image"], &target["args"]), (&json!("i"), &json!(["serve"])));
    assert_eq!(other["args"], json!(["pause"]));
    assert_eq!(
        (variable(side, "AGNHOST_CONTROL"), variable(target, "AGNHOST_CONTROL")),
        ("7072".into(), "7073".into())
    );
    assert!(variable(target, "AGNHOST_PLAN").contains("http://10.9.8.7:80/"));
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
    assert_eq!(target["securityContext"]["capabilities"], json!({ "drop": ["ALL"] }));
}

#[test]
fn a_selector_of_ones_own_is_kept() {
    let mut case = case();
    let own = json!({ "matchLabels": { "app": "x" } });
    case.workloads.get_mut("web").unwrap().workload["spec"]["selector"] = own.clone();
    let sent = workload(&case, "web", &case.workloads["web"], &setting());
    assert_eq!(sent["spec"]["selector"], own);
}

#[test]
fn a_target_keeps_arguments_that_begin_with_serve() {
    let args = |own: &str| {
        let text = TEXT.replace("name: target }", &format!("name: target, args: {own} }}"));
        let case = Case::read("a.yaml", &text).unwrap().remove(0);
        let sent = workload(&case, "web", &case.workloads["web"], &setting());
        sent["spec"]["template"]["spec"]["containers"][0]["args"].clone()
    };
    assert_eq!(args("[serve, --journal, /probity/here]"), json!(["serve", "--journal", "/probity/here"]));
    assert_eq!(args("[pause]"), json!(["serve"]));
}

#[test]
fn an_update_changes_the_plans_where_they_stand_and_nothing_else() {
    let case = case();
    let Step::Update(of) = &case.steps[0] else { panic!("{:?}", case.steps) };
    let patch = update(&case, &case.workloads["web"], of, &setting());
    let spec = patch["spec"]["template"]["spec"].as_object().unwrap();
    assert_eq!((spec.len(), &spec["initContainers"][0]["name"]), (2, &json!("side")));
    let target = &spec["containers"][0];
    assert_eq!((&target["name"], target.as_object().unwrap().len()), (&json!("target"), 2));
    assert_eq!(variable(target, "AGNHOST_PLAN"), serde_json::to_string(&Plan::default()).unwrap());
}

#[test]
fn a_new_plan_joins_the_patch_of_its_container() {
    let case = case();
    let patch = json!({ "spec": { "replicas": 3, "template": { "spec": { "containers": [
        { "name": "other", "image": "o" }, { "name": "target", "readinessProbe": null },
    ] } } } });
    let target = [("target".to_owned(), Plan::default())].into();
    let of = UpdateStep { workload: "web".to_owned(), target, patch: Some(patch) };
    let patch = update(&case, &case.workloads["web"], &of, &setting());
    let containers = patch["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    assert_eq!((containers.len(), &patch["spec"]["replicas"]), (2, &json!(3)));
    assert!(containers[0].get("env").is_none() && containers[1]["readinessProbe"].is_null());
    assert!(!variable(&containers[1], "AGNHOST_PLAN").is_empty());
}

const WIDE: &str = "\
case: a/b
story: because
needs: [cluster-scope]
objects:
  - { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: { name: low }, value: -10 }
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: words }, data: { a: b } }
workloads:
  job:
    workload:
      kind: Job
      spec:
        parallelism: 3
        completions: 2
        template:
          spec:
            restartPolicy: Never
            priorityClassName: '{object:low}'
            containers: [{ name: target, envFrom: [{ configMapRef: { name: '{object:words}' } }] }]
    target: { target: {} }
  everywhere: { workload: { kind: DaemonSet, spec: { template: { spec: { containers: [{ name: c }] } } } } }
";

#[test]
fn an_object_of_the_whole_cluster_has_the_name_of_its_run_and_no_namespace() {
    let case = Case::read("a.yaml", WIDE).unwrap().remove(0);
    let class = object(&case, &case.objects[0], &setting());
    assert_eq!(class["metadata"]["name"], "r-a-b-low");
    assert!(class["metadata"].get("namespace").is_none());
    assert_eq!(
        (&class["metadata"]["labels"][RUN], &class["metadata"]["labels"][NAMESPACE]),
        (&json!("r"), &json!("n"))
    );
    let map = object(&case, &case.objects[1], &setting());
    assert_eq!((&map["metadata"]["name"], &map["metadata"]["namespace"]), (&json!("a-b-words"), &json!("n")));
}

#[test]
fn placeholders_are_the_real_names_of_objects() {
    let case = Case::read("a.yaml", WIDE).unwrap().remove(0);
    let job = workload(&case, "job", &case.workloads["job"], &setting());
    let spec = &job["spec"]["template"]["spec"];
    assert_eq!(spec["priorityClassName"], "r-a-b-low");
    assert_eq!(spec["containers"][0]["envFrom"][0]["configMapRef"]["name"], "a-b-words");
}

#[test]
fn a_job_has_a_selector_of_its_own_and_its_pods_are_targets() {
    let case = Case::read("a.yaml", WIDE).unwrap().remove(0);
    let job = workload(&case, "job", &case.workloads["job"], &setting());
    assert_eq!((&job["apiVersion"], &job["kind"]), (&json!("batch/v1"), &json!("Job")));
    assert!(job["spec"].get("selector").is_none());
    assert_eq!(job["spec"]["template"]["metadata"]["labels"][POD], "job");
    assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["args"], json!(["serve"]));
    assert_eq!(case.workloads["job"].replicas(), 2, "as many as there are to complete");
    let set = workload(&case, "everywhere", &case.workloads["everywhere"], &setting());
    assert_eq!(
        (&set["apiVersion"], &set["spec"]["selector"]["matchLabels"][POD]),
        (&json!("apps/v1"), &json!("everywhere"))
    );
    let wrong = Case::read("a.yaml", &WIDE.replace("restartPolicy: Never", "restartPolicy: Always"))
        .unwrap_err()
        .line();
    assert!(wrong.contains("the pods of a Job need `restartPolicy: Never`"), "{wrong}");
}
