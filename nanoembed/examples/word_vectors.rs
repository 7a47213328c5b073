//! Words near another: `cargo run --example word_vectors -- FILE WORD`.

use nanoembed::{Result, Words};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (file, word) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let words = Words::open(file)?;
    println!("{} words in {} dimensions", words.len(), words.dimensions());
    for neighbour in words.similar(&word, 10)? {
        println!("{:.3}  {}", neighbour.similarity, neighbour.word);
    }
    Ok(())
}
