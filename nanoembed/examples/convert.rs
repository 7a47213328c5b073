//! Stores a model in 8 bits, and checks the file: `cargo run --example convert -- FOLDER OUT.weights`.

use nanoembed::convert::{Conversion, WeightType};
use nanoembed::inspect::Verification;
use nanoembed::{Observer, Task};

/// Prints what is done, and every warning.
struct Printed;

impl Observer for Printed {
    fn begin(&self, task: Task) {
        println!("{}", task.name);
    }

    fn warn(&self, warning: &str) {
        println!("warning: {warning}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, input, output] = arguments.as_slice() else {
        return Err("usage: convert FOLDER OUT.weights".into());
    };
    let conversion = Conversion::new(input, output).weight_type(WeightType::Int8);
    for stored in &conversion.run(&Printed)?.tally.by_type {
        println!("{} tensors as {}: {} bytes", stored.tensors, stored.name, stored.bytes);
    }
    println!("{}", Verification::new(output).run(&Printed)?.checked);
    Ok(())
}
