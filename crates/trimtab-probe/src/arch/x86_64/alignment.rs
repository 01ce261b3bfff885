//! Alignment of loops: padding in front of them, so that processors fetch them in few pieces.

/// The alignment that compilers request for loops; or else less, down to [`LEAST`]. Stubs
/// begin at multiples of it.
const ALIGNMENT: u64 = 16;
/// Less than this was not requested.
const LEAST: u64 = 8;
/// As many bytes are filled in front of a loop at most.
pub const LONGEST: usize = 10;

/// Instructions of 1 to 9 bytes that do nothing, as processors' manuals advise.
const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

/// The alignment of an address that a compiler may have requested; none where it did not.
pub fn alignment_of(place: u64) -> Option<usize> {
    let found = 1 << place.trailing_zeros().min(ALIGNMENT.trailing_zeros());
    (found >= LEAST).then_some(found as usize)
}

/// Fills code up to a multiple of a power of two, or of the half of it where that takes more than
/// [`LONGEST`] bytes.
pub fn fill(code: &mut Vec<u8>, alignment: usize) {
    let to = |multiple: usize| code.len().next_multiple_of(multiple) - code.len();
    let mut left = if to(alignment) <= LONGEST { to(alignment) } else { to(alignment / 2) };
    while left > 0 {
        let nop = NOPS[left.min(NOPS.len()) - 1];
        code.extend(nop);
        left -= nop.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    #[test]
    fn padding_does_nothing_and_ends_at_an_aligned_address() {
        for before in 0..32 {
            let mut code = vec![0xcc; before];
            fill(&mut code, 16);
            let filled = &code[before..];
            assert!(filled.len() <= LONGEST, "{before}");
            let most = before.next_multiple_of(16) - before <= LONGEST;
            assert_eq!(code.len(), before.next_multiple_of(if most { 16 } else { 8 }), "{before}");
            let mut decoder = Decoder::new(64, filled, DecoderOptions::NONE);
            assert!(decoder.iter().all(|it| it.mnemonic() == Mnemonic::Nop), "{before}");
        }
    }

    #[test]
    fn only_aligned_addresses_were_requested() {
        let found = [0, 8, 16, 24, 32, 4, 7].map(alignment_of);
        assert_eq!(found, [Some(16), Some(8), Some(16), Some(8), Some(16), None, None]);
    }
}
