//! One model for several threads, each with an instance of the module over the same memory.
//!
//! A thread that has opened a file offers its model, the others take it, and it is withdrawn: the
//! model is freed when all of them have freed what they made of it. Prompts, texts that wait and
//! scratch memory are every thread's own.

use alloc::sync::Arc;
use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
#[cfg(feature = "encoder-weights")]
use nanoembed_core::owned::TextRoom;
use wasm_bindgen::prelude::*;

#[cfg(feature = "encoder-weights")]
use crate::encoder_model::{EncoderModel, Opened};
#[cfg(feature = "encoder-weights")]
use crate::encoders::Encoders;
use crate::failure::Result;
use crate::lock::Lock;
#[cfg(feature = "embed")]
use crate::sentence_model::{Bert, SentenceModel};
#[cfg(feature = "embed")]
use crate::sentences::Sentences;
#[cfg(feature = "embed")]
use crate::sessions::Sessions;

/// Models that threads may take.
struct Offers<M>(Lock<Vec<Arc<M>>>);

impl<M> Offers<M> {
    const fn new() -> Self {
        Self(Lock::new(Vec::new()))
    }

    /// Returns the model's name.
    fn add(&self, model: &Arc<M>) -> Result<usize> {
        self.0.with(|offered| {
            offered.try_reserve(1).map_err(|_| ErrorKind::BufferTooSmall)?;
            offered.push(Arc::clone(model));
            Ok(name_of(model))
        })
    }

    fn find(&self, name: usize) -> Result<Arc<M>> {
        self.0.with(|offered| {
            let found = offered.iter().find(|model| name_of(model) == name);
            Ok(found.map(Arc::clone).ok_or(ErrorKind::InvalidArgument)?)
        })
    }

    fn remove(&self, name: usize) {
        let ended = self.0.with(|offered| {
            let place = offered.iter().position(|model| name_of(model) == name)?;
            Some(offered.swap_remove(place))
        });
        // Outside of the lock: it may be the last.
        drop(ended);
    }
}

/// What tells models apart that are there at the same time.
fn name_of<M>(model: &Arc<M>) -> usize {
    Arc::as_ptr(model).addr()
}

#[cfg(feature = "encoder-weights")]
static ENCODERS: Offers<Opened> = Offers::new();

#[cfg(feature = "encoder-weights")]
#[wasm_bindgen]
impl Encoders {
    /// Lets other threads [`take`](Self::take) the model, by the name that is returned.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has it for itself; `buffer_too_small` if there is no memory.
    pub fn offer(&self) -> Result<usize> {
        ENCODERS.add(self.model.held()?)
    }

    /// The model that another thread offers.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if nobody does.
    pub fn take(name: usize) -> Result<Self> {
        let model = ENCODERS.find(name)?;
        Ok(Self::from_model(EncoderModel::File { model, texts: TextRoom::default() }))
    }

    /// Ends an offer. Nothing happens if there is none.
    pub fn withdraw(name: usize) {
        ENCODERS.remove(name);
    }
}

#[cfg(feature = "embed")]
static SENTENCES: Offers<Bert> = Offers::new();

#[cfg(feature = "embed")]
#[wasm_bindgen]
impl Sentences {
    /// Lets other threads [`take`](Self::take) the model, by the name that is returned.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has it for itself; `buffer_too_small` if there is no memory.
    pub fn offer(&self) -> Result<usize> {
        SENTENCES.add(self.model.held()?)
    }

    /// The model that another thread offers.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if nobody does.
    pub fn take(name: usize) -> Result<Self> {
        let bert = SENTENCES.find(name)?;
        Ok(Self::from_model(SentenceModel::Bert { bert, sessions: Sessions::default() }))
    }

    /// Ends an offer. Nothing happens if there is none.
    pub fn withdraw(name: usize) {
        SENTENCES.remove(name);
    }
}
