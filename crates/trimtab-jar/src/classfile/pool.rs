//! The constant pool.

use rustc_hash::FxHashMap;

/// Entries of a pool, and of these what a class needs when it is finished.
const MOST: usize = 65_534;
const AT_END: usize = 500;

/// Constants by what they are; each is there once.
#[derive(Default)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
    /// Entries that are taken, without the one that is never there. Of those that do not fit, the numbers are wrong.
    taken: u32,
    index: FxHashMap<Vec<u8>, u16>,
}

impl Pool {
    fn entry(&mut self, bytes: Vec<u8>, slots: u32) -> u16 {
        if let Some(found) = self.index.get(&bytes) {
            return *found;
        }
        let index = (self.taken + 1) as u16;
        self.taken += slots;
        self.bytes.extend(&bytes);
        self.index.insert(bytes, index);
        index
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        let (a, b) = (first.to_be_bytes(), second.to_be_bytes());
        self.entry(vec![tag, a[0], a[1], b[0], b[1]], 1)
    }

    /// A string of bytes. Names are ASCII, so that Java's own form of UTF-8 is no other.
    pub(crate) fn utf8(&mut self, text: &str) -> u16 {
        let text = text.as_bytes();
        let length = text.len().min(usize::from(u16::MAX));
        let mut bytes = vec![1];
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend(&text[..length]);
        self.entry(bytes, 1)
    }

    /// A class by its internal name.
    pub(crate) fn class(&mut self, name: &str) -> u16 {
        let [high, low] = self.utf8(name).to_be_bytes();
        self.entry(vec![7, high, low], 1)
    }

    /// A string, of ASCII.
    pub(crate) fn string(&mut self, text: &str) -> u16 {
        let [high, low] = self.utf8(text).to_be_bytes();
        self.entry(vec![8, high, low], 1)
    }

    /// A number of 32 bits.
    pub(crate) fn int(&mut self, value: i32) -> u16 {
        let mut bytes = vec![3];
        bytes.extend(value.to_be_bytes());
        self.entry(bytes, 1)
    }

    /// A number of 64 bits.
    pub(crate) fn long(&mut self, value: i64) -> u16 {
        let mut bytes = vec![5];
        bytes.extend(value.to_be_bytes());
        self.entry(bytes, 2)
    }

    /// A static or other field.
    pub(crate) fn field(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    /// A method of a class.
    pub(crate) fn method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let named = self.pair(12, name, descriptor);
        self.pair(tag, class, named)
    }

    /// Entries that are taken.
    pub(crate) fn len(&self) -> usize {
        self.taken as usize
    }

    /// Whether all entries fit into a file, with some that are made at its end.
    pub(crate) fn fits(&self) -> bool {
        self.len() < MOST - AT_END
    }

    /// The pool as the file has it.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut bytes = (self.taken as u16 + 1).to_be_bytes().to_vec();
        bytes.extend(&self.bytes);
        bytes
    }
}
