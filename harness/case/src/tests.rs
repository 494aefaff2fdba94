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
