//! Strings by their symbols, which are bytes or characters: a trie whose edges are in one hash table
//! in lent memory.
//!
//! A node is the slot of the edge that leads to it. An edge is in the slot that its hash points to,
//! or after it. A walk costs one slot a symbol, and building sorts nothing and moves nothing. A slot
//! has 64 bits:
//!
//! | bytes | characters | field |
//! |---|---|---|
//! | 40–63 | 42–63 | the node that the edge leaves |
//! | 32–39 | 21–41 | its symbol |
//! | 0–31 | 0–20 | the value of the string that ends with it, plus one; 0 for none |

use core::marker::PhantomData;

/// An edge, and the value of the string that ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The lower and the upper half: two of 32 bits, for memory that is aligned so.
    low: u32,
    high: u32,
}

/// The symbols that strings are made of.
pub(crate) trait Symbols {
    /// The bits of a symbol.
    const BITS: u32;
    /// The bits of a node.
    const NODE_BITS: u32;
    /// Symbols whose edges from the root are in slots of their number. Slot 0 is always among these.
    const DIRECT: usize;
    /// The most slots that are visited for an edge: symbols made to collide are refused.
    const MOST_PROBES: usize;
    /// The bits of a value.
    const VALUE_BITS: u32 = u64::BITS - Self::BITS - Self::NODE_BITS;
    /// All of them.
    const VALUE_MASK: u32 = u32::MAX >> (u32::BITS - Self::VALUE_BITS);
    /// The node that all strings begin at, which is no slot.
    const ROOT: u32 = (1 << Self::NODE_BITS) - 1;
}

/// Strings of bytes, none of which is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes;

impl Symbols for Bytes {
    const BITS: u32 = 8;
    const NODE_BITS: u32 = 24;
    const DIRECT: usize = 256;
    const MOST_PROBES: usize = 1024;
}

/// Strings of characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Characters;

impl Symbols for Characters {
    const BITS: u32 = 21;
    const NODE_BITS: u32 = 22;
    const DIRECT: usize = 1;
    const MOST_PROBES: usize = 256;
}

impl Slot {
    #[inline]
    const fn bits(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves")]
    const fn new(bits: u64) -> Self {
        Self { low: bits as u32, high: (bits >> 32) as u32 }
    }
}

/// A place in a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) slot: u32,
    /// The value of the string that ends here, plus one; 0 for none.
    value: u32,
}

impl Node {
    /// The node that all strings of `S` begin at.
    pub(crate) const fn root<S: Symbols>() -> Self {
        Self { slot: S::ROOT, value: 0 }
    }

    /// The value of the string that ends here.
    #[inline]
    pub(crate) const fn value(self) -> Option<u32> {
        self.value.checked_sub(1)
    }
}

/// A finished trie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trie<'a, S> {
    slots: &'a [Slot],
    longest_probe: usize,
    symbols: PhantomData<S>,
}

impl<'a, S: Symbols> Trie<'a, S> {
    /// The trie that a [`Builder`] has left in `slots`.
    #[inline]
    pub(crate) const fn resume(slots: &'a [Slot], longest_probe: usize) -> Self {
        Self { slots, longest_probe, symbols: PhantomData }
    }

    /// The node of a slot.
    #[inline]
    pub(crate) fn node(&self, slot: u32) -> Option<Node> {
        let bits = self.slots.get(slot as usize)?.bits();
        (bits != 0).then_some(Node { slot, value: value::<S>(bits) })
    }

    /// The node that `symbol` leads to from the node of a slot.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "nodes have at most 32 bits")]
    pub(crate) fn child(&self, node: u32, symbol: u32) -> Option<Node> {
        let edge = edge::<S>(node, symbol);
        let mut at = home::<S>(edge, self.slots.len());
        for _ in 0..self.longest_probe {
            let bits = self.slots.get(at)?.bits();
            if bits >> S::VALUE_BITS == edge {
                return Some(Node { slot: at as u32, value: value::<S>(bits) });
            }
            if bits == 0 {
                return None;
            }
            at = after::<S>(at, self.slots.len());
        }
        None
    }
}

/// A trie that is being filled.
pub(crate) struct Builder<'s, S> {
    slots: &'s mut [Slot],
    /// Slots that may still be taken.
    free: usize,
    longest_probe: usize,
    symbols: PhantomData<S>,
}

/// An edge on its way into a table.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    bits: u64,
    /// The slot that its hash points to.
    pub(crate) home: usize,
}

impl<'s, S: Symbols> Builder<'s, S> {
    /// An empty trie in all of `slots`, of which so many may be taken.
    pub(crate) fn new(slots: &'s mut [Slot], free: usize) -> Self {
        slots.fill(Slot::default());
        Self { slots, free, longest_probe: 0, symbols: PhantomData }
    }

    /// The edge of `symbol` from the node of a slot.
    pub(crate) fn edge(&self, node: u32, symbol: u32) -> Edge {
        let bits = edge::<S>(node, symbol);
        Edge { bits, home: home::<S>(bits, self.slots.len()) }
    }

    /// The edge of `symbol` from the root, whose slot is the symbol's own.
    pub(crate) fn direct(&self, symbol: u8) -> Edge {
        Edge { bits: edge::<S>(S::ROOT, symbol.into()), home: symbol.into() }
    }

    /// The slot of an edge, which is made if it is not there; `None` if no slot is left, or if edges
    /// collide.
    pub(crate) fn make(&mut self, edge: Edge) -> Option<u32> {
        let mut at = edge.home;
        for probes in 1..=S::MOST_PROBES {
            let slot = self.slots.get_mut(at)?;
            if *slot == Slot::default() {
                self.free = self.free.checked_sub(1)?;
                *slot = Slot::new(edge.bits << S::VALUE_BITS);
                self.longest_probe = self.longest_probe.max(probes);
            }
            if slot.bits() >> S::VALUE_BITS == edge.bits {
                return u32::try_from(at).ok();
            }
            at = after::<S>(at, self.slots.len());
        }
        None
    }

    /// Lets a string of this value end at the node of a slot, and no other.
    pub(crate) fn end(&mut self, slot: u32, value: u32) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            let edge = slot.bits() >> S::VALUE_BITS << S::VALUE_BITS;
            *slot = Slot::new(edge | u64::from(value).saturating_add(1));
        }
    }

    /// The slots as they are.
    pub(crate) const fn slots(&self) -> &[Slot] {
        self.slots
    }

    /// The most slots that any edge is away from where its hash points, plus one.
    pub(crate) const fn longest_probe(&self) -> usize {
        self.longest_probe
    }
}

#[inline]
const fn edge<S: Symbols>(node: u32, symbol: u32) -> u64 {
    (node as u64) << S::BITS | symbol as u64
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "values have at most 32 bits")]
const fn value<S: Symbols>(bits: u64) -> u32 {
    bits as u32 & S::VALUE_MASK
}

/// The slot that an edge's hash points to.
#[inline]
const fn home<S: Symbols>(edge: u64, slots: usize) -> usize {
    let mixed = edge.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let hashed = slots.saturating_sub(S::DIRECT) as u64;
    ((mixed.wrapping_mul(hashed) >> 32) as usize).saturating_add(S::DIRECT)
}

/// The slot that is tried next.
#[inline]
const fn after<S: Symbols>(at: usize, slots: usize) -> usize {
    let next = at.saturating_add(1);
    if next < slots { next } else { S::DIRECT }
}
