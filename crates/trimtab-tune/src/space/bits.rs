//! Points as strings of bits: a bit for each option, in order, as the paper's search has them.

use super::{Point, Space};

/// A bit for each option of a space, lowest first, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits(pub Vec<u8>);

impl Bits {
    /// No option of a space of so many.
    pub fn none(options: usize) -> Self {
        Self(vec![0; options.div_ceil(8)])
    }

    /// Whether a bit is set.
    pub fn get(&self, bit: usize) -> bool {
        self.0.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// Sets a bit.
    pub fn set(&mut self, bit: usize) {
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// The point that the bits say. Of options that exclude each other the lowest counts; bits behind
    /// the last option say nothing.
    pub fn point(&self, space: &Space) -> Point {
        let values = firsts(space).enumerate().map(|(place, first)| {
            let options = 0..usize::from(space.most(place));
            let set = options.into_iter().find(|option| self.get(first + option));
            set.map_or(0, |option| option as u8 + 1)
        });
        Point::new(values.collect())
    }
}

/// The first bit of each choice.
fn firsts(space: &Space) -> impl Iterator<Item = usize> + '_ {
    space.choices.iter().scan(0, |next, choice| {
        let first = *next;
        *next += choice.options.len();
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::space;
    use super::*;

    /// The bits of a point.
    fn bits(space: &Space, point: &Point) -> Bits {
        let mut bits = Bits::none(space.options());
        for (place, first) in firsts(space).enumerate() {
            if let Some(option) = point.at(place).checked_sub(1) {
                bits.set(first + usize::from(option));
            }
        }
        bits
    }

    #[test]
    fn of_options_that_exclude_each_other_the_lowest_counts() {
        let space = space(4);
        let mut bits = Bits::none(space.options());
        for bit in [0, 1, 5] {
            bits.set(bit);
        }
        assert_eq!(bits.point(&space).values(), [1, 0, 0, 2]);
    }

    proptest! {
        #[test]
        fn points_keep(values in prop::collection::vec(0u8..3, 10)) {
            let space = space(10);
            let values = values.iter().enumerate().map(|(at, value)| *value.min(&space.most(at)));
            let point = Point::new(values.collect());
            prop_assert_eq!(bits(&space, &point).point(&space), point);
        }

        #[test]
        fn any_bits_are_a_point(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            let space = space(20);
            let point = Bits(bytes).point(&space);
            for place in 0..space.len() {
                prop_assert!(point.at(place) <= space.most(place));
            }
        }
    }
}
