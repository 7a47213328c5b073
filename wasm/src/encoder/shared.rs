//! One model for several threads, each with an instance of the module over the same memory.
//!
//! A thread that has opened a file offers its model, the others take it, and it is withdrawn: the
//! model is freed when all of them have freed what they made of it. Prompts, texts that wait and
//! scratch memory are every thread's own.

use alloc::sync::Arc;
use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
use wasm_bindgen::prelude::*;

use self::kind_shared::{Leaf, Model, OfKind, Opened};
use super::text_model::TextModel;
use crate::failure::Result;
use crate::leaf::Part;
use crate::lock::Lock;

/// The kind of models that threads share.
#[cfg(feature = "encoder-weights")]
mod kind_shared {
    pub(super) use super::super::file_model::{FileModel as Model, OpenedFile as Opened};
    pub(super) use super::super::kind::Kind::File as OfKind;
    pub(super) use crate::leaf::File as Leaf;
}
#[cfg(not(feature = "encoder-weights"))]
mod kind_shared {
    pub(super) use super::super::kind::Kind::Whole as OfKind;
    pub(super) use super::super::whole_model::{WholeFile as Opened, WholeModel as Model};
    pub(super) use crate::leaf::Whole as Leaf;
}

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

/// The name of a model, unique among those that exist at the same time.
fn name_of<M>(model: &Arc<M>) -> usize {
    Arc::as_ptr(model).addr()
}

static OFFERS: Offers<Opened> = Offers::new();

#[wasm_bindgen]
impl TextModel {
    /// Lets other threads [`take`](Self::take) the model, by the name that is returned.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has it for itself; `buffer_too_small` if there is no memory.
    pub fn offer(&self) -> Result<usize> {
        match self.kind() {
            OfKind(model) => OFFERS.add(model.handle()),
            _ => Err(ErrorKind::OtherModel.into()),
        }
    }

    /// The model that another thread offers.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if nobody does.
    pub fn take(name: usize) -> Result<Self> {
        let model = Model::new(OFFERS.find(name)?);
        Ok(Self::from_kind(OfKind(Part::new(Leaf::built_in()?, model))))
    }

    /// Ends an offer. Nothing happens if there is none.
    pub fn withdraw(name: usize) {
        OFFERS.remove(name);
    }
}
