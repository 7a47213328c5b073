//! Settings of families, with small sizes.

use nanoembed_core::model::llama::{Rope, RopePairs};
use nanoembed_core::model::{
    Activation, Config, Disentangled, FeedForward, Heads, LayerSet, Mask, Mixture, NormKind, Order,
    Placeholders, QueryKeyNorm, Relative, RelativeBuckets, Rotary, Window,
};

pub const LAYERS: usize = 3;
pub const HIDDEN: usize = 24;
pub const HEADS: Heads = Heads { query: 4, key_value: 2, size: 8 };
const INTERMEDIATE: usize = 40;
const PER_LAYER: usize = 10;
pub const VOCABULARY: usize = 50;
pub const POSITIONS: usize = 64;
/// The second is longer than a block of queries.
pub const LENGTHS: [usize; 3] = [5, 41, 1];

const fn rope(base: f32, pairs: RopePairs, dimensions: usize) -> Rope {
    let mut rope = Rope::new(dimensions, base, POSITIONS);
    rope.pairs = pairs;
    rope
}

const fn sized(mut config: Config) -> Config {
    config.layers = LAYERS;
    config.heads = HEADS;
    config.hidden = HIDDEN;
    config.intermediate = INTERMEDIATE;
    config.vocabulary = VOCABULARY;
    config.positions = POSITIONS;
    config.epsilon = 1e-5;
    config
}

/// `config` with other settings.
fn with(mut config: Config, set: impl FnOnce(&mut Config)) -> Config {
    set(&mut config);
    config
}

const TURNED: Option<Rotary> = Some(Rotary {
    global: rope(10_000.0, RopePairs::Halves, 8),
    local: rope(100.0, RopePairs::Halves, 8),
});

/// Layers with a window, without a period.
pub const LISTED: [bool; LAYERS] = [true, false, false];

pub const BUCKETS: RelativeBuckets = RelativeBuckets { buckets: 16, distance: 20 };

/// Settings of families, with small sizes.
pub fn models() -> Vec<(&'static str, Config, Stored)> {
    let bert = sized(Config::BERT);
    let llama = with(sized(Config::LLAMA), |it| it.rotary = TURNED);
    let apart =
        Stored { biases: true, fused: false, up_first: false, first_norm: true, transposed: false };
    let fused = Stored { fused: true, biases: false, ..apart };
    let window = |every, first| Some(Window::all_but(3, every, first));
    let distilbert = with(bert, |it| it.embedding.token_types = false);
    let roberta = with(bert, |it| it.embedding.positions = Some(2));
    let mpnet = with(roberta, |it| {
        it.embedding.token_types = false;
        it.relative = Some(Relative::Buckets(BUCKETS));
    });
    let deberta = |disentangled: Option<Disentangled>| {
        with(bert, |it| {
            it.embedding.positions = None;
            it.embedding.token_types = false;
            it.relative = disentangled.map(Relative::Disentangled);
            it.attention.scale = Some(1.0 / 24.0_f32.sqrt());
        })
    };
    let alibi = with(bert, |it| {
        it.embedding.positions = None;
        it.relative = Some(Relative::Alibi);
        it.feed_forward = FeedForward::Gated(Activation::Gelu);
    });
    // Three heads are no power of two.
    let code = with(alibi, |it| {
        it.heads = Heads { query: 3, key_value: 3, size: 8 };
        it.attention.query_key_norm = Some(QueryKeyNorm::Vector);
        it.order = Order::PostTwice;
    });
    let albert = with(bert, |it| {
        it.embedding.projected = Some(14);
        it.feed_forward = FeedForward::Plain(Activation::GeluTanh);
    });
    let turned = with(bert, |it| {
        it.embedding.positions = None;
        it.rotary = TURNED;
    });
    let experts = with(turned, |it| {
        let activation = Activation::Gelu;
        let mixture = Mixture { activation, experts: 5, used: 2, every: 2 };
        it.feed_forward = FeedForward::Mixed(mixture);
    });
    let gated = |config, by| with(config, |it| it.feed_forward = FeedForward::Gated(by));
    let modern_bert = with(gated(turned, Activation::Gelu), |it| {
        it.embedding.token_types = false;
        it.attention.window = window(3, 0);
        it.order = Order::Pre;
        it.first_norm = false;
        it.final_norm = true;
    });
    let gemma = with(gated(llama, Activation::GeluTanh), |it| {
        it.embedding.scale = 24.0_f32.sqrt();
        it.attention.mask = Mask::Full;
        it.attention.window = window(2, 1);
        it.attention.query_key_norm = Some(QueryKeyNorm::Head);
        it.attention.scale = Some(0.25);
        it.order = Order::Sandwich;
        it.norm = NormKind::Rms { one_plus: true };
    });
    // Half the heads of keys and other sizes in layers without a window.
    let gemma_2 = with(gemma, |it| {
        it.global_heads = Some(Heads { query: 4, key_value: 1, size: 12 });
        it.rotary = Some(Rotary {
            global: rope(10_000.0, RopePairs::Halves, 12),
            local: rope(100.0, RopePairs::Halves, 8),
        });
        it.attention.value_norm = true;
        it.attention.scale = Some(1.0);
        it.norm = NormKind::Rms { one_plus: false };
        it.per_layer = Some(PER_LAYER);
        it.embedding.placeholders = Placeholders::new([3, 17, u32::MAX], 0);
    });
    let wide = with(gemma_2, |it| it.per_layer = Some(2 * INTERMEDIATE));
    let causal = |config| with(config, |it| it.attention.mask = Mask::Causal);
    let listed = |config| {
        let have_window = LayerSet::from_flags(LISTED.into_iter()).unwrap();
        let window = Window::from_layers(3, LAYERS, &have_window);
        with(config, |it| it.attention.window = window)
    };
    let neighbours = Rotary {
        global: rope(500.0, RopePairs::Neighbours, 6),
        local: rope(500.0, RopePairs::Neighbours, 6),
    };
    let causal_relu = with(turned, |it| {
        it.attention.mask = Mask::Causal;
        it.embedding.token_types = false;
        it.embedding.norm = false;
        it.feed_forward = FeedForward::Plain(Activation::Relu);
    });
    let t5 = |feed_forward| {
        with(sized(Config::LLAMA), |it| {
            it.attention.mask = Mask::Full;
            it.attention.scale = Some(1.0);
            it.relative = Some(Relative::Buckets(BUCKETS));
            it.feed_forward = feed_forward;
        })
    };
    vec![
        ("BERT", bert, apart),
        ("RoBERTa", roberta, apart),
        ("DistilBERT", distilbert, apart),
        ("MPNet", mpnet, apart),
        ("DeBERTa", deberta(Disentangled::new(8, 20, true)), apart),
        ("DeBERTa without buckets", deberta(Disentangled::new(0, 9, false)), fused),
        ("Jina v2", alibi, fused),
        ("Jina v2 for code", code, Stored { up_first: true, biases: true, ..fused }),
        ("Jina v2 for code, apart", code, apart),
        ("ALBERT", albert, apart),
        ("NomicBERT", gated(turned, Activation::Silu), Stored { biases: false, ..apart }),
        ("NomicBERT with experts", experts, apart),
        ("NomicBERT with transposed experts", experts, Stored { transposed: true, ..apart }),
        ("GTE", gated(turned, Activation::Gelu), Stored { up_first: true, biases: true, ..fused }),
        ("ModernBERT", modern_bert, Stored { first_norm: false, ..fused }),
        ("EmbeddingGemma", gemma, Stored { biases: false, ..apart }),
        ("EmbeddingGemma 2", gemma_2, Stored { biases: false, ..apart }),
        ("EmbeddingGemma 2, wide", wide, Stored { biases: false, ..apart }),
        ("EmbeddingGemma 2 by a list", listed(gemma_2), Stored { biases: false, ..apart }),
        ("ModernBERT by a list", listed(modern_bert), Stored { first_norm: false, ..fused }),
        ("Gemma by a list", listed(causal(gemma)), Stored { biases: false, ..apart }),
        ("Gemma", causal(gemma), Stored { biases: false, ..apart }),
        (
            "Qwen3",
            with(llama, |it| it.attention.query_key_norm = Some(QueryKeyNorm::Head)),
            Stored { biases: false, ..apart },
        ),
        ("Llama", with(llama, |it| it.rotary = Some(neighbours)), fused),
        ("EuroBERT", with(llama, |it| it.attention.mask = Mask::Full), apart),
        ("causal with ReLU", causal_relu, apart),
        ("T5", t5(FeedForward::Plain(Activation::Relu)), Stored { biases: false, ..apart }),
        ("T5 with a gate", t5(FeedForward::Gated(Activation::GeluTanh)), fused),
    ]
}

/// The storage of a model.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub biases: bool,
    /// True if queries, keys and values are one matrix, as are gate and up.
    pub fused: bool,
    /// True if the gate comes last in its matrix.
    pub up_first: bool,
    /// True if the first layer has a norm before the attention.
    pub first_norm: bool,
    /// True if the second layers of experts are stored transposed.
    pub transposed: bool,
}
