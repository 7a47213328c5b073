//! Sessions with a decoder in lent memory: in exactly as much as is planned, and in no byte less.

use std::ptr::null_mut;

use nanoembed_ffi::decoder_model::*;
use nanoembed_ffi::session::*;
use nanoembed_ffi::source::nanoembed_source;
use nanoembed_ffi::status::*;

use super::memory::Room;

/// A decoder and a session, and what they lie in.
pub(crate) struct LentSession {
    pub(crate) decoder: *mut nanoembed_decoder,
    pub(crate) session: *mut nanoembed_session,
    pub(crate) vocabulary: usize,
    _rooms: [Room; 2],
}

impl LentSession {
    /// Of a source whose file outlives it.
    pub(crate) fn open(source: &nanoembed_source, options: &nanoembed_decoder_options) -> Self {
        let (mut plan, none) = (nanoembed_decoder_plan::default(), null_mut());
        // SAFETY: everything is there.
        let planned = unsafe { nanoembed_plan_decoder(source, options, &mut plan, none) };
        assert_eq!(planned, NANOEMBED_OK);
        let (mut decoder, mut session) = (null_mut(), null_mut());
        // SAFETY: everything is there, with its true sizes, and outlives the handles.
        let first = Room::exactly(plan.decoder_bytes, |place, size| unsafe {
            nanoembed_decoder_init(source, options, place, size, &mut decoder, none)
        });
        // SAFETY: as before.
        let second = Room::exactly(plan.session_bytes, |place, size| unsafe {
            nanoembed_session_init(decoder, place, size, &mut session)
        });
        let vocabulary = plan.vocabulary as usize;
        Self { decoder, session, vocabulary, _rooms: [first, second] }
    }
}

/// Takes tokens through the model, and answers the bits of the logits after them.
pub(crate) fn fed(
    decoder: *const nanoembed_decoder,
    session: *mut nanoembed_session,
    ids: &[u32],
    vocabulary: usize,
) -> Result<Vec<u32>, nanoembed_status> {
    let mut logits = vec![f32::NAN; vocabulary];
    // SAFETY: handles are good, and the rest lies here.
    unsafe {
        match nanoembed_session_feed(decoder, session, ids.as_ptr(), ids.len(), null_mut()) {
            NANOEMBED_OK => {}
            status => return Err(status),
        }
        let (out, room) = (logits.as_mut_ptr(), logits.len());
        assert_eq!(nanoembed_session_logits(session, out, room), NANOEMBED_OK);
    }
    Ok(logits.iter().map(|x| x.to_bits()).collect())
}
