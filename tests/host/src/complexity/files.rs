//! Files with many or long parts, and their readers.

use std::borrow::Cow;
use std::fmt::Write;

use nanoembed::words::read::WordRows;
use nanoembed::words::read::floret::Floret;
use nanoembed::words::read::text::TextRows;
use nanoembed::words::read::word2vec::Word2VecRows;
use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::{Embd, EmbdPlan, EmbdVocabulary, EmbdWriter};
use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::safetensors::{Entry, Safetensors};
use nanoembed_core::format::uqff::Uqff;
use nanoembed_core::owned::folder::FolderModel;
use nanoembed_core::owned::{Pipeline, SentencePieceModel, Tokenizer};
use nanoembed_core::source::ModelSource;
use nanoembed_core::text::json::Lexer;
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind};
use nanoembed_core::words::{IndexOptions, Memory};
use nanoembed_tests::finalfusion::{Parts, index};
use nanoembed_tests::sentencepiece_reference::Reference;

use super::Subject;

pub(super) fn subjects() -> Vec<Subject> {
    let mut subjects = vec![
        Subject::new("gguf: pairs", gguf_pairs, gguf),
        Subject::new("gguf: one array of tokens", gguf_tokens, gguf),
        Subject::new("gguf: one long key", |n| gguf_file(&[(&"k".repeat(n), 4)]), gguf),
        Subject::new("safetensors: tensors", safetensors_tensors, safetensors),
        Subject::new("safetensors: metadata", safetensors_metadata, safetensors),
        Subject::new("safetensors: dimensions", |n| container(&shape(n), 0), safetensors),
        Subject::new("uqff: tensors", safetensors_tensors, uqff),
        Subject::new("amb: members", |n| amb_file(&members(n)), amb),
        Subject::new("amb: one member again", |n| amb_file(&one_member(n)), amb),
        Subject::new("amb: brackets", |n| amb_file(&"[".repeat(n)), amb),
        Subject::new("weights: tokens", weights_tokens, weights),
        Subject::new("finalfusion: words", finalfusion_words, finalfusion),
        Subject::new("json: brackets", |n| "[".repeat(n).into_bytes(), lexer),
        Subject::new("json: escapes", |n| format!("\"{}\"", "\\u00e9".repeat(n / 6)).into(), lexer),
        Subject::new("json: digits", |n| "1".repeat(n).into_bytes(), lexer),
        Subject::new("json: members", |n| members(n).into_bytes(), lexer),
        Subject::new("config.json: members", |n| members(n).into_bytes(), config),
        Subject::new("config.json: one member again", |n| one_member(n).into_bytes(), config),
        Subject::new("config.json: one text", |n| long_text(n).into_bytes(), config),
        Subject::new("sentencepiece: pieces", sentencepiece_pieces, sentencepiece),
        Subject::new("text: rows", |n| "word 1 2 3\n".repeat(n / 11).into_bytes(), text),
        Subject::new("text: one line", |n| "1 ".repeat(n / 2).into_bytes(), text),
        Subject::new("text: one word", |n| "w".repeat(n).into_bytes(), text),
        Subject::new("word2vec: rows", word2vec_rows, word2vec),
        Subject::new("floret: rows", floret_rows, floret),
    ];
    for (name, json) in tokenizers() {
        subjects.push(Subject::new(format!("tokenizer.json: {name}"), json, pipeline));
    }
    subjects
}

/// The length of a JSON member here.
const MEMBER: usize = 16;

fn members(bytes: usize) -> String {
    let members: Vec<String> = (0..bytes / MEMBER).map(|at| format!("\"key{at:07}\":1")).collect();
    format!("{{{}}}", members.join(","))
}

fn one_member(bytes: usize) -> String {
    let members = vec!["\"hidden_size\":1"; bytes / MEMBER];
    format!("{{{}}}", members.join(","))
}

fn long_text(bytes: usize) -> String {
    format!("{{\"model_type\":\"{}\"}}", "\\u00e9".repeat(bytes / 6))
}

fn lexer(mut text: &[u8]) {
    let mut lexer = Lexer::new(0);
    while let (false, Ok((used, _))) = (text.is_empty(), lexer.next(text)) {
        text = &text[used..];
    }
    let _ = lexer.finish();
}

fn config(text: &[u8]) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    let texts = |path: &str| Ok((path == "config.json").then_some(Cow::Borrowed(text)));
    let _ = FolderModel::read(&texts);
}

/// Pairs of a key and a number of type `u32`.
fn gguf_file(pairs: &[(&str, u32)]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(0_u64.to_le_bytes());
    file.extend((pairs.len() as u64).to_le_bytes());
    for (key, value) in pairs {
        file.extend((key.len() as u64).to_le_bytes());
        file.extend(key.as_bytes());
        file.extend(4_u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file
}

fn gguf_pairs(bytes: usize) -> Vec<u8> {
    let keys: Vec<String> = (0..bytes / 26).map(|at| format!("key{at:07}")).collect();
    gguf_file(&keys.iter().map(|key| (key.as_str(), 1)).collect::<Vec<_>>())
}

fn gguf_tokens(bytes: usize) -> Vec<u8> {
    let (key, count) = ("tokenizer.ggml.tokens", bytes / 9);
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(0_u64.to_le_bytes());
    file.extend(1_u64.to_le_bytes());
    file.extend((key.len() as u64).to_le_bytes());
    file.extend(key.as_bytes());
    file.extend(9_u32.to_le_bytes());
    file.extend(8_u32.to_le_bytes());
    file.extend((count as u64).to_le_bytes());
    for _ in 0..count {
        file.extend(1_u64.to_le_bytes());
        file.push(b'a');
    }
    file
}

fn gguf(file: &[u8]) {
    let Ok(gguf) = Gguf::parse(file, Mode::Lenient) else { return };
    gguf.metadata().for_each(drop);
    gguf.tokens().for_each(drop);
    open_tokenizer(file);
}

/// The preparation of a model's tokens by its tokenizer.
fn open_tokenizer(file: &[u8]) {
    let Ok(source) = ModelSource::parse(file) else { return };
    let _ = Tokenizer::from_source(file, &source);
}

fn container(header: &str, data: usize) -> Vec<u8> {
    let padding = " ".repeat(header.len().next_multiple_of(8) - header.len());
    let length = (header.len() + padding.len()) as u64;
    [&length.to_le_bytes(), header.as_bytes(), padding.as_bytes(), &vec![0; data]].concat()
}

fn safetensors_tensors(bytes: usize) -> Vec<u8> {
    let mut header = String::from("{");
    let count = bytes / 70;
    for at in 0..count {
        let comma = if at == 0 { "" } else { "," };
        let end = at + 1;
        write!(
            header,
            "{comma}\"t{at:06}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{end}]}}"
        )
        .expect("a string");
    }
    container(&format!("{header}}}"), count)
}

fn safetensors_metadata(bytes: usize) -> Vec<u8> {
    let members: Vec<String> =
        (0..bytes / MEMBER).map(|at| format!("\"k{at:07}\":\"v\"")).collect();
    container(&format!("{{\"__metadata__\":{{{}}}}}", members.join(",")), 0)
}

fn shape(bytes: usize) -> String {
    let ones = vec!["1"; bytes / 2].join(",");
    format!("{{\"w\":{{\"dtype\":\"U8\",\"shape\":[{ones}],\"data_offsets\":[0,1]}}}}")
}

fn safetensors(file: &[u8]) {
    let mut entries = vec![Entry::default(); file.len() / 40 + 1];
    let Ok(container) = Safetensors::parse(file, Mode::Lenient, &mut entries) else { return };
    container.tensors().for_each(drop);
    container.metadata().for_each(drop);
    // Names as texts request them.
    for at in 0..container.len().min(1 << 17) {
        let _ = container.tensor(&format!("t{at:06}"));
    }
}

fn uqff(file: &[u8]) {
    let mut entries = vec![Entry::default(); file.len() / 40 + 1];
    let Ok(uqff) = Uqff::parse(file, Mode::Lenient, &mut entries) else { return };
    uqff.layers().for_each(drop);
}

fn amb_file(config: &str) -> Vec<u8> {
    let bytes = u32::try_from(config.len()).expect("a small file");
    let mut file = b"AMBEE\x01\0\0\0\0\0\0".to_vec();
    file.extend(bytes.to_le_bytes());
    file.extend([0; 12]);
    file.extend(config.as_bytes());
    file
}

fn amb(file: &[u8]) {
    let Ok(amb) = Amb::parse(file, Mode::Lenient) else { return };
    let _ = amb.duplicate_member();
    let _ = amb.config_value("hidden_size");
    open_tokenizer(file);
}

fn weights_tokens(bytes: usize) -> Vec<u8> {
    let tokens: Vec<String> = (0..bytes / 12).map(|at| format!("token{at:05}")).collect();
    let tokens: Vec<&[u8]> = tokens.iter().map(String::as_bytes).collect();
    let vocabulary = Some(EmbdVocabulary { tokens: &tokens, special: [0; 5] });
    let plan = EmbdPlan { vocabulary, ..EmbdPlan::new(&[]) };
    let mut file = Vec::new();
    EmbdWriter::new(plan, &mut file).expect("a plan").finish().expect("a file");
    file
}

fn weights(file: &[u8]) {
    let Ok(embd) = Embd::parse(file, Mode::Lenient) else { return };
    embd.tokens().for_each(drop);
    open_tokenizer(file);
}

fn finalfusion_words(bytes: usize) -> Vec<u8> {
    let words: Vec<Vec<u8>> = (0..bytes / 20).map(|at| format!("w{at:07}").into()).collect();
    let values = vec![0.0; words.len()];
    Parts::from_words(words, 1, values).write()
}

fn finalfusion(file: &[u8]) {
    let Ok(read) = Finalfusion::parse(file, Mode::Lenient) else { return };
    read.words().for_each(drop);
    let _ = index(&Memory(file), read.layout(), IndexOptions::default(), &mut []);
}

fn sentencepiece_pieces(bytes: usize) -> Vec<u8> {
    let mut pieces = vec![("<unk>".to_owned(), 0.0, PieceKind::Unknown)];
    pieces.extend((0..bytes / 20).map(|at| (format!("p{at:07}"), -1.0, PieceKind::Normal)));
    let model = Reference {
        pieces,
        algorithm: Algorithm::Unigram,
        dummy_prefix: true,
        suffix: false,
        remove_spaces: true,
    };
    model.model()
}

fn sentencepiece(file: &[u8]) {
    let _ = SentencePieceModel::open(file, 0);
}

fn text(file: &[u8]) {
    let rows = TextRows::open(file, "input".into(), (false, false));
    let _ = rows.map(each);
}

fn word2vec_rows(bytes: usize) -> Vec<u8> {
    let count = bytes / 9;
    [format!("{count} 2\n").as_bytes(), &b"w 12345678".repeat(count)].concat()
}

fn word2vec(file: &[u8]) {
    let _ = Word2VecRows::open(file, "input".into(), true).map(each);
}

fn each(mut rows: impl WordRows) {
    let (mut word, mut row) = (Vec::new(), vec![0.0; rows.cols()]);
    while let Ok(true) = rows.next_row(&mut word, &mut row) {}
}

fn floret_rows(bytes: usize) -> Vec<u8> {
    let count = bytes / 10;
    let rows: String = (0..count).map(|at| format!("{at} 1.5\n")).collect();
    format!("{count} 1 2 3 1 2166136261 < >\n{rows}").into_bytes()
}

fn floret(file: &[u8]) {
    let Ok(mut floret) = Floret::open(file, "input".into()) else { return };
    let mut row = vec![0.0; floret.cols as usize];
    while let Ok(true) = floret.next_row(&mut row) {}
}

type Make = fn(usize) -> Vec<u8>;

/// Tokenizers with many tokens of each kind, merges, added tokens, and steps.
fn tokenizers() -> Vec<(&'static str, Make)> {
    fn vocabulary(count: usize) -> String {
        let tokens: Vec<String> = (0..count).map(|at| format!("\"t{at:07}\":{at}")).collect();
        format!("{{{}}}", tokens.join(","))
    }
    fn tokenizer(model: &str, added: &str, normalizer: &str) -> Vec<u8> {
        format!(
            "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{added}],\
             \"normalizer\":{normalizer},\"pre_tokenizer\":{{\"type\":\"Whitespace\"}},\
             \"post_processor\":null,\"decoder\":null,\"model\":{model}}}"
        )
        .into_bytes()
    }
    fn word_piece(bytes: usize) -> Vec<u8> {
        let vocabulary = vocabulary(bytes / 18);
        tokenizer(
            &format!(
                "{{\"type\":\"WordPiece\",\"unk_token\":\"t0000000\",\"vocab\":{vocabulary},\
                 \"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100}}"
            ),
            "",
            "null",
        )
    }
    fn unigram(bytes: usize) -> Vec<u8> {
        let tokens: Vec<String> = (0..bytes / 17).map(|at| format!("[\"t{at:07}\",-1]")).collect();
        let vocabulary = tokens.join(",");
        let model = format!(
            "{{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[{vocabulary}],\"byte_fallback\":false}}"
        );
        tokenizer(&model, "", "null")
    }
    fn merges(bytes: usize) -> Vec<u8> {
        // Each merge makes a token longer by one.
        let count = bytes / 30;
        let vocabulary = vocabulary(count);
        let merges: Vec<String> = (1..count).map(|at| format!("\"t{at:07} t0000000\"")).collect();
        let model = format!(
            "{{\"type\":\"BPE\",\"vocab\":{vocabulary},\"merges\":[{}]}}",
            merges.join(",")
        );
        tokenizer(&model, "", "null")
    }
    fn added(bytes: usize) -> Vec<u8> {
        let count = bytes / 125;
        let added: Vec<String> = (0..count)
            .map(|at| {
                format!(
                    "{{\"id\":{},\"content\":\"<a{at:07}>\",\"single_word\":false,\"lstrip\":false,\
                     \"rstrip\":false,\"normalized\":false,\"special\":true}}",
                    at + 1
                )
            })
            .collect();
        let model = "{\"type\":\"WordPiece\",\"unk_token\":\"t\",\"vocab\":{\"t\":0},\
                     \"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100}";
        tokenizer(model, &added.join(","), "null")
    }
    fn steps(bytes: usize) -> Vec<u8> {
        let steps = vec!["{\"type\":\"Lowercase\"}"; bytes / 21].join(",");
        let normalizer = format!("{{\"type\":\"Sequence\",\"normalizers\":[{steps}]}}");
        let model = "{\"type\":\"WordPiece\",\"unk_token\":\"t\",\"vocab\":{\"t\":0},\
                     \"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100}";
        tokenizer(model, "", &normalizer)
    }
    vec![
        ("WordPiece", word_piece),
        ("Unigram", unigram),
        ("merges", merges),
        ("added tokens", added),
        ("steps", steps),
    ]
}

fn pipeline(json: &[u8]) {
    let json = std::str::from_utf8(json).expect("UTF-8");
    let _ = Pipeline::read(json);
}
