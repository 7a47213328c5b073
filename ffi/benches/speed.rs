//! What calling through C costs, and what a second thread gives.
//!
//! ```console
//! $ cargo bench -p nanoembed-ffi --bench speed
//! ```
//!
//! The same texts through C and through Rust take turns, so that whatever else the machine does
//! slows both; medians are compared. The batch entry embeds a column of strings by one thread and
//! by two; the best of several tries counts. A machine whose cores do other things has no second
//! core to give: what two free ones would is told by the time that each thread was on a core, which
//! Linux knows.

use std::hint::black_box;
use std::process::ExitCode;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use nanoembed_core::model::InOrder;
use nanoembed_core::owned::{Encoder, TextSession};
use nanoembed_ffi::batch::*;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;

const TEXTS: [&str; 4] = [
    "How do I log in?",
    "The weather is lovely today, is it not?",
    "A sentence of some length, as people write them to each other when they have something to say about a thing.",
    "reset password",
];
const DIMENSIONS: usize = 384;
const ROUNDS: usize = 200;
const TRIES: usize = 12;
const ROWS: usize = 64;

/// A model and a workspace through C.
struct Handles {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
}

// SAFETY: a model may be used by several threads, a workspace by one: each thread has handles of
// its own.
unsafe impl Send for Handles {}

fn check(status: nanoembed_status) {
    assert_eq!(status, NANOEMBED_OK);
}

fn open(file: &[u8]) -> Handles {
    let source = nanoembed_source {
        data: file.as_ptr(),
        length: file.len() as u64,
        read_at: None,
        context: null_mut(),
        ..Default::default()
    };
    let mut handles = Handles { model: null_mut(), workspace: null_mut() };
    // SAFETY: pointers to what lives here; the file outlives all of it.
    unsafe {
        check(nanoembed_ffi::owned::nanoembed_model_new(
            &source,
            null(),
            &mut handles.model,
            null_mut(),
        ));
        check(nanoembed_ffi::owned::nanoembed_workspace_new(handles.model, &mut handles.workspace));
    }
    handles
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Medians of embedding each text through C and through Rust, summed up.
fn single(file: &[u8]) -> f64 {
    let handles = open(file);
    let encoder = Encoder::open(file).expect("a model");
    let mut session = encoder.session(256, 1).expect("memory");
    let mut tokens = TextSession::default();
    let (mut from_c, mut from_rust) = (vec![0.0; DIMENSIONS], vec![0.0; DIMENSIONS]);
    let (mut sum_c, mut sum_rust) = (0.0, 0.0);
    for text in TEXTS {
        let (mut times_c, mut times_rust) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let mut call_c = || {
                let start = Instant::now();
                let (bytes, length) = black_box((text.as_ptr().cast(), text.len()));
                let (out, room) = (from_c.as_mut_ptr(), from_c.len());
                // SAFETY: handles and pointers are good.
                check(unsafe {
                    nanoembed_embed_text(
                        handles.model,
                        handles.workspace,
                        bytes,
                        length,
                        out,
                        room,
                        null_mut(),
                        null_mut(),
                    )
                });
                times_c.push(start.elapsed());
            };
            let mut call_rust = || {
                let start = Instant::now();
                let found = encoder.encode(black_box(text), 256, &mut tokens).expect("tokens");
                let (ids, out) = (&found.ids, &mut from_rust);
                encoder.embed(&mut session, &InOrder, ids, &[ids.len()], 0, out).expect("a vector");
                times_rust.push(start.elapsed());
            };
            // Whoever is first finds the caches as the other left them.
            if round % 2 == 0 {
                call_c();
                call_rust();
            } else {
                call_rust();
                call_c();
            }
        }
        assert_eq!(from_c, from_rust);
        let (c, rust) = (median(&mut times_c).as_secs_f64(), median(&mut times_rust).as_secs_f64());
        println!("{:3} bytes of text: C {:.3} ms, Rust {:.3} ms", text.len(), c * 1e3, rust * 1e3);
        sum_c += c;
        sum_rust += rust;
    }
    sum_c / sum_rust
}

/// Embeds the rows of `strings` from `first` on.
fn batch(handles: &Handles, strings: &nanoembed_strings, out: &mut [f32]) {
    let mut rows = vec![0; strings.length];
    // SAFETY: handles and pointers are good.
    check(unsafe {
        nanoembed_embed_strings(
            handles.model,
            handles.workspace,
            strings,
            out.as_mut_ptr(),
            out.len(),
            rows.as_mut_ptr(),
            rows.len(),
            null_mut(),
        )
    });
    assert!(rows.iter().all(|row| *row == NANOEMBED_ROW_OK));
}

/// How long this thread has been on a core; `None` where the system does not say.
fn on_core() -> Option<f64> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(times.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// How long `work` keeps this thread on a core.
fn time_on_core(work: impl FnOnce()) -> Option<f64> {
    let before = on_core();
    work();
    Some(on_core()? - before?)
}

/// How much faster two threads are than one, in the best of several tries: by the clock, and by the
/// time on a core.
fn threads(file: &[u8]) -> (f64, f64) {
    let (mut data, mut offsets) = (String::new(), vec![0_i32]);
    for text in TEXTS.iter().cycle().take(ROWS) {
        data.push_str(text);
        offsets.push(i32::try_from(data.len()).expect("a short column"));
    }
    let column = |first, length| nanoembed_strings {
        offsets: offsets.as_ptr(),
        data: data.as_ptr().cast(),
        data_bytes: data.len(),
        validity: null(),
        first,
        length,
        ..Default::default()
    };
    let (mut one, mut two) = (open(file), open(file));
    let mut out = vec![0.0; ROWS * DIMENSIONS];
    let (mut best, mut best_on_core) = (0.0_f64, 0.0_f64);
    for _ in 0..TRIES {
        let start = Instant::now();
        let alone_on_core = time_on_core(|| batch(&one, &column(0, ROWS), &mut out));
        let alone = start.elapsed();
        let (front, back) = out.split_at_mut(ROWS / 2 * DIMENSIONS);
        let (first, second) = ((&mut one, front), (&mut two, back));
        let start = Instant::now();
        let on_core = std::thread::scope(|scope| {
            let column = &column;
            let front = scope.spawn(move || {
                let (handles, out) = first;
                time_on_core(|| batch(handles, &column(0, ROWS / 2), out))
            });
            let (handles, out) = second;
            let back = time_on_core(|| batch(handles, &column(ROWS / 2, ROWS / 2), out));
            Some(back?.max(front.join().ok()??))
        });
        let together = start.elapsed();
        best = best.max(alone.as_secs_f64() / together.as_secs_f64());
        if let (Some(alone), Some(together)) = (alone_on_core, on_core) {
            best_on_core = best_on_core.max(alone / together);
        }
    }
    (best, best_on_core)
}

fn main() -> ExitCode {
    // `cargo test` builds and calls benchmarks, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/all-MiniLM-L6-v2.int8.weights");
    let file = std::fs::read(path).expect("the default model");
    println!("C takes {:.3} of Rust's time", single(&file));
    let (by_clock, on_core) = threads(&file);
    println!(
        "two threads are {by_clock:.2} times as fast as one by the clock, best of {TRIES} tries;"
    );
    println!("{on_core:.2} times by the time on a core, 0 where it is not known");
    ExitCode::SUCCESS
}
