//! Word vectors from a product-quantised `.fifu` in flash: a word that the vocabulary lacks, and
//! what is similar to it. Arguments: the file that the vectors go to.

#![no_std]
#![no_main]

use core::ptr::null_mut;

use nanoembed_cortex_m::*;
use nanoembed_ffi::lookup::*;
use nanoembed_ffi::similar::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::top_k::nanoembed_scored;
use nanoembed_ffi::words::*;

static WORDS: &[u8] = include_bytes!("../../../../tests/data/words.pq.fifu");
const ASKED: [&str; 3] = ["computer", "recomputed", "gardenings"];
const DIMENSIONS: usize = 32;

#[repr(align(8))]
struct Memory<const N: usize>(#[allow(dead_code)] [u8; N]);
/// The handle.
static mut HANDLE: Memory<640> = Memory([0; 640]);
/// What a search takes: tables of 256 numbers for each of 8 codes.
static mut SEARCH: Memory<8_328> = Memory([0; 8_328]);

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let mut buffer = [0; 512];
    let out = arguments(&mut buffer).split(' ').next().unwrap_or_default();
    let out = open(out, 5);
    start_clock();
    let source = nanoembed_source {
        data: WORDS.as_ptr(),
        length: WORDS.len() as u64,
        read_at: None,
        context: null_mut(),
        ..Default::default()
    };
    let (handle, search) = ((&raw mut HANDLE).cast::<u8>(), (&raw mut SEARCH).cast::<u8>());
    let mut scratch = [0_u8; 64];
    let mut error = nanoembed_error::default();
    let mut words = null_mut();
    // SAFETY: the memory is lent to the handle; the rest are pointers to what lives here.
    unsafe {
        let mut plan = nanoembed_words_plan::default();
        let options = null_mut();
        check(
            nanoembed_plan_words(&source, options, scratch.as_mut_ptr(), 64, &mut plan, &mut error),
            "plan",
        );
        print_number("handle: ", plan.words_bytes as u64);
        print_number("search: ", plan.similar_bytes as u64);
        let status = nanoembed_words_init(
            &source,
            options,
            handle,
            plan.words_bytes,
            scratch.as_mut_ptr(),
            64,
            &mut words,
            &mut error,
        );
        check(status, "words");
        for word in ASKED {
            let mut vector = [0.0_f32; DIMENSIONS];
            let mut floats = [0.0_f32; DIMENSIONS];
            let mut found = nanoembed_found::default();
            let before = instructions();
            let status = nanoembed_words_vector(
                words,
                word.as_ptr().cast(),
                word.len(),
                floats.as_mut_ptr(),
                DIMENSIONS,
                vector.as_mut_ptr(),
                DIMENSIONS,
                &mut found,
                &mut error,
            );
            check(status, "vector");
            let looked_up = instructions();
            let mut best = [nanoembed_scored { score: 0.0, row: 0 }; 4];
            let mut count = 0;
            let status = nanoembed_words_similar(
                words,
                vector.as_ptr(),
                DIMENSIONS,
                null_mut(),
                0,
                search,
                plan.similar_bytes,
                best.as_mut_ptr(),
                4,
                &mut count,
                &mut error,
            );
            check(status, "similar");
            let searched = instructions();
            print(word);
            print(if found.subwords > 0 { " (by its n-grams):" } else { ":" });
            for scored in &best[..count] {
                let (mut name, mut length) = ([0_u8; 32], 0);
                let status = nanoembed_words_word(
                    words,
                    scored.row,
                    name.as_mut_ptr(),
                    32,
                    &mut length,
                    &mut error,
                );
                check(status, "word");
                print(" ");
                print(core::str::from_utf8(&name[..length]).unwrap_or_default());
            }
            print("\n");
            print_number("instructions of the lookup: ", looked_up - before);
            print_number("instructions of the search: ", searched - looked_up);
            out.write_floats(&vector);
        }
    }
    out.close();
    report_memory();
    exit(0)
}
