//! Sentence embeddings by a model in storage that is larger than the memory, read tile by tile.
//!
//! Arguments: the model's file, a file of texts, the file that the vectors go to, tokens, `auto` or
//! `float`, tokens of a block.

#![no_std]
#![no_main]

use core::ptr::{null_mut, slice_from_raw_parts_mut};

use nanoembed::embed::*;
use nanoembed::model::*;
use nanoembed::source::*;
use nanoembed::status::*;
use nanoembed_cortex_m::*;

/// All memory that the model, its workspace and the reading have.
const ARENA_BYTES: usize = match option_env!("ARENA_KB") {
    Some(text) => kilobytes(text.as_bytes()) * 1024,
    None => 214 * 1024,
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
    };
    let options = nanoembed_model_options {
        tokens,
        tile_bytes: 0,
        activations,
        vocabulary: NANOEMBED_VOCABULARY_IN_FILE,
        block_tokens,
    };
    let mut plan =
        nanoembed_plan { model_bytes: 0, workspace_bytes: 0, dimensions: 0, tokens: 0, tile_bytes: 0, quantized: 0 };
    let mut error = nanoembed_error { status: 0, offset: 0 };
    // SAFETY: the arena is lent to the model, its workspace and, before there is a workspace, the reading.
    unsafe {
        let status =
            nanoembed_plan_model(&source, &options, arena, ARENA_BYTES, &mut plan, &mut error);
        check(status, "plan");
        print_number("model: ", plan.model_bytes as u64);
        print_number("workspace: ", plan.workspace_bytes as u64);
        print_number("quantized: ", plan.quantized.into());
        if plan.model_bytes + plan.workspace_bytes > ARENA_BYTES {
            print_number("arena too small: ", ARENA_BYTES as u64);
            exit(1);
        }
        let (mut model, mut workspace) = (null_mut(), null_mut());
        let rest = arena.add(plan.model_bytes);
        let rest_bytes = ARENA_BYTES - plan.model_bytes;
        let status = nanoembed_model_init(
            &source, &options, arena, plan.model_bytes, rest, rest_bytes, &mut model, &mut error,
        );
        check(status, "model");
        check(nanoembed_workspace_init(model, rest, plan.workspace_bytes, &mut workspace), "workspace");
        print_number("instructions to open: ", instructions());
        print_number("bytes read to open: ", take_reads().0.into());
        for text in texts[..length].split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
            let mut tokenized = nanoembed::tokenize::nanoembed_tokenized { tokens: 0, total: 0, truncated: 0 };
            let before = instructions();
            let status = nanoembed_embed_text(
                model,
                workspace,
                text.as_ptr(),
                text.len(),
                vector.as_mut_ptr(),
                vector.len(),
                &mut tokenized,
                &mut error,
            );
            check(status, "embed");
            let after = instructions();
            print_number("tokens: ", tokenized.tokens.into());
            print_number("instructions: ", after - before);
            let (bytes, reads) = take_reads();
            print_number("bytes read: ", bytes.into());
            print_number("reads: ", reads.into());
            let bytes = slice_from_raw_parts_mut(vector.as_mut_ptr().cast::<u8>(), plan.dimensions as usize * 4);
            out.write(&*bytes);
        }
    }
    out.close();
    report_memory();
    exit(0)
}
