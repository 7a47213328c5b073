//! Our tokenizers and Hugging Face `tokenizers` on the same text, one thread, in turns.
//!
//! ```sh
//! cd tests/peers/tokenizers && cargo run --release [-- [--folder FOLDER] [TEXT_FILE]]
//! ```
//!
//! Without a folder it is WordPiece with BERT's vocabulary; with one what its `tokenizer.json` says,
//! and how long opening takes. Without a file the text is this repository's own prose. Each paragraph
//! is one text. First all ids are compared; then each tokenizer goes over all texts, ours, theirs,
//! ours, theirs …, and the medians of the thread's processor time are printed, which a busy machine
//! disturbs less than the clock.

mod folder;
mod kept;
mod turns;
mod word_piece;

use std::path::PathBuf;

use nanoembed_tests::english::paragraphs;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[global_allocator]
static ALLOCATOR: kept::Counting = kept::Counting;

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let folder = match arguments.first() {
        Some(option) if option.as_os_str() == "--folder" && arguments.len() > 1 => {
            let folder = arguments.swap_remove(1);
            arguments.remove(0);
            Some(folder)
        }
        _ => None,
    };
    let texts = paragraphs(arguments.first().map(PathBuf::as_path))?;
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} texts, {bytes} bytes", texts.len());
    match folder {
        Some(folder) => folder::compare(&folder, &texts),
        None => word_piece::compare(&texts),
    }
}
