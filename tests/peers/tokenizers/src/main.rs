//! nanoembed's tokenizers and Hugging Face `tokenizers` on the same text, one thread, alternating.
//!
//! ```sh
//! cd tests/peers/tokenizers && cargo run --release [-- [--folder FOLDER] [TEXT_FILE]]
//! ```
//!
//! Without a folder the tokenizer is WordPiece with BERT's vocabulary; with a folder it is the one
//! in `tokenizer.json`, whose opening is timed, too. Without a file the text is this repository's
//! own prose. Each paragraph is one text. First all ids are compared; then the tokenizers alternate
//! over all texts, and the medians of the thread's CPU time are printed, which a busy machine
//! affects less than the clock.

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
