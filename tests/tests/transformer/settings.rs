//! Settings of families, on small sizes.

use nanoembed_core::model::llama::{Rope, RopePairs};
use nanoembed_core::model::{
    Activation, Attention, Config, Embedding, FeedForward, Heads, Mask, NormKind, Order,
    RelativeBuckets, Rotary, Window,
};

pub const LAYERS: usize = 3;
pub const HIDDEN: usize = 24;
pub const HEADS: Heads = Heads { query: 4, key_value: 2, size: 8 };
const INTERMEDIATE: usize = 40;
pub const VOCABULARY: usize = 50;
pub const POSITIONS: usize = 64;
/// The second is longer than a block of queries.
pub const LENGTHS: [usize; 3] = [5, 41, 1];

const fn rope(base: f32, pairs: RopePairs, dimensions: usize) -> Rope {
    Rope {
        dimensions,
        base,
        position_divisor: 1.0,
        yarn: None,
        attention_factor: 1.0,
        original_positions: POSITIONS,
        pairs,
    }
}

const fn sized(config: Config) -> Config {
    Config {
        layers: LAYERS,
        heads: HEADS,
        hidden: HIDDEN,
        intermediate: INTERMEDIATE,
        vocabulary: VOCABULARY,
        positions: POSITIONS,
        epsilon: 1e-5,
        ..config
    }
}

const TURNED: Option<Rotary> = Some(Rotary {
    global: rope(10_000.0, RopePairs::Halves, 8),
    local: rope(100.0, RopePairs::Halves, 8),
});

pub const BUCKETS: RelativeBuckets = RelativeBuckets { buckets: 16, distance: 20 };

/// Settings of families, on small sizes.
pub fn models() -> Vec<(&'static str, Config, Stored)> {
    let bert = sized(Config::BERT);
    let llama = sized(Config { rotary: TURNED, ..Config::LLAMA });
    let apart = Stored { biases: true, fused: false, up_first: false, first_norm: true };
    let fused = Stored { fused: true, biases: false, ..apart };
    let window = |every, first| Some(Window { reach: 3, every, first });
    let roberta = Embedding { positions: Some(2), ..bert.embedding };
    let unplaced = Embedding { positions: None, ..bert.embedding };
    let modern_bert = Config {
        embedding: Embedding { token_types: false, ..unplaced },
        rotary: TURNED,
        attention: Attention { window: window(3, 0), ..bert.attention },
        order: Order::Pre,
        feed_forward: FeedForward::Gated(Activation::Gelu),
        final_norm: true,
        ..bert
    };
    let gemma = Config {
        embedding: Embedding { scale: 24.0_f32.sqrt(), ..llama.embedding },
        attention: Attention {
            mask: Mask::Full,
            window: window(2, 1),
            query_key_norm: true,
            scale: Some(0.25),
        },
        order: Order::Sandwich,
        norm: NormKind::Rms { one_plus: true },
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        ..llama
    };
    let neighbours = Rotary {
        global: rope(500.0, RopePairs::Neighbours, 6),
        local: rope(500.0, RopePairs::Neighbours, 6),
    };
    vec![
        ("BERT", bert, apart),
        ("RoBERTa", Config { embedding: roberta, ..bert }, apart),
        (
            "DistilBERT",
            Config { embedding: Embedding { token_types: false, ..bert.embedding }, ..bert },
            apart,
        ),
        (
            "MPNet",
            Config {
                embedding: Embedding { token_types: false, ..roberta },
                relative: Some(BUCKETS),
                ..bert
            },
            apart,
        ),
        (
            "NomicBERT",
            Config {
                embedding: unplaced,
                rotary: TURNED,
                feed_forward: FeedForward::Gated(Activation::Silu),
                ..bert
            },
            Stored { biases: false, ..apart },
        ),
        (
            "GTE",
            Config {
                embedding: unplaced,
                rotary: TURNED,
                feed_forward: FeedForward::Gated(Activation::Gelu),
                ..bert
            },
            Stored { up_first: true, biases: true, ..fused },
        ),
        ("ModernBERT", modern_bert, Stored { first_norm: false, ..fused }),
        ("EmbeddingGemma", gemma, Stored { biases: false, ..apart }),
        (
            "Gemma",
            Config { attention: Attention { mask: Mask::Causal, ..gemma.attention }, ..gemma },
            Stored { biases: false, ..apart },
        ),
        (
            "Qwen3",
            Config { attention: Attention { query_key_norm: true, ..llama.attention }, ..llama },
            Stored { biases: false, ..apart },
        ),
        ("Llama", Config { rotary: Some(neighbours), ..llama }, fused),
        (
            "EuroBERT",
            Config { attention: Attention { mask: Mask::Full, ..llama.attention }, ..llama },
            apart,
        ),
        (
            "causal with ReLU",
            Config {
                attention: Attention { mask: Mask::Causal, ..bert.attention },
                embedding: Embedding {
                    positions: None,
                    token_types: false,
                    norm: false,
                    ..unplaced
                },
                rotary: TURNED,
                feed_forward: FeedForward::Plain(Activation::Relu),
                ..bert
            },
            apart,
        ),
    ]
}

/// How a model is stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub biases: bool,
    /// Whether queries, keys and values are one matrix, and gates and what they multiply.
    pub fused: bool,
    /// Whether gates lie behind what they multiply.
    pub up_first: bool,
    /// Whether the first layer norms before the attention.
    pub first_norm: bool,
}
