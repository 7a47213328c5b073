//! Byte-level BPE.

use nanoembed_core::Error;
use nanoembed_core::token::bpe::{
    Bpe, Merge, MergeScratch, MergeTable, Pattern, TokenDecoder, alphabet, split,
};
use nanoembed_core::token::vocabulary::Match;
use nanoembed_core::token::{AddedRules, AddedTable, AddedToken, Vocabulary};

/// The 256 bytes as tokens, spelled in the alphabet.
struct Bytes;

impl Vocabulary for Bytes {
    fn count(&self) -> u32 {
        256
    }

    fn find(&self, token: &[u8]) -> Result<Option<u32>, Error> {
        let text = std::str::from_utf8(token).unwrap_or_default();
        let mut characters = text.chars();
        let byte = characters.next().and_then(alphabet::byte);
        Ok(byte.filter(|_| characters.next().is_none()).map(u32::from))
    }

    fn longest_prefix(&self, _: &[u8], _: usize) -> Result<Option<Match>, Error> {
        Ok(None)
    }

    fn token(&self, _: u32, _: &mut [u8]) -> Result<usize, Error> {
        Ok(0)
    }
}

/// The words of a text add up to the text; with any merges its tokens spell it, and decoding
/// returns it.
///
/// The first byte chooses the pattern, the second is the number of merges, which follow with two
/// bytes each; the rest is the text.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn bpe(input: &[u8]) {
    let Some(([pattern, count], rest)) = input.split_first_chunk::<2>() else { return };
    let pattern = [Pattern::Gpt2, Pattern::SmolLm, Pattern::Llama3][usize::from(*pattern) % 3];
    let Some((pairs, text)) = rest.split_at_checked(usize::from(*count) * 2) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    // Token 256 + k is the result of the k-th merge; its parts are bytes or earlier merges.
    let merges: Vec<Merge> = (256..)
        .zip(pairs.chunks_exact(2))
        .map(|(merged, pair)| {
            let part = |byte: u8| match byte {
                0xFF if merged > 256 => merged - 1,
                byte => byte.into(),
            };
            Merge { left: part(pair[0]), right: part(pair[1]), merged }
        })
        .collect();
    let mut slots = vec![0; MergeTable::slots_needed(merges.len())];
    let table = MergeTable::build(&merges, &mut slots).expect("few merges");
    let token = |bytes, id| AddedToken::new(0, bytes, id, AddedRules::default()).expect("short");
    let mut added = [token(5, 1000), token(3, 1001)];
    let added = AddedTable::build(b"<|a|>", &mut added).expect("two tokens");
    let tokenizer = Bpe::new(&Bytes, table, pattern, added).expect("all bytes");
    let mut symbols = vec![Default::default(); text.len()];
    let mut heap = vec![Default::default(); MergeScratch::heap_needed(text.len())];
    let mut ids = vec![0; text.len()];
    let mut scratch = MergeScratch::new(&mut symbols, &mut heap);
    let found = tokenizer.encode(text, &mut ids, &mut scratch).expect("enough memory");
    assert_eq!(found.tokens, found.total);
    let mut spelled = Vec::new();
    for &id in &ids[..found.tokens] {
        spell(id, &merges, &mut spelled);
    }
    assert_eq!(spelled, text.as_bytes());
    let (mut decoder, mut decoded) = (TokenDecoder::new(), String::new());
    let mut add = |piece: &str| {
        decoded.push_str(piece);
        Ok(())
    };
    for byte in spelled {
        let mut room = [0; 4];
        let token = alphabet::character(byte).encode_utf8(&mut room);
        decoder.token(token.as_bytes(), &mut add).expect("UTF-8");
    }
    decoder.finish(&mut add).expect("nothing fails");
    assert_eq!(decoded, text);
    let mut rest = text;
    while !rest.is_empty() {
        let length = split::first_word(pattern, rest);
        assert!(length > 0 && rest.is_char_boundary(length));
        rest = &rest[length..];
    }
}

fn spell(id: u32, merges: &[Merge], out: &mut Vec<u8>) {
    match id {
        0..256 => out.push(u8::try_from(id).expect("a byte")),
        1000 => out.extend(b"<|a|>"),
        1001 => out.extend(b"<|a"),
        id => {
            let merge = merges[id as usize - 256];
            // Merges at most double the length, and there are fewer than 256 of them: limit the
            // output.
            if out.len() < 1 << 20 {
                spell(merge.left, merges, out);
                spell(merge.right, merges, out);
            }
        }
    }
}
