//! The results, as Markdown: the aims first, then each measure with its method and its figures. Pure.

use std::fmt::Write as _;

use crate::stats::Series;

/// One measure.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// The method of the measure, in a few sentences.
    pub method: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Its results for the aims.
    pub findings: Vec<Finding>,
}

/// An aim and its result.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The aim.
    pub aim: String,
    /// The measured result.
    pub measured: String,
    /// Whether the aim is met; `None` if it could not be measured.
    pub met: Option<bool>,
}

impl Finding {
    /// A finding about a figure.
    pub fn new(aim: impl Into<String>, measured: impl Into<String>, met: bool) -> Self {
        Self { aim: aim.into(), measured: measured.into(), met: Some(met) }
    }

    /// A finding about a figure that has its own noise. If the noise is larger than the figure, nothing was measured.
    pub fn of(
        aim: impl Into<String>,
        figure: &Series,
        measured: impl Into<String>,
        met: impl Fn(f64) -> bool,
    ) -> Self {
        let met = figure.is_measured().then(|| met(figure.median()));
        Self { aim: aim.into(), measured: measured.into(), met }
    }

    /// An aim that could not be checked, and why.
    pub fn unmeasured(aim: impl Into<String>, why: impl Into<String>) -> Self {
        Self { aim: aim.into(), measured: why.into(), met: None }
    }
}

/// Circumstances of the run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub machine: Vec<String>,
    /// Load averages at the beginning and at the end.
    pub load: [String; 2],
    /// The number of rounds in which the programs took turns.
    pub rounds: usize,
    /// The version of agnhost's module.
    pub agnhost: String,
    /// How much a figure of the bare server varied, as a fraction of its median.
    pub noise: f64,
}

/// The whole page.
#[must_use]
pub fn page(setting: &Setting, sections: &[Section]) -> String {
    let mut page = String::from(
        "# Benchmarks of the target\n\nWritten by `ci/bench target`; do not edit. The absolute figures depend on the \
         machine below. Compare the\nratios: the programs took turns on the same machine in one run. Figures are \
         medians, with the smallest and the\nlargest in parentheses. Ratios are calculated for each pair of programs \
         in each round. A figure whose noise (the\ndistance from the smallest to the largest) is larger than the \
         figure itself is shown as\nnot measured.\n\n",
    );
    for line in &setting.machine {
        line_to(&mut page, format_args!("- {line}"));
    }
    line_to(&mut page, format_args!("- load averages {} before, {} after", setting.load[0], setting.load[1]));
    line_to(
        &mut page,
        format_args!("- {} rounds; agnhost of Kubernetes {}", setting.rounds, setting.agnhost),
    );
    line_to(
        &mut page,
        format_args!(
            "- noise: requests per second of the bare server varied by {:.0}% of their median",
            setting.noise * 100.0
        ),
    );
    self::sections(&mut page, sections);
    page
}

/// Adds the aims, and then the sections.
pub fn sections(page: &mut String, sections: &[Section]) {
    line_to(page, format_args!("\n## Aims\n"));
    table(page, &["aim", "measured", "met"].map(str::to_owned), &aims(sections));
    for section in sections {
        line_to(page, format_args!("\n## {}\n\n{}\n", section.title, section.method));
        table(page, &section.columns, &section.rows);
    }
}

fn aims(sections: &[Section]) -> Vec<Vec<String>> {
    let word = |met: Option<bool>| met.map_or("not measured", |met| if met { "yes" } else { "**no**" });
    let row =
        |finding: &Finding| vec![finding.aim.clone(), finding.measured.clone(), word(finding.met).to_owned()];
    sections.iter().flat_map(|section| section.findings.iter().map(row)).collect()
}

fn table(page: &mut String, columns: &[String], rows: &[Vec<String>]) {
    line_to(page, format_args!("| {} |", columns.join(" | ")));
    line_to(page, format_args!("|{}", " --- |".repeat(columns.len())));
    for row in rows {
        line_to(page, format_args!("| {} |", row.join(" | ")));
    }
}

fn line_to(page: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = writeln!(page, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_only_noise_meets_no_aim() {
        let finding = |values: [f64; 2]| {
            Finding::of("small", &values.into_iter().collect(), "", |value| value < 9.0).met
        };
        assert_eq!(
            [finding([1.0, 1.2]), finding([9.5, 9.9]), finding([-1.0, 2.0])],
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn aims_stand_first_and_what_was_not_measured_is_not_met() {
        let findings = vec![Finding::new("small", "1 MB", true), Finding::unmeasured("fast", "no clock")];
        let section = Section { title: "Size", findings, ..Section::default() };
        let load = ["1".to_owned(), "2".to_owned()];
        let setting = Setting { machine: vec![], load, rounds: 1, agnhost: "v1".to_owned(), noise: 0.1 };
        let page = page(&setting, &[section]);
        assert!(
            page.contains("| small | 1 MB | yes |") && page.contains("| fast | no clock | not measured |")
        );
        assert!(page.find("## Aims") < page.find("## Size"));
    }
}
