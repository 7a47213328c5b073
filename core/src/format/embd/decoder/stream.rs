//! The stream variant: tensors with inline headers, then the vocabulary.

use super::super::grammar;
use super::table::{Records, Table};
use crate::bytes::{le_u32, parse, pass};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, FileInfo, Format, Mode, Step, Version};
use crate::tensor::{Dtype, TensorHeader, identity};

/// The offset of the number of tensors.
pub(super) const COUNT_AT: u64 = 8;

#[derive(Clone, Copy, Debug)]
enum State {
    Tensor { remaining: u32 },
    Data { bytes: u64, remaining: u32 },
    VocabularyCount,
    Tokens { next: u32, count: u32 },
    Complete,
}

#[derive(Clone, Debug)]
pub(super) struct Stream {
    tensors: u32,
    mode: Mode,
    passes_tokens: bool,
    state: State,
}

impl Stream {
    pub(super) fn new<R: Records + ?Sized>(
        tensors: u32,
        mode: Mode,
        passes_tokens: bool,
        table: &Table<'_, R>,
    ) -> Result<Self> {
        table.check_room(tensors, COUNT_AT)?;
        let state = State::Tensor { remaining: tensors };
        Ok(Self { tensors, mode, passes_tokens, state })
    }

    pub(super) const fn info(&self) -> FileInfo {
        FileInfo {
            format: Format::Embd,
            variant: "stream",
            version: Version::new(1, 0),
            tensors: Some(self.tensors),
            file_bytes: None,
        }
    }

    pub(super) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    pub(super) const fn skippable(&self) -> u64 {
        match self.state {
            State::Data { bytes, .. } => bytes,
            _ => 0,
        }
    }

    pub(super) fn skip(&mut self, skipped: u64) {
        if let State::Data { bytes, .. } = &mut self.state {
            *bytes = bytes.saturating_sub(skipped);
        }
    }

    pub(super) fn next<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
    ) -> Result<Step<'a>> {
        match self.state {
            State::Tensor { remaining: 0 } => {
                self.state = State::VocabularyCount;
                Ok(Step::silent(0))
            }
            State::Tensor { remaining } => self.tensor(table, input, offset, remaining),
            State::Data { bytes: 0, remaining } => {
                self.state = State::Tensor { remaining };
                Ok(Step::silent(0))
            }
            State::Data { bytes, .. } => {
                let step = Step::data(input, offset, offset.saturating_add(bytes));
                self.skip(step.used as u64);
                Ok(step)
            }
            State::VocabularyCount => {
                let (count, used) = parsed!(parse(le_u32, input, offset)?);
                self.state = State::Tokens { next: 0, count };
                Ok(Step::silent(used))
            }
            State::Tokens { next, count } if next == count => {
                self.state = State::Complete;
                Ok(Step::silent(0))
            }
            State::Tokens { next, count } => self.token(input, offset, next, count),
            State::Complete if input.is_empty() => Ok(Step::new(0, Event::End)),
            // The published loader does not check that the file ends here.
            State::Complete if self.mode == Mode::Lenient => Ok(Step::silent(input.len())),
            State::Complete => Err(Error::new(offset, ErrorKind::TrailingBytes)),
        }
    }

    fn token<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u32,
        count: u32,
    ) -> Result<Step<'a>> {
        if self.passes_tokens {
            let left = count.saturating_sub(next);
            let (passed, used) = pass(grammar::stream_string, input, offset, u64::MAX, left);
            if passed > 0 {
                self.state = State::Tokens { next: next.saturating_add(passed), count };
                return Ok(Step::silent(used));
            }
        }
        let (bytes, used) = parsed!(parse(grammar::stream_string, input, offset)?);
        self.state = State::Tokens { next: next.saturating_add(1), count };
        Ok(Step::new(used, Event::Token { id: next, bytes }))
    }

    fn tensor<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
        remaining: u32,
    ) -> Result<Step<'a>> {
        let (tensor, used) = parsed!(parse(grammar::stream_tensor, input, offset)?);
        table.push_name(identity::hash(tensor.name), offset)?;
        let data_offset = offset.saturating_add(used as u64);
        if data_offset.checked_add(tensor.data_bytes).is_none() {
            return Err(Error::new(offset, ErrorKind::OutOfBounds));
        }
        let header = TensorHeader {
            name: tensor.name,
            dtype: Dtype::F32,
            shape: tensor.shape,
            offset: data_offset,
            bytes: tensor.data_bytes,
        };
        self.state =
            State::Data { bytes: tensor.data_bytes, remaining: remaining.saturating_sub(1) };
        Ok(Step::new(used, Event::Tensor(header)))
    }
}
