//! SentencePiece: the bytes are used both as the model and as the text.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::token::AddedTable;
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::sentencepiece::{
    Piece, PieceDecoder, PiecePart, PieceScratch, SentencePiece, Slot, Step,
};

pub(crate) fn by_sentencepiece(file: &[u8]) -> Result<(), Error> {
    let (mut pieces, mut slots) = ([Piece::default(); 32], [Slot::default(); 512]);
    let model = SentencePiece::build(file, 0, &mut pieces, &mut slots)?;
    let text = core::str::from_utf8(file).unwrap_or_default();
    let needs = model.needs(text)?;
    let mut normalized = [0; 128];
    let mut symbols = [Symbol::<PiecePart>::default(); 64];
    let mut heap = [Candidate::<PiecePart>::default(); 192];
    let mut steps = [Step::default(); 65];
    let mut splits = [0; 32];
    let mut scratch =
        PieceScratch::new(&mut normalized, &mut symbols, &mut heap, &mut steps, &mut splits);
    let mut ids = [0; 32];
    let mut added = [model.added_token(1)?];
    let added = AddedTable::build(file, &mut added)?;
    let found = model.encode(text, &added, &mut ids, &mut scratch)?;
    black_box((needs, found));
    let mut decoder = PieceDecoder::new();
    let mut take = |piece: &str| {
        black_box(piece);
        Ok(())
    };
    for id in ids {
        decoder.token(&model, id, &mut take)?;
    }
    decoder.finish(&mut take)
}
