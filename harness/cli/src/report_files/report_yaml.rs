//! `report.yaml`: the short form for publishing. Clauses that hold are only counted. All others are named.

use std::collections::BTreeMap;

use probity_report::run_log::{Leftover, Suite, Tool};
use probity_report::{ConformanceLevel, Counts, LevelReport, ProfileOutcome, Report, Word};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Short<'r> {
    api_version: &'r str,
    kind: &'r str,
    schema_version: &'r str,
    run_id: &'r str,
    date: &'r str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'r BTreeMap<String, String>,
    tool: &'r Tool,
    suite: &'r Suite,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_by: Option<&'r Suite>,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<Environment<'r>>,
    clauses: Counts,
    cases: Counts,
    profiles: Vec<Profile<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<Level<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding<'r>>,
    #[serde(skip_serializing_if = "<[Leftover]>::is_empty")]
    leftovers: &'r [Leftover],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Environment<'r> {
    server: &'r str,
    kubelets: BTreeMap<&'r str, usize>,
    image: &'r str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'r> {
    profile: probity_case::Profile,
    result: ProfileOutcome,
    why: &'r str,
    clauses: Counts,
    /// The names of the clauses that do not hold, by verdict.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    named: BTreeMap<&'r str, Vec<&'r str>>,
}

/// The certificate, without the digests of the histories and without the facts that the short form has elsewhere.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Level<'r> {
    level: ConformanceLevel,
    levels: &'r [LevelReport],
    histories: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'r> {
    clause: &'r str,
    verdict: Word,
    finding: &'r str,
}

/// The short form as YAML.
pub(super) fn yaml(report: &Report) -> Result<String, serde_saphyr::SerializeError> {
    let environment = report.environment.as_ref().map(|ground| Environment {
        server: &ground.server,
        kubelets: ground.nodes.values().fold(BTreeMap::new(), |mut known, node| {
            *known.entry(node.kubelet.as_str()).or_default() += 1;
            known
        }),
        image: &ground.image,
    });
    let profiles = report.result.profiles.iter().map(|profile| Profile {
        profile: profile.profile,
        result: profile.result,
        why: &profile.why,
        clauses: profile.counts,
        named: profile
            .clauses
            .iter()
            .filter(|(word, _)| **word != Word::Holds)
            .map(|(word, ids)| (word.as_str(), ids.iter().map(|id| id.as_str()).collect()))
            .collect(),
    });
    let findings =
        report.clauses.iter().filter(|clause| !matches!(clause.verdict, Word::Holds | Word::Skipped));
    serde_saphyr::to_string(&Short {
        api_version: &report.api_version,
        kind: &report.kind,
        schema_version: &report.schema_version,
        run_id: &report.run_id,
        date: &report.began,
        labels: &report.labels,
        tool: &report.tool,
        suite: &report.suite,
        judged_by: report.judged_by.as_ref(),
        environment,
        clauses: report.result.clauses,
        cases: report.result.cases,
        profiles: profiles.collect(),
        certificate: report.certificate.as_ref().map(|certificate| Level {
            level: certificate.level,
            levels: &certificate.levels,
            histories: certificate.histories.len(),
        }),
        findings: findings
            .map(|clause| Finding {
                clause: clause.id.as_str(),
                verdict: clause.verdict,
                finding: &clause.finding,
            })
            .collect(),
        leftovers: &report.leftovers,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::Value;

    use super::*;
    use crate::report_files::sample;

    #[test]
    fn it_reads_back_and_names_what_does_not_hold() {
        let report = sample::report();
        let read: Value = serde_saphyr::from_str(&yaml(&report).unwrap()).unwrap();
        assert_eq!(read["apiVersion"], "probity.dev/v1");
        assert_eq!(read["clauses"]["total"], 4);
        assert_eq!(read["profiles"][0]["named"]["violated"][0], sample::HOSTILE);
        assert_eq!(read["profiles"][0]["named"].get("holds"), None);
        assert_eq!(read["findings"][0]["finding"], report.clauses[1].finding);
        assert_eq!(read["environment"]["kubelets"]["v1.36.3"], 1);
    }

    #[test]
    fn a_short_report() {
        insta::assert_snapshot!(yaml(&sample::report()).unwrap());
    }

    #[test]
    fn hostile_texts_stay_texts() {
        for text in [
            "- a\nb: c",
            "yes",
            "0x1F",
            "#no",
            "a: b",
            " lead",
            "trail \n",
            "\u{1b}[31m",
            "'\"",
            "null",
            "~",
            "0198e12",
            "1_0",
            "12:30:45",
            ".inf",
            "{{a}}",
            "[a]",
            "a\r\nb",
            "\u{feff}x",
            "\u{2028}",
        ] {
            let mut report = sample::report();
            report.clauses[1].finding = text.to_owned();
            let read: Value = serde_saphyr::from_str(&yaml(&report).unwrap()).unwrap();
            assert_eq!(read["findings"][0]["finding"], text);
        }
    }
}
