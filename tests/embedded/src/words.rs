//! Word vectors: lookup, analogy, search.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion;
use nanoembed_core::kernel::Kernels;
use nanoembed_core::read::Seek;
use nanoembed_core::words::{
    Index, IndexOptions, Memory, Scored, SearchMemory, Source, Stored, TopK, Words,
};

use crate::count;

pub(crate) fn by_words(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 256];
    let decoder = finalfusion::FinalfusionDecoder::new(Mode::Lenient);
    let mut seek = Seek::new(file, decoder, &mut buffer).without_data();
    while seek.next_event(count)? {}
    let Some(layout) = seek.decoder().layout() else { return Ok(()) };
    look_up(&Words::scan(Stored(file), layout))?;
    let mut memory = [0; 64];
    let options = IndexOptions::default();
    let index = Index::build(&Stored(file), &layout, options, &mut memory[..], &mut buffer)?;
    look_up(&Words::with_index(Stored(file), layout, index))?;
    let read = finalfusion::Finalfusion::parse(file, Mode::Strict)?;
    read.tensors().for_each(|tensor| {
        black_box(tensor);
    });
    let index = Index::build(&Memory(file), read.layout(), options, &mut memory[..], &mut [])?;
    look_up(&Words::with_index(Memory(file), *read.layout(), index))
}

fn look_up<S: Source, M: AsRef<[u64]>>(words: &Words<S, M>) -> Result<(), Error> {
    let (mut vector, mut scratch) = ([0.0; 8], [0.0; 16]);
    black_box(words.vector("word", &mut vector, &mut scratch)?);
    black_box(words.analogy(["a", "b", "c"], &mut vector, &mut scratch)?);
    let (mut best, mut tile, mut floats) = ([Scored::default(); 4], [0; 64], [0.0; 512]);
    let mut tops = [TopK::new(&mut best, &[])];
    let memory = SearchMemory { floats: &mut floats, tile: &mut tile };
    words.search(Kernels::portable().product_f32, 0..4, &vector, &mut tops, memory)?;
    let [top] = tops;
    black_box(words.ranked(top)?);
    black_box(words.word_into(0, &mut tile)?);
    Ok(())
}
