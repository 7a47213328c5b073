//! Encoders in `.weights` and `.amb` files opened without the rest of the code: the ids and vectors
//! of `Encoder`, bit by bit, and what is refused.

use std::path::Path;

use nanoembed::Silent;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_core::describe::folder::FolderPrompt;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{Encoder, EncoderFile, EncoderRoom, TextRoom, TextSession};

/// Folders under `tests/data/models` whose files keep their texts.
const FOLDERS: [&str; 18] = [
    "bert_max_pool",
    "distilbert",
    "embeddinggemma",
    "embeddinggemma2_text",
    "embeddinggemma2_towers",
    "eurobert",
    "gte",
    "jina_v2_code",
    "jina_v2_en",
    "jina_v3",
    "modernbert_mean",
    "mpnet",
    "nomic_bert",
    "nomic_moe",
    "qwen3_embedding",
    "roberta",
    "t5_encoder",
    "xlmr_bge_m3",
];

fn converted(name: &str, target: ModelTarget, weight_type: WeightType) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models").join(name);
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("model");
    let conversion = Conversion::new(folder, &file).to(target).weight_type(weight_type);
    conversion.run(&Silent).unwrap();
    std::fs::read(file).unwrap()
}

/// Texts that tokenizers stumble over, some without a space for long.
fn texts() -> Vec<String> {
    let texts = [
        "",
        "How do I reset my password?",
        "  HÉLLO,\u{a0}wörld\u{200b}! 中国 \u{301}x ",
        "[SEP] [CLS]x[MASK] [PAD][UNK] <s>a</s> <mask>  b <MASK>x<pad> <unk>",
        "각 İI ﬁ ½ ß Σας\r\n\tx",
    ];
    let long = ["a", "日本語のテキスト", "one two ", "e\u{301}", "\u{FDFA}", "!?"];
    let long = long.map(|part| part.repeat(1500));
    texts.into_iter().map(String::from).chain(long).collect()
}

fn same_as_the_encoder(name: &str, target: ModelTarget, weight_type: WeightType) {
    let file = converted(name, target, weight_type);
    let any = Encoder::open(&file[..]).unwrap();
    let mut room = EncoderRoom::default();
    assert!(EncoderFile::is_in(&file), "{name}");
    let model = EncoderFile::open(&file, &mut room).unwrap();
    assert_eq!(model.dimensions(), any.dimensions());
    assert_eq!(model.usual_tokens(), any.usual_tokens());
    assert_eq!(model.positions(), any.positions());
    let names: Vec<String> = any.prompts().by_name.keys().cloned().collect();
    assert_eq!(model.prompts(), names);
    let (mut few, mut many) = (TextRoom::default(), TextSession::default());
    let mut prompts = vec![(model.named_prompt(FolderPrompt::Usual), Prefix::Usual)];
    prompts.extend(
        names
            .into_iter()
            .map(|name| (model.named_prompt(FolderPrompt::Named(&name)), Prefix::Named(name))),
    );
    for (prompt, prefix) in prompts {
        let prompt = prompt.unwrap();
        assert_eq!(prompt, any.prompts().choose(&prefix).unwrap());
        let prompt = model.prompt(&prompt, &mut few).unwrap();
        assert_eq!(prompt, any.prompt(&prompt.text, &mut many).unwrap());
        for limit in [2, 7, any.usual_tokens()] {
            let (mut ids, mut lengths) = (Vec::new(), Vec::new());
            for text in texts() {
                let text = prompt.before(&text).unwrap();
                let found = model.encode(&text, limit, &mut few).unwrap();
                let expected = any.encode(&text, limit, &mut many).unwrap();
                assert_eq!(found, expected, "{name}: {limit} of {text}");
                ids.extend_from_slice(&found.ids);
                lengths.push(found.ids.len());
            }
            let plan = model.plan(256);
            assert_eq!(plan, any.plan(256));
            let mut vectors = vec![vec![0.0_f32; lengths.len() * model.dimensions()]; 2];
            let mut session = model.session_for(plan).unwrap();
            let skipped = prompt.skipped;
            model.embed(&mut session, &ids, &lengths, skipped, &mut vectors[0]).unwrap();
            any.embed(&mut session, &InOrder, &ids, &lengths, skipped, &mut vectors[1]).unwrap();
            assert_eq!(vectors[0], vectors[1], "{name}: {limit}");
        }
    }
    assert_eq!(model.named_prompt(FolderPrompt::Named("odd")), None);
    let refused = model.encode("x", 0, &mut few).map_err(|error| error.kind());
    assert_eq!(refused, any.encode("x", 0, &mut many).map_err(|error| error.kind()), "{name}");
}

#[test]
fn ids_and_vectors_are_those_of_the_encoder() {
    for name in FOLDERS {
        same_as_the_encoder(name, ModelTarget::Weights, WeightType::Int8);
        same_as_the_encoder(name, ModelTarget::Amb, WeightType::Int4block);
    }
    same_as_the_encoder("xlmr_bge_m3", ModelTarget::Weights, WeightType::F16);
    same_as_the_encoder("embeddinggemma", ModelTarget::Weights, WeightType::F32);
    for weight_type in [WeightType::F32, WeightType::Bf16, WeightType::Int8, WeightType::Adaptive] {
        same_as_the_encoder("xlmr_bge_m3", ModelTarget::Amb, weight_type);
    }
}

#[test]
fn what_needs_the_rest_of_the_code_is_refused() {
    let is_refused = |file: &[u8]| {
        let mut room = EncoderRoom::default();
        let kind = EncoderFile::open(file, &mut room).map(|_| ()).unwrap_err().error.kind();
        assert!(!EncoderFile::is_in(file));
        kind
    };
    for name in ["xlmr_reranker", "model2vec_int8_mapped"] {
        let file = converted(name, ModelTarget::Weights, WeightType::F32);
        assert_eq!(is_refused(&file), ErrorKind::OtherModel, "{name}");
    }
    let reranker = converted("xlmr_reranker", ModelTarget::Amb, WeightType::F32);
    assert_eq!(is_refused(&reranker), ErrorKind::OtherModel);
    let table = converted("model2vec_int8_mapped", ModelTarget::Amb, WeightType::F32);
    assert_eq!(is_refused(&table), ErrorKind::UnsupportedArchitecture);
    let bert = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/data/small_bert.weights");
    assert_eq!(is_refused(&std::fs::read(bert).unwrap()), ErrorKind::OtherModel);
    let amb = converted("nomic_bert", ModelTarget::Amb, WeightType::F32);
    let file = converted("nomic_bert", ModelTarget::Weights, WeightType::F32);
    for file in [&amb, &file] {
        for end in [0, 4, 100, file.len() / 2] {
            is_refused(&file[..end]);
        }
    }
    // A model of another kind than any here, which stands after the decoder, with the checksum as
    // it was: opening does not look at that.
    let kind = file.windows(11).rposition(|it| it == b"\"WordPiece\"").unwrap();
    let mut odd = file;
    odd[kind + 1] = b'X';
    is_refused(&odd);
}
