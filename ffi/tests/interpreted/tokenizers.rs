//! Tokenizers of every kind in lent memory and on the heap.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use nanoembed_ffi::tokenizer::*;

use crate::{Room, in_memory, models, of};

const AS_TOKENS: nanoembed_special_tokens = NANOEMBED_SPECIAL_TOKENS_AS_TOKENS;

/// A tokenizer in exactly the memory that is planned.
struct Lent {
    tokenizer: *mut nanoembed_tokenizer,
    _room: Room,
}

impl Lent {
    fn open(file: &[u8]) -> Self {
        let (source, mut plan) = (in_memory(file), nanoembed_tokenizer_plan::default());
        let (mut tokenizer, none) = (null_mut(), null_mut());
        // SAFETY: everything is there.
        let planned = unsafe { nanoembed_plan_tokenizer(&source, &mut plan, none) };
        assert_eq!(planned, NANOEMBED_OK);
        // SAFETY: everything is there, with its true sizes, and outlives the handle.
        let room = Room::exactly(plan.tokenizer_bytes, |place, size| unsafe {
            nanoembed_tokenizer_init(&source, place, size, &mut tokenizer, none)
        });
        Self { tokenizer, _room: room }
    }
}

fn info(tokenizer: *const nanoembed_tokenizer) -> nanoembed_tokenizer_info {
    let mut info = nanoembed_tokenizer_info::default();
    // SAFETY: the handle is good, and the rest lies here.
    assert_eq!(unsafe { nanoembed_tokenizer_get_info(tokenizer, &mut info) }, NANOEMBED_OK);
    info
}

/// The first ids of a text, in exactly as much scratch memory as it says but for `less`.
fn encode(
    tokenizer: *const nanoembed_tokenizer,
    text: &str,
    special: nanoembed_special_tokens,
    (room, less): (usize, usize),
) -> Result<Vec<u32>, nanoembed_status> {
    let (start, length, mut bytes) = (text.as_ptr().cast(), text.len(), 0);
    let (mut ids, mut found) = (vec![u32::MAX; room], nanoembed_tokenized::default());
    let (out, none) = (ids.as_mut_ptr(), null_mut());
    // SAFETY: the handle is good, and the rest lies here.
    let status = unsafe {
        let asked = nanoembed_tokenizer_scratch_bytes(tokenizer, start, length, &mut bytes);
        assert_eq!(asked, NANOEMBED_OK);
        let bytes = bytes - less;
        let scratch = Room::new(bytes.max(1));
        let (at, found) = (scratch.start, &mut found);
        nanoembed_tokenizer_encode(
            tokenizer, start, length, special, at, bytes, out, room, found, none,
        )
    };
    ids.truncate(found.tokens as usize);
    if status == NANOEMBED_OK { Ok(ids) } else { Err(status) }
}

/// What a token stands for.
fn spelled(
    tokenizer: *const nanoembed_tokenizer,
    id: u32,
    room: usize,
) -> Result<Vec<u8>, nanoembed_status> {
    let (mut out, mut length) = (vec![0_u8; room], 0);
    let start = out.as_mut_ptr().cast();
    // SAFETY: the handle is good, and the rest lies here.
    match unsafe { nanoembed_tokenizer_token(tokenizer, id, start, room, &mut length) } {
        NANOEMBED_OK => Ok(out[..length].to_vec()),
        status => Err(status),
    }
}

#[test]
fn word_pieces_need_no_scratch_memory() {
    let file = models::word_pieces();
    let Lent { tokenizer, .. } = &Lent::open(&file);
    let tokenizer = *tokenizer;
    assert_eq!(info(tokenizer).kind, NANOEMBED_TOKENIZER_WORDPIECE);
    assert_eq!(encode(tokenizer, "cat ab", AS_TOKENS, (9, 0)), Ok(vec![2, 9, 5, 8, 3]));
    assert_eq!(encode(tokenizer, "cat ab", AS_TOKENS, (4, 0)), Ok(vec![2, 9, 5, 3]));
    assert_eq!(spelled(tokenizer, 8, 9), Ok(b"##b".to_vec()));
}

#[test]
fn pairs_of_bytes_are_merged_in_scratch_memory() {
    let file = models::byte_pairs();
    let Lent { tokenizer, .. } = &Lent::open(&file);
    let tokenizer = *tokenizer;
    let info = info(tokenizer);
    assert_eq!((info.kind, info.begin, info.end), (NANOEMBED_TOKENIZER_BPE, 0, 1));
    assert_eq!(encode(tokenizer, "abb!ab", AS_TOKENS, (9, 0)), Ok(vec![0, 5, 6, 4]));
    assert_eq!(encode(tokenizer, "abb</s>", AS_TOKENS, (2, 0)), Ok(vec![0, 5]));
    assert_eq!(encode(tokenizer, "b</s>", AS_TOKENS, (9, 0)), Ok(vec![0, 3, 1]));
    let small = of(ErrorKind::BufferTooSmall);
    assert_eq!(encode(tokenizer, "abb", AS_TOKENS, (9, 16)), Err(small));
    assert_eq!(spelled(tokenizer, 5, 3), Ok(b"abb".to_vec()));
    assert_eq!(spelled(tokenizer, 5, 2), Err(small));
    assert_eq!(spelled(tokenizer, 7, 9), Err(of(ErrorKind::TokenOutOfRange)));
    // SAFETY: the handle is good.
    let ends = [0, 1, 7].map(|id| unsafe { nanoembed_tokenizer_ends_text(tokenizer, id) });
    assert_eq!(ends, [0, 1, 0]);
}

#[test]
fn pieces_are_chosen_in_scratch_memory() {
    let file = models::pieces();
    let (source, mut heap) = (in_memory(&file), null_mut());
    let Lent { tokenizer, .. } = &Lent::open(&file);
    let tokenizer = *tokenizer;
    assert_eq!(info(tokenizer).kind, NANOEMBED_TOKENIZER_SENTENCEPIECE);
    let ids = encode(tokenizer, "ab a", AS_TOKENS, (9, 0));
    assert_eq!(ids, Ok(vec![1, 6, 5, 6]));
    let less = encode(tokenizer, "ab a", AS_TOKENS, (9, 16));
    assert_eq!(less, Err(of(ErrorKind::BufferTooSmall)));
    assert_eq!(spelled(tokenizer, 6, 9), Ok(b" a".to_vec()));
    // SAFETY: everything is there; it is freed when it is used no more.
    unsafe {
        assert_eq!(nanoembed_tokenizer_new(&source, &mut heap, null_mut()), NANOEMBED_OK);
        assert_eq!(encode(heap, "ab a", AS_TOKENS, (9, 0)), ids);
        nanoembed_tokenizer_free(heap);
        // What is lent is left alone.
        nanoembed_tokenizer_free(tokenizer);
    }
    assert_eq!(encode(tokenizer, "ab a", AS_TOKENS, (9, 0)), ids);
}
