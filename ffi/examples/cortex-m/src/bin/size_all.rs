//! Looks words up and embeds sentences: for the size table.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::ptr::{null, null_mut};

use nanoembed::embed::*;
use nanoembed::model::*;
use nanoembed::words::*;
use nanoembed_cortex_m::exit;

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let (mut words, mut model, mut workspace) = (null_mut(), null_mut(), null_mut());
    // SAFETY: never run.
    unsafe {
        nanoembed_words_init(black_box(null()), null(), black_box(null_mut()), 0, null_mut(), 0, &mut words, null_mut());
        nanoembed_words_vector(words, black_box(null()), 0, null_mut(), 0, black_box(null_mut()), 0, null_mut(), null_mut());
        nanoembed_plan_model(black_box(null()), null(), black_box(null_mut()), 0, black_box(null_mut()), null_mut());
        nanoembed_model_init(black_box(null()), null(), black_box(null_mut()), 0, null_mut(), 0, &mut model, null_mut());
        nanoembed_workspace_init(model, black_box(null_mut()), 0, &mut workspace);
        nanoembed_embed_text(model, workspace, black_box(null()), 0, black_box(null_mut()), 0, null_mut(), null_mut());
    }
    exit(0)
}
