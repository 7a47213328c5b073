//! The kind of a file's model (an encoder, a causal model, or one with the texts of a folder) and
//! of its tokenizer, in each of the three formats.

use nanoembed_core::ErrorKind;
use nanoembed_core::format::amb::{self, AmbTokenizerSpec, Payload};
use nanoembed_core::format::embd::{self, MERGES, SENTENCEPIECE};
use nanoembed_core::format::gguf::{self, WriteValue};
use nanoembed_core::owned::Tokenizer;
use nanoembed_core::source::ModelSource;
use nanoembed_core::source::tokenizer::TokenizerKind;
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use nanoembed_tests::{amb as made_up, data};

use ErrorKind::{
    BadMetadata, BadVocabulary, MissingMetadata, MissingVocabulary, OtherModel,
    UnsupportedArchitecture, UnsupportedTokenizer,
};

fn amb(config: &str, tokenizer: Option<Payload<'_>>) -> Vec<u8> {
    let special = [Some(1), Some(2), None, Some(0), None];
    let tokenizer = tokenizer.map(|payload| AmbTokenizerSpec { special, payload });
    let plan = amb::AmbPlan { metadata: "{}", config, tokenizer, tensors: &[], checksum: true };
    made_up::write(plan, &[]).unwrap()
}

/// A `.weights` file with these metadata, and optionally a tensor of bytes.
fn weights(metadata: &[(&str, &str)], tensor: Option<(&str, &[u8])>) -> Vec<u8> {
    let tokens: [&[u8]; 7] = [b"[PAD]", b"[UNK]", b"[CLS]", b"[SEP]", b"a", b"b", b"ab"];
    let vocabulary = embd::EmbdVocabulary { tokens: &tokens, special: [0, 1, 2, 3, 5] };
    let specs: Vec<TensorSpec<'_>> = tensor
        .iter()
        .map(|(name, bytes)| {
            let shape = Shape::new(&[bytes.len() as u64]).unwrap();
            TensorSpec { name, dtype: Dtype::U8, shape }
        })
        .collect();
    let plan =
        embd::EmbdPlan { metadata, vocabulary: Some(vocabulary), ..embd::EmbdPlan::new(&specs) };
    let mut writer = embd::EmbdWriter::new(plan, Vec::new()).unwrap();
    if let Some((_, bytes)) = tensor {
        writer.data(bytes).unwrap();
    }
    writer.finish().unwrap()
}

fn gguf(metadata: &[(&str, WriteValue<'_>)]) -> Vec<u8> {
    let plan = gguf::GgufPlan { metadata, ..gguf::GgufPlan::new(&[]) };
    gguf::GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
}

fn with<R>(file: &[u8], act: impl FnOnce(&ModelSource<'_>) -> R) -> R {
    act(&ModelSource::parse(file).unwrap())
}

const BERT: &str = r#"{"n_layers": 1, "n_heads": 2, "n_embd": 4, "intermediate_size": 8, "max_seq_len": 16, "n_vocab": 7"#;

const BERT_KEYS: [(&str, &str); 6] = [
    ("num_layers", "1"),
    ("num_attention_heads", "2"),
    ("hidden_size", "4"),
    ("intermediate_size", "8"),
    ("max_position_emb", "16"),
    ("vocab_size", "7"),
];

#[test]
fn a_file_says_what_its_model_is_for() {
    let architecture = |name| gguf(&[("general.architecture", WriteValue::Text(name))]);
    for (file, is_causal, has_texts, has_prompts) in [
        (amb("{}", None), false, false, false),
        (amb(r#"{"architecture": "custom"}"#, None), false, false, false),
        (amb(r#"{"architecture": "bert"}"#, None), false, false, false),
        (amb(r#"{"architecture": "llama"}"#, None), true, false, false),
        (amb(r#"{"config.json": "{}"}"#, None), false, true, false),
        (amb(r#"{"prompt.query": "q: "}"#, None), false, false, true),
        (weights(&[], None), false, false, false),
        (weights(&[("architecture", "bert")], None), false, false, false),
        (weights(&[("architecture", "gemma3")], None), true, false, false),
        (weights(&[("modules.json", "[]")], None), false, true, false),
        (weights(&[("prompt.query", "q: ")], None), false, false, true),
        (gguf(&[]), false, false, false),
        (architecture("bert"), false, false, false),
        (architecture("llama"), true, false, false),
    ] {
        with(&file, |model| {
            assert_eq!(model.is_causal(), is_causal, "{model:?}");
            assert_eq!(model.has_folder_texts(), has_texts, "{model:?}");
            assert_eq!(model.has_prompts(), has_prompts, "{model:?}");
            // Decoders in GGUF files, which do not state the pooling.
            let is_gguf = matches!(model, ModelSource::Gguf(_));
            assert_eq!(model.pools_last_token(), is_gguf && is_causal, "{model:?}");
        });
    }
    let error = ModelSource::parse(b"no model").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::UnknownFormat, Some(0)));
}

#[test]
fn settings_of_the_other_kind_of_model_are_not_read() {
    let encoder = |file: &[u8]| with(file, |it| it.encoder_config().map_err(|error| error.kind()));
    let causal = |file: &[u8]| with(file, |it| it.causal_config().map_err(|error| error.kind()));
    let bert = format!("{BERT}}}");
    for file in [amb(&bert, None), weights(&BERT_KEYS, None)] {
        let config = encoder(&file).unwrap();
        assert_eq!((config.layers, config.hidden, config.vocabulary), (1, 4, 7));
    }
    let llama = data::read("llama/tiny.gguf");
    let of_gguf = |name| gguf(&[("general.architecture", WriteValue::Text(name))]);
    for (file, expected) in [
        (amb("{}", None), MissingMetadata),
        (amb(r#"{"architecture": "llama"}"#, None), OtherModel),
        (amb(&format!(r#"{BERT}, "config.json": "{{}}"}}"#), None), UnsupportedArchitecture),
        (weights(&[("architecture", "llama")], None), OtherModel),
        (weights(&[("config.json", "{}")], None), UnsupportedArchitecture),
        (weights(&[], None), MissingMetadata),
        (llama.clone(), OtherModel),
        (of_gguf("odd"), UnsupportedArchitecture),
        (gguf(&[]), MissingMetadata),
    ] {
        assert_eq!(encoder(&file).unwrap_err(), expected, "{:?}", ModelSource::parse(&file));
    }
    for (file, expected) in [
        (amb("{}", None), MissingMetadata),
        (amb(r#"{"architecture": "bert"}"#, None), OtherModel),
        (amb(r#"{"model_type": "bert"}"#, None), OtherModel),
        (weights(&BERT_KEYS, None), OtherModel),
        (weights(&[("architecture", "llama")], None), MissingMetadata),
        (of_gguf("bert"), OtherModel),
    ] {
        assert_eq!(causal(&file).unwrap_err(), expected, "{:?}", ModelSource::parse(&file));
    }
    // The number of its tokenizer's tokens.
    assert_eq!(causal(&llama).unwrap().vocabulary, 283);

    let check = |file: &[u8]| with(file, |it| it.check_architecture().map_err(|it| it.kind()));
    assert_eq!(check(&amb("{}", None)), Ok(()));
    assert_eq!(check(&of_gguf("bert")), Ok(()));
    assert_eq!(check(&llama), Ok(()));
    assert_eq!(check(&of_gguf("odd")), Err(UnsupportedArchitecture));
    assert_eq!(check(&gguf(&[])), Err(MissingMetadata));
}

#[test]
fn the_key_that_is_at_fault_is_named() {
    let key = |file: &[u8]| ModelSource::parse(file).unwrap().encoder_key_at_fault();
    let bert = format!("{BERT}}}");
    assert_eq!(key(&amb(&bert, None)), None);
    assert_eq!(key(&amb(&bert.replace("16", "0"), None)), Some("max_seq_len"));
    assert_eq!(key(&amb(&bert.replace("\"n_embd\": 4", "\"n_embd\": 5"), None)), Some("n_heads"));
    assert_eq!(key(&weights(&BERT_KEYS, None)), None);
    assert_eq!(key(&weights(&BERT_KEYS[1..], None)), Some("num_layers"));
    for (name, value) in [
        ("embedding_dim", "5"),
        ("max_tokens", "many"),
        ("pooling", "max"),
        ("layer_norm_eps", "1.5"),
        ("normalize", "yes"),
        ("do_lower_case", ""),
        ("strip_accents", "2"),
        ("split_ideographs", "none"),
    ] {
        let file = weights(&[&BERT_KEYS[..], &[(name, value)]].concat(), None);
        assert_eq!(key(&file), Some(name));
        let error = with(&file, |it| it.encoder_config().unwrap_err());
        assert_eq!(error.kind(), BadMetadata, "{name}");
    }
    assert_eq!(key(&gguf(&[])), None);
}

#[test]
fn tokenizers_are_known_by_what_the_file_has() {
    let kind = |file: &[u8]| {
        with(file, |it| it.tokenizer().map(|it| it.kind()).map_err(|error| error.kind()))
    };
    let tokens: [&[u8]; 2] = [b"a", b"b"];
    let words = Payload::WordPiece(&tokens);
    let pairs = Payload::Bpe { merges: &[("a", "b")], tokens: &tokens };
    let pieces = data::read("sentencepiece/llama.model");
    let bert = format!("{BERT}}}");
    for (config, payload, expected) in [
        (&*bert, None, Err(MissingVocabulary)),
        (&*bert, Some(Payload::Custom(b"x")), Err(UnsupportedTokenizer)),
        (&*bert, Some(words), Ok(TokenizerKind::WordPiece)),
        (r#"{"architecture": "llama"}"#, Some(words), Err(UnsupportedTokenizer)),
        ("{}", Some(pairs), Ok(TokenizerKind::BytePairs)),
        (r#"{"pre_tokenizer": "odd"}"#, Some(pairs), Err(UnsupportedTokenizer)),
        (r#"{"normalizer": "odd"}"#, Some(pairs), Err(UnsupportedTokenizer)),
        (r#"{"normalizer": "nfc"}"#, Some(pairs), Ok(TokenizerKind::BytePairs)),
        ("{}", Some(Payload::SentencePiece(&pieces)), Ok(TokenizerKind::SentencePiece)),
    ] {
        assert_eq!(kind(&amb(config, payload)), expected, "{config} {payload:?}");
    }
    let llama = ("architecture", "llama");
    let merges = Some((MERGES, &b"a b"[..]));
    for (metadata, tensor, expected) in [
        (&BERT_KEYS[..], None, Ok(TokenizerKind::WordPiece)),
        (&[][..], Some((SENTENCEPIECE, &pieces[..])), Ok(TokenizerKind::SentencePiece)),
        (&[][..], merges, Ok(TokenizerKind::BytePairs)),
        (&[llama][..], None, Err(MissingVocabulary)),
        (&[llama][..], merges, Ok(TokenizerKind::BytePairs)),
        (&[llama][..], Some((MERGES, &b"a \xff"[..])), Err(BadVocabulary)),
        (&[("pre_tokenizer", "odd")][..], merges, Err(UnsupportedTokenizer)),
        (&[("normalizer", "odd")][..], merges, Err(UnsupportedTokenizer)),
    ] {
        assert_eq!(kind(&weights(metadata, tensor)), expected, "{metadata:?}");
    }
    let bert_words = [
        ("general.architecture", WriteValue::Text("llama")),
        ("tokenizer.ggml.model", WriteValue::Text("bert")),
    ];
    assert_eq!(kind(&gguf(&bert_words)), Err(UnsupportedTokenizer));
    assert_eq!(kind(&gguf(&bert_words[..1])), Err(MissingVocabulary));
}

#[test]
fn the_token_before_texts_is_where_each_format_says_it() {
    let begin = |file: &[u8]| ModelSource::parse(file).unwrap().begin_token();
    let tokens: [&[u8]; 2] = [b"a", b"b"];
    assert_eq!(begin(&amb("{}", None)), None);
    assert_eq!(begin(&amb("{}", Some(Payload::WordPiece(&tokens)))), Some(1));
    assert_eq!(begin(&weights(&[], None)), None);
    assert_eq!(begin(&weights(&[("bos_token_id", "4")], None)), Some(4));
    assert_eq!(begin(&gguf(&[])), None);
    assert_eq!(begin(&gguf(&[("tokenizer.ggml.bos_token_id", WriteValue::U32(3))])), Some(3));
}

#[test]
fn added_tokens_that_are_no_ids_and_merges_of_one_part_are_refused() {
    let open = |file: &[u8]| with(file, |model| Tokenizer::from_source(file, model).map(drop));
    let failure = |file: &[u8]| {
        let error = open(file).unwrap_err();
        (error.kind(), error.offset())
    };
    let tokens: [&[u8]; 3] = [b"a", b"b", b"ab"];
    let pieces = data::read("sentencepiece/llama.model");
    let pairs = Payload::Bpe { merges: &[("a", "b")], tokens: &tokens };
    for payload in [pairs, Payload::SentencePiece(&pieces)] {
        open(&amb(r#"{"added_tokens": [1]}"#, Some(payload))).unwrap();
        let file = amb(r#"{"added_tokens": [1, "odd"]}"#, Some(payload));
        // The start of the text, after its quote.
        let at = file.windows(3).position(|bytes| bytes == b"odd").unwrap();
        assert_eq!(failure(&file), (BadVocabulary, Some(at as u64)));
    }
    for (name, tensor) in [(MERGES, &b"a b"[..]), (SENTENCEPIECE, &pieces)] {
        open(&weights(&[("added_tokens", "1")], Some((name, tensor)))).unwrap();
        let file = weights(&[("added_tokens", "1  odd")], Some((name, tensor)));
        assert_eq!(failure(&file), (BadVocabulary, None), "{name}");
    }
    // Empty lines are ignored; a line without a space is not a merge.
    open(&weights(&[], Some((MERGES, &b"\na b\n"[..])))).unwrap();
    assert_eq!(failure(&weights(&[], Some((MERGES, &b"a b\nab"[..])))), (BadVocabulary, None));
    let (whole, half): ([&[u8]; 1], [&[u8]; 1]) = ([b"a b"], [b"ab"]);
    let file = |merges| {
        gguf(&[
            ("general.architecture", WriteValue::Text("llama")),
            ("tokenizer.ggml.model", WriteValue::Text("gpt2")),
            ("tokenizer.ggml.pre", WriteValue::Text("smollm")),
            ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
            ("tokenizer.ggml.merges", merges),
        ])
    };
    open(&file(WriteValue::Texts(&whole))).unwrap();
    assert_eq!(failure(&file(WriteValue::Texts(&half))), (BadVocabulary, None));
    assert_eq!(failure(&file(WriteValue::U32s(&[7]))), (BadVocabulary, None));
}
