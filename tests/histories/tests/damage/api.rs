//! Damages that turn the API server's answers to manifests and patches into their opposite.

use probity_model::history::{Deed, Did, Happening, Tried};
use probity_model::{History, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::{Damage, doubted, violated};

pub(crate) const ALL: &[Damage] =
    &[
        violated("a probe with no handler, or several, is taken", &["probe.handler.exactly-one"], |run| {
            taken(run, "handler type")
        }),
        violated("a port beyond the range is taken", &["probe.http.port-number-range"], |run| {
            taken(run, "httpGet.port: Invalid value")
        }),
        violated("an unknown scheme is taken", &["probe.http.default-scheme"], |run| {
            taken(run, "scheme: Unsupported value")
        }),
        violated("a header's name with a space is taken", &["probe.http.header-name-validation"], |run| {
            taken(run, "httpHeaders")
        }),
        violated("a gRPC probe without a port is taken", &["probe.grpc.port-required"], |run| {
            taken(run, "grpc.port")
        }),
        violated("a gRPC probe with a host is taken", &["probe.grpc.no-host"], |run| taken(run, "grpc.host")),
        violated("a command of no words is taken", &["validation.exec-command-required"], |run| {
            taken(run, "exec.command: Required")
        }),
        violated("a sleep beyond the grace period is taken", &["validation.prestop-sleep-range"], |run| {
            taken(run, "preStop.sleep")
        }),
        violated("a wrong probe in a template is taken", &["validation.template-level"], |run| {
            taken(run, "spec.template.spec")
        }),
        violated(
            "two successes of a liveness probe are taken",
            &["probe.success-threshold.liveness-startup-must-be-1"],
            |run| taken(run, "successThreshold: Invalid value: 2"),
        ),
        violated("a grace period of a readiness probe is taken", &["probe.tgps.readiness-refused"], |run| {
            taken(run, "must not be set for readinessProbes")
        }),
        violated("a negative number is taken", &["probe.config.minimums"], |run| {
            taken(run, "Invalid value: -1: must be greater")
        }),
        violated("a single handler is refused", &["probe.handler.exactly-one"], |run| {
            refused(run, "Probe", |_| "handler type")
        }),
        violated("the greatest port is refused", &["probe.http.port-number-range"], |run| {
            refused(run, "65535", |handler| {
                if handler == "httpGet" { "httpGet.port: Invalid value: 65535" } else { "" }
            })
        }),
        violated("the greatest port of gRPC is refused", &["probe.grpc.port-required"], |run| {
            refused(
                run,
                "65535",
                |handler| if handler == "grpc" { "grpc.port: Invalid value: 65535" } else { "" },
            )
        }),
        violated("HTTPS is refused", &["probe.http.default-scheme"], |run| {
            refused(run, "HTTPS", |_| "httpGet.scheme: Unsupported value")
        }),
        violated(
            "a header's name of letters and dashes is refused",
            &["probe.http.header-name-validation"],
            |run| refused(run, "httpHeaders", |_| "httpGet.httpHeaders: Invalid value"),
        ),
        violated("a command is refused", &["validation.exec-command-required"], |run| {
            refused(run, "\"command\":[\"/x\"]", |_| "exec.command: Required value")
        }),
        violated(
            "two successes of a readiness probe are refused",
            &["probe.success-threshold.liveness-startup-must-be-1"],
            |run| refused(run, "\"successThreshold\":2", |_| "successThreshold: Invalid value: 2"),
        ),
        doubted(
            "a refusal speaks of something else",
            &[
                "probe.handler.exactly-one",
                "probe.http.port-number-range",
                "probe.config.minimums",
                "validation.exec-command-required",
            ],
            other_words,
        ),
        violated("a 0 is replaced by another default", &["probe.config.minimums"], other_default),
        violated("a patch that changes a probe is taken", &["probe.config.immutable"], patched),
    ];

/// Changes the first dry run of some kind.
fn tried(
    run: &Timeline<'_>,
    which: impl Fn(&Tried) -> bool,
    change: impl FnOnce(&mut Tried),
) -> Option<History> {
    let (id, _) = run.tried.iter().find(|(_, tried)| which(tried))?;
    let copy = Copy::of(run).event(*id, |event| {
        if let Happening::Deed(Deed { did: Did::Tried(tried), .. }) = &mut event.what {
            change(tried);
        }
    });
    copy.done()
}

/// A manifest that was rejected with these words is accepted.
fn taken(run: &Timeline<'_>, refusal: &str) -> Option<History> {
    let of = |tried: &Tried| tried.code >= 400 && tried.message.contains(refusal);
    tried(run, of, |tried| {
        tried.code = 201;
        tried.message.clear();
        tried.stored = tried.manifest.clone();
    })
}

/// A manifest that contains these words and was accepted is rejected because of a field in its probe.
fn refused(run: &Timeline<'_>, words: &str, why: fn(&str) -> &'static str) -> Option<History> {
    let place = |tried: &Tried| {
        let container = tried.manifest.pointer("/spec/containers/0")?;
        let fits = tried.code < 300 && container.to_string().contains(words);
        let (probe, handler) = handler(container).filter(|_| fits)?;
        let why = why(&handler);
        (!why.is_empty()).then(|| format!("spec.containers[0].{probe}.{why}"))
    };
    tried(
        run,
        |tried| place(tried).is_some(),
        |tried| {
            tried.message = format!(
                "the API server answered 422 Invalid: Pod is invalid: {}",
                place(tried).unwrap_or_default()
            );
            tried.code = 422;
            tried.stored = Value::Null;
        },
    )
}

/// The first probe of a container, and its first handler.
fn handler(container: &Value) -> Option<(String, String)> {
    let (probe, spec) = container.as_object()?.iter().find(|(name, _)| name.ends_with("Probe"))?;
    let handlers = ["exec", "grpc", "httpGet", "tcpSocket"];
    let handler = handlers.into_iter().find(|handler| spec.get(handler).is_some())?;
    Some((probe.clone(), handler.to_owned()))
}

fn other_words(run: &Timeline<'_>) -> Option<History> {
    let refused = |tried: &Tried| tried.code == 422;
    tried(run, refused, |tried| {
        "the API server answered 422 Invalid: Pod is invalid: spec.volumes: Required value"
            .clone_into(&mut tried.message);
    })
}

fn other_default(run: &Timeline<'_>) -> Option<History> {
    let zero = |tried: &Tried| tried.code < 300 && zero(&tried.manifest).is_some();
    tried(run, zero, |tried| {
        let path = self::zero(&tried.manifest).unwrap_or_default();
        if let Some(stored) = tried.stored.pointer_mut(&path) {
            *stored = json!(7);
        }
    })
}

/// The place of a field that is 0 in the first probe of a manifest, which stands for its default.
fn zero(manifest: &Value) -> Option<String> {
    let container = manifest.pointer("/spec/containers/0")?;
    let (probe, _) = handler(container)?;
    let fields = ["periodSeconds", "timeoutSeconds", "failureThreshold", "successThreshold"];
    let field = fields.into_iter().find(|field| container[&probe][*field] == json!(0))?;
    Some(format!("/spec/containers/0/{probe}/{field}"))
}

/// A patch of a pod that was rejected is accepted.
fn patched(run: &Timeline<'_>) -> Option<History> {
    let refused =
        |did: &Did| matches!(did, Did::Failed { why, .. } if why.contains("pod updates may not change"));
    let (id, _) = run.deeds.iter().find(|(_, deed)| refused(&deed.did))?;
    let (pod, container) = run.containers().next()?;
    let patch = json!({ "spec": { "containers": [{ "name": container.name, "livenessProbe": { "periodSeconds": 5 } }] } });
    let copy = Copy::of(run).event(*id, |event| {
        if let Happening::Deed(deed) = &mut event.what {
            deed.did = Did::Patched {
                kind: "Pod".to_owned(),
                name: pod.name.clone(),
                patch,
                subresource: String::new(),
            };
        }
    });
    copy.done()
}
