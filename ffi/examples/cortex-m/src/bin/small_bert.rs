//! A sentence embedding by a small BERT that is linked into flash. Arguments: the file that the
//! vectors go to.

#![no_std]
#![no_main]

use core::ptr::null_mut;

use nanoembed_cortex_m::embedder::Embedder;
use nanoembed_cortex_m::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;

static MODEL: &[u8] = include_bytes!("../../../../tests/data/small_bert.weights");
const TEXTS: [&str; 3] =
    ["The door is open", "sensor 7: high temperature!", "Pump stopped; valve closed"];

const ARENA_BYTES: usize = 48 * 1024;
#[repr(align(8))]
struct Arena(#[allow(dead_code)] [u8; ARENA_BYTES]);
static mut ARENA: Arena = Arena([0; ARENA_BYTES]);

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let mut buffer = [0; 512];
    let out = arguments(&mut buffer).split(' ').next().unwrap_or_default();
    let out = open(out, 5);
    let arena = (&raw mut ARENA).cast::<u8>();
    start_clock();
    let source = nanoembed_source {
        data: MODEL.as_ptr(),
        length: MODEL.len() as u64,
        read_at: None,
        context: null_mut(),
        ..Default::default()
    };
    let options = nanoembed_model_options {
        tokens: 16,
        tile_bytes: 0,
        activations: NANOEMBED_ACTIVATIONS_AUTO,
        vocabulary: NANOEMBED_VOCABULARY_IN_FILE,
        block_tokens: 0,
        ..Default::default()
    };
    // SAFETY: the arena is lent to nobody else.
    let mut embedder = unsafe { Embedder::open(&source, &options, arena, ARENA_BYTES) };
    let mut vector = [0.0_f32; 32];
    for text in TEXTS {
        let before = instructions();
        embedder.embed(text.as_bytes(), &mut vector);
        print_number("instructions: ", instructions() - before);
        out.write_floats(&vector);
    }
    out.close();
    report_memory();
    exit(0)
}
