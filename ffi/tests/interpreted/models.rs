//! Files of the smallest models that there can be, made by core's own writers.

use nanoembed_core::format::finalfusion::{self, StorageSpec};
use nanoembed_core::format::gguf::{self, WriteValue};
use nanoembed_core::format::uqff::{self, Extra, LayerFormat, UqffLayer};
use nanoembed_core::format::{amb, embd};
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::tensor::{Dtype, Encoding, Shape, TensorSpec, Weight};

pub(crate) const TOKENS: [&[u8]; 12] = [
    b"[PAD]", b"[UNK]", b"[CLS]", b"[SEP]", b"[MASK]", b"a", b"b", b"##a", b"##b", b"cat", b"dog",
    b"!",
];
pub(crate) const HIDDEN: usize = 4;
const HEADS: usize = 2;
const INTERMEDIATE: usize = 4;
/// Positions of encoders: the most tokens of a text.
pub(crate) const POSITIONS: usize = 8;

const TOKENIZER: &str = r###"{"version":"1.0","added_tokens":[{"id":1,"content":"[UNK]",
"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"BertNormalizer",
"clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing",
"sep":["[SEP]",3],"cls":["[CLS]",2]},"model":{"type":"WordPiece","unk_token":"[UNK]",
"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"ids":12,"count":12}}}"###;

struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Shape,
    data: Vec<u8>,
}

/// Tensors with numbers by chance, the same in every run.
#[derive(Default)]
struct Tensors {
    made: Vec<Tensor>,
    state: u32,
}

impl Tensors {
    fn add(&mut self, name: &str, dtype: Dtype, dims: &[usize], data: Vec<u8>) {
        let dims: Vec<u64> = dims.iter().map(|dim| *dim as u64).collect();
        let shape = Shape::new(&dims).expect("few dimensions");
        self.made.push(Tensor { name: name.to_owned(), dtype, shape, data });
    }

    /// Numbers from half below `centre` to half above it.
    fn floats(&mut self, name: &str, dims: &[usize], centre: f32) {
        let mut data = Vec::new();
        for _ in 0..dims.iter().product() {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = centre + (self.state >> 16) as f32 / 65536.0 - 0.5;
            data.extend(number.to_le_bytes());
        }
        self.add(name, Dtype::F32, dims, data);
    }

    fn linear(&mut self, name: &str, rows: usize, cols: usize) {
        self.floats(&format!("{name}.weight"), &[rows, cols], 0.0);
        self.floats(&format!("{name}.bias"), &[rows], 0.0);
    }

    fn norm(&mut self, name: &str) {
        self.floats(&format!("{name}.weight"), &[HIDDEN], 1.0);
        self.floats(&format!("{name}.bias"), &[HIDDEN], 0.0);
    }

    /// Those of a BERT of one layer.
    fn of_bert() -> Self {
        let mut tensors = Self::default();
        tensors.floats("embeddings.word_embeddings.weight", &[TOKENS.len(), HIDDEN], 0.0);
        tensors.floats("embeddings.position_embeddings.weight", &[POSITIONS, HIDDEN], 0.0);
        tensors.floats("embeddings.token_type_embeddings.weight", &[2, HIDDEN], 0.0);
        tensors.norm("embeddings.LayerNorm");
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            tensors.linear(&format!("encoder.layer.0.attention.{part}"), HIDDEN, HIDDEN);
        }
        tensors.norm("encoder.layer.0.attention.output.LayerNorm");
        tensors.linear("encoder.layer.0.intermediate.dense", INTERMEDIATE, HIDDEN);
        tensors.linear("encoder.layer.0.output.dense", HIDDEN, INTERMEDIATE);
        tensors.norm("encoder.layer.0.output.LayerNorm");
        tensors
    }

    /// With the order of the tokens, by which they are found without memory.
    fn with_token_index(mut self) -> Self {
        let mut order: Vec<u16> = (0..TOKENS.len() as u16).collect();
        order.sort_by_key(|id| TOKENS[usize::from(*id)]);
        let ids = order.iter().flat_map(|id| id.to_le_bytes()).collect();
        self.add("vocab.sorted_ids", Dtype::U16, &[TOKENS.len()], ids);
        let (mut at, mut offsets) = (0_u32, vec![0; 4]);
        for token in TOKENS {
            at += 2 + token.len() as u32;
            offsets.extend(at.to_le_bytes());
        }
        self.add("vocab.offsets", Dtype::U32, &[TOKENS.len() + 1], offsets);
        self
    }

    fn with_tokenizer(mut self) -> Self {
        self.add("tokenizer.json", Dtype::U8, &[TOKENIZER.len()], TOKENIZER.into());
        self
    }

    fn specs(&self) -> Vec<TensorSpec<'_>> {
        let spec = |it| {
            let Tensor { name, dtype, shape, .. }: &Tensor = it;
            TensorSpec { name, dtype: *dtype, shape: *shape }
        };
        self.made.iter().map(spec).collect()
    }

    fn in_weights(&self, metadata: &[(&str, &str)]) -> Vec<u8> {
        let specs = self.specs();
        let vocabulary = embd::EmbdVocabulary { tokens: &TOKENS, special: [0, 1, 2, 3, 4] };
        let plan = embd::EmbdPlan {
            metadata,
            vocabulary: Some(vocabulary),
            ..embd::EmbdPlan::new(&specs)
        };
        let mut writer = embd::EmbdWriter::new(plan, Vec::new()).expect("a plan");
        self.made.iter().for_each(|it| writer.data(&it.data).expect("its data"));
        writer.finish().expect("a file")
    }
}

const SIZES: [(&str, &str); 6] = [
    ("num_layers", "1"),
    ("num_attention_heads", "2"),
    ("hidden_size", "4"),
    ("intermediate_size", "4"),
    ("max_position_emb", "8"),
    ("vocab_size", "12"),
];

/// The same sizes in the words of AMB.
const CONFIG: &str = r#"{"architecture":"bert","n_layers":1,"n_heads":2,"n_embd":4,"n_vocab":12,
"max_seq_len":8,"intermediate_size":4}"#;

/// A BERT in a `.weights` file.
pub(crate) fn bert() -> Vec<u8> {
    Tensors::of_bert().with_token_index().in_weights(&SIZES)
}

/// The same in an `.amb` file.
pub(crate) fn bert_in_amb() -> Vec<u8> {
    let tensors = Tensors::of_bert();
    let spec = |it| {
        let Tensor { name, dtype, shape, .. }: &Tensor = it;
        amb::AmbTensorSpec { name, dtype: *dtype, shape: *shape, full_blocks: 0 }
    };
    let specs: Vec<_> = tensors.made.iter().map(spec).collect();
    let plan =
        amb::AmbPlan { tokenizer: Some(word_piece_spec()), ..amb::AmbPlan::new(CONFIG, &specs) };
    let mut writer = amb::AmbWriter::new(plan, Vec::new()).expect("a plan");
    tensors.made.iter().for_each(|it| writer.data(&it.data).expect("its data"));
    writer.finish().expect("a file")
}

/// A ModernBERT of one layer, which has fewer tensors than a BERT, in a file that keeps the texts of a
/// folder: its configuration says `more`.
fn modern(class: &str, more: &str, metadata: &[(&str, &str)], tensors: Tensors) -> Vec<u8> {
    let config = format!(
        r#"{{"model_type":"modernbert","architectures":["{class}"],"hidden_activation":"relu",
        "hidden_size":{HIDDEN},"intermediate_size":{INTERMEDIATE},"num_attention_heads":1,
        "num_hidden_layers":1,"vocab_size":{},"max_position_embeddings":{POSITIONS}{more}}}"#,
        TOKENS.len()
    );
    let mut metadata = metadata.to_vec();
    metadata.push(("config.json", &config));
    let mut tensors = tensors.with_tokenizer();
    for (name, rows, cols) in [
        ("embeddings.tok_embeddings", TOKENS.len(), HIDDEN),
        ("layers.0.attn.Wqkv", 3 * HIDDEN, HIDDEN),
        ("layers.0.attn.Wo", HIDDEN, HIDDEN),
        ("layers.0.mlp.Wi", 2 * INTERMEDIATE, HIDDEN),
        ("layers.0.mlp.Wo", HIDDEN, INTERMEDIATE),
    ] {
        tensors.floats(&format!("{name}.weight"), &[rows, cols], 0.0);
    }
    for name in ["embeddings.norm", "layers.0.mlp_norm", "final_norm"] {
        tensors.floats(&format!("{name}.weight"), &[HIDDEN], 1.0);
    }
    tensors.in_weights(&metadata)
}

/// A model of another family than BERT, with a prompt for questions.
pub(crate) fn with_prompts() -> Vec<u8> {
    let prompts = r#"{"prompts":{"query":"dog ","document":""}}"#;
    let metadata = [("config_sentence_transformers.json", prompts)];
    modern("ModernBertModel", "", &metadata, Tensors::default())
}

/// A model that compares two texts.
pub(crate) fn cross_encoder() -> Vec<u8> {
    let mut tensors = Tensors::default();
    tensors.floats("head.dense.weight", &[HIDDEN, HIDDEN], 0.0);
    tensors.floats("head.norm.weight", &[HIDDEN], 1.0);
    tensors.linear("classifier", 1, HIDDEN);
    let more = r#","id2label":{"0":"LABEL_0"}"#;
    modern("ModernBertForSequenceClassification", more, &[], tensors)
}

/// A static model: a vector for each token.
pub(crate) fn table() -> Vec<u8> {
    let mut tensors = Tensors::default().with_token_index().with_tokenizer();
    tensors.floats("embeddings", &[TOKENS.len(), HIDDEN], 0.0);
    let config = r#"{"model_type":"model2vec","architectures":["StaticModel"],"normalize":true}"#;
    tensors.in_weights(&[
        ("architecture", "static"),
        ("embedding_dim", "4"),
        ("config.json", config),
    ])
}

/// What a decoder of one layer says of itself.
const DECODER: [(&str, WriteValue<'static>); 8] = [
    ("general.architecture", WriteValue::Text("llama")),
    ("llama.embedding_length", WriteValue::U32(4)),
    ("llama.block_count", WriteValue::U32(1)),
    ("llama.attention.head_count", WriteValue::U32(2)),
    ("llama.attention.head_count_kv", WriteValue::U32(1)),
    ("llama.context_length", WriteValue::U32(8)),
    ("llama.feed_forward_length", WriteValue::U32(4)),
    ("tokenizer.ggml.tokens", WriteValue::Texts(&[b"t0", b"t1", b"t2", b"t3", b"t4", b"t5"])),
];

/// A model that continues texts, in a GGUF file.
pub(crate) fn decoder() -> Vec<u8> {
    let mut tensors = Tensors::default();
    tensors.floats("token_embd.weight", &[6, HIDDEN], 0.0);
    for (name, rows, cols) in [
        ("attn_q", HIDDEN, HIDDEN),
        ("attn_k", HIDDEN / HEADS, HIDDEN),
        ("attn_v", HIDDEN / HEADS, HIDDEN),
        ("attn_output", HIDDEN, HIDDEN),
        ("ffn_gate", INTERMEDIATE, HIDDEN),
        ("ffn_up", INTERMEDIATE, HIDDEN),
        ("ffn_down", HIDDEN, INTERMEDIATE),
    ] {
        tensors.floats(&format!("blk.0.{name}.weight"), &[rows, cols], 0.0);
    }
    for name in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"] {
        tensors.floats(&format!("{name}.weight"), &[HIDDEN], 1.0);
    }
    let specs = tensors.specs();
    let plan = gguf::GgufPlan { metadata: &DECODER, ..gguf::GgufPlan::new(&specs) };
    let mut writer = gguf::GgufWriter::new(plan, Vec::new()).expect("a plan");
    tensors.made.iter().for_each(|it| writer.data(&it.data).expect("its data"));
    writer.finish().expect("a file")
}

/// Word pieces in an `.amb` file without tensors.
pub(crate) fn word_pieces() -> Vec<u8> {
    let plan =
        amb::AmbPlan { tokenizer: Some(word_piece_spec()), ..amb::AmbPlan::new(CONFIG, &[]) };
    amb::AmbWriter::new(plan, Vec::new()).expect("a plan").finish().expect("a file")
}

fn word_piece_spec() -> amb::AmbTokenizerSpec<'static> {
    amb::AmbTokenizerSpec {
        special: [Some(2), Some(3), Some(0), Some(1), Some(4)],
        payload: amb::Payload::WordPiece(&TOKENS),
    }
}

/// Pairs of bytes to be merged, with tokens of their own, in a GGUF file without tensors.
pub(crate) fn byte_pairs() -> Vec<u8> {
    let tokens: [&[u8]; 7] = [b"<s>", b"</s>", b"a", b"b", b"ab", b"abb", b"!"];
    let metadata = [
        ("general.architecture", WriteValue::Text("llama")),
        ("tokenizer.ggml.model", WriteValue::Text("gpt2")),
        ("tokenizer.ggml.pre", WriteValue::Text("gpt-2")),
        ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
        ("tokenizer.ggml.merges", WriteValue::Texts(&[b"a b", b"ab b"])),
        ("tokenizer.ggml.token_type", WriteValue::I32s(&[3, 3, 1, 1, 1, 1, 1])),
        ("tokenizer.ggml.bos_token_id", WriteValue::U32(0)),
        ("tokenizer.ggml.eos_token_id", WriteValue::U32(1)),
        ("tokenizer.ggml.add_bos_token", WriteValue::Bool(true)),
    ];
    let plan = gguf::GgufPlan { metadata: &metadata, ..gguf::GgufPlan::new(&[]) };
    gguf::GgufWriter::new(plan, Vec::new()).expect("a plan").finish().expect("a file")
}

/// Pieces with scores, as SentencePiece has them, in a GGUF file without tensors.
pub(crate) fn pieces() -> Vec<u8> {
    let tokens: [&[u8]; 7] =
        [b"<unk>", b"<s>", b"</s>", b"\xe2\x96\x81", b"a", b"b", b"\xe2\x96\x81a"];
    let metadata = [
        ("general.architecture", WriteValue::Text("llama")),
        ("tokenizer.ggml.model", WriteValue::Text("llama")),
        ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
        ("tokenizer.ggml.scores", WriteValue::F32s(&[0.0, 0.0, 0.0, -3.0, -2.0, -2.5, -1.0])),
        ("tokenizer.ggml.token_type", WriteValue::I32s(&[2, 3, 3, 1, 1, 1, 1])),
        ("tokenizer.ggml.bos_token_id", WriteValue::U32(1)),
        ("tokenizer.ggml.eos_token_id", WriteValue::U32(2)),
    ];
    let plan = gguf::GgufPlan { metadata: &metadata, ..gguf::GgufPlan::new(&[]) };
    gguf::GgufWriter::new(plan, Vec::new()).expect("a plan").finish().expect("a file")
}

pub(crate) const WORDS: [&str; 4] = ["man", "woman", "king", "queen"];
pub(crate) const COLS: usize = 4;
const BUCKETS: u32 = 2;

/// Words with fastText's n-grams, whose vectors are rows of the identity and those of two buckets.
pub(crate) fn words() -> Vec<u8> {
    let rows = WORDS.len() as u32 + BUCKETS;
    let storage = StorageSpec::Array { rows: rows.into(), cols: COLS as u32 };
    let mut writer = words_writer(storage);
    let vectors = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.8, 0.0, 0.6, 0.0],
        [0.0, 0.8, 0.6, 0.0],
        [0.0, 0.0, 0.0, 2.0],
        [0.0, 0.0, 3.0, 0.0_f32],
    ];
    let data: Vec<u8> = vectors.as_flattened().iter().flat_map(|it| it.to_le_bytes()).collect();
    writer.data(&data).expect("its data");
    writer.finish().expect("a file")
}

/// Words whose vectors are two codes each, of two centroids.
pub(crate) fn quantized_words() -> Vec<u8> {
    let rows = u64::from(WORDS.len() as u32 + BUCKETS);
    let mut writer = words_writer(StorageSpec::Quantized {
        rows,
        cols: COLS as u32,
        codes_per_row: 2,
        centroids: 2,
        projection: false,
        norms: false,
    });
    let centroids = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, -1.0_f32]];
    let data = centroids.as_flattened().iter().flat_map(|it| it.to_le_bytes());
    let codes = [[0, 0], [1, 1], [0, 1], [1, 0], [0, 0], [1, 1_u8]];
    let data: Vec<u8> = data.chain(codes.into_iter().flatten()).collect();
    writer.data(&data).expect("its data");
    writer.finish().expect("a file")
}

fn words_writer(storage: StorageSpec) -> finalfusion::FinalfusionWriter<'static, Vec<u8>> {
    let vocabulary = WordVocabulary {
        words: WORDS.len() as u32,
        subwords: Subwords::FastText { buckets: BUCKETS },
        min_n: 3,
        max_n: 3,
        begin: Bracket::BEGIN,
        end: Bracket::END,
    };
    let bytes = WORDS.iter().map(|word| word.len() as u64).sum();
    let plan = finalfusion::FinalfusionPlan::new(vocabulary, bytes, storage);
    let mut writer = finalfusion::FinalfusionWriter::new(plan, Vec::new()).expect("a plan");
    WORDS.iter().for_each(|word| writer.word(word.as_bytes()).expect("a word"));
    writer
}

/// A layer of UQFF that is called `a`, with the elements 1 to 4.
pub(crate) fn layer() -> Vec<u8> {
    let data: Vec<u8> = [1.0, 2.0, 3.0, 4.0_f32].iter().flat_map(|x| x.to_le_bytes()).collect();
    let shape = Shape::new(&[2, 2]).expect("few dimensions");
    let encoding = Encoding::Plain { dtype: Dtype::F32, data: &data };
    let weight = Weight::new(shape, encoding).expect("a weight");
    let (format, extra) = (LayerFormat::Unquantized, Extra::default());
    let layer = UqffLayer { name: "a", format, weight, bias: None, extra };
    let mut file = Vec::new();
    uqff::write_tensors(&[layer], &[], true, &mut file).expect("a file");
    file
}
