//! Tokenizers alone.

use std::ptr::null_mut;

use nanoembed_ffi::status::NANOEMBED_OK;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use nanoembed_ffi::tokenizer::{
    nanoembed_plan_tokenizer, nanoembed_tokenizer_encode, nanoembed_tokenizer_get_info,
    nanoembed_tokenizer_info, nanoembed_tokenizer_init, nanoembed_tokenizer_plan,
    nanoembed_tokenizer_scratch_bytes, nanoembed_tokenizer_token,
};

use super::memory::Memory;
use super::{Source, TEXT, call, check};

/// `None` if the file is rejected.
pub fn run(source: &Source<'_>) -> Option<()> {
    let (file, from) = (source.file, &raw const source.inner);
    let mut plan = nanoembed_tokenizer_plan::default();
    // SAFETY: all pointers are to objects that outlive the call.
    call(file, |error| unsafe { nanoembed_plan_tokenizer(from, &raw mut plan, error) }).ok()?;
    let memory = Memory::new(plan.tokenizer_bytes)?;
    let mut tokenizer = null_mut();
    let mut init = |bytes| {
        let place = &raw mut tokenizer;
        // SAFETY: as before, and `memory` has at least that many bytes.
        call(file, |error| unsafe {
            nanoembed_tokenizer_init(from, memory.start, bytes, place, error)
        })
    };
    assert!(init(memory.bytes() - 1).is_err(), "a byte less than was planned");
    init(memory.bytes()).ok()?;
    let mut info = nanoembed_tokenizer_info::default();
    // SAFETY: a handle, and a place for its description.
    assert_eq!(unsafe { nanoembed_tokenizer_get_info(tokenizer, &raw mut info) }, NANOEMBED_OK);
    let mut needed = 0;
    let text = TEXT.as_ptr().cast();
    // SAFETY: a handle, a text, and a place for a number.
    let status =
        unsafe { nanoembed_tokenizer_scratch_bytes(tokenizer, text, TEXT.len(), &raw mut needed) };
    if status != NANOEMBED_OK {
        check(status);
        return Some(());
    }
    let scratch = Memory::new(needed.max(1))?;
    for special in 0..3 {
        let mut ids = [u32::MAX; 20];
        let mut tokenized = nanoembed_tokenized::default();
        // SAFETY: a handle, a text, scratch of the stated size, and places for results.
        let encoded = call(file, |error| unsafe {
            let (start, bytes) = (scratch.start, scratch.bytes());
            let (ids, room, found) = (ids.as_mut_ptr(), ids.len(), &raw mut tokenized);
            let (text, length) = (text, TEXT.len());
            nanoembed_tokenizer_encode(
                tokenizer, text, length, special, start, bytes, ids, room, found, error,
            )
        });
        assert!(tokenized.tokens as usize <= ids.len() && tokenized.tokens <= tokenized.total);
        let kept = &ids[..tokenized.tokens as usize];
        assert!(encoded.is_err() || kept.iter().all(|id| *id < info.tokens), "{kept:?}");
    }
    let mut spelled = [0_u8; 64];
    for id in [0, 1, info.tokens.wrapping_sub(1), info.tokens, u32::MAX] {
        let mut length = 0;
        // SAFETY: a handle, and room for a token.
        let status = unsafe {
            let (out, room) = (spelled.as_mut_ptr().cast(), spelled.len());
            nanoembed_tokenizer_token(tokenizer, id, out, room, &raw mut length)
        };
        assert!(status != NANOEMBED_OK || length <= spelled.len());
        if status != NANOEMBED_OK {
            check(status);
        }
    }
    Some(())
}
