//! Sentence embeddings by a model in storage that is larger than the memory, read tile by tile.
//!
//! Arguments: the model's file, a file of texts, the file that the vectors go to, tokens, `auto`,
//! `float` or `fixed`, tokens of a block.

#![no_std]
#![no_main]

use nanoembed_cortex_m::embedder::Embedder;
use nanoembed_cortex_m::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;

/// All memory that the model, its workspace and the reading have.
const ARENA_BYTES: usize = match option_env!("ARENA_KB") {
    Some(text) => kilobytes(text.as_bytes()) * 1024,
    None => 216 * 1024,
};

const fn kilobytes(digits: &[u8]) -> usize {
    let (mut number, mut at) = (0, 0);
    while at < digits.len() {
        number = number * 10 + (digits[at] - b'0') as usize;
        at += 1;
    }
    number
}

#[repr(align(8))]
struct Arena(#[allow(dead_code)] [u8; ARENA_BYTES]);
static mut ARENA: Arena = Arena([0; ARENA_BYTES]);
static mut NAMES: [u8; 512] = [0; 512];
static mut TEXTS: [u8; 1024] = [0; 1024];
static mut VECTOR: [f32; 384] = [0.0; 384];

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    // SAFETY: the only thread, and the only uses.
    let (arena, names, texts, vector) = unsafe {
        (&raw mut ARENA, &mut *&raw mut NAMES, &mut *&raw mut TEXTS, &mut *&raw mut VECTOR)
    };
    let arena = arena.cast::<u8>();
    let mut arguments = arguments(names).split(' ');
    let mut next = || arguments.next().unwrap_or_default();
    let (model_name, texts_name, out_name) = (next(), next(), next());
    let tokens = next().parse().unwrap_or(32);
    let activations = match next() {
        "float" => NANOEMBED_ACTIVATIONS_FLOAT,
        "fixed" => NANOEMBED_ACTIVATIONS_FIXED,
        _ => NANOEMBED_ACTIVATIONS_AUTO,
    };
    let block_tokens = next().parse().unwrap_or(0);
    start_clock();
    let mut file = open(model_name, 1);
    let out = open(out_name, 5);
    let list = open(texts_name, 1);
    let length = list.read_at(0, texts).unwrap_or(0);
    take_reads();

    let source = nanoembed_source {
        data: core::ptr::null(),
        length: file.length(),
        read_at: Some(read_at),
        context: (&raw mut file).cast(),
        ..Default::default()
    };
    let options = nanoembed_model_options {
        tokens,
        tile_bytes: 0,
        activations,
        vocabulary: NANOEMBED_VOCABULARY_IN_FILE,
        block_tokens,
        ..Default::default()
    };
    // SAFETY: the arena is lent to nobody else.
    let mut embedder = unsafe { Embedder::open(&source, &options, arena, ARENA_BYTES) };
    print_number("instructions to open: ", instructions());
    print_number("bytes read to open: ", take_reads().0.into());
    for text in texts[..length].split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
        let before = instructions();
        let tokens = embedder.embed(text, vector);
        print_number("tokens: ", tokens.into());
        print_number("instructions: ", instructions() - before);
        let (bytes, reads) = take_reads();
        print_number("bytes read: ", bytes.into());
        print_number("reads: ", reads.into());
        out.write_floats(&vector[..embedder.plan.dimensions as usize]);
    }
    out.close();
    report_memory();
    exit(0)
}
