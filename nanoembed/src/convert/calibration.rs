//! Column scales that follow from the size of a model's activations.
//!
//! Some columns of the activations are always large. Moving their size into the weights makes room
//! for the others when both are quantised to 8 bits; see [`nanoembed_core::quant::int8`].

use std::collections::HashMap;

use nanoembed_core::quant::int8::column_scales;
use nanoembed_core::{Error as CoreError, limit};

use crate::checkpoint::tensor::Tensor;
use crate::convert::naming::{Naming, Place};
use crate::hashed;

/// The root mean square of every column of what linear layers are applied to.
#[derive(Debug, Default)]
pub struct Calibration {
    pub(super) naming: Naming,
    pub(super) columns: HashMap<Place, Vec<f32>>,
}

impl Calibration {
    /// The calibration that mean squares of columns give.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn from_squares<'s>(
        naming: Naming,
        places: impl Iterator<Item = (Place, &'s [f32])>,
    ) -> Result<Self, CoreError> {
        let mut columns = HashMap::new();
        for (place, squares) in places {
            let roots = limit::exactly(squares.iter().map(|square| square.sqrt()))?;
            hashed::insert(&mut columns, place, roots)?;
        }
        Ok(Self { naming, columns })
    }

    /// The column scales of the inputs of the layers in `tensors` called `name`; empty if they have
    /// none.
    ///
    /// # Errors
    ///
    /// As [`scales_at`](Self::scales_at).
    pub fn column_scales(&self, name: &str, tensors: &[Tensor<'_>]) -> Result<Vec<f32>, CoreError> {
        let place = self.naming.place(name);
        place.map_or(Ok(Vec::new()), |place| self.scales_at(place, tensors))
    }

    /// The scales of the columns of one input; empty if they have none.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn scales_at(&self, at: Place, tensors: &[Tensor<'_>]) -> Result<Vec<f32>, CoreError> {
        let Some(migration) = at.1.migration() else { return Ok(Vec::new()) };
        let Some(rms) = self.columns.get(&at) else { return Ok(Vec::new()) };
        // Queries, keys and values share their input, so they share its scales; values, the last
        // ones, are the sensitive ones.
        let decisive = tensors.iter().rfind(|tensor| self.naming.place(&tensor.name) == Some(at));
        let values = decisive.map(Tensor::to_f32).transpose()?.unwrap_or_default();
        let mut largest = limit::filled(rms.len(), 0.0_f32)?;
        for row in values.chunks_exact(rms.len()) {
            for (most, value) in largest.iter_mut().zip(row) {
                *most = most.max(value.abs());
            }
        }
        let mut scales = limit::filled(rms.len(), 0.0)?;
        column_scales(rms, &largest, migration, &mut scales);
        Ok(scales)
    }
}
