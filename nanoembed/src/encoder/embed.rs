//! The ways to embed: one text, several, part by part, and texts as token ids.

use std::borrow::Cow;

use nanoembed_core::ErrorKind;

use super::Encoder;
use super::backend::{Backend, Batch, Length, Others};
use super::session::Session;
use super::vector_kind::VectorKind;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::progress::{Observer, Progress, Silent};
use crate::role::Role;
use crate::tokenizer::Tokens;

/// A result of core, whose errors name no file.
type CoreResult<T> = Result<T, nanoembed_core::Error>;

/// How many texts are tokenised before the first of them is embedded: enough that threads are
/// seldom without work at the end of them, few enough that their tokens take little memory.
const TEXTS_AT_ONCE: usize = 4096;

impl Encoder {
    /// The embedding of a text, computed on this thread: see [`embed_all`](Self::embed_all) for
    /// many texts.
    ///
    /// # Errors
    ///
    /// If memory is refused, or the model's file has been changed under it.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_as(Role::Text, text)
    }

    /// The embedding of a question, after the model's prompt for queries and, in a model with a
    /// Router, through its route for them.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_as(Role::Query, text)
    }

    fn embed_as(&self, role: Role, text: &str) -> Result<Vec<f32>> {
        self.check_kind(VectorKind::Dense)?;
        let encoder = self.for_texts(role)?;
        let prompt = encoder.prompt(role)?;
        let mut vector = vec![0.0; encoder.0.backend.dimensions()];
        let text = prompt.before(text).map_err(|error| encoder.failure(error))?;
        let embedded = encoder.0.backend.embed(None, &text, prompt.skipped, &mut vector);
        embedded.map_err(|error| encoder.failure(error))?;
        encoder.cut(&mut vector);
        Ok(vector)
    }

    /// The embeddings of several texts, in their order, on all threads: of a slice, or of whatever
    /// an iterator gives, which is gathered first.
    ///
    /// ```
    /// let encoder = nanoembed::Encoder::open("../ffi/tests/data/small_bert.weights")?;
    /// let notes = [("Monday", "a cat on a mat"), ("Tuesday", "the price of oil")];
    /// let vectors = encoder.embed_all(notes.iter().map(|(_, text)| text))?;
    /// assert_eq!(vectors.len(), 2);
    /// # Ok::<(), nanoembed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_all<I>(&self, texts: I) -> Result<Vectors>
    where
        I: IntoIterator<Item: AsRef<str> + Sync>,
    {
        let texts: Vec<_> = texts.into_iter().collect();
        self.embed_all_as(Role::Text, &texts).map(|(vectors, _)| vectors)
    }

    /// The embeddings of texts that answer questions, after the model's prompt for documents and, in
    /// a model with a Router, through its route for them; texts as of [`embed_all`](Self::embed_all).
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_documents<I>(&self, texts: I) -> Result<Vectors>
    where
        I: IntoIterator<Item: AsRef<str> + Sync>,
    {
        let texts: Vec<_> = texts.into_iter().collect();
        self.embed_all_as(Role::Document, &texts).map(|(vectors, _)| vectors)
    }

    /// The embeddings of several texts, in their order, on all threads, and how much of each was
    /// embedded.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_all_as<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
    ) -> Result<(Vectors, Vec<Length>)> {
        let mut values = vec![0.0; texts.len() * self.0.dimensions];
        let lengths = self.embed_into(role, texts, &mut values, &Silent)?;
        // Never refused: rows have the model's size, which is not 0.
        let vectors = Vectors::new(self.0.dimensions, values);
        Ok((vectors.ok_or_else(|| Error::bad_input("the model's vectors are empty"))?, lengths))
    }

    /// The embeddings of several texts into `out`, one after the other, and how much of each was
    /// embedded. `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`Kind::Usage`](crate::Kind::Usage) if `out` has not as many
    /// numbers as the embeddings; [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_into<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        out: &mut [f32],
        observer: &dyn Observer,
    ) -> Result<Vec<Length>> {
        let width = self.0.dimensions;
        if texts.len().checked_mul(width) != Some(out.len()) {
            let message =
                format!("has {} numbers, not {width} for each of {}", out.len(), texts.len());
            return Err(Error::argument("out", message));
        }
        let mut all_lengths = Vec::with_capacity(texts.len());
        let mut rest = out;
        self.embed_parts(role, texts, observer, |values, lengths| {
            if let Some((part, after)) =
                std::mem::take(&mut rest).split_at_mut_checked(values.len())
            {
                part.copy_from_slice(values);
                rest = after;
            }
            all_lengths.extend_from_slice(lengths);
            Ok(())
        })?;
        Ok(all_lengths)
    }

    /// The embeddings of several texts, given to `take` part by part, in their order: vectors one
    /// after the other, and how much of each text was embedded. No more than a part of them is in
    /// memory. `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed), what `take` says, and
    /// [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_parts<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        observer: &dyn Observer,
        mut take: impl FnMut(&[f32], &[Length]) -> Result<()>,
    ) -> Result<()> {
        self.check_kind(VectorKind::Dense)?;
        let encoder = self.for_texts(role)?;
        let prompt = encoder.prompt(role)?;
        let progress = Progress::texts(observer, "embedding", Some(texts.len() as u64));
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let texts = texts.iter().map(|text| prompt.before(text.as_ref()));
            let texts: Vec<Cow<'_, str>> =
                texts.collect::<Result<_, _>>().map_err(|error| encoder.failure(error))?;
            let embed = || encoder.0.backend.embed_all(&texts, prompt.skipped, observer);
            let embedded = match &self.0.threads {
                Some(threads) => threads.install(embed),
                None => embed(),
            };
            let Batch { mut values, lengths } = embedded.map_err(|error| encoder.failure(error))?;
            if observer.is_cancelled() {
                return Err(Error::cancelled());
            }
            self.cut(&mut values);
            take(&values, &lengths)?;
        }
        drop(progress);
        Ok(())
    }

    /// The vectors of another kind than dense ones of texts of a role, which `embed` makes part by
    /// part, and how much of each text was embedded. `observer` may cancel the rest.
    pub(super) fn embed_others<T: AsRef<str> + Sync, V: Send>(
        &self,
        kind: VectorKind,
        (role, texts): (Role, &[T]),
        observer: &dyn Observer,
        embed: impl Fn(&dyn Backend, &[Cow<'_, str>]) -> CoreResult<Others<V>> + Sync,
    ) -> Result<(Vec<V>, Vec<Length>)> {
        self.check_kind(kind)?;
        let encoder = self.for_texts(role)?;
        let prompt = encoder.prompt(role)?;
        if prompt.skipped > 0 {
            return Err(encoder.0.prompts.refuse_left_out());
        }
        let progress = Progress::texts(observer, "embedding", Some(texts.len() as u64));
        let (mut vectors, mut lengths) = (Vec::new(), Vec::new());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let texts = texts.iter().map(|text| prompt.before(text.as_ref()));
            let texts: Vec<Cow<'_, str>> =
                texts.collect::<Result<_, _>>().map_err(|error| encoder.failure(error))?;
            let embed = || embed(&*encoder.0.backend, &texts);
            let embedded = match &self.0.threads {
                Some(threads) => threads.install(embed),
                None => embed(),
            };
            let embedded = embedded.map_err(|error| encoder.failure(error))?;
            if observer.is_cancelled() {
                return Err(Error::cancelled());
            }
            vectors.extend(embedded.vectors);
            lengths.extend(embedded.lengths);
        }
        drop(progress);
        Ok((vectors, lengths))
    }

    /// The token ids of a text after the model's prompt, as far as they are embedded.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn tokenize(&self, text: &str) -> Result<Tokens> {
        self.tokenize_as(Role::Text, text)
    }

    /// The token ids of a text of a role after the model's prompt for such texts, as far as they are
    /// embedded.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn tokenize_as(&self, role: Role, text: &str) -> Result<Tokens> {
        let encoder = self.for_texts(role)?;
        let prompt = encoder.prompt(role)?;
        let tokens = prompt.before(text).and_then(|text| encoder.0.backend.tokenize(&text));
        tokens.map_err(|error| encoder.failure(error))
    }

    /// The text of token ids: see [`Tokenizer::decode`](crate::Tokenizer::decode). A prompt that
    /// was before the text is part of it.
    ///
    /// ```
    /// let encoder = nanoembed::Encoder::open("../ffi/tests/data/small_bert.weights")?;
    /// let tokens = encoder.tokenize("The cat sat.")?;
    /// assert_eq!(encoder.decode(&tokens.ids)?, "the cat sat.");
    /// # Ok::<(), nanoembed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::decode`](crate::Tokenizer::decode).
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.0.backend.decode(ids).map_err(|error| self.failure(error))
    }

    /// The number of tokens of all of a text after the model's prompt, special tokens included, of
    /// which [`tokenize`](Self::tokenize) has the first.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn count_tokens(&self, text: &str) -> Result<usize> {
        let prompt = self.prompt(Role::Text)?;
        let count = prompt.before(text).and_then(|text| self.0.backend.count_tokens(&text));
        count.map_err(|error| self.failure(error))
    }

    /// The embeddings of several texts whose token ids are known, in their order, on all threads:
    /// those that [`tokenize`](Self::tokenize) makes give the bits of
    /// [`embed_all`](Self::embed_all). `observer` receives the number of finished texts, and may
    /// cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`ErrorKind::TooManyTokens`](crate::ErrorKind::TooManyTokens) for
    /// a text longer than [`max_tokens`](Self::max_tokens),
    /// [`ErrorKind::TokenOutOfRange`](crate::ErrorKind::TokenOutOfRange) for an id that is no
    /// token's, and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_ids<T: AsRef<[u32]> + Sync>(
        &self,
        texts: &[T],
        observer: &dyn Observer,
    ) -> Result<Vectors> {
        self.check_kind(VectorKind::Dense)?;
        let ids: Vec<&[u32]> = texts.iter().map(AsRef::as_ref).collect();
        if ids.iter().any(|ids| ids.len() > self.max_tokens()) {
            let error = nanoembed_core::Error::without_offset(ErrorKind::TooManyTokens);
            return Err(self.failure(error));
        }
        let prompt = self.prompt(Role::Text)?;
        let embed = || self.0.backend.embed_ids(&ids, prompt.skipped, observer);
        let embedded = match &self.0.threads {
            Some(threads) => threads.install(embed),
            None => embed(),
        };
        let mut values = embedded.map_err(|error| self.failure(error))?;
        if observer.is_cancelled() {
            return Err(Error::cancelled());
        }
        self.cut(&mut values);
        let vectors = Vectors::new(self.0.dimensions, values);
        vectors.ok_or_else(|| Error::bad_input("the model's vectors are empty"))
    }

    /// Scratch memory for one text after the other without the pool: for hot loops.
    ///
    /// # Errors
    ///
    /// If memory is refused.
    pub fn session(&self) -> Result<Session> {
        Session::new(self)
    }

    /// Cuts vectors of the model, one after the other, to the length that was asked for.
    pub(super) fn cut(&self, values: &mut Vec<f32>) {
        let (full, width) = (self.0.backend.dimensions(), self.0.dimensions);
        let rows = values.len() / full;
        if width < full {
            for row in 1..rows {
                values.copy_within(row * full..row * full + width, row * width);
            }
            values.truncate(rows * width);
        }
        if self.0.normalize {
            values.chunks_exact_mut(width).for_each(normalize);
        }
    }
}

/// Brings a vector to length 1, if it has any.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "within ±1")]
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}
