//! A sentence embedding by a small BERT that is linked into flash. Arguments: the file that the vectors go to.

#![no_std]
#![no_main]

use core::ptr::null_mut;

use nanoembed::embed::*;
use nanoembed::model::*;
use nanoembed::source::*;
use nanoembed::status::*;
use nanoembed_cortex_m::*;

static MODEL: &[u8] = include_bytes!("../../../../tests/data/small_bert.weights");
const TEXTS: [&str; 3] = ["The door is open", "sensor 7: high temperature!", "Pump stopped; valve closed"];

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
    };
    let options = nanoembed_model_options {
        tokens: 16,
        tile_bytes: 0,
        activations: NANOEMBED_ACTIVATIONS_AUTO,
        vocabulary: NANOEMBED_VOCABULARY_IN_FILE,
        block_tokens: 0,
    };
    let mut error = nanoembed_error { status: 0, offset: 0 };
    let (mut model, mut workspace) = (null_mut(), null_mut());
    // SAFETY: the arena is lent to the reading, then to model and workspace.
    unsafe {
        let mut plan =
            nanoembed_plan { model_bytes: 0, workspace_bytes: 0, dimensions: 0, tokens: 0, tile_bytes: 0, quantized: 0 };
        check(nanoembed_plan_model(&source, &options, arena, ARENA_BYTES, &mut plan, &mut error), "plan");
        print_number("model: ", plan.model_bytes as u64);
        print_number("workspace: ", plan.workspace_bytes as u64);
        let rest = arena.add(plan.model_bytes);
        let rest_bytes = ARENA_BYTES - plan.model_bytes;
        let status = nanoembed_model_init(
            &source, &options, arena, plan.model_bytes, rest, rest_bytes, &mut model, &mut error,
        );
        check(status, "model");
        check(nanoembed_workspace_init(model, rest, plan.workspace_bytes, &mut workspace), "workspace");
        let mut vector = [0.0_f32; 32];
        for text in TEXTS {
            let before = instructions();
            let status = nanoembed_embed_text(
                model, workspace, text.as_ptr(), text.len(), vector.as_mut_ptr(), 32, null_mut(), &mut error,
            );
            check(status, "embed");
            print_number("instructions: ", instructions() - before);
            for value in vector {
                out.write(&value.to_le_bytes());
            }
        }
    }
    out.close();
    report_memory();
    exit(0)
}
