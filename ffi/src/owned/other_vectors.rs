//! Sparse vectors, and a vector for each token, by models with memory of their own.

use core::ffi::c_char;

use nanoembed_core::ErrorKind;
use nanoembed_core::kernel::{self, max_sim};
use nanoembed_core::owned::LateSide;
use nanoembed_core::token::Encoded;

use crate::hosted::{HostedModel, HostedSession};
use crate::memory::number;
use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{
    INVALID, Outcome, answer, invalid, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::tokenized::nanoembed_tokenized;
use crate::versioned;
use crate::workspace::{nanoembed_workspace, session, used_with};

/// The vectors that a model makes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_vectors {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Elements of an embedding; 0 if the model makes none.
    pub dimensions: u32,
    /// 1 if the model makes sparse vectors, else 0.
    pub sparse: u32,
    /// Elements of the vector of a token; 0 if the model does not make one for each.
    pub multi_dimensions: u32,
    /// 1 if a text's vectors depend on its `nanoembed_side`, else 0.
    pub tells_sides: u32,
}

crate::versioned!(nanoembed_model_vectors);

/// The side of late interaction that a text is on.
pub type nanoembed_side = u32;
/// It asks.
pub const NANOEMBED_SIDE_QUERY: nanoembed_side = 0;
/// It answers.
pub const NANOEMBED_SIDE_DOCUMENT: nanoembed_side = 1;

/// Writes to `vectors` which vectors the model makes. Models in lent memory make embeddings alone.
///
/// # Safety
///
/// `model` is NULL or a model, `vectors` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_get_vectors(
    model: *const nanoembed_model,
    vectors: *mut nanoembed_model_vectors,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, out) = unsafe { (pointer::get(model)?, versioned::room(vectors)?) };
        let dimensions = number(model.kind.dimensions());
        out.write(match &model.kind {
            Kind::Hosted(hosted) => nanoembed_model_vectors {
                dimensions,
                sparse: hosted.makes_sparse().into(),
                multi_dimensions: number(hosted.multi_dimensions()),
                tells_sides: hosted.tells_sides().into(),
                ..nanoembed_model_vectors::default()
            },
            _ => nanoembed_model_vectors { dimensions, ..nanoembed_model_vectors::default() },
        });
        Ok(())
    };
    answer(make())
}

/// The sparse vector of a text in UTF-8, by a model that makes them (SPLADE, or BGE-M3 beside its
/// embeddings) and has memory of its own: `*count` tokens of the vocabulary in ascending order into
/// `ids`, and their weights into `weights`. `tokenized` may be NULL.
///
/// `NANOEMBED_BUFFER_TOO_SMALL` if there are more than `capacity`; `needed` of `error` is their number
/// then. `NANOEMBED_OTHER_MODEL` for other models.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `ids` and
/// `weights` to memory for `capacity` numbers, `count` for one, `tokenized` is NULL or points to
/// memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_embed_sparse(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    text_start: *const c_char,
    text_bytes: usize,
    ids: *mut u32,
    weights: *mut f32,
    capacity: usize,
    count: *mut usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (count, (hosted, session), text) = unsafe {
            (pointer::out(count)?, hosted(model, workspace)?, text(text_start, text_bytes)?)
        };
        let (vector, encoded) = hosted.embed_sparse(session, text)?;
        let length = vector.indices.len();
        if length > capacity {
            return Err(too_small(length));
        }
        // SAFETY: the caller's promise.
        unsafe {
            pointer::slice_mut(ids, length)?.copy_from_slice(&vector.indices);
            pointer::slice_mut(weights, length)?.copy_from_slice(&vector.values);
            write(tokenized, &encoded)?;
        }
        count.write(length);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// The vectors of the tokens of a text in UTF-8, by a model for late interaction (ColBERT, or BGE-M3
/// beside its embeddings) that has memory of its own: `*count` vectors of `multi_dimensions` floats
/// each, of length 1, one after the other into `out`. The model's prompt for texts on this side
/// stands before the text unless the workspace has another one. `tokenized` may be NULL; some tokens
/// may have no vector.
///
/// `NANOEMBED_BUFFER_TOO_SMALL` if they are more than `capacity` floats; `needed` of `error` is their
/// number then, and never more than `multi_dimensions` for each of the model's `workspace_tokens`.
/// `NANOEMBED_OTHER_MODEL` for other models.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `out` to memory
/// for `capacity` floats, `count` for one number, `tokenized` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_embed_multi(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    side: nanoembed_side,
    text_start: *const c_char,
    text_bytes: usize,
    out: *mut f32,
    capacity: usize,
    count: *mut usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (count, (hosted, session), text) = unsafe {
            (pointer::out(count)?, hosted(model, workspace)?, text(text_start, text_bytes)?)
        };
        let side = match side {
            NANOEMBED_SIDE_QUERY => LateSide::Query,
            NANOEMBED_SIDE_DOCUMENT => LateSide::Document,
            _ => return Err(invalid("side")),
        };
        let (vectors, encoded) = hosted.embed_multi(session, side, text)?;
        if vectors.len() > capacity {
            return Err(too_small(vectors.len()));
        }
        // SAFETY: the caller's promise.
        unsafe {
            pointer::slice_mut(out, vectors.len())?.copy_from_slice(&vectors);
            write(tokenized, &encoded)?;
        }
        count.write(vectors.len().checked_div(hosted.multi_dimensions()).unwrap_or(0));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// How well a document answers a query by late interaction: the sum over the query's vectors of the
/// largest dot product with one of the document's; 0 if either has none. Both have vectors of
/// `dimensions` floats, one after the other.
///
/// # Safety
///
/// `query` points to `query_vectors` vectors, `document` to `document_vectors`, `score` to memory for
/// one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_max_sim(
    query: *const f32,
    query_vectors: usize,
    document: *const f32,
    document_vectors: usize,
    dimensions: usize,
    score: *mut f32,
) -> nanoembed_status {
    let make = || -> Outcome {
        let floats = |vectors: usize| vectors.checked_mul(dimensions).ok_or(INVALID);
        // SAFETY: the caller's promise.
        let (query, document, out) = unsafe {
            (
                pointer::slice(query, floats(query_vectors)?)?,
                pointer::slice(document, floats(document_vectors)?)?,
                pointer::out(score)?,
            )
        };
        out.write(max_sim::max_sim(&kernel::detect(), dimensions, query, document));
        Ok(())
    };
    answer(make())
}

/// A model with memory of its own, and the scratch memory of its workspace.
///
/// # Safety
///
/// Both are NULL or handles.
unsafe fn hosted<'h>(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
) -> Outcome<(&'h HostedModel, &'h mut HostedSession)> {
    // SAFETY: the caller's promise.
    let (model, workspace) = unsafe { used_with(model, workspace)? };
    match &model.kind {
        Kind::Hosted(hosted) => Ok((hosted, session(&mut workspace.hosted)?)),
        _ => Err(ErrorKind::OtherModel.into()),
    }
}

/// Writes how a text was tokenised, if anyone asks for it.
///
/// # Safety
///
/// `tokenized` is NULL or points to memory for one.
unsafe fn write(tokenized: *mut nanoembed_tokenized, encoded: &Encoded) -> Outcome {
    if !tokenized.is_null() {
        // SAFETY: the caller's promise.
        unsafe { versioned::room(tokenized) }?.write(nanoembed_tokenized::from_encoded(encoded));
    }
    Ok(())
}
