//! Messages come from one task and are sorted by meaning in another: each goes to the rule whose
//! text is nearest. The model is in flash, where it is used; all memory is static.

#![no_std]
#![no_main]

mod embedder;
mod memory;

use core::panic::PanicInfo;

use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::ThreadModeRawMutex;
use embassy_sync::channel::Channel;
use static_cell::StaticCell;

use embedder::{DIMENSIONS, Embedder, Vector, cosine};

/// `ffi/tests/data/small_table.weights`: a static model of 900 tokens.
static MODEL: &[u8] = include_bytes!("../../../tests/data/small_table.weights");

/// What is done with messages, and a text for each that messages of its kind are near to.
const RULES: [(&str, &str); 3] = [
    ("accounts", "Click on the link to choose a new password."),
    ("weather", "The weather is lovely today."),
    ("doors", "A door was left open."),
];
const MESSAGES: [&str; 3] =
    ["How do I reset my password?", "Is it sunny today?", "Someone left the door open"];

static MESSAGES_TO_SORT: Channel<ThreadModeRawMutex, &str, 2> = Channel::new();
static EMBEDDER: StaticCell<Embedder> = StaticCell::new();
static RULE_VECTORS: StaticCell<[Vector; RULES.len()]> = StaticCell::new();

#[embassy_executor::task]
async fn receive() {
    for message in MESSAGES {
        MESSAGES_TO_SORT.send(message).await;
    }
}

#[embassy_executor::task]
async fn sort(embedder: &'static mut Embedder, rules: &'static [Vector; RULES.len()]) {
    for _ in MESSAGES {
        let message = MESSAGES_TO_SORT.receive().await;
        let vector = must(embedder.embed(message));
        let scores = rules.each_ref().map(|rule| cosine(&vector, rule));
        let nearest = (1..RULES.len()).fold(0, |best, rule| match scores[rule] > scores[best] {
            true => rule,
            false => best,
        });
        // Printed as an integer: all scores of this example are positive.
        let thousandths = (scores[nearest] * 1000.0 + 0.5) as u32;
        hprintln!("0.{:03} {}: {}", thousandths, RULES[nearest].0, message);
    }
    hprintln!("ram: {}", memory::used());
    exit(EXIT_SUCCESS);
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let embedder = EMBEDDER.init(must(Embedder::open(MODEL)));
    let rules = RULE_VECTORS.init([[0.0; DIMENSIONS]; RULES.len()]);
    for (vector, (_, text)) in rules.iter_mut().zip(RULES) {
        *vector = must(embedder.embed(text));
    }
    spawner.spawn(must(sort(embedder, rules)));
    spawner.spawn(must(receive()));
}

/// The value; ends the program with what is wrong.
fn must<T, E: core::fmt::Debug>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| {
        hprintln!("{:?}", error);
        exit(EXIT_FAILURE);
        loop {
            cortex_m::asm::wfi();
        }
    })
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    hprintln!("panic");
    exit(EXIT_FAILURE);
    loop {
        cortex_m::asm::wfi();
    }
}
