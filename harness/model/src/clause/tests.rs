#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn clause(more: &str) -> Result<Clause, String> {
    let text =
        format!("- {{ id: a.b, says: x, tested: y, source: {{ document: d, edition: '1' }}, {more} }}");
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("clauses", &text).map_err(|problem| problem.to_string())?;
    Ok(catalogue.iter().next().unwrap().clone())
}

#[test]
fn advice_needs_no_reason_for_what_it_cannot_have() {
    assert!(clause("level: advice, untestable: z").is_ok());
    let refused = clause("level: advice, untestable: z, without-case: w").unwrap_err();
    assert!(refused.contains("`untestable` is enough"), "{refused}");
    assert!(clause("level: must, without-case: w, without-defect: v").is_ok());
}

#[test]
fn a_kubelet_older_than_the_catalogued_behavior_is_not_excused() {
    let known = clause("level: must, actual: otherwise, actual-since: '1.35'").unwrap();
    let excused = |version| known.excuses(version);
    assert!(excused("v1.35.4") && excused("v1.36.0+vendor") && !excused("v1.34.9"));
    assert!(excused(""), "if the version is unknown, the behavior is excused");
    assert!(clause("level: must, actual: otherwise").unwrap().excuses("v1.20.0"));
    let refused = clause("level: must, actual-since: '1.35'").unwrap_err();
    assert!(refused.contains("`actual-since` needs `actual`"), "{refused}");
}

#[test]
fn only_settings_that_the_harness_reads_can_matter() {
    assert!(clause("level: must, unless-configured: [syncFrequency]").is_ok());
    let refused = clause("level: must, unless-configured: [syncfrequency]").unwrap_err();
    assert!(refused.contains("`syncfrequency` is not a known setting"), "{refused}");
}

#[test]
fn a_kubelet_that_has_the_fix_is_not_excused() {
    let more = "level: must, actual: otherwise, actual-since: '1.35', actual-until: ['1.36.4', '1.37.0']";
    let known = clause(more).unwrap();
    let excused = |version| known.excuses(version);
    assert!(excused("v1.35.9") && excused("v1.36.3") && excused("v1.36.3-vendor.1"));
    assert!(!excused("v1.36.4") && !excused("v1.36.12") && !excused("v1.37.0") && !excused("v1.38.1"));
}

#[test]
fn a_facet_that_nothing_can_show_is_refused() {
    assert!(clause("level: must, facets: { probe: [liveness], status: ['204'] }").is_ok());
    let refused = clause("level: must, facets: { probe: [lively] }").unwrap_err();
    assert!(refused.contains("`probe` has no value `lively`"), "{refused}");
    let since = |facet: &str| {
        clause(&format!("level: must, facets: {{ status: ['204'] }}, facets-since: {{ {facet} }}"))
    };
    assert!(since("status: { '204': '1.34' }").is_ok());
    let refused = since("status: { '299': '1.34' }").unwrap_err();
    assert!(refused.contains("`status 299` is not one of the facets"), "{refused}");
}

#[test]
fn versions_are_told_where_there_are_bounds() {
    let versions = |more: &str| clause(&format!("level: must{more}")).unwrap().versions();
    assert_eq!(versions(""), None);
    assert_eq!(versions(", since: '1.20'").unwrap(), "1.20 or later");
    assert_eq!(versions(", until: '1.30'").unwrap(), "1.30 or earlier");
    assert_eq!(versions(", since: '1.20', until: '1.30'").unwrap(), "1.20 to 1.30");
}
