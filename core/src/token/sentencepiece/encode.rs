//! Text to ids.

use super::bpe::{Merging, Parts, PiecePart};
use super::build::SentencePiece;
use super::cache::{Cache, CachedWord, Recorded};
use super::normalize::{SPACE, Symbols, character_bytes};
use super::spec::Algorithm;
use super::trie::{Hit, Kind};
use super::unigram::{Lattice, Step};
use crate::error::Result;
use crate::token::AddedTable;
use crate::token::added_parts;
use crate::token::bpe::merge::{Candidate, Symbol, Word, merge};
use crate::token::ids::{Ids, TokenCount};

/// How much memory a text takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceNeeds {
    /// Bytes of the normalised text.
    pub text: usize,
    /// Symbols of byte-pair encoding.
    pub symbols: usize,
    /// Candidates of byte-pair encoding.
    pub heap: usize,
    /// Steps of the likeliest segmentation.
    pub steps: usize,
    /// Splits, for models with unused pieces.
    pub splits: usize,
}

/// Memory for the longest text: see [`SentencePiece::needs`]. All but `text` and `splits` may
/// suffice for less, as they are used for one word after the other.
#[derive(Debug)]
pub struct PieceScratch<'s> {
    /// For the normalised text.
    pub text: &'s mut [u8],
    /// To merge a word in.
    pub word: Word<'s, PiecePart>,
    /// To find the likeliest segmentation of a word in.
    pub steps: &'s mut [Step],
    /// The parts of unused pieces.
    pub splits: &'s mut [u16],
    /// Words of byte-pair encoding that are remembered, in memory that begins as
    /// `CachedWord::default()`; may be empty.
    pub cache: &'s mut [CachedWord],
}

impl<'s> PieceScratch<'s> {
    /// Memory in lent slices.
    pub const fn new(
        text: &'s mut [u8],
        symbols: &'s mut [Symbol<PiecePart>],
        heap: &'s mut [Candidate<PiecePart>],
        steps: &'s mut [Step],
        splits: &'s mut [u16],
    ) -> Self {
        Self { text, word: Word { symbols, heap }, steps, splits, cache: &mut [] }
    }
}

/// How deep a piece that is not to be given out is taken apart, as by `sentencepiece`.
const MAX_DEPTH: u32 = 100;

/// Where ids go, and whether the last was that of the unknown piece.
struct Output<'i, 'o> {
    ids: &'o mut Ids<'i>,
    after_unknown: bool,
    /// Those of the word at hand.
    recorded: Recorded,
}

impl SentencePiece<'_> {
    /// The memory that always suffices for `text`, and for all its parts between added tokens.
    ///
    /// # Errors
    ///
    /// [`OverLimit`](crate::ErrorKind::OverLimit) if the model's rules make more of the text than
    /// [`Limit::EXPANSION`](crate::limit::Limit::EXPANSION) allows.
    pub fn needs(&self, text: &str) -> Result<PieceNeeds> {
        Ok(self.needs_for(self.normalizer().room(text)?))
    }

    /// The memory that always suffices for texts of so many bytes when they are normalised.
    #[must_use]
    pub fn needs_for(&self, text: usize) -> PieceNeeds {
        match self.spec().algorithm {
            Algorithm::Bpe => PieceNeeds {
                text,
                symbols: text,
                heap: text.saturating_mul(3),
                steps: 0,
                splits: if self.index.has_unused { self.pieces.len() } else { 0 },
            },
            Algorithm::Unigram => {
                PieceNeeds { text, steps: text.saturating_add(1), ..PieceNeeds::default() }
            }
        }
    }

    /// The ids of `text`, as many as `ids` holds; no pieces are put around it. Each of the `added`
    /// tokens that the text spells is taken out first, and what is between them is a text of its
    /// own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is too little
    /// memory in `scratch`; as [`needs`](Self::needs).
    pub fn encode(
        &self,
        text: &str,
        added: &AddedTable<'_>,
        ids: &mut [u32],
        scratch: &mut PieceScratch<'_>,
    ) -> Result<TokenCount> {
        let mut ids = Ids::new(ids);
        added.parts(text, &mut |part| match part {
            added_parts::Part::Plain(place) => {
                let plain = text.get(place).unwrap_or_default();
                self.encode_plain(plain, scratch, &mut ids)
            }
            added_parts::Part::Added { id, .. } => {
                ids.push(id);
                Ok(())
            }
        })?;
        Ok(ids.found())
    }

    fn encode_plain(
        &self,
        text: &str,
        scratch: &mut PieceScratch<'_>,
        ids: &mut Ids<'_>,
    ) -> Result<()> {
        let PieceScratch { text: memory, word, steps, splits, cache } = scratch;
        let length = self.normalizer().write(text, memory)?;
        let text = memory.get(..length).unwrap_or_default();
        let mut output = Output { ids, after_unknown: false, recorded: Recorded::default() };
        match self.spec().algorithm {
            Algorithm::Bpe => {
                let splits = splits.get_mut(..).unwrap_or_default();
                splits.fill(0);
                let mut merging = Merging { trie: self.trie(), pieces: self.pieces, text, splits };
                let mut cache = Cache { words: cache, model: self.index.fingerprint };
                self.merge_all(&mut merging, word, &mut cache, &mut output)
            }
            Algorithm::Unigram => self.segment_all(text, steps, &mut output),
        }
    }

    #[inline(never)] // one of two
    fn segment_all(
        &self,
        text: &[u8],
        steps: &mut [Step],
        output: &mut Output<'_, '_>,
    ) -> Result<()> {
        let (trie, pieces) = (self.trie(), self.pieces);
        let lattice = Lattice { trie, pieces, least_score: self.index.least_score };
        let (mut start, mut sum) = (0, 0.0);
        while start < text.len() {
            let end = self.word_end(text, start, None);
            let word = text.get(start..end).unwrap_or_default();
            let mut rest = word;
            sum = lattice.segment(word, sum, steps, |bytes, id| {
                let (piece, after) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
                self.push(id, piece, output);
                rest = after;
            })?;
            start = end;
        }
        Ok(())
    }

    fn merge_all(
        &self,
        merging: &mut Merging<'_, '_>,
        word: &mut Word<'_, PiecePart>,
        cache: &mut Cache<'_>,
        output: &mut Output<'_, '_>,
    ) -> Result<()> {
        let text = merging.text;
        let symbols = self.symbols();
        let mut start = 0;
        while start < text.len() {
            let end = match self.index.has_unused {
                // What unused pieces were made of is known when the whole text has been merged.
                true => text.len(),
                false => self.word_end(text, start, Some(symbols)),
            };
            let bytes = text.get(start..end).unwrap_or_default();
            if let Some(ids) = cache.find(bytes) {
                ids.iter().for_each(|id| output.ids.push(*id));
                output.after_unknown = false;
            } else {
                output.recorded = Recorded::default();
                let parts = Parts { text, symbols, at: start, end };
                for part in merge(merging, parts, word)? {
                    self.give(merging, &part, 0, output);
                }
                cache.keep(bytes, &output.recorded);
            }
            start = end;
        }
        Ok(())
    }

    /// Gives a part out, or, if it is not to be given out, what it was made of.
    fn give(
        &self,
        merging: &Merging<'_, '_>,
        part: &PiecePart,
        depth: u32,
        output: &mut Output<'_, '_>,
    ) {
        let bytes = part.bytes_in(merging.text);
        match merging.piece(part) {
            Some(hit @ Hit { kind: Kind::Unused, .. }) if depth <= MAX_DEPTH => {
                match merging.split(part, hit) {
                    Some((left, right)) => {
                        let depth = depth.saturating_add(1);
                        self.give(merging, &left, depth, output);
                        self.give(merging, &right, depth, output);
                    }
                    None => self.push(None, bytes, output),
                }
            }
            hit => self.push(hit.map(|hit| hit.id), bytes, output),
        }
    }

    /// Where the first word of `text` after `start` ends: where no piece can go on. `symbols` are
    /// not cut.
    fn word_end(&self, text: &[u8], start: usize, symbols: Option<Symbols<'_>>) -> usize {
        let begins_symbol = |byte| symbols.is_some_and(|symbols| symbols.first.contains(byte));
        let mut at = start;
        let mut before = None;
        while let Some((first, after)) = text.get(at..).and_then(<[u8]>::split_first) {
            let rest = text.get(at..).unwrap_or_default();
            let symbol = symbols.and_then(|symbols| symbols.longest(rest));
            let is_space = rest.starts_with(SPACE);
            match before {
                Some(before) if symbol.is_none() && self.index.crossings.cut(before, is_space) => {
                    return at;
                }
                _ => {}
            }
            before = symbol.is_none().then_some(is_space);
            let bytes = match symbol {
                Some(bytes) => bytes,
                None if is_space => SPACE.len(),
                // Up to where a space or a symbol may begin nothing is cut.
                None => {
                    let may_stop = |byte: &u8| Some(byte) == SPACE.first() || begins_symbol(*byte);
                    let stop = after.iter().position(may_stop).unwrap_or(after.len());
                    let character = character_bytes(*first);
                    character.max(stop.saturating_add(1))
                }
            };
            at = at.saturating_add(bytes.min(rest.len()));
        }
        at
    }

    /// Notes the id of `bytes`, or what stands for them.
    fn push(&self, id: Option<u32>, bytes: &[u8], output: &mut Output<'_, '_>) {
        let is_unknown = id.is_none();
        match id {
            Some(id) => {
                output.ids.push(id);
                output.recorded.push(id);
            }
            None if self.spec().byte_fallback => {
                let ids = bytes.iter().filter_map(|byte| self.byte(*byte));
                ids.for_each(|id| output.ids.push(id));
            }
            // One for all that are in a row.
            None if output.after_unknown => {}
            None => {
                if let Some(unknown) = self.index.unknown {
                    output.ids.push(unknown);
                }
            }
        }
        if is_unknown {
            output.recorded.spoil();
        }
        output.after_unknown = is_unknown;
    }
}
