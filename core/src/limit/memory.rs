//! Fallible allocation: every function here returns [`NoMemory`](ErrorKind::NoMemory) where `Vec`,
//! `String`, `Box` and `format!` would abort the process.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use crate::error::{Error, ErrorKind, Result};

const NONE: Error = Error::without_offset(ErrorKind::NoMemory);

/// Size in bytes from which the allocator is assumed to get fresh memory from the system.
const LARGE: usize = 1 << 17;

/// An empty `Vec` with capacity for `count` elements.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is not enough memory.
pub fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    reserve(&mut memory, count)?;
    Ok(memory)
}

/// A `Vec` of `count` copies of `value`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is not enough memory.
pub fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut memory = reserved(count)?;
    if count.saturating_mul(size_of::<T>()) > LARGE {
        // There is as much memory; zeros that the system hands out need not be written.
        drop(memory);
        return Ok(vec![value; count]);
    }
    memory.resize(count, value);
    Ok(memory)
}

/// Reserves capacity for exactly `more` further elements.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is not enough memory.
pub fn reserve<T>(memory: &mut Vec<T>, more: usize) -> Result<()> {
    let none = |_| Error::without_offset(ErrorKind::NoMemory);
    memory.try_reserve_exact(more).map_err(none)
}

/// Extends `memory` to `length` with copies of `value`; longer memory is left unchanged.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is not enough memory.
pub fn grow<T: Clone>(memory: &mut Vec<T>, length: usize, value: T) -> Result<()> {
    if let Some(more) = length.checked_sub(memory.len()) {
        reserve(memory, more)?;
        memory.resize(length, value);
    }
    Ok(())
}

/// Appends an element.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
#[inline]
pub fn push<T>(memory: &mut Vec<T>, value: T) -> Result<()> {
    memory.try_reserve(1).map_err(|_| NONE)?;
    memory.push(value);
    Ok(())
}

/// Appends copies of `more`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn append<T: Copy>(memory: &mut Vec<T>, more: &[T]) -> Result<()> {
    memory.try_reserve(more.len()).map_err(|_| NONE)?;
    memory.extend_from_slice(more);
    Ok(())
}

/// Appends all of `more`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn extend<T>(memory: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> Result<()> {
    let more = more.into_iter();
    memory.try_reserve(more.size_hint().0).map_err(|_| NONE)?;
    for value in more {
        push(memory, value)?;
    }
    Ok(())
}

/// Collects `values`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn collected<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    extend(&mut memory, values)?;
    Ok(memory)
}

/// Collects `values`, or returns the first error.
///
/// # Errors
///
/// An error among the values; [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn gathered<T>(values: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut memory = reserved(values.size_hint().0)?;
    for value in values {
        push(&mut memory, value?)?;
    }
    Ok(memory)
}

/// Collects as many `values` as their iterator states.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn exactly<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut memory = reserved(values.len())?;
    memory.extend(values);
    Ok(memory)
}

/// Appends `more` to `text`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
pub fn write(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| NONE)?;
    text.push_str(more);
    Ok(())
}

/// A copy of `text`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
pub fn copied(text: &str) -> Result<String> {
    joined(&[text])
}

/// Concatenates `parts`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn joined(parts: &[&str]) -> Result<String> {
    let mut text = String::new();
    let bytes = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
    text.try_reserve_exact(bytes).map_err(|_| NONE)?;
    parts.iter().for_each(|part| text.push_str(part));
    Ok(text)
}

/// Concatenates `parts`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for them.
pub fn joined_bytes(parts: &[&[u8]]) -> Result<Vec<u8>> {
    let mut bytes = reserved(parts.iter().fold(0, |sum: usize, it| sum.saturating_add(it.len())))?;
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    Ok(bytes)
}

/// `text` with `new` in the place of each `old`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
pub fn replaced(text: &str, old: &str, new: &str) -> Result<String> {
    let mut parts = text.split(old);
    let mut replaced = copied(parts.next().unwrap_or_default())?;
    for part in parts {
        write(&mut replaced, new)?;
        write(&mut replaced, part)?;
    }
    Ok(replaced)
}

/// Collects `characters` into a text.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
pub fn spelled(characters: impl IntoIterator<Item = char>) -> Result<String> {
    let mut text = String::new();
    for c in characters {
        text.try_reserve(c.len_utf8()).map_err(|_| NONE)?;
        text.push(c);
    }
    Ok(text)
}

/// The fallible counterpart of `format!`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`] if there is no memory for it.
pub fn formatted(arguments: fmt::Arguments<'_>) -> Result<String> {
    struct Text(String);
    impl fmt::Write for Text {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            write(&mut self.0, part).map_err(|_| fmt::Error)
        }
    }
    let mut text = Text(String::new());
    fmt::Write::write_fmt(&mut text, arguments).map_err(|_| NONE)?;
    Ok(text.0)
}

/// A list that grows where no error can be returned at once: when memory runs out it drops further
/// elements, and [`check`](Self::check) reports that.
#[derive(Debug)]
pub struct Growing<T> {
    items: Vec<T>,
    is_refused: bool,
}

impl<T> Growing<T> {
    /// No elements.
    #[must_use]
    pub const fn new() -> Self {
        Self { items: Vec::new(), is_refused: false }
    }

    /// Notes that there was no memory for an element.
    pub const fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// The elements.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn into_vec(self) -> Result<Vec<T>> {
        self.check()?;
        Ok(self.items)
    }

    /// Appends an element.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.items.len() < self.items.capacity() || self.items.try_reserve(1).is_ok() {
            self.items.push(value);
        } else {
            self.is_refused = true;
        }
    }

    /// Appends copies of `more`.
    pub fn append(&mut self, more: &[T])
    where
        T: Copy,
    {
        self.is_refused |= append(&mut self.items, more).is_err();
    }

    /// Keeps the first `length` elements.
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// Removes all elements, keeping the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.is_refused = false;
    }

    /// Checks that every pushed element was kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`] if there was no memory for all of them.
    pub const fn check(&self) -> Result<()> {
        if self.is_refused { Err(NONE) } else { Ok(()) }
    }
}

/// Grows a list that is there.
impl<T> From<Vec<T>> for Growing<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, is_refused: false }
    }
}

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Growing<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Growing<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

/// A `Box` with fallible allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boxed<T>(Box<[T; 1]>);

impl<T> Boxed<T> {
    /// Puts `value` on the heap.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`] if there is no memory for it.
    pub fn new(value: T) -> Result<Self> {
        let mut memory = reserved(1)?;
        memory.push(value);
        let boxed: Box<[T]> = memory.into_boxed_slice();
        boxed.try_into().map(Self).map_err(|_| NONE)
    }

    /// The value without its memory.
    #[must_use]
    pub fn into_inner(self) -> T {
        let [value] = *self.0;
        value
    }
}

impl<T> Deref for Boxed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let [value] = &*self.0;
        value
    }
}

impl<T> DerefMut for Boxed<T> {
    fn deref_mut(&mut self) -> &mut T {
        let [value] = &mut *self.0;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_may_be_refused_holds_what_usual_memory_holds() {
        let mut numbers = collected(0..3).unwrap();
        append(&mut numbers, &[3, 4]).unwrap();
        push(&mut numbers, 5).unwrap();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        assert_eq!(formatted(format_args!("{}-{:?}", 1, "a")).unwrap(), "1-\"a\"");
        assert_eq!(spelled("aé日".chars()).unwrap(), joined(&["a", "é", "日"]).unwrap());
        assert_eq!(joined_bytes(&[b"a", b"", b"bc"]).unwrap(), b"abc");
        assert_eq!(replaced("a b  c", " ", "▁").unwrap(), "a▁b▁▁c");
        let mut boxed = Boxed::new(copied("a").unwrap()).unwrap();
        write(&mut boxed, "b").unwrap();
        assert_eq!(boxed.into_inner(), "ab");
    }

    #[test]
    fn what_grows_in_silence_says_at_the_end_that_it_did_not() {
        let mut growing = Growing::default();
        growing.push(1);
        growing.is_refused = true;
        assert_eq!(growing.check(), Err(NONE));
        growing.clear();
        assert_eq!((growing.check(), growing.len()), (Ok(()), 0));
    }
}
