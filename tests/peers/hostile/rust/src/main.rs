//! Opens files of word vectors with crate finalfusion: one path per line on stdin, one result per
//! line on stdout.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use finalfusion::prelude::*;

fn read(path: &str) -> Result<(), Box<dyn Error>> {
    let file = &mut BufReader::new(File::open(path)?);
    let embeddings = Embeddings::<VocabWrap, StorageWrap>::read_embeddings(file)?;
    embeddings.embedding("word");
    embeddings.iter().for_each(drop);
    Ok(())
}

fn main() -> io::Result<()> {
    for path in io::stdin().lock().lines() {
        match read(&path?) {
            Ok(()) => println!("accepted"),
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}
