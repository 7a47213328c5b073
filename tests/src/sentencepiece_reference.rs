//! A simple SentencePiece, used as reference: whole texts, maps of strings, and all pairs searched
//! again after each merge.

use std::collections::HashMap;
use std::ops::Range;

use nanoembed_core::owned::{ModelProto, ModelSettings};
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind};

/// A model, without rules of normalisation.
#[derive(Debug)]
pub struct Reference {
    /// Spelling, score, kind.
    pub pieces: Vec<(String, f32, PieceKind)>,
    /// How pieces are found.
    pub algorithm: Algorithm,
    /// True if a space is added.
    pub dummy_prefix: bool,
    /// True if it is added at the end.
    pub suffix: bool,
    /// True if superfluous spaces are removed.
    pub remove_spaces: bool,
}

impl Reference {
    /// The serialized model.
    #[must_use]
    pub fn model(&self) -> Vec<u8> {
        let mut model = ModelProto::new(&ModelSettings {
            algorithm: self.algorithm,
            byte_fallback: self.byte_fallback(),
            whitespace_as_suffix: self.suffix,
            add_dummy_prefix: self.dummy_prefix,
            remove_extra_whitespaces: self.remove_spaces,
            names: [None; 3],
            rules: &[],
        });
        for (spelling, score, kind) in &self.pieces {
            model.piece(spelling.as_bytes(), *score, *kind);
        }
        model.finish().expect("memory")
    }

    fn byte_fallback(&self) -> bool {
        self.pieces.iter().any(|piece| piece.2 == PieceKind::Byte)
    }

    /// The ids of `text`.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let normalized = self.normalize(text);
        let pieces = match self.algorithm {
            Algorithm::Bpe => self.merge(&normalized),
            Algorithm::Unigram => self.likeliest(&normalized),
        };
        let mut of_bytes = HashMap::new();
        let bytes = self.pieces.iter().zip(0..).filter(|(piece, _)| piece.2 == PieceKind::Byte);
        for ((spelling, _, _), id) in bytes {
            of_bytes.entry(spelling.as_str()).or_insert(id);
        }
        let unknown = self.pieces.iter().position(|piece| piece.2 == PieceKind::Unknown);
        let unknown = unknown.and_then(|id| u32::try_from(id).ok());
        let mut ids = Vec::new();
        let mut after_unknown = false;
        for (spelling, found) in pieces {
            match found {
                Some(id) => ids.push(id),
                None if !of_bytes.is_empty() => {
                    let names = spelling.bytes().map(|byte| format!("<0x{byte:02X}>"));
                    ids.extend(names.filter_map(|name| of_bytes.get(name.as_str())));
                }
                None if after_unknown => {}
                None => ids.extend(unknown),
            }
            after_unknown = found.is_none();
        }
        ids
    }

    /// The longest user-defined symbol at the start of `text`, or else its first character.
    fn first<'t>(&self, text: &'t str) -> (&'t str, bool) {
        let symbols = self.pieces.iter().filter(|piece| piece.2 == PieceKind::UserDefined);
        let longest = symbols.filter(|it| text.starts_with(&it.0)).map(|it| it.0.len()).max();
        let character = text.chars().next().map_or(0, char::len_utf8);
        (&text[..longest.unwrap_or(character)], longest.is_some())
    }

    fn normalize(&self, text: &str) -> String {
        let mut rest = text;
        while self.remove_spaces && self.first(rest).0 == " " {
            rest = &rest[1..];
        }
        if rest.is_empty() {
            return String::new();
        }
        let mut out = String::new();
        if self.dummy_prefix && !self.suffix {
            out.push('▁');
        }
        let mut after_space = self.remove_spaces;
        while !rest.is_empty() {
            let (piece, _) = self.first(rest);
            rest = &rest[piece.len()..];
            let kept = if after_space { piece.trim_start_matches(' ') } else { piece };
            if !kept.is_empty() {
                out.push_str(&kept.replace(' ', "▁"));
                after_space = self.remove_spaces && kept.ends_with(' ');
            }
        }
        if self.remove_spaces {
            out.truncate(out.trim_end_matches('▁').len());
        }
        if self.dummy_prefix && self.suffix {
            out.push('▁');
        }
        out
    }

    /// The pieces that texts may become, by spelling.
    fn spelled(&self) -> HashMap<&str, (u32, f32, PieceKind)> {
        let is_spelled =
            |kind| matches!(kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused);
        let all = self.pieces.iter().zip(0..).filter(|(piece, _)| is_spelled(piece.2));
        all.map(|(piece, id)| (piece.0.as_str(), (id, piece.1, piece.2))).collect()
    }

    fn merge(&self, text: &str) -> Vec<(String, Option<u32>)> {
        let spelled = self.spelled();
        // The ranges of symbols, and whether they are user-defined: those are never merged.
        let mut symbols: Vec<(Range<usize>, bool)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (first, is_symbol) = self.first(&text[at..]);
            symbols.push((at..at + first.len(), is_symbol));
            at += first.len();
        }
        loop {
            let pair = |at: usize| {
                let [(left, false), (right, false)] = &symbols[at..at + 2] else { return None };
                let (_, score, _) = spelled.get(&text[left.start..right.end])?;
                Some((*score, at))
            };
            let pairs = (0..symbols.len().saturating_sub(1)).filter_map(pair);
            // The first of the best.
            let best = pairs.reduce(|a, b| if b.0.total_cmp(&a.0).is_gt() { b } else { a });
            let Some((_, at)) = best else { break };
            let (right, _) = symbols.remove(at + 1);
            symbols[at].0.end = right.end;
        }
        let with_id = |(symbol, _): (Range<usize>, bool)| {
            let symbol = &text[symbol];
            (symbol.to_owned(), spelled.get(symbol).map(|it| it.0))
        };
        symbols.into_iter().map(with_id).collect()
    }

    fn likeliest(&self, text: &str) -> Vec<(String, Option<u32>)> {
        let spelled = self.spelled();
        let normal = self.pieces.iter().filter(|piece| piece.2 == PieceKind::Normal);
        let longest = spelled.keys().map(|spelling| spelling.len()).max().unwrap_or(0);
        let least = normal.map(|piece| piece.1).fold(f32::MAX, f32::min);
        // The best path to each position: its score, the start of its last piece, and that piece.
        let mut best: Vec<Option<(f32, usize, Option<u32>)>> = vec![None; text.len() + 1];
        best[0] = Some((0.0, 0, None));
        for (start, character) in text.char_indices() {
            let sum = best[start].expect("a way to every character").0;
            let mut offer = |end: usize, score: f32, id| {
                if best[end].is_none_or(|old| sum + score > old.0) {
                    best[end] = Some((sum + score, start, id));
                }
            };
            let mut has_character = false;
            for end in (start + 1..=text.len()).take(longest) {
                let piece = text.get(start..end).and_then(|spelling| spelled.get(spelling));
                let Some((id, score, kind)) = piece else { continue };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_precision_loss,
                    reason = "short"
                )]
                let score = match kind {
                    PieceKind::Unused => continue,
                    PieceKind::UserDefined => (0.1 * (end - start - 1) as f64) as f32,
                    _ => *score,
                };
                offer(end, score, Some(*id));
                has_character |= end - start == character.len_utf8();
            }
            if !has_character {
                offer(start + character.len_utf8(), least - 10.0, None);
            }
        }
        let mut pieces = Vec::new();
        let mut end = text.len();
        while end > 0 {
            let (_, start, id) = best[end].expect("a way to the end");
            pieces.push((text[start..end].to_owned(), id));
            end = start;
        }
        pieces.reverse();
        pieces
    }
}
