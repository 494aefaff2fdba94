//! The results, as Markdown: the aims first, then each command with its costs and ratios. Pure.

use super::child::Cost;
use super::sizes::{Measured, Sized};
use crate::report::{Finding, Section, sections};
use crate::stats::plain;

/// The most by which the CPU time of one item may grow from one size to the next one, which is ten times as large.
const LINEAR: f64 = 1.3;
/// The most by which the memory of a command may grow, if its result does not.
const BOUNDED: f64 = 1.5;
/// The least share of the processors that a command with much to judge must use.
const BUSY: f64 = 0.8;
/// The commands that judge, and so must use all processors.
const JUDGING: [&str; 2] = ["judge FOLDER/history", "judge FOLDER"];

/// The whole page.
#[must_use]
pub fn page(measured: &[Measured], load: &[String; 2]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut page = String::from(
        "# Benchmarks of the harness\n\nWritten by `ci/bench harness`; do not edit. The absolute figures depend on the \
         machine below. Compare the\nratios. The histories are copies of those in `tests/histories`. Each command ran \
         once with one processor and\nonce with all. Peak memory includes shared pages.\n\n",
    );
    for line in crate::meters::machine() {
        page += &format!("- {line}\n");
    }
    page += &format!("- load averages {} before, {} after\n", load[0], load[1]);
    let all: Vec<Section> = measured.iter().map(|one| section(one, cores)).collect();
    sections(&mut page, &all);
    page
}

fn section(measured: &Measured, cores: usize) -> Section {
    let columns =
        ["", "wall", "CPU", "peak memory", "wall, one processor", "CPU each", "memory, × the row above"];
    let mut columns: Vec<String> = columns.map(str::to_owned).to_vec();
    columns[0] = measured.of.to_owned();
    let before = std::iter::once(None).chain(measured.sizes.iter().map(Some));
    let rows = measured.sizes.iter().zip(before).map(|(of, before)| row(of, before)).collect();
    let method = format!(
        "`probity {}`{}.",
        measured.command,
        if measured.grows {
            "; its result has all the judgements of each case, or a cell for each report, and grows with the input"
        } else {
            ""
        }
    );
    Section { title: measured.command, method, columns, rows, findings: findings(measured, cores) }
}

fn row(of: &Sized, before: Option<&Sized>) -> Vec<String> {
    let Cost { wall, cpu, memory } = of.all;
    vec![
        of.size.to_string(),
        format!("{} s", plain(wall)),
        format!("{} s", plain(cpu)),
        format!("{} MB", plain(memory / 1e6)),
        format!("{} s", plain(of.one.wall)),
        format!("{} ms", plain(cpu / of.size as f64 * 1000.0)),
        before.map_or_else(|| "-".to_owned(), |before| plain(memory / before.all.memory)),
    ]
}

fn findings(measured: &Measured, cores: usize) -> Vec<Finding> {
    let Measured { command, of, sizes, .. } = measured;
    let mut found = Vec::new();
    for pair in sizes.windows(2) {
        let [few, many] = pair else { continue };
        let sizes = format!("{} against {} {of}", many.size, few.size);
        let each = (many.all.cpu / many.size as f64) / (few.all.cpu / few.size as f64);
        found.push(Finding::new(
            format!("`{command}`, {sizes}: at most {LINEAR} × the CPU time for each"),
            plain(each),
            each <= LINEAR,
        ));
        if !measured.grows {
            let memory = many.all.memory / few.all.memory;
            found.push(Finding::new(
                format!("`{command}`, {sizes}: at most {BOUNDED} × the memory"),
                plain(memory),
                memory <= BOUNDED,
            ));
        }
    }
    if let (Some(largest), true) = (sizes.last(), JUDGING.contains(command)) {
        let busy = largest.all.cpu / largest.all.wall / cores as f64;
        found.push(Finding::new(
            format!("`{command}` of {} {of}: at least {BUSY} of {cores} processors busy", largest.size),
            format!(
                "{}; {} × as fast as one processor",
                plain(busy),
                plain(largest.one.wall / largest.all.wall)
            ),
            busy >= BUSY,
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(size: usize, cpu: f64, memory: f64) -> Sized {
        let cost = Cost { wall: cpu, cpu, memory };
        Sized { size, one: cost, all: cost }
    }

    #[test]
    fn growth_is_told_as_a_ratio_and_only_bounded_commands_must_keep_their_memory() {
        let sizes = vec![sized(10, 1.0, 1e6), sized(100, 20.0, 2e6)];
        let bounded = Measured { command: "judge FOLDER", of: "histories", grows: false, sizes };
        let met: Vec<(String, Option<bool>)> =
            findings(&bounded, 1).into_iter().map(|found| (found.measured, found.met)).collect();
        let two = ("2.00".to_owned(), Some(false));
        assert_eq!(met[..2], [two.clone(), two]);
        assert_eq!(met[2].1, Some(true), "one processor is busy");
        let growing = Measured { command: "report FOLDER", grows: true, ..bounded };
        assert_eq!(findings(&growing, 1).len(), 1);
        assert!(page(&[growing], &["1".to_owned(), "2".to_owned()]).contains("| 100 | 20.0 s |"));
    }
}
