//! Encoders.

use std::ptr::{null, null_mut};

use nanoembed_ffi::embed::{
    nanoembed_embed_ids, nanoembed_embed_text, nanoembed_workspace_bytes, nanoembed_workspace_init,
};
use nanoembed_ffi::model::{
    nanoembed_model_get_info, nanoembed_model_info, nanoembed_model_init, nanoembed_model_options,
    nanoembed_plan, nanoembed_plan_model, nanoembed_plan_scratch,
};
use nanoembed_ffi::owned::{
    nanoembed_model_free, nanoembed_model_new, nanoembed_workspace_free, nanoembed_workspace_new,
};
use nanoembed_ffi::status::NANOEMBED_OK;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

use super::memory::Memory;
use super::{Source, TEXT, call, check};

/// In caller-provided memory and on the heap; `None` if the file is rejected.
pub fn run(source: &Source<'_>, [tokens, choices]: [u8; 2]) -> Option<()> {
    let options = nanoembed_model_options {
        tokens: u32::from(tokens % 16),
        activations: u32::from(choices % 5),
        vocabulary: u32::from(choices / 5 % 5),
        block_tokens: u32::from(choices / 25),
        tile_bytes: u32::from(tokens / 16) * 1000,
        ..nanoembed_model_options::default()
    };
    // The file's own limit does not apply here: it may be some thousand tokens.
    let options = nanoembed_model_options { tokens: options.tokens.max(1), ..options };
    let lent = in_lent_memory(source, &options);
    on_heap(source, &options);
    lent
}

fn in_lent_memory(source: &Source<'_>, options: &nanoembed_model_options) -> Option<()> {
    let (file, from) = (source.file, &raw const source.inner);
    let mut needed = 0;
    // SAFETY: all pointers are to objects that outlive the call.
    call(file, |error| unsafe { nanoembed_plan_scratch(from, &raw mut needed, error) }).ok()?;
    let scratch = Memory::new(needed)?;
    let mut plan = nanoembed_plan::default();
    // SAFETY: as before, and `scratch` has that many bytes.
    call(file, |error| unsafe {
        let (start, bytes) = (scratch.start, scratch.bytes());
        nanoembed_plan_model(from, options, start, bytes, &raw mut plan, error)
    })
    .ok()?;
    let memory = Memory::new(plan.model_bytes)?;
    let mut model = null_mut();
    let mut init = |bytes| {
        // SAFETY: as before, and `memory` has at least that many bytes.
        call(file, |error| unsafe {
            let (start, length) = (scratch.start, scratch.bytes());
            let place = &raw mut model;
            nanoembed_model_init(from, options, memory.start, bytes, start, length, place, error)
        })
    };
    assert!(init(memory.bytes() - 1).is_err(), "a byte less than was planned");
    init(memory.bytes()).ok()?;
    let mut info = nanoembed_model_info::default();
    // SAFETY: a model, and a place for its description.
    assert_eq!(unsafe { nanoembed_model_get_info(model, &raw mut info) }, NANOEMBED_OK);
    assert_eq!(info.dimensions, plan.dimensions);
    // SAFETY: a model.
    assert_eq!(unsafe { nanoembed_workspace_bytes(model) }, plan.workspace_bytes);
    let room = Memory::new(plan.workspace_bytes)?;
    let mut workspace = null_mut();
    // SAFETY: a model, and memory of its workspace's size.
    let status =
        unsafe { nanoembed_workspace_init(model, room.start, room.bytes(), &raw mut workspace) };
    assert_eq!(status, NANOEMBED_OK, "as much as was planned");
    let mut twice = [0, 1].map(|_| vec![0.0; plan.dimensions as usize]);
    let ids = [1, 0, 2];
    let statuses = twice.each_mut().map(|out| {
        // SAFETY: handles, ids, and floats for a vector.
        call(file, |error| unsafe {
            let (ids, count) = (ids.as_ptr(), ids.len());
            nanoembed_embed_ids(model, workspace, ids, count, out.as_mut_ptr(), out.len(), error)
        })
    });
    assert_eq!(statuses[0], statuses[1], "memory that was used before");
    if statuses[0].is_ok() {
        let bits = twice.each_ref().map(|it| it.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        assert_eq!(bits[0], bits[1], "memory that was used before");
    }
    let mut tokenized = nanoembed_tokenized::default();
    let [out, _] = &mut twice;
    // SAFETY: as before, and a text.
    let _ = call(file, |error| unsafe {
        let (text, place) = (TEXT.as_ptr().cast(), &raw mut tokenized);
        let (out, room) = (out.as_mut_ptr(), out.len());
        nanoembed_embed_text(model, workspace, text, TEXT.len(), out, room, place, error)
    });
    assert!(tokenized.tokens <= plan.tokens && tokenized.tokens <= tokenized.total);
    Some(())
}

fn on_heap(source: &Source<'_>, options: &nanoembed_model_options) {
    let (file, from) = (source.file, &raw const source.inner);
    let mut model = null_mut();
    // SAFETY: all pointers are to objects that outlive the call.
    let made =
        call(file, |error| unsafe { nanoembed_model_new(from, options, &raw mut model, error) });
    if made.is_err() {
        return;
    }
    let mut info = nanoembed_model_info::default();
    let mut workspace = null_mut();
    // SAFETY: a model, and places for its description and for a pointer.
    unsafe {
        assert_eq!(nanoembed_model_get_info(model, &raw mut info), NANOEMBED_OK);
        // A workspace may exceed the available memory, since the model determines its size.
        if nanoembed_workspace_bytes(model) < 64 << 20 {
            let status = nanoembed_workspace_new(model, &raw mut workspace);
            if status == NANOEMBED_OK {
                embed_text(file, (model, workspace), info.dimensions);
                nanoembed_workspace_free(workspace);
            } else {
                check(status);
            }
        }
        nanoembed_model_free(model);
    }
}

type Handles =
    (*const nanoembed_ffi::model::nanoembed_model, *mut nanoembed_ffi::embed::nanoembed_workspace);

/// # Safety
///
/// Both must be valid handles.
unsafe fn embed_text(file: &[u8], (model, workspace): Handles, dimensions: u32) {
    let mut out = vec![0.0; dimensions as usize];
    // SAFETY: handles, a text, and floats for a vector.
    let _ = call(file, |error| unsafe {
        let (text, none) = (TEXT.as_ptr().cast(), null::<u8>().cast_mut().cast());
        let (out, room) = (out.as_mut_ptr(), out.len());
        nanoembed_embed_text(model, workspace, text, TEXT.len(), out, room, none, error)
    });
}
