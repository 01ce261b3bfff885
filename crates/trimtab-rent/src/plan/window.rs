//! How many pages there were lately.

use std::collections::VecDeque;

/// So many numbers are looked back at: pages that come and leave while memory has about the same size. Reclaim frees some
/// hundreds at once.
const LENGTH: u64 = 2048;

/// The most and the least of the last numbers, each in constant time on average: two queues, of what could still become
/// the most or the least.
#[derive(Debug, Default)]
pub struct Window {
    /// Numbers, with their places; each is less than the one before it.
    falling: VecDeque<(u64, u64)>,
    /// The same; each is more than the one before it.
    rising: VecDeque<(u64, u64)>,
    /// How many there were.
    now: u64,
}

impl Window {
    /// Takes one more.
    pub fn see(&mut self, number: u64) {
        self.now += 1;
        while self.falling.back().is_some_and(|(_, last)| *last <= number) {
            self.falling.pop_back();
        }
        while self.rising.back().is_some_and(|(_, last)| *last >= number) {
            self.rising.pop_back();
        }
        for seen in [&mut self.falling, &mut self.rising] {
            seen.push_back((self.now, number));
            while seen.front().is_some_and(|(place, _)| place + LENGTH <= self.now) {
                seen.pop_front();
            }
        }
    }

    /// The middle between the most and the least; 0 of none.
    pub fn middle(&self) -> u64 {
        let first = |seen: &VecDeque<(u64, u64)>| seen.front().map_or(0, |(_, number)| *number);
        first(&self.falling).midpoint(first(&self.rising))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_between_the_least_and_the_most_of_the_last(
            numbers in prop::collection::vec(0..1000_u64, 1..5000),
        ) {
            let mut window = Window::default();
            numbers.iter().for_each(|number| window.see(*number));
            let last = &numbers[numbers.len().saturating_sub(LENGTH as usize)..];
            let (least, most) = (last.iter().min().unwrap(), last.iter().max().unwrap());
            prop_assert_eq!(window.middle(), (least + most) / 2);
        }
    }
}
