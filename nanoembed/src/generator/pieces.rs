//! A continuation, piece after piece.

use std::fmt;

use nanoembed_core::model::llama::{Output, Sampler};
use nanoembed_core::owned::{CausalSession, Detokenizer};
use nanoembed_core::top::Scored;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::Generator;
use super::penalties::Penalties;
use super::stops::Stops;
use crate::error::Result;

/// The pieces of a text as they are generated: whole characters, a token's or several tokens'. They
/// keep the model, and may go to another thread.
///
/// ```
/// use nanoembed::{Generator, Prompt, Sampling};
///
/// let generator = Generator::open("../tests/data/llama/tiny.gguf")?;
/// let sampling = Sampling::greedy().max_tokens(8);
/// let pieces = generator.generate(Prompt::Text("Once upon a time"), sampling)?.until(["\n"]);
/// let text = std::thread::spawn(move || pieces.collect::<nanoembed::Result<String>>());
/// println!("{}", text.join().expect("no panic")?);
/// # Ok::<(), nanoembed::Error>(())
/// ```
pub struct Pieces {
    generator: Generator,
    session: CausalSession,
    sampler: Sampler,
    penalties: Option<Penalties>,
    logits: Vec<f32>,
    order: Vec<Scored>,
    text: Detokenizer,
    prompt_tokens: usize,
    max_tokens: usize,
    ids: Vec<u32>,
    state: State,
    stops: Stops,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The logits are those of the next token.
    Ready,
    /// The last token has not passed through the model yet.
    Pending,
    /// For a reason, unless the model failed.
    Ended(Option<FinishReason>),
}

/// The reason why a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended it, or one of the strings [until](Pieces::until) which it goes.
    Stop,
    /// It has the most tokens that were asked for.
    Length,
}

impl Pieces {
    pub(super) fn new(
        generator: Generator,
        session: CausalSession,
        (sampler, penalties): (Sampler, Option<Penalties>),
        (logits, order): (Vec<f32>, Vec<Scored>),
        (prompt_tokens, max_tokens): (usize, usize),
    ) -> std::result::Result<Self, CoreError> {
        let other = CoreError::without_offset(ErrorKind::UnsupportedTokenizer);
        let text = generator.0.causal.model().tokenizer.detokenizer().ok_or(other)?;
        let (ids, state, stops) = (Vec::new(), State::Ready, Stops::default());
        Ok(Self {
            generator,
            session,
            sampler,
            penalties,
            logits,
            order,
            text,
            prompt_tokens,
            max_tokens,
            ids,
            state,
            stops,
        })
    }

    /// The same pieces, which end before the first of these strings. Text that may be the beginning
    /// of one is held back until it is clear.
    #[must_use]
    pub fn until(self, strings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { stops: Stops::new(strings.into_iter().map(Into::into)), ..self }
    }

    /// The number of tokens of the prompt.
    #[must_use]
    pub const fn prompt_tokens(&self) -> usize {
        self.prompt_tokens
    }

    /// The ids of the tokens so far, without those of the prompt, and with those of a string that
    /// [ends](Self::until) the text.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The reason why the text has ended; `None` before its end, and if the model failed.
    #[must_use]
    pub const fn finish_reason(&self) -> Option<FinishReason> {
        match self.state {
            State::Ended(reason) => reason,
            State::Ready | State::Pending => None,
        }
    }

    /// The next piece after no more than one token: it is empty where no character is clear yet.
    /// `None` after the last. [`next`](Iterator::next) goes on until there is a text.
    pub fn step(&mut self) -> Option<Result<String>> {
        match self.advance() {
            Ok(piece) => piece.map(Ok),
            Err(error) => {
                self.state = State::Ended(None);
                Some(Err(self.generator.0.causal.failure(error)))
            }
        }
    }

    /// The text of the next token before any string that ends it; may be empty.
    fn advance(&mut self) -> Result<Option<String>, CoreError> {
        let Some(piece) = self.next_token()? else { return Ok(None) };
        let (mut text, is_end) = self.stops.push(&piece);
        if is_end {
            self.state = State::Ended(Some(FinishReason::Stop));
        } else if matches!(self.state, State::Ended(_)) {
            text.push_str(&self.stops.rest());
        }
        Ok(Some(text))
    }

    /// The text of the next token, which may be empty; `None` after the last.
    fn next_token(&mut self) -> Result<Option<String>, CoreError> {
        let Self { generator, session, sampler, penalties, logits, order, text, ids, .. } = self;
        let mut piece = String::new();
        let mut say = |part: &str| {
            piece.push_str(part);
            Ok(())
        };
        let model = generator.0.causal.model();
        if matches!(self.state, State::Ended(_)) {
            return Ok(None);
        }
        let mut reason = FinishReason::Length;
        if ids.len() < self.max_tokens {
            if let (State::Pending, Some(last)) = (self.state, ids.last()) {
                model.forward(session, &[*last], Output::LastLogits(logits))?;
            }
            if let Some(penalties) = penalties {
                penalties.apply(logits);
            }
            let next = sampler.next(logits, order)?;
            if !model.tokenizer.is_end(next) {
                self.state = State::Pending;
                ids.push(next);
                if let Some(penalties) = penalties {
                    penalties.add(next);
                }
                text.token(&model.tokenizer, next, &mut say)?;
                return Ok(Some(piece));
            }
            reason = FinishReason::Stop;
        }
        self.state = State::Ended(Some(reason));
        text.finish(&mut say)?;
        Ok(Some(piece))
    }
}

impl Iterator for Pieces {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Some(Ok(piece)) if piece.is_empty() => {}
                piece => return piece,
            }
        }
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").field("ids", &self.ids).finish_non_exhaustive()
    }
}
