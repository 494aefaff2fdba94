#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

use probity_script::Plan;

use super::*;

fn problem(text: &str) -> Problem {
    match read::<Plan>("plan", "plan", text) {
        Ok(plan) => panic!("read as {plan:?}:\n{text}"),
        Err(problem) => *problem,
    }
}

/// A plan with one HTTP listener whose only path has this script.
fn path(script: &str) -> String {
    format!("listeners:\n  http:\n    port: 8080\n    paths:\n      /a: {script}\n")
}

/// Wrong text, the place of the mistake, what is written there, a part of the sentence, and the closest valid word.
type Wrong = (&'static str, (usize, usize), &'static str, &'static str, Option<&'static str>);

/// Each entry is checked completely: the text at line and column must be the mistake itself.
const WRONG: &[Wrong] = &[
    ("sed: 1", (1, 1), "sed", "no setting `sed`", Some("seed")),
    ("seed: 1\nlistners: {}", (2, 1), "listners", "no setting `listners`", Some("listeners")),
    ("listeners:\n  http:\n    prt: 80", (3, 5), "prt", "no setting `prt`", Some("port")),
    ("listeners: { a: { port: 1, protocol: htp } }", (1, 38), "htp", "not one of the words", Some("http")),
    ("listeners: { a: { port: eighty } }", (1, 25), "eighty", "whole number from 0 to 65535", None),
    ("listeners: { a: { port: -1 } }", (1, 25), "-1", "whole number from 0 to 65535", None),
    ("listeners: { a: { port: 70000 } }", (1, 25), "70000", "whole number from 0 to 65535", None),
    ("listeners: { a: { bind: 127.0.0.1 } }", (1, 19), "bind", "`port` is missing", None),
    ("listeners: { a: { port: 1, bind: here } }", (1, 34), "here", "invalid IP address", None),
    ("listeners: { a: { port: 1, listen: opn } }", (1, 36), "opn", "not one of the words", Some("open")),
    (
        "listeners: { a: { port: 1, connections: holt } }",
        (1, 41),
        "holt",
        "not one of the words",
        Some("hold"),
    ),
    (
        "listeners: { a: { port: 1, tls: { certificate: expird } } }",
        (1, 48),
        "expird",
        "not one",
        Some("expired"),
    ),
    ("listeners: { a: { port: 1, tls: { alnp: [h2] } } }", (1, 35), "alnp", "no setting", Some("alpn")),
    ("listeners: { a: { port: 1, workers: { cuont: 1 } } }", (1, 39), "cuont", "no setting", Some("count")),
    ("listeners: { my_web: { port: 1 } }", (1, 14), "my_web", "is not a valid listener name", None),
    ("listeners:\n  a: { port: 80 }\n  b: { port: 80 }", (3, 14), "80", "both use port 80", None),
    (
        "listeners:\n  g:\n    port: 1\n    protocol: grpc\n    paths:\n      /a: 200",
        (5, 5),
        "paths",
        "paths belong to protocol http, but this listener speaks grpc",
        None,
    ),
    (
        "listeners: { g: { port: 1, protocol: grpc, services: { live: servng } } }",
        (1, 62),
        "servng",
        "not one",
        Some("serving"),
    ),
    ("process: { on-stop: ignor }", (1, 21), "ignor", "not one of the words", Some("ignore")),
    ("process: { on-stop: { aftr: 3s } }", (1, 23), "aftr", "no setting", Some("after")),
    ("process: { consume: [{ memry: { bytes: 1 } }] }", (1, 24), "memry", "not one", Some("memory")),
    ("process: { exit: [{ after: 5s, code: 300 }] }", (1, 38), "300", "whole number from 0 to 255", None),
    ("process: { dump: yes }", (1, 18), "yes", "neither true nor false", None),
    ("process: { require-env: HOME }", (1, 25), "HOME", "a list", None),
    ("exec: { live: 300 }", (1, 15), "300", "an exit status must be between 0 and 255", None),
    ("exec: { live: { slep: 3s } }", (1, 17), "slep", "no setting", Some("sleep")),
    ("seed: 1\nseed: 2", (2, 1), "seed", "given twice", None),
    ("seed: 1\n---\nseed: 2", (3, 1), "s", "a file contains one plan", None),
    ("just words", (1, 1), "just words", "a map of settings", None),
    ("- a\n- b", (1, 1), "-", "a map of settings", None),
    ("listeners:\n\ta: 1", (2, 2), "a", "tabs", None),
    ("listeners: { a: *base }", (1, 17), "*", "an anchor that does not exist", None),
    ("listeners: { a: !web { port: 1 } }", (1, 22), "{", "tags such as", None),
    (
        "{\"seed\": 1,\n \"listeners\": {\"a\": {\"port\": 80,, }}}",
        (2, 33),
        ",",
        "neither YAML nor JSON",
        None,
    ),
];

#[test]
fn every_mistake_is_named_where_it_stands() {
    for (text, (line, column), written, sentence, nearest) in WRONG {
        let problem = problem(text);
        let place = problem.place.unwrap();
        assert_eq!((place.line, place.column), (*line, *column), "{text}\n{problem}");
        let seen = written_at(text, Place { width: written.chars().count(), ..place });
        assert_eq!(seen, *written, "{text}\n{problem}");
        assert!(problem.sentence.contains(sentence), "{text}\n{problem}");
        assert_eq!(problem.nearest.as_deref(), *nearest, "{text}\n{problem}");
    }
}

/// The same for scripts of an HTTP path: wrong script, what is written at the place, a part of the sentence, and the
/// closest valid word.
const SCRIPTS: &[(&str, &str, &str, Option<&str>)] = &[
    ("hnag", "hnag", "not one of the words", Some("hang")),
    ("\n        hnag", "hnag", "not one of the words", Some("hang")),
    ("-5", "-5", "integer `-5` does not fit", None),
    ("true", "true", "boolean `true` does not fit", None),
    ("600", "600", "between 200 and 599", None),
    ("", "/a", "an empty value does not fit", None),
    ("[]", "[", "at least one step", None),
    ("{ statsu: 200 }", "statsu", "no setting", Some("status")),
    ("{ status: 200, status: 503 }", "status: 503", "given twice", None),
    ("{ delay: 2 parsecs }", "2 parsecs", "not a span of time", None),
    ("{ delay: 12 }", "12", "not a span of time", None),
    ("{ body: { byts: 10 } }", "byts", "not one", Some("bytes")),
    ("{ framing: chunkd }", "chunkd", "not one", Some("chunked")),
    ("{ redirect: { hops: endles } }", "endles", "not one", Some("endless")),
    ("{ redirect: { hops: -3 } }", "-3", "integer `-3` does not fit", None),
    ("{ stall-after: 3, close-after: 5 }", "/a", "cannot be combined", None),
    ("{ depends-on: { urll: x } }", "urll", "no setting", Some("url")),
    ("[{ answr: 503, for: 3s }, { answer: 200 }]", "answr", "no setting", Some("answer")),
    ("[{ for: 3s }, { answer: 200 }]", "for", "`answer` is missing", None),
    ("[503, { answer: 200 }]", "503", "a map of settings", None),
    ("[{ answer: hnag, for: 3s }, { answer: 200 }]", "hnag", "not one", Some("hang")),
    ("[{ answer: { status: 600 }, for: 3s }, { answer: 200 }]", "600", "between 200 and 599", None),
    ("[{ answer: 503, for: 3s }]", "{ answer: 503, for", "end the script", None),
    ("[{ answer: 500, times: 1 }, { answer: 503, for: 3s }]", "{ answer: 503", "end the script", None),
    ("[{ answer: 200 }, { answer: 503 }]", "{ answer: 200", "step 1 always answers", None),
    ("[{ answer: 1, for: 3s }, { answer: 200 }]", "1", "between 200 and 599", None),
    ("[{ answer: 503, for: 3s }, { answer: 500, times: 2 }, { answer: 200 }]", "2", "not both", None),
    ("[{ answer: 503, for: 0s }, { answer: 200 }]", "0s", "has no duration", None),
    ("[{ answer: 503, times: 0 }, { answer: 200 }]", "0", "does not answer any probe", None),
    ("[{ answer: 503, times: -2 }, { answer: 200 }]", "-2", "whole number from 0", None),
    ("[{ answer: 503, when: { chance: 2 } }, { answer: 200 }]", "2", "must be between 0 and 1", None),
    ("[{ answer: 503, when: { prob: 1 } }, { answer: 200 }]", "prob", "no setting", Some("probe")),
    ("[{ answer: 503, when: { probe: 6-4 } }, { answer: 200 }]", "6-4", "ends before it starts", None),
    (
        "[{ answer: 503, when: { elapsed: 9s..3s } }, { answer: 200 }]",
        "9s..3s",
        "ends before it starts",
        None,
    ),
];

#[test]
fn mistakes_inside_scripts_are_named_where_they_stand() {
    for (script, written, sentence, nearest) in SCRIPTS {
        let text = path(script);
        let problem = problem(&text);
        let seen = written_at(&text, Place { width: written.chars().count(), ..problem.place.unwrap() });
        assert_eq!(seen, *written, "{text}\n{problem}");
        assert!(problem.sentence.contains(sentence), "{text}\n{problem}");
        assert_eq!(problem.nearest.as_deref(), *nearest, "{text}\n{problem}");
    }
}

#[test]
fn a_message_is_complete() {
    let text = "# ready after a while\nlisteners:\n  http:\n    port: 8080\n    paths:\n      /ready:\n        - answer: hnag\n          for: 12s\n        - answer: 200\n";
    let shown = "plan, line 7, column 19: `hnag` is not one of the words allowed here; did you mean `hang`?\n  |\n\
                 7 |         - answer: hnag\n  |                   ^^^^\n\
                 allowed here: hang, close, reset, garbage, a status number, settings such as { status: 503, delay: 2s }";
    assert_eq!(problem(text).to_string(), shown);
}

#[test]
fn a_template_that_was_not_rendered_is_recognized() {
    for text in [
        "seed: {{ .Values.seed }}\n",
        "{{- if .Values.seed }}\nseed: 1\n{{- end }}\n",
        "seed: 1\n{{ toYaml .Values.listeners }}\n",
        "listeners: { \"{{ .Release.Name }}\": { port: 1 } }\n",
    ] {
        let said = problem(text).to_string();
        assert!(said.contains("this looks like a template: render it first"), "{text}{said}");
    }
    let said = problem("# like {{ this }}\nsed: 1\n").to_string();
    assert!(!said.contains("template"), "only the line of the problem counts: {said}");
}

#[test]
fn an_empty_document_is_refused_and_an_empty_plan_is_not() {
    for text in ["", "  \n\n", "# nothing\n", "---\n...\n"] {
        assert!(problem(text).sentence.contains("the plan is empty"), "{text:?}");
    }
    assert_eq!(read::<Plan>("plan", "plan", "{}").unwrap(), Plan::default());
}

#[test]
fn documents_that_cost_more_than_a_plan_are_refused_quickly() {
    let laughs = |width: usize, levels: usize| {
        let mut text = "process:\n  require-env: &l0 [lol]\n".to_owned();
        for level in 1..levels {
            let before = vec![format!("*l{}", level - 1); width].join(", ");
            text.push_str(&format!("x{level}: &l{level} [{before}]\n"));
        }
        text
    };
    let block: String = (0..500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let began = std::time::Instant::now();
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), block, laughs(10, 10), "a".repeat(LARGEST + 1)]
    {
        problem(&text);
        assert!(Outline::of(&text).is_none(), "the outline has the same bounds");
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_misfit_stands_at_the_part_that_does_not_fit() {
    let text = "listeners:\n  a:\n    services: { x: serving }\n";
    let problem = misfit("change", text, "services belong elsewhere (at /listeners/a/services)");
    assert_eq!(problem.line(), "change, line 3, column 5: services belong elsewhere");
}

#[test]
fn a_misfit_of_a_key_stands_at_the_key_and_not_at_its_value() {
    let text = "exec: { live: 1, lists: [7] }\n";
    let place = |path: &str| {
        let place = misfit("plan", text, &format!("no (at {path})")).place.unwrap();
        (place.column, place.width)
    };
    assert_eq!((place("/exec/live"), place("/exec/live/@key")), ((15, 1), (9, 4)));
    assert_eq!((place("/exec/lists"), place("/exec/lists/@key")), ((18, 5), (18, 5)));
    assert_eq!(place("/exec/lists/0/@key"), (26, 1), "an element has no key");
}
