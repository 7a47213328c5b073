//! AMB files and byte-level BPE.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::amb::{Amb, AmbDecoder, AmbVerifier};
use nanoembed_core::quant::dequantize_weight;
use nanoembed_core::read::{Push, Slice};
use nanoembed_core::tensor::{Encoding, Weight};
use nanoembed_core::token::bpe::{self, Bpe, Merge, MergeScratch, MergeTable, Pattern};
use nanoembed_core::token::{AddedTable, Entries, HashVocabulary, LengthPrefix};

use crate::count;

pub(crate) fn by_push(file: &[u8]) -> Result<(), Error> {
    let mut carry = [0; 512];
    let mut push = Push::new(AmbDecoder::<64>::new(Mode::Strict), &mut carry);
    push.feed(file, count)?;
    push.finish(count)?;
    let mut slice = Slice::new(AmbVerifier::<64>::new(Mode::Lenient), file);
    while slice.next_event()? != Event::End {}
    Ok(())
}

pub(crate) fn by_view(file: &[u8]) -> Result<(), Error> {
    let amb = Amb::parse_with(AmbDecoder::<64>::new(Mode::Lenient), file)?;
    black_box(amb.config_value("n_embd")?);
    black_box(amb.duplicate_member());
    let Some(tensor) = amb.tensor("w") else { return Ok(()) };
    let header = tensor.header();
    let encoding = Encoding::Plain { dtype: header.dtype, data: tensor.data() };
    let Ok(weight) = Weight::new(header.shape, encoding) else { return Ok(()) };
    let mut values = [0.0; 4];
    dequantize_weight(&weight, 1, &mut values)?;
    black_box(values);
    Ok(())
}

pub(crate) fn by_bpe(file: &[u8]) -> Result<(), Error> {
    let amb = Amb::parse_with(AmbDecoder::<64>::new(Mode::Lenient), file)?;
    let Some(tokenizer) = amb.tokenizer() else { return Ok(()) };
    let Some(found) = tokenizer.token_entries() else { return Ok(()) };
    let (mut samples, mut slots) = ([0; 64], [0; 768]);
    let entries =
        Entries::sample(found.bytes, found.offset, found.count, LengthPrefix::U16, &mut samples)?;
    let vocabulary = HashVocabulary::build(entries, &mut slots)?;
    let merges = [Merge { left: 1, right: 2, merged: 3 }];
    let mut slots = [0; 8];
    let table = MergeTable::build(&merges, &mut slots)?;
    let bpe = Bpe::new(&vocabulary, table, Pattern::Llama3, AddedTable::EMPTY)?;
    let (mut symbols, mut heap) = ([Default::default(); 32], [Default::default(); 96]);
    let mut ids = [0; 32];
    let text = core::str::from_utf8(file).unwrap_or_default();
    let found = bpe.encode(text, &mut ids, &mut MergeScratch::new(&mut symbols, &mut heap))?;
    black_box((found, ids));
    let mut decoder = bpe::TokenDecoder::new();
    let mut take = |piece: &str| {
        black_box(piece);
        Ok(())
    };
    decoder.token(file, &mut take)?;
    decoder.finish(&mut take)
}
