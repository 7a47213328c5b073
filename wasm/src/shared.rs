//! One model for several threads, each with an instance of the module over the same memory.
//!
//! A thread that has opened a file offers its model, the others take it, and it is withdrawn: the
//! model is freed when all of them have freed what they made of it. Prompts, texts that wait and
//! scratch memory are every thread's own.

use alloc::sync::Arc;
use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::TextRoom;
use wasm_bindgen::prelude::*;

use crate::encoder_model::{EncoderModel, Held};
use crate::encoders::Encoders;
use crate::failure::Result;
use crate::lock::Lock;

/// The models that threads may take.
static OFFERED: Lock<Vec<Held>> = Lock::new(Vec::new());

#[wasm_bindgen]
impl Encoders {
    /// Lets other threads [`take`](Self::take) the model, by the name that is returned.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has it for itself; `buffer_too_small` if there is no memory.
    pub fn offer(&self) -> Result<usize> {
        let model = self.model.held()?;
        OFFERED.with(|offered| {
            offered.try_reserve(1).map_err(|_| ErrorKind::BufferTooSmall)?;
            offered.push(Arc::clone(model));
            Ok(name_of(model))
        })
    }

    /// The model that another thread offers.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if nobody does.
    pub fn take(name: usize) -> Result<Self> {
        let model = OFFERED.with(|offered| {
            let found = offered.iter().find(|model| name_of(model) == name);
            found.map(Arc::clone).ok_or(ErrorKind::InvalidArgument)
        })?;
        Ok(Self::of(EncoderModel::File { model, texts: TextRoom::default() }))
    }

    /// Ends an offer. Nothing happens if there is none.
    pub fn withdraw(name: usize) {
        let ended = OFFERED.with(|offered| {
            let place = offered.iter().position(|model| name_of(model) == name)?;
            Some(offered.swap_remove(place))
        });
        // Outside of the lock: it may be the last.
        drop(ended);
    }
}

/// What tells models apart that are there at the same time.
fn name_of(model: &Held) -> usize {
    Arc::as_ptr(model).addr()
}
