//! Whatever a file holds.

use std::path::Path;

use nanoembed_core::event::Format;
use nanoembed_core::format::{SNIFF_BYTES, sniff};

use crate::cross_encoder::CrossEncoder;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::files::literal;
use crate::generator::Generator;
use crate::open::opened::Opened;
use crate::open::source::Source;
use crate::words::Words;
use crate::words::read::start::Start;

/// Whatever a file holds, told by its content.
///
/// ```
/// use nanoembed::Model;
///
/// match Model::open("../ffi/tests/data/words.fifu")? {
///     Model::Encoder(encoder) => println!("embeds in {} dimensions", encoder.dimensions()),
///     Model::Generator(generator) => println!("continues {} tokens", generator.positions()),
///     Model::Words(words) => println!("has {} words", words.len()),
///     _ => println!("is something else"),
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// It embeds texts.
    Encoder(Encoder),
    /// It compares two texts.
    CrossEncoder(CrossEncoder),
    /// It continues texts; [`Encoder::open`] makes it embed them.
    Generator(Generator),
    /// It has vectors of words.
    Words(Words),
}

impl Model {
    /// Opens a model file or folder, or a file of word vectors.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it, or that it could not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = &*literal(path.as_ref());
        if path.is_file() && Self::is_words(path)? {
            return Words::open(path).map(Self::Words);
        }
        let opened = Opened::of(Source::open(path)?)?;
        if opened.is_causal() {
            return Generator::of(opened).map(Self::Generator);
        }
        if opened.text().is_some_and(|text| text.model().compares()) {
            return CrossEncoder::of(&opened, &CrossEncoder::options()).map(Self::CrossEncoder);
        }
        Encoder::of(opened, &Encoder::options()).map(Self::Encoder)
    }

    /// Whether a file has word vectors, by its first bytes. What the core knows as another format
    /// is none, whatever its bytes look like as text.
    fn is_words(path: &Path) -> Result<bool> {
        let start = Start::open(path)?;
        let head = start.head.get(..SNIFF_BYTES).unwrap_or(&start.head);
        Ok(match sniff(head) {
            Some(format) => format == Format::Finalfusion,
            None => start.form().is_some(),
        })
    }
}
