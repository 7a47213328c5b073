//! Lists the tensors of a file: `cargo run --example inspect -- FILE`.

use nanoembed::{File, Result};

fn main() -> Result<()> {
    let file = File::open(std::env::args().nth(1).unwrap_or_default())?;
    for tensor in file.tensors()? {
        let values = tensor.to_f32()?;
        let largest = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        println!("{} {} {:?} |x| ≤ {largest}", tensor.name(), tensor.dtype(), tensor.shape());
    }
    Ok(())
}
