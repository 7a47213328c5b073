//! Sparse vectors, and a vector for each token, of models in folders and in files that keep the texts
//! of one.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::kernel::{self, max_sim};
use nanoembed_core::owned::LateSide;
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use super::kind::Kind;
use super::text_model::TextModel;
use super::whole_model::WholeModel;
use crate::failure::{Failure, Result};
use crate::leaf::{self, Part};
use crate::reader::Reader;

#[wasm_bindgen]
impl TextModel {
    /// As [`new`](Self::new), but unknown settings of these names, which zeros separate, are ignored
    /// in the texts of a folder that the file keeps.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn allowing(reader: Reader, requantize: Option<bool>, names: &str) -> Result<Self> {
        let names: Vec<String> = names.split('\0').map(String::from).collect();
        let leaf = leaf::Whole::built_in()?;
        let file = reader.into_file(super::kind::FORMATS)?;
        let model = WholeModel::open_allowing(file, requantize, &names)?;
        Ok(Self::from_kind(Kind::Whole(Part::new(leaf, model))))
    }

    /// A warning for each unknown setting that was ignored, for the first call.
    #[must_use]
    pub fn warnings(&mut self) -> Vec<String> {
        self.whole().map_or_else(|_| Vec::new(), |model| mem::take(&mut model.warnings))
    }

    /// Returns true if the model makes sparse vectors.
    #[must_use]
    pub fn makes_sparse(&mut self) -> bool {
        self.whole().is_ok_and(|model| model.encoder().makes_sparse())
    }

    /// Elements of the vector of a token; 0 if the model does not make one for each.
    #[must_use]
    pub fn multi_dims(&mut self) -> usize {
        self.whole().map_or(0, |model| model.encoder().multi_dimensions())
    }

    /// Returns true if the model makes other vectors of a query than of a document.
    #[must_use]
    pub fn tells_sides(&mut self) -> bool {
        self.whole().is_ok_and(|model| model.encoder().tells_sides())
    }

    /// The sparse vectors of the texts that wait. For each: the number of its weights, their tokens,
    /// and the bits of the weights.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); `other_model` if the model makes none.
    pub fn run_sparse(&mut self, is_precise: bool) -> Result<Vec<u32>> {
        let queue = mem::take(&mut self.queue);
        self.check_prompt()?;
        let mut found = Vec::new();
        for vector in self.whole()?.embed_sparse(&queue, is_precise)? {
            let length = vector.indices.len();
            let room = found.try_reserve(length.saturating_mul(2).saturating_add(1));
            room.map_err(|_| ErrorKind::BufferTooSmall)?;
            found.push(u32::try_from(length).unwrap_or(u32::MAX));
            found.extend(&vector.indices);
            found.extend(vector.values.iter().map(|weight| weight.to_bits()));
        }
        Ok(found)
    }

    /// The vectors of the tokens of a text, one after the other; [`used`](Self::used) then returns
    /// the number of its tokens, and [`total`](Self::total) a greater one if it has more.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); `other_model` if the model makes none.
    pub fn embed_multi(
        &mut self,
        text: &str,
        is_query: bool,
        limit: usize,
        is_precise: bool,
    ) -> Result<Vec<f32>> {
        self.check_prompt()?;
        let text = match &self.prompt {
            Some(prompt) => prompt.before(text)?,
            None => Cow::Borrowed(text),
        };
        let side = if is_query { LateSide::Query } else { LateSide::Document };
        let Kind::Whole(model) = &mut self.kind else { return Err(ErrorKind::OtherModel.into()) };
        let (vectors, tokens) = model.embed_multi(&text, side, limit, is_precise)?;
        self.used = tokens.ids.len();
        self.total = self.used.saturating_add(tokens.truncated.into());
        Ok(vectors)
    }

    /// The number of tokens of the last text with vectors for each that were used.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&mut self, id: u32) -> Option<String> {
        self.whole().ok().and_then(|model| model.encoder().token(id))
    }

    /// How well a text answers a question by the vectors of their tokens.
    #[must_use]
    pub fn max_sim(&mut self, query: &[f32], document: &[f32]) -> f32 {
        max_sim::max_sim(&kernel::detect(), self.multi_dims(), query, document)
    }
}

impl TextModel {
    fn whole(&mut self) -> Result<&mut WholeModel> {
        match &mut self.kind {
            Kind::Whole(model) => Ok(model),
            _ => Err(ErrorKind::OtherModel.into()),
        }
    }

    /// Rejects a prompt whose tokens are left out, which is for dense vectors.
    fn check_prompt(&self) -> Result<()> {
        if self.prompt.as_ref().is_none_or(|prompt| prompt.skipped == 0) {
            return Ok(());
        }
        let error = Error::without_offset(ErrorKind::UnsupportedSetting);
        Err(Failure::explained(error, "include_prompt: false is for dense vectors".into()))
    }
}
