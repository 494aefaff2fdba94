//! A case that runs again because its first run left something undecided.

use probity_script::Span;

use crate::case::Case;
use crate::step::Step;

impl Case {
    /// The same case under another name. What must not happen is judged by the quiet part of the time in which it was
    /// watched for, so the last watch lasts twice as long: noise hid too much of the first one. No step follows it, so
    /// nothing else changes.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.name = self.name.again();
        if let Some(Step::Watch(span)) = self.steps.last_mut() {
            self.takes = self.takes.map(|takes| Span(takes.0 + span.0));
            *span = Span(span.0 * 2);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_second_try_watches_twice_as_long_at_its_end() {
        let text = "\
case: demo/a
story: A pod.
takes: 10s
pod: { spec: { containers: [{ name: target }] } }
target: { target: {} }
steps: [{ watch: 2s }, { watch: 3s }]
";
        let case = Case::read("a.yaml", text).unwrap().remove(0);
        let again = case.clone().again();
        assert_eq!(again.name, case.name.again());
        let seconds = |of: u64| Span::from_micros(of * 1_000_000);
        assert_eq!(again.steps, [Step::Watch(seconds(2)), Step::Watch(seconds(6))]);
        assert_eq!(again.takes, Some(seconds(13)));
    }
}
