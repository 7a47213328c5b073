//! Events as owned values, with data pieces joined, so that runs can be compared.

use nanoembed_core::Error;
use nanoembed_core::event::Event;

/// The result of one run over a file: the events up to the end or the error.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The events, in their debug notation; adjoining data pieces are one.
    pub events: Vec<Owned>,
    /// The final result.
    pub result: Result<(), Error>,
}

/// An event without borrowed parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// Adjoining pieces of data.
    Data {
        /// Absolute offset of the first byte.
        offset: u64,
        /// All the bytes.
        bytes: Vec<u8>,
    },
    /// Adjoining pieces of a document.
    Document {
        /// Absolute offset of the first byte.
        offset: u64,
        /// All the text.
        text: String,
    },
    /// Any other event, in its debug notation.
    Other(String),
}

/// Joins events into a form that does not depend on cuts.
#[derive(Debug, Default)]
pub struct Collector {
    events: Vec<Owned>,
}

impl Collector {
    /// Takes the next event.
    pub fn take(&mut self, event: Event<'_>) {
        match (event, self.events.last_mut()) {
            (Event::Data { offset, bytes }, Some(Owned::Data { offset: start, bytes: joined }))
                if offset == *start + joined.len() as u64 =>
            {
                joined.extend_from_slice(bytes);
            }
            (Event::Data { offset, bytes }, _) => {
                self.events.push(Owned::Data { offset, bytes: bytes.to_vec() });
            }
            (
                Event::Document { offset, text },
                Some(Owned::Document { offset: start, text: joined }),
            ) if offset == *start + joined.len() as u64 => joined.push_str(text),
            (Event::Document { offset, text }, _) => {
                self.events.push(Owned::Document { offset, text: text.to_owned() });
            }
            (other, _) => self.events.push(Owned::Other(format!("{other:?}"))),
        }
    }

    /// The outcome of the run that ended with `result`.
    #[must_use]
    pub fn finish(self, result: Result<(), Error>) -> Outcome {
        Outcome { events: self.events, result }
    }
}
