//! The n-grams of a word as fastText takes them: of bytes, since its words need not be UTF-8.

use nanoembed_core::words::FastTextHash;
use nanoembed_core::{Error, limit};

/// Calls `on_hash` with the hash of each n-gram of `<word>`, start after start, the longest first:
/// the order in which the reference of `.fifu` adds them up. A single bracket is no n-gram to
/// fastText.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(super) fn for_each(
    word: &[u8],
    (min_n, max_n): (u32, u32),
    mut on_hash: impl FnMut(u32),
) -> Result<(), Error> {
    let bracketed = limit::joined_bytes(&[b"<", word, b">"])?;
    // Where characters begin, and the end.
    let starts = (0..bracketed.len()).filter(|&at| is_start(bracketed[at]));
    let starts = limit::collected(starts.chain([bracketed.len()]))?;
    let chars = starts.len() - 1;
    let (min_n, max_n) = (min_n as usize, max_n as usize);
    for start in 0..chars {
        let longest = max_n.min(chars - start);
        if longest < min_n {
            break;
        }
        let begin = starts[start];
        let mut hash = FastTextHash::new(bracketed[begin..starts[start + longest]].iter().copied());
        for length in (min_n..=longest).rev() {
            let is_bracket = length == 1 && (start == 0 || start + 1 == chars);
            if !is_bracket {
                on_hash(hash.value());
            }
            let last = &bracketed[starts[start + length - 1]..starts[start + length]];
            last.iter().rev().for_each(|&byte| hash.pop(byte));
        }
    }
    Ok(())
}

/// At most how many bytes are hashed and rows added up for the n-grams of a word.
pub(super) fn work(word: &[u8], max_n: u32) -> u64 {
    let chars = word.iter().filter(|&&byte| is_start(byte)).count() as u64 + 2;
    chars.saturating_mul(chars.min(max_n.into()))
}

const fn is_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

#[cfg(test)]
mod tests {
    use nanoembed_core::words::fasttext_hash;

    use super::*;

    fn hashes(word: &str, lengths: (u32, u32)) -> Vec<u32> {
        let mut hashes = Vec::new();
        for_each(word.as_bytes(), lengths, |hash| hashes.push(hash)).unwrap();
        hashes
    }

    #[test]
    fn ngrams_are_of_characters_between_brackets() {
        let expected = ["<é", "éa>", "éa", "a>"];
        let mut expected: Vec<u32> = expected.iter().map(fasttext_hash).collect();
        expected.insert(0, fasttext_hash("<éa"));
        assert_eq!(hashes("éa", (2, 3)), expected);
        assert_eq!(hashes("ab", (1, 1)), ["a", "b"].map(fasttext_hash));
        assert!(hashes("", (3, 6)).is_empty());
    }
}
