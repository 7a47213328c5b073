//! Every failed allocation is an error: nothing aborts the process, and nothing leaks. A job runs
//! repeatedly, with a later allocation failing each time, until it succeeds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use nanoembed_core::model::InOrder;
use nanoembed_core::model::llama::{LlamaPlan, Output};
use nanoembed_core::owned::folder::{FolderModel, Route, Task};
use nanoembed_core::owned::{CausalModel, Encoder, Pipeline, PipelineSession, TextSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::data;
use nanoembed_tests::refusing::{Refusing, TEXT, used};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::on_each_thread();

fn refuse_each<T, E: Debug>(name: &str, job: impl FnMut() -> Result<T, E>) -> usize {
    ALLOCATOR.refuse_each(name, job)
}

fn text_of(path: &str) -> String {
    String::from_utf8(data::read(path)).expect("UTF-8")
}

#[test]
fn tokenizers_are_read_and_used_or_an_error_is_given() {
    let folders = [
        "bert_cased",
        "roberta",
        "xlmr_e5",
        "albert",
        "embeddinggemma",
        "qwen3_embedding",
        "mpnet",
    ];
    for folder in folders {
        let json = text_of(&format!("models/{folder}/tokenizer.json"));
        let read = refuse_each(&format!("reading {folder}"), || {
            Pipeline::read(&json).map_err(|fault| fault.error)
        });
        assert!(read > 5, "{folder}: {read}");
        let pipeline = Pipeline::read(&json).expect("a tokenizer");
        refuse_each(&format!("parts of {folder}"), || {
            let parts = pipeline.parts()?;
            Pipeline::from_parts(
                parts.settings,
                &parts.tokens,
                parts.scores.as_deref(),
                &parts.merges,
            )
            .map_err(|fault| fault.error)
        });
        let used = refuse_each(&format!("encoding by {folder}"), || {
            let mut session = PipelineSession::default();
            let found = pipeline.encode(TEXT, 64, SpecialTokens::AsTokens, &mut session)?;
            pipeline.decode(&found.ids, true)?;
            pipeline.encode_pair(TEXT, "b", 64, &mut session)
        });
        assert!(used > 5, "{folder}: {used}");
    }
}

/// All steps, and more marks than fit on the stack.
#[test]
fn every_step_of_a_tokenizer_gives_an_error() {
    let long = "a".repeat(200);
    let vocabulary = json!({"a": 0, "b": 1, "Ġ": 2, "ab": 3});
    let json = json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 4, "content": long, "single_word": false, "lstrip": true, "rstrip": true,
            "normalized": true, "special": false,
        }, {
            "id": 5, "content": "<s>", "single_word": true, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFD"}, {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"},
            {"type": "Nmt"}, {"type": "Strip", "strip_left": true, "strip_right": true},
            {"type": "Prepend", "prepend": "a"},
            {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "\u{e9}"},
            {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
             "strip_accents": true, "lowercase": true},
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "Digits", "individual_digits": true}, {"type": "BertPreTokenizer"},
            {"type": "Split", "pattern": {"String": "c"}, "behavior": "MergedWithNext", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true},
        ]},
        "post_processor": {"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["b", 1],
            "trim_offsets": true, "add_prefix_space": true},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"},
            {"type": "WordPiece", "prefix": "##", "cleanup": true}, {"type": "ByteFallback"},
            {"type": "Strip", "content": "b", "start": 1, "stop": 1},
            {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            {"type": "Fuse"},
        ]},
        "model": {"type": "BPE", "unk_token": "a", "vocab": vocabulary, "merges": [["a", "b"]]},
    });
    let json = Value::to_string(&json);
    refuse_each("reading all steps", || Pipeline::read(&json).map_err(|fault| fault.error));
    let pipeline = Pipeline::read(&json).expect("a tokenizer");
    let marks = "\u{327}\u{301}\u{5b0}".repeat(1000);
    let text = format!("xab c1 <s> {long}! 日本 e{marks} b");
    let refused = refuse_each("all steps", || {
        let mut session = PipelineSession::default();
        let found = pipeline.encode(&text, usize::MAX, SpecialTokens::AsText, &mut session)?;
        pipeline.decode(&found.ids, false)
    });
    assert!(refused > 20, "{refused}");
}

#[test]
fn models_in_files_are_opened_and_used_or_an_error_is_given() {
    let bert = std::fs::read("../ffi/tests/data/small_bert.weights").expect("a file");
    refuse_each("opening BERT and embedding", || {
        Encoder::open(bert.as_slice()).map_err(|it| it.error())?.embed_text(TEXT)
    });
    let prompted = std::fs::read("../ffi/tests/data/default_prompt.weights").expect("a file");
    refuse_each("a prompt", || {
        Encoder::open(prompted.as_slice()).map_err(|it| it.error())?.embed_text(TEXT)
    });
    let llama = data::read("llama/tiny.gguf");
    refuse_each("opening a causal model and generating", || {
        let model = CausalModel::open(llama.as_slice())?;
        let ids = model.tokenize("a b", SpecialTokens::AsTokens)?;
        let mut session = model.session(LlamaPlan::new(4, 16))?;
        let mut logits = nanoembed_core::limit::filled(model.config().vocabulary, 0.0)?;
        model.forward(&mut session, &ids, Output::LastLogits(&mut logits))
    });
}

#[test]
fn files_of_any_family_are_opened_or_an_error_is_given() {
    for file in [
        "small_bert.weights",
        "small_unigram.weights",
        "small_table.weights",
        "default_prompt.weights",
    ] {
        let bytes = std::fs::read(format!("../ffi/tests/data/{file}")).expect("a file");
        let refused =
            refuse_each(&format!("opening {file}"), || Encoder::open(&bytes[..]).and_then(used));
        assert!(refused > 5, "{file}: {refused}");
    }
}

/// The files of a folder by their paths within it.
fn files_in(folder: &Path, within: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            files_in(&path, &format!("{within}{name}/"), files);
        } else {
            files.insert(format!("{within}{name}"), std::fs::read(&path).expect("bytes"));
        }
    }
}

#[test]
fn folders_of_any_family_are_opened_or_an_error_is_given() {
    for name in [
        "bert_cased",
        "roberta",
        "embeddinggemma",
        "qwen3_embedding",
        "modernbert_mean",
        "cross_encoder",
        "xlmr_reranker",
        "model2vec_int8_mapped",
    ] {
        let mut files = BTreeMap::new();
        files_in(&Path::new("data/models").join(name), "", &mut files);
        let text = |path: &str| {
            let text = files.get(path).map(|bytes| str::from_utf8(bytes).expect("UTF-8"));
            Ok(text.map(Cow::Borrowed))
        };
        let weights = || files.iter().filter(|(path, _)| path.ends_with("model.safetensors"));
        let refused = refuse_each(&format!("opening {name}"), || {
            let model = FolderModel::read(&text)?;
            model.weight_files(&text, &|path| files.contains_key(path))?;
            let mut given = nanoembed_core::limit::reserved(4)?;
            for (path, bytes) in weights() {
                let path = nanoembed_core::limit::copied(path)?;
                nanoembed_core::limit::push(&mut given, (path, bytes.as_slice()))?;
            }
            Encoder::open_folder(&text, given).and_then(used)
        });
        assert!(refused > 20, "{name}: {refused}");
    }
}

#[test]
fn tables_of_words_and_routes_are_opened_or_an_error_is_given() {
    let [words, routed] = ["word-embeddings-lower", "router-module"].map(|case| {
        let mut files = BTreeMap::new();
        files_in(&Path::new("data/cases").join(case).join("model"), "", &mut files);
        files
    });
    let words = |path: &str| {
        let text = words.get(path).map(|bytes| str::from_utf8(bytes).expect("UTF-8"));
        Ok(text.map(Cow::Borrowed))
    };
    let folder = "0_WordEmbeddings/";
    let refused = refuse_each("reading words", || FolderModel::word_tokenizer(&words, folder));
    assert!(refused > 20, "{refused}");
    let pipeline = FolderModel::word_tokenizer(&words, folder).expect("words");
    let refused = refuse_each("looking words up", || {
        let mut session = PipelineSession::default();
        let text = "rain, RAIN! ΟΔΟΣ ΟΔΌΣ.";
        let found = pipeline.encode(text, 64, SpecialTokens::AsTokens, &mut session)?;
        assert_eq!(found.ids.len(), 4);
        Ok::<_, nanoembed_core::Error>(())
    });
    assert!(refused > 2, "{refused}");
    let routed = |path: &str| {
        let text = routed.get(path).map(|bytes| str::from_utf8(bytes).expect("UTF-8"));
        Ok(text.map(Cow::Borrowed))
    };
    let refused = refuse_each("choosing a route", || Route::choose(&routed, Task::Query));
    assert!(refused > 5, "{refused}");
}

#[test]
fn models_of_any_family_embed_or_give_an_error() {
    for file in ["small_bert.weights", "small_unigram.weights", "small_table.weights"] {
        let bytes = std::fs::read(format!("../ffi/tests/data/{file}")).expect("a file");
        let model = Encoder::open(&bytes).unwrap_or_else(|fault| panic!("{file}: {fault}"));
        refuse_each(&format!("embedding by {file}"), || {
            let mut session = TextSession::default();
            let found = model.encode(TEXT, 64.min(model.usual_tokens()), &mut session)?;
            let mut session = model.session_for(model.plan(found.ids.len().max(1)))?;
            let mut vector = nanoembed_core::limit::filled(model.dimensions(), 0.0)?;
            let lengths = [found.ids.len()];
            model.embed(&mut session, &InOrder, &found.ids, &lengths, 0, &mut vector)
        });
    }
}
