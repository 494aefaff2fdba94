//! Decides which of upstream's specs run with which defects. The module is pure: it turns the tables into a list of
//! trials.

use std::collections::{BTreeMap, BTreeSet};

use probity_saboteur::{
    defect::{ContainerKind, Defect, Fault, Scope},
    table::Row,
};
use probity_suites::{Check, Upstream};

/// The folder of the specs that can test an existing cluster. The specs in `test/e2e_node` start their own kubelet.
const FOLDER: &str = "test/e2e/";

/// The file with the specs of probes.
const PROBES: &str = "test/e2e/common/node/container_probe.go";

/// The line in the file of probes at which the specs for sidecars begin. The specs before this line are for main
/// containers.
const FIRST_OF_SIDECARS: u32 = 749;

/// One of upstream's specs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spec {
    /// The file in the Kubernetes repository.
    pub(crate) file: String,
    /// The line at which it begins.
    pub(crate) line: u32,
    /// The clauses that check the same here.
    pub(crate) clauses: Vec<String>,
}

impl Spec {
    /// Its name on Ginkgo's command line.
    pub(crate) fn focus(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The specs of the table that can test an existing cluster.
pub(crate) fn specs(upstream: &Upstream) -> Vec<Spec> {
    let checks = upstream.areas.iter().flat_map(|area| &area.checks);
    let of_cluster = checks.filter(|check| check.file.starts_with(FOLDER));
    of_cluster.flat_map(of_check).collect()
}

fn of_check(check: &Check) -> impl Iterator<Item = Spec> {
    check.lines.iter().map(|line| Spec {
        file: check.file.clone(),
        line: *line,
        clauses: check.clauses.iter().map(ToString::to_string).collect(),
    })
}

/// A sample of rows, drawn at random. Only rows that need a separate node, several minutes or another runtime, and rows
/// about the controllers, are left out.
pub(crate) fn draw(rows: Vec<Row>, count: usize, seed: u64) -> Vec<Row> {
    let fits =
        |row: &Row| !row.alone && !row.slow && !row.skippable && !matches!(row.fault, Fault::Controllers(_));
    let mut drawn: Vec<Row> = rows.into_iter().filter(fits).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut drawn);
    drawn.truncate(count);
    drawn
}

/// The clauses that each defect violates, from the defects that violate each clause.
pub(crate) fn noticing<'a>(real: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut noticing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (clause, defects) in real {
        for defect in defects {
            noticing.entry(defect).or_default().insert(clause);
        }
    }
    noticing
}

/// The specs that might detect the defect of a row: the specs that check the same as a violated clause and, for a
/// defect of probes, all specs about probes of that kind of container.
pub(crate) fn relevant<'a>(row: &Row, violated: &BTreeSet<&str>, specs: &'a [Spec]) -> Vec<&'a Spec> {
    let of_probes =
        violated.iter().any(|clause| clause.starts_with("probe.") || clause.starts_with("prober."));
    let sidecar = row.on.kind == Some(ContainerKind::Sidecar);
    let may = |spec: &&Spec| {
        let same = spec.clauses.iter().any(|clause| violated.contains(clause.as_str()));
        let other_kind = spec.file == PROBES && sidecar != (spec.line >= FIRST_OF_SIDECARS);
        let probes = of_probes && spec.file == PROBES;
        (same || probes) && !other_kind
    };
    specs.iter().filter(may).collect()
}

/// The defects of a row in the namespaces of one trial. Upstream's containers have other names, so a defect of one
/// container becomes a defect of all containers.
pub(crate) fn defects(row: &Row, namespace: &str) -> Vec<Defect> {
    let in_place = |defect: Defect, name: &String| Defect {
        name: format!("{name}-{}", defect.name),
        on: Scope { namespace: name.clone(), pod: None, container: None, ..defect.on },
        ..defect
    };
    let names = namespaces(namespace);
    names
        .iter()
        .flat_map(|name| row.defects(name, "").into_iter().map(move |defect| in_place(defect, name)))
        .collect()
}

/// The names of the namespaces that a trial may create. No spec of the table creates more than two.
pub(crate) fn namespaces(name: &str) -> [String; 2] {
    [format!("{name}-1"), format!("{name}-2")]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;

    fn rows() -> Vec<Row> {
        probity_saboteur::table::read(Path::new("../saboteur/defects")).unwrap()
    }

    fn row(name: &str) -> Row {
        rows().into_iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn only_specs_that_can_test_a_running_cluster_are_in_the_plan() {
        let specs = specs(&probity_suites::upstream().unwrap());
        assert!(specs.len() > 100);
        assert!(specs.iter().all(|spec| !spec.file.contains("e2e_node")));
        let probes = specs.iter().filter(|spec| spec.file == PROBES);
        let (main, sidecars): (Vec<_>, Vec<_>) = probes.partition(|spec| spec.line < FIRST_OF_SIDECARS);
        assert_eq!(main.len(), sidecars.len());
    }

    #[test]
    fn the_same_seed_draws_the_same_rows() {
        let names = |seed| draw(rows(), 10, seed).into_iter().map(|row| row.name).collect::<Vec<_>>();
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        assert_eq!(names(7).len(), 10);
    }

    #[test]
    fn a_defect_of_probes_meets_all_specs_of_probes() {
        let specs = specs(&probity_suites::upstream().unwrap());
        let clauses = BTreeSet::from(["probe.exec.exit-zero"]);
        let found = relevant(&row("exec-zero-fails"), &clauses, &specs);
        assert!(found.iter().all(|spec| spec.file == PROBES && spec.line < FIRST_OF_SIDECARS));
        assert!(found.len() >= 20, "{found:?}");
    }

    #[test]
    fn a_defect_is_active_in_all_namespaces_of_its_trial() {
        let defects = defects(&row("exec-zero-fails"), "upstream-3");
        let places: Vec<&str> = defects.iter().map(|defect| defect.on.namespace.as_str()).collect();
        assert_eq!(places, ["upstream-3-1", "upstream-3-2"]);
        assert!(defects.iter().all(|defect| defect.on.pod.is_none() && defect.on.container.is_none()));
    }
}
