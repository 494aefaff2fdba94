//! The time of the last report about each node.

use std::collections::HashMap;

/// A time that lies before every run.
const NEVER: i64 = i64::MIN / 2;

/// The times of the last reports, by node. Reports without a node concern all nodes.
#[derive(Default)]
pub(super) struct LatestByNode {
    of_node: HashMap<String, i64>,
    of_all: Option<i64>,
    newest: Option<i64>,
}

impl LatestByNode {
    /// Notes the time of a report about a node; about all nodes, if `node` is absent.
    pub(super) fn note(&mut self, node: Option<&str>, us: i64) {
        self.newest = Some(us);
        match node {
            None => self.of_all = Some(us),
            Some(node) => match self.of_node.get_mut(node) {
                Some(latest) => *latest = us,
                None => drop(self.of_node.insert(node.to_owned(), us)),
            },
        }
    }

    /// The time of the last report that concerns a node, or of the last report about any node, if `node` is absent.
    pub(super) fn of(&self, node: Option<&str>) -> i64 {
        let Some(node) = node else { return self.newest.unwrap_or(NEVER) };
        let latest = self.of_node.get(node).copied().max(self.of_all);
        latest.unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_about_a_node_concerns_no_other_node() {
        let mut latest = LatestByNode::default();
        assert_eq!((latest.of(None), latest.of(Some("n1"))), (NEVER, NEVER));
        latest.note(Some("n1"), 10);
        assert_eq!((latest.of(None), latest.of(Some("n1")), latest.of(Some("n2"))), (10, 10, NEVER));
        latest.note(None, 20);
        assert_eq!((latest.of(Some("n1")), latest.of(Some("n2"))), (20, 20));
        latest.note(Some("n2"), 30);
        assert_eq!((latest.of(None), latest.of(Some("n1"))), (30, 20));
    }
}
