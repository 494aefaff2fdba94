//! Medians, extremes, and ratios pair by pair. Pure.

use std::fmt;

/// Several values of one figure.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<f64>);

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }
}

impl Series {
    /// The middle value, or the mean of the two middle values.
    #[must_use]
    pub fn median(&self) -> f64 {
        match self.0.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => self.0[odd / 2],
            even => f64::midpoint(self.0[even / 2 - 1], self.0[even / 2]),
        }
    }

    /// The smallest and the largest.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.0.first().copied().unwrap_or(f64::NAN), self.0.last().copied().unwrap_or(f64::NAN))
    }

    /// The width of the range as a fraction of the median: how much the machine varied.
    #[must_use]
    pub fn noise(&self) -> f64 {
        let (low, high) = self.range();
        (high - low) / self.median().abs()
    }

    /// Whether the figure says anything: its noise is not larger than itself.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.noise() <= 1.0 || self.range() == (0.0, 0.0)
    }

    /// The value at a quantile from 0 to 1.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> f64 {
        let at = (self.0.len().saturating_sub(1) as f64 * quantile).round() as usize;
        self.0.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// `median (low to high)`, with as many decimal places as the size requires. A figure whose noise is larger than itself
/// is only noise.
impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        let (low, high) = self.range();
        if !self.is_measured() {
            return write!(f, "not measured (noise: {} to {})", plain(low), plain(high));
        }
        write!(f, "{} ({} to {})", plain(self.median()), plain(low), plain(high))
    }
}

/// A number with three significant digits.
#[must_use]
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The ratios of values that were measured one after the other.
#[must_use]
pub fn ratios(above: &[f64], below: &[f64]) -> Series {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

/// The differences of values that were measured one after the other.
#[must_use]
pub fn differences(from: &[f64], take: &[f64]) -> Series {
    from.iter().zip(take).map(|(from, take)| from - take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_smaller_than_its_noise_is_not_measured() {
        let figure = |values: [f64; 3]| Series::from_iter(values).to_string();
        assert_eq!(figure([-4.0, 10.0, 7.0]), "not measured (noise: -4.00 to 10.0)");
        assert_eq!(figure([5.0, 10.0, 7.0]), "7.00 (5.00 to 10.0)");
        assert_eq!(figure([0.0; 3]), "0.00 (0.00 to 0.00)");
        assert!(!Series::default().is_measured());
    }

    #[test]
    fn the_median_is_in_the_middle_and_ratios_go_by_pairs() {
        let ratios = ratios(&[2.0, 30.0, 8.0], &[1.0, 10.0, 2.0]);
        assert_eq!((ratios.median(), ratios.range()), (3.0, (2.0, 4.0)));
        assert_eq!(Series::from_iter([1.0, 2.0]).median(), 1.5);
        assert_eq!(ratios.to_string(), "3.00 (2.00 to 4.00)");
        assert_eq!((ratios.quantile(0.0), ratios.quantile(0.5), ratios.quantile(1.0)), (2.0, 3.0, 4.0));
        assert_eq!(Series::default().to_string(), "-");
    }
}
