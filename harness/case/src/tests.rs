#![expect(clippy::unwrap_used, reason = "tests")]

use super::Case;

#[test]
fn an_expectation_that_says_nothing_is_refused_with_its_place() {
    let case = |expect: &str| {
        let text = format!(
            "case: a/b\nstory: because\npod:\n  spec:\n    containers: [{{ name: target }}]\nexpect:\n  - {expect}\n"
        );
        Case::read("a.yaml", &text).map(|_| ()).map_err(|problem| problem.to_string())
    };
    assert!(case("never: restart").is_ok());
    let refused = case("always: restart").unwrap_err();
    assert!(refused.contains("an event") && refused.contains("a.yaml, line 7"), "{refused}");
    assert!(case("times: { of: restart, least: 3, most: 2 }").is_err());
    assert!(case("times: { of: restart }").is_err());
}

#[test]
fn a_finalizer_that_nobody_would_remove_is_refused_at_its_place() {
    let case = |finalizer: &str| {
        let pod = format!(
            "  metadata: {{ finalizers: [{finalizer}] }}\n  spec:\n    containers: [{{ name: target }}]\n"
        );
        let text = format!("case: a/b\nstory: because\npod:\n{pod}");
        Case::read("a.yaml", &text).map(|_| ()).map_err(|problem| problem.to_string())
    };
    assert!(case("probity.dev/held").is_ok());
    let refused = case("example.com/held").unwrap_err();
    assert!(refused.contains("example.com/held") && refused.contains("a.yaml, line 4"), "{refused}");
}

#[test]
fn a_second_run_watches_longer_at_its_end() {
    let last = |steps: &str| {
        let text = format!(
            "case: a/b\nstory: because\npod:\n  spec:\n    containers: [{{ name: target }}]\nsteps: [{steps}]\n"
        );
        let again = Case::read("a.yaml", &text).unwrap().remove(0).again();
        assert_ne!(again.name, again.name.first());
        again.steps.last().map(crate::Step::in_words)
    };
    assert_eq!(last("watch: 3s, watch: 6s").as_deref(), Some("watch for 12s"));
    assert_eq!(last("watch: 50s").as_deref(), Some("watch for 70s"), "at most twenty seconds more");
    assert_eq!(last("watch: 3s, delete: {}").as_deref(), last("delete: {}").as_deref(), "only the last step");
}
