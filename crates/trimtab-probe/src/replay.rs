//! Plays the events of a thread again: which call was within which, from when to when.

use crate::recording::Event;

/// A call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Index of the function.
    pub function: usize,
    /// Cycles when it began.
    pub start: u64,
    /// Cycles when it ended.
    pub end: u64,
    /// Cycles in it, and not in instrumented functions that it called.
    pub own: u64,
    /// Whether it is within another call of the same function.
    pub nested: bool,
}

struct Open {
    function: usize,
    start: u64,
    depth: u32,
    callees: u64,
}

/// Words between two places on the same stack, at most.
const STACK: u32 = 1 << 21;

/// Calls `ended` for each call, with the functions it is in, from the outermost on, and itself at
/// the end. Calls that longjmp left end when it shows that they did; those that never end, with the
/// last event.
pub fn replay(events: impl Iterator<Item = Event>, mut ended: impl FnMut(&[usize], Call)) {
    let mut open: Vec<Open> = Vec::new();
    let mut path: Vec<usize> = Vec::new();
    let mut last = 0;
    let mut close = |open: &mut Vec<Open>, path: &mut Vec<usize>, now: u64| {
        let Some(call) = open.pop() else { return };
        let spent = now.saturating_sub(call.start);
        if let Some(caller) = open.last_mut() {
            caller.callees = caller.callees.saturating_add(spent);
        }
        let nested = path[..path.len() - 1].contains(&call.function);
        ended(
            path,
            Call {
                function: call.function,
                start: call.start,
                end: now.max(call.start),
                own: spent.saturating_sub(call.callees),
                nested,
            },
        );
        path.pop();
    };
    for event in events {
        last = event.time;
        if event.is_exit {
            let entry = open
                .iter()
                .rposition(|call| call.depth == event.depth && call.function == event.function);
            // Entered while the probes were off.
            let Some(entry) = entry else { continue };
            while open.len() > entry {
                close(&mut open, &mut path, event.time);
            }
            continue;
        }
        while open.last().is_some_and(|call| {
            let same = call.depth == event.depth && !event.is_chained;
            same || (call.depth < event.depth && event.depth - call.depth < STACK)
        }) {
            close(&mut open, &mut path, event.time);
        }
        open.push(Open {
            function: event.function,
            start: event.time,
            depth: event.depth,
            callees: 0,
        });
        path.push(event.function);
    }
    while !open.is_empty() {
        close(&mut open, &mut path, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that is always reached by a jump.
    const CHAINED: usize = 77;

    fn play(events: &[(u64, usize, bool, u32)]) -> Vec<(Vec<usize>, u64, u64, bool)> {
        let events = events.iter().map(|&(time, function, is_exit, depth)| Event {
            time,
            function,
            is_exit,
            is_chained: function == CHAINED,
            depth,
        });
        let mut calls = Vec::new();
        replay(events, |path, call| {
            calls.push((path.to_vec(), call.end - call.start, call.own, call.nested));
        });
        calls
    }

    #[test]
    fn calls_are_nested_and_own_time_is_told_apart() {
        let events = [
            (10, 0, false, 100),
            (20, 1, false, 90),
            (50, 1, true, 90),
            (60, 0, false, 90),
            (70, 0, true, 90),
            (100, 0, true, 100),
        ];
        assert_eq!(
            play(&events),
            [(vec![0, 1], 30, 30, false), (vec![0, 0], 10, 10, true), (vec![0], 90, 50, false),]
        );
    }

    #[test]
    fn a_jump_at_the_end_keeps_the_place_and_a_longjmp_gives_it_to_another() {
        let chain = [
            (10, 0, false, 100),
            (20, CHAINED, false, 100),
            (30, CHAINED, true, 100),
            (30, 0, true, 100),
        ];
        let paths: Vec<_> = play(&chain).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(paths, [vec![0, CHAINED], vec![0]]);
        let again = [(10, 0, false, 100), (20, 1, false, 90), (30, 1, false, 90)];
        let paths: Vec<_> = play(&again).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(paths, [vec![0, 1], vec![0, 1], vec![0]]);
    }

    #[test]
    fn what_longjmp_left_is_closed() {
        let events = [
            (10, 0, false, 100),
            (20, 1, false, 90),
            (30, 2, false, 80),
            (40, 3, false, 95),
            (50, 3, true, 95),
            (60, 0, true, 100),
        ];
        let paths: Vec<_> = play(&events).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(paths, [vec![0, 1, 2], vec![0, 1], vec![0, 3], vec![0]]);
    }

    #[test]
    fn another_stack_closes_nothing_and_unknown_exits_are_passed_over() {
        let events = [
            (10, 0, false, 100),
            (20, 1, false, 0x8000_0000),
            (25, 5, true, 7),
            (30, 1, true, 0x8000_0000),
            (40, 0, true, 100),
        ];
        let paths: Vec<_> = play(&events).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(paths, [vec![0, 1], vec![0]]);
    }
}
