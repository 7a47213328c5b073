//! Writes the manual pages of the program and of all its commands into a folder.
//!
//! usage: man FOLDER

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: man FOLDER")?;
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(nanoembed_cli::command(), folder)?;
    Ok(())
}
