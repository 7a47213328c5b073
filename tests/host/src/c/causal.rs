//! Causal models.

use std::ptr::null_mut;

use nanoembed_ffi::decoder_model::{
    nanoembed_decoder_get_plan, nanoembed_decoder_init, nanoembed_decoder_options,
    nanoembed_decoder_plan, nanoembed_plan_decoder,
};
use nanoembed_ffi::session::{
    nanoembed_session_feed, nanoembed_session_init, nanoembed_session_length,
    nanoembed_session_logits, nanoembed_session_sample, nanoembed_session_truncate,
};
use nanoembed_ffi::status::NANOEMBED_OK;

use super::memory::Memory;
use super::{Source, call, check};

/// `None` if the file is rejected.
pub fn run(source: &Source<'_>, [positions, at_once]: [u8; 2]) -> Option<()> {
    let (file, from) = (source.file, &raw const source.inner);
    let options = nanoembed_decoder_options {
        positions: 1 + u32::from(positions % 16),
        tokens_at_once: u32::from(at_once % 4),
        ..nanoembed_decoder_options::default()
    };
    let mut plan = nanoembed_decoder_plan::default();
    // SAFETY: all pointers are to objects that outlive the call.
    call(file, |error| unsafe {
        nanoembed_plan_decoder(from, &raw const options, &raw mut plan, error)
    })
    .ok()?;
    let memory = Memory::new(plan.decoder_bytes)?;
    let mut decoder = null_mut();
    let mut init = |bytes| {
        let (place, options) = (&raw mut decoder, &raw const options);
        // SAFETY: as before, and `memory` has at least as many bytes.
        call(file, |error| unsafe {
            nanoembed_decoder_init(from, options, memory.start, bytes, place, error)
        })
    };
    assert!(init(memory.bytes() - 1).is_err(), "a byte less than was planned");
    init(memory.bytes()).ok()?;
    let mut again = nanoembed_decoder_plan::default();
    // SAFETY: a handle, and a place for a plan.
    assert_eq!(unsafe { nanoembed_decoder_get_plan(decoder, &raw mut again) }, NANOEMBED_OK);
    assert_eq!(again.session_bytes, plan.session_bytes);
    let room = Memory::new(plan.session_bytes)?;
    let mut session = null_mut();
    // SAFETY: a handle, and memory of the planned size.
    let status =
        unsafe { nanoembed_session_init(decoder, room.start, room.bytes(), &raw mut session) };
    assert_eq!(status, NANOEMBED_OK, "as much as was planned");
    let mut logits = vec![0.0; plan.vocabulary as usize];
    for ids in [[1_u32, 0, 2], [0, 0, u32::MAX]] {
        // SAFETY: handles and ids.
        let fed = call(file, |error| unsafe {
            nanoembed_session_feed(decoder, session, ids.as_ptr(), ids.len(), error)
        });
        let mut id = 0;
        // SAFETY: a session, and places for an id and for logits.
        unsafe {
            let sampled = nanoembed_session_sample(session, &raw mut id);
            assert_eq!(sampled == NANOEMBED_OK, fed.is_ok());
            assert!(sampled != NANOEMBED_OK || id < plan.vocabulary);
            let status = nanoembed_session_logits(session, logits.as_mut_ptr(), logits.len());
            if status != NANOEMBED_OK {
                check(status);
            }
            assert!(nanoembed_session_length(session) <= options.positions);
            nanoembed_session_truncate(session, 1);
        }
    }
    Some(())
}
