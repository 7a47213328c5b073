//! Opens files of one kind as users do, for `tests/peers/hostile`: `open_files KIND`, one path per
//! line on stdin, one result per line on stdout.

use std::error::Error;
use std::io::{self, BufRead};

use nanoembed::{File, Tokenizer, Words};
use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;

const TEXT: &str = "Hello world, a b c 123";

type Opened = Result<(), Box<dyn Error>>;

fn main() -> io::Result<()> {
    let open = match std::env::args().nth(1).as_deref() {
        Some("finalfusion") => words,
        Some("sentencepiece") => model,
        Some("tokenizers") => pipeline,
        _ => tensors,
    };
    for path in io::stdin().lock().lines() {
        match open(&path?) {
            Ok(()) => println!("accepted"),
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}

fn tensors(path: &str) -> Opened {
    let file = File::open(path)?;
    for tensor in file.tensors()? {
        tensor.to_f32()?;
    }
    Ok(())
}

fn words(path: &str) -> Opened {
    let words = Words::open(path)?;
    words.get("word")?;
    words.iter().for_each(drop);
    Ok(())
}

fn model(path: &str) -> Opened {
    let tokenizer = Tokenizer::open(path)?;
    let tokens = tokenizer.encode(TEXT, None)?;
    tokens.ids.iter().for_each(|id| drop(tokenizer.token(*id)));
    Ok(())
}

fn pipeline(path: &str) -> Opened {
    let json = std::fs::read_to_string(path)?;
    let tokenizer = Pipeline::read(&json).map_err(|fault| fault.to_string())?;
    let session = &mut PipelineSession::default();
    let tokens = tokenizer.encode(TEXT, usize::MAX, SpecialTokens::AsTokens, session)?;
    tokenizer.decode(&tokens.ids, false)?;
    Ok(())
}
