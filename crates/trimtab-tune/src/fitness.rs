//! What flags are judged by: a weighted geometric mean of ratios.

use std::collections::BTreeMap;

/// What costs count for how much. What has no weight is held out: it has no part in what is found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fitness(BTreeMap<String, f64>);

impl Fitness {
    /// Of these weights, of which those above 0 count; none where there is none.
    pub fn new(weights: impl IntoIterator<Item = (String, f64)>) -> Option<Self> {
        let good = |weight: &f64| weight.is_finite() && *weight > 0.0;
        let weights: BTreeMap<_, _> =
            weights.into_iter().filter(|(_, weight)| good(weight)).collect();
        (!weights.is_empty()).then_some(Self(weights))
    }

    /// The share of something in it, 0 to 1; 0 of what is held out.
    pub fn weight(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0) / self.0.values().sum::<f64>()
    }

    /// Names of what counts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The weighted geometric mean of costs in times of those of the base: below 1 is better. None where
    /// one of them is not there, or not above 0.
    ///
    /// Source: P. J. Fleming and J. J. Wallace, "How Not to Lie with Statistics", CACM 29 (1986): ratios
    /// to a base have no other mean that does not depend on what is taken for the base.
    pub fn ratio(
        &self,
        base: &BTreeMap<String, f64>,
        costs: &BTreeMap<String, f64>,
    ) -> Option<f64> {
        let mut product = 1.0;
        for name in self.0.keys() {
            let (base, cost) = (base.get(name)?, costs.get(name)?);
            let ratio = cost / base;
            if !(ratio.is_finite() && ratio > 0.0) {
                return None;
            }
            // One alone is its ratio to the last bit.
            product *= ratio.powf(self.weight(name));
        }
        Some(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
        of.iter().map(|(name, cost)| ((*name).to_owned(), *cost)).collect()
    }

    #[test]
    fn weights_are_shares_and_what_has_none_is_held_out() {
        let weights = [("open", 3.0), ("read", 1.0), ("fork", 0.0)];
        let fitness =
            Fitness::new(weights.map(|(name, weight)| (name.to_owned(), weight))).unwrap();
        assert_eq!(fitness.names().collect::<Vec<_>>(), ["open", "read"]);
        assert_eq!((fitness.weight("open"), fitness.weight("fork")), (0.75, 0.0));
        let base = costs(&[("open", 100.0), ("read", 50.0), ("fork", 9.0)]);
        let other = costs(&[("open", 50.0), ("read", 100.0), ("fork", 900.0)]);
        // Half of the one with three quarters, twice the other with one.
        let expected = 2.0_f64.powf(-0.75 + 0.25);
        assert!((fitness.ratio(&base, &other).unwrap() - expected).abs() < 1e-12);
        assert_eq!(fitness.ratio(&base, &base), Some(1.0));
    }

    #[test]
    fn what_is_missing_or_free_has_no_ratio() {
        let fitness = Fitness::new([("open".to_owned(), 1.0)]).unwrap();
        let base = costs(&[("open", 3.0)]);
        assert_eq!(fitness.ratio(&base, &costs(&[("read", 1.0)])), None);
        assert_eq!(fitness.ratio(&base, &costs(&[("open", 0.0)])), None);
        assert_eq!(fitness.ratio(&base, &costs(&[("open", 1.0)])), Some(1.0 / 3.0));
        assert_eq!(Fitness::new([("open".to_owned(), 0.0)]), None);
    }
}
