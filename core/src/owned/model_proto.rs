//! Serialized SentencePiece models, written: what [`Spec`](crate::token::sentencepiece::Spec)
//! reads.

use alloc::vec::Vec;

use crate::token::sentencepiece::{Algorithm, PieceKind};

/// What a model says beside its pieces.
#[derive(Clone, Copy, Debug)]
pub struct ModelSettings<'a> {
    /// How pieces are found.
    pub algorithm: Algorithm,
    /// Whether characters that have no piece become bytes.
    pub byte_fallback: bool,
    /// Whether the space added to a text stands at its end.
    pub whitespace_as_suffix: bool,
    /// Whether a space is added to every text.
    pub add_dummy_prefix: bool,
    /// Whether spaces at both ends are removed and others made one.
    pub remove_extra_whitespaces: bool,
    /// How the pieces that begin, end and fill up texts are spelled, where that is not `<s>`,
    /// `</s>` and `<pad>`.
    pub names: [Option<&'a [u8]>; 3],
    /// Compiled rules of normalisation, or nothing.
    pub rules: &'a [u8],
}

/// A serialized model that is being written.
#[derive(Clone, Debug, Default)]
pub struct ModelProto(Message);

/// A message of any kind: fields one behind the other.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= 7;
            if value == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    fn key(&mut self, field: u8, wire_type: u8) {
        self.varint(u64::from(field) << 3 | u64::from(wire_type));
    }

    fn integer(&mut self, field: u8, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn float(&mut self, field: u8, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u8, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

impl ModelProto {
    /// A model without pieces.
    #[must_use]
    pub fn new(settings: &ModelSettings<'_>) -> Self {
        let (mut trainer, mut normalizer) = (Message::default(), Message::default());
        trainer.integer(
            3,
            match settings.algorithm {
                Algorithm::Unigram => 1,
                Algorithm::Bpe => 2,
            },
        );
        trainer.integer(24, settings.whitespace_as_suffix.into());
        trainer.integer(35, settings.byte_fallback.into());
        for (field, name) in [46, 47, 48].into_iter().zip(settings.names) {
            if let Some(name) = name {
                trainer.bytes(field, name);
            }
        }
        normalizer.bytes(2, settings.rules);
        normalizer.integer(3, settings.add_dummy_prefix.into());
        normalizer.integer(4, settings.remove_extra_whitespaces.into());
        let mut model = Message::default();
        model.bytes(2, &trainer.0);
        model.bytes(3, &normalizer.0);
        Self(model)
    }

    /// A model to which pieces are added: messages that follow each other are one.
    #[must_use]
    pub const fn continued(model: Vec<u8>) -> Self {
        Self(Message(model))
    }

    /// Adds a piece with the next id.
    pub fn piece(&mut self, spelling: &[u8], score: f32, kind: PieceKind) {
        let mut piece = Message::default();
        piece.bytes(1, spelling);
        piece.float(2, score);
        piece.integer(3, kind.code());
        self.0.bytes(1, &piece.0);
    }

    /// The serialized model.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let Self(Message(bytes)) = self;
        bytes
    }
}
