//! A decoder's settings in a GGUF file: each is used, irrelevant, or rejected by name at its
//! offset. Expectations are llama.cpp's results for the same keys.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::{
    gguf_llama_config, gguf_names_pooling, gguf_pools_last_token, gguf_refusal,
};
use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::model::llama::{LlamaConfig, RopePairs};
use nanoembed_core::model::{Activation, FeedForward, Order, Window};
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use nanoembed_tests::data;

use WriteValue::{Bool, F32, I32, Stored, Text, U32, U32s};

/// A change: a key, with `.` for the architecture prefix, and its value; `None` removes the key.
type Change<'a> = (&'a str, Option<WriteValue<'a>>);

/// The small decoder of the test files with another architecture, changed settings, and additional
/// tensors of one element.
fn file(architecture: &str, changes: &[Change<'_>], more: &[&str]) -> Vec<u8> {
    let honest = data::read("llama/tiny.gguf");
    let gguf = Gguf::parse(&honest, Mode::Strict).unwrap();
    let named = |key: &str| match key.strip_prefix('.') {
        Some(name) => format!("{architecture}.{name}"),
        None => key.to_owned(),
    };
    let changes: Vec<(String, _)> =
        changes.iter().map(|(key, value)| (named(key), *value)).collect();
    let mut metadata = Vec::new();
    for (key, _) in gguf.metadata() {
        let new = match key.strip_prefix("llama.") {
            Some(name) => named(&format!(".{name}")),
            None => key.to_owned(),
        };
        let value = match key {
            "general.architecture" => Text(architecture),
            _ => Stored(gguf.stored_value(key).unwrap()),
        };
        if changes.iter().all(|(changed, _)| *changed != new) {
            metadata.push((new, value));
        }
    }
    let added = changes.iter().filter_map(|(key, value)| Some((key.clone(), (*value)?)));
    metadata.extend(added);
    let metadata: Vec<(&str, WriteValue<'_>)> =
        metadata.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let one = Shape::new(&[1]).unwrap();
    let own = gguf.tensors().map(|tensor| {
        let header = tensor.header();
        let spec = TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape };
        (spec, tensor.data())
    });
    let of_one = |name| (TensorSpec { name, dtype: Dtype::F32, shape: one }, &[0; 4][..]);
    let more = more.iter().map(|name| of_one(*name));
    let (specs, contents): (Vec<_>, Vec<_>) = own.chain(more).unzip();
    let plan = GgufPlan { metadata: &metadata, ..GgufPlan::new(&specs) };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    for content in contents {
        writer.data(content).unwrap();
    }
    writer.finish().unwrap()
}

fn config(architecture: &str, changes: &[Change<'_>]) -> LlamaConfig {
    let file = file(architecture, changes, &[]);
    let gguf = Gguf::parse(&file, Mode::Lenient).unwrap();
    assert_eq!(gguf_refusal(&gguf), None, "{architecture} {changes:?}");
    gguf_llama_config(&gguf).unwrap()
}

/// The reason of a refusal, which must name the key of the last change and its offset.
fn refused(architecture: &str, changes: &[Change<'_>]) -> &'static str {
    let file = file(architecture, changes, &[]);
    let gguf = Gguf::parse(&file, Mode::Lenient).unwrap();
    let refusal = gguf_refusal(&gguf).unwrap_or_else(|| panic!("{architecture} {changes:?}"));
    let key = changes.last().unwrap().0;
    let key = key.strip_prefix('.').map_or(key.to_owned(), |it| format!("{architecture}.{it}"));
    assert_eq!(refusal.name, key);
    // The key is preceded by its length.
    let entry = [&(key.len() as u64).to_le_bytes(), key.as_bytes()].concat();
    let at = file.windows(entry.len()).position(|bytes| bytes == entry).unwrap();
    assert_eq!(refusal.offset, at as u64, "{key}");
    let error = gguf_llama_config(&gguf).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::UnsupportedSetting, Some(at as u64)));
    refusal.reason
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
}

#[test]
fn what_is_needed_and_missing_is_named() {
    for name in [
        "embedding_length",
        "block_count",
        "attention.head_count",
        "context_length",
        "feed_forward_length",
    ] {
        let file = file("llama", &[(&format!(".{name}"), None)], &[]);
        let gguf = Gguf::parse(&file, Mode::Lenient).unwrap();
        let refusal = gguf_refusal(&gguf).unwrap();
        assert_eq!((refusal.name, refusal.offset), (name, 0));
        let error = gguf_llama_config(&gguf).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingMetadata);
    }
}

#[test]
fn settings_that_change_nothing_here_are_taken_and_others_refused_where_they_stand() {
    let usual = config("llama", &[]);
    for (key, value) in [
        (".attention.value_length", U32(16)),
        (".attention.scale", F32(0.25)),
        (".attention.scale", F32(0.0)),
        (".pooling_type", U32(0)),
        (".pooling_type", U32(1)),
        (".pooling_type", U32(3)),
        (".hidden_activation", Text("silu")),
        (".hidden_activation", Text("swiglu")),
        (".attention.causal", Bool(true)),
        (".tensor_data_layout", Text("Meta AI original pth")),
        (".expert_count", U32(0)),
        (".use_parallel_residual", Bool(false)),
        (".attention.clamp_kqv", U32s(&[])),
        (".final_logit_softcapping", F32(0.0)),
        (".logit_scale", F32(1.0)),
        (".logit_scale", F32(0.0)),
        (".rope.scaling.finetuned", Bool(true)),
        (".rope.scaling.type", Text("none")),
        ("tokenizer.ggml.chat_template", Text("{{ messages }}")),
        ("tokenizer.ggml.precompiled_charsmap", Text("")),
        ("general.anything", U32(7)),
        ("another.block_count", U32(7)),
    ] {
        assert_eq!(config("llama", &[(key, Some(value))]), usual, "{key}");
    }
    let unknown = "it is not known here, so what it changes would be lost";
    let not_done = "nothing is done with it here";
    for (key, value, reason) in [
        (".attention.value_length", U32(17), "only values as long as keys are honoured"),
        (".attention.scale", F32(0.3), "only 1 / √key_length is honoured"),
        (".pooling_type", U32(2), "only the mean (1) and the last token (3) are honoured"),
        (".hidden_activation", Text("gelu"), "only `silu` is honoured"),
        (".hidden_activation", U32(1), "only `silu` is honoured"),
        (".attention.causal", Bool(false), "only causal attention is honoured"),
        (".attention.causal", U32(1), "only causal attention is honoured"),
        (".tensor_data_layout", Text("raw"), "only `Meta AI original pth` is honoured"),
        (".expert_count", U32(8), not_done),
        (".use_parallel_residual", Bool(true), not_done),
        (".attention.clamp_kqv", U32s(&[1]), not_done),
        (".final_logit_softcapping", F32(30.0), not_done),
        (".logit_scale", F32(0.5), not_done),
        (".logit_scale", Text("1"), not_done),
        (".novel", U32(0), unknown),
        ("tokenizer.ggml.novel", U32(0), unknown),
        ("tokenizer.ggml.normalizer.lowercase", Bool(true), not_done),
        ("tokenizer.ggml.precompiled_charsmap", Text("x"), not_done),
        (
            ".feed_forward_length",
            U32s(&[96, 96]),
            "one value for all layers is honoured, not a list",
        ),
        (".rope.freq_base", Text("10000"), "it is no number"),
        (".rope.scaling.factor", Bool(true), "it is no number"),
        (".rope.scaling.type", U32(1), "it is no text"),
        ("tokenizer.ggml.pre", U32(1), "it is no text"),
        ("tokenizer.ggml.add_bos_token", U32(1), "it is neither true nor false"),
        ("tokenizer.ggml.add_eos_token", Text("true"), "it is neither true nor false"),
        ("tokenizer.ggml.add_space_prefix", F32(1.0), "it is neither true nor false"),
        ("tokenizer.ggml.bos_token_id", Text("1"), "it is no id of a token"),
        ("tokenizer.ggml.eot_token_id", I32(-1), "it is no id of a token"),
        ("tokenizer.ggml.fim_pad_token_id", F32(5.0), "it is no id of a token"),
        ("tokenizer.ggml.padding_token_id", U32s(&[0]), "it is no id of a token"),
    ] {
        assert_eq!(refused("llama", &[(key, Some(value))]), reason, "{key} {value:?}");
    }
}

#[test]
fn the_last_token_is_pooled_where_the_file_says_so_or_nothing() {
    for (pooling, is_last) in [(None, true), (Some(0), false), (Some(1), false), (Some(3), true)] {
        let file = file("qwen3", &[(".pooling_type", pooling.map(U32))], &[]);
        let gguf = Gguf::parse(&file, Mode::Lenient).unwrap();
        assert_eq!(gguf_pools_last_token(&gguf), is_last, "{pooling:?}");
        let is_named = pooling.is_some_and(|pooling| pooling != 0);
        assert_eq!(gguf_names_pooling(&gguf), is_named, "{pooling:?}");
    }
}

#[test]
fn a_window_of_all_layers_ends_texts_where_tokens_would_see_less() {
    for (window, positions) in [(0, 192), (100, 100), (192, 192), (300, 192)] {
        let found = config("llama", &[(".attention.sliding_window", Some(U32(window)))]);
        assert_eq!((found.positions, found.attention.window), (positions, None));
    }
}

#[test]
fn architectures_differ_as_their_models_do() {
    for (architecture, pairs, has_norm) in [
        ("llama", RopePairs::Neighbours, false),
        ("mistral", RopePairs::Halves, false),
        ("phi3", RopePairs::Halves, false),
        ("qwen2", RopePairs::Halves, false),
        ("qwen3", RopePairs::Halves, true),
        ("gemma3", RopePairs::Halves, true),
    ] {
        let found = config(architecture, &[]);
        let rope = found.rotary.unwrap().global;
        assert_eq!((rope.pairs, rope.dimensions, rope.base), (pairs, 16, 10_000.0));
        assert_eq!(found.attention.query_key_norm.is_some(), has_norm, "{architecture}");
    }
    // Part of a head is rotated, with paired elements half of that part apart.
    let part = (".rope.dimension_count", Some(U32(8)));
    assert_eq!(config("qwen2", &[part]).rotary.unwrap().global.dimensions, 8);
    let reason = "of this architecture only models that turn whole heads are known";
    assert_eq!(refused("llama", &[part]), reason);
}

#[test]
fn tensors_are_those_of_the_architecture() {
    let refusal = |architecture, tensor: &str| {
        let file = file(architecture, &[], &[tensor]);
        let gguf = Gguf::parse(&file, Mode::Lenient).unwrap();
        let refusal = gguf_refusal(&gguf)?;
        let at = gguf.tensor(tensor).unwrap().header().offset;
        assert_eq!((refusal.name, refusal.offset), (tensor, at));
        Some(refusal.reason)
    };
    let unknown = Some("no model that is known here uses such a tensor");
    for (architecture, tensor, expected) in [
        ("llama", "blk.0.attn_q.bias", None),
        ("llama", "blk.1.attn_output.bias", None),
        ("llama", "blk.0.novel.weight", unknown),
        ("qwen2", "blk.0.attn_q.bias", None),
        ("qwen2", "blk.0.attn_output.bias", unknown),
        ("qwen2", "blk.0.attn_q_norm.weight", unknown),
        ("qwen3", "blk.0.attn_q_norm.weight", None),
    ] {
        assert_eq!(refusal(architecture, tensor), expected, "{architecture} {tensor}");
    }
}

#[test]
fn positions_are_divided_as_the_file_says() {
    let factor = |value| (".rope.scaling.factor", Some(F32(value)));
    let kind = |name| (".rope.scaling.type", Some(Text(name)));
    let rope = |changes: &[Change<'_>]| config("qwen2", changes).rotary.unwrap().global;
    assert_eq!(rope(&[factor(4.0)]).position_divisor, 4.0);
    assert_eq!(rope(&[kind("linear"), factor(4.0)]).position_divisor, 4.0);
    assert_eq!(rope(&[(".rope.scale_linear", Some(F32(2.5)))]).position_divisor, 2.5);
    assert_eq!(rope(&[kind("none"), factor(4.0)]).position_divisor, 1.0);
    assert_eq!(rope(&[(".rope.scaling.attn_factor", Some(F32(1.5)))]).attention_factor, 1.5);
    let makes_no_sense = "it makes no sense";
    assert_eq!(refused("qwen2", &[factor(-2.0)]), makes_no_sense);
    assert_eq!(refused("qwen2", &[factor(f32::INFINITY)]), makes_no_sense);
    assert_eq!(
        refused("qwen2", &[kind("dynamic")]),
        "only none, linear, yarn and longrope are honoured"
    );
    let long = [factor(1.0), kind("longrope")];
    assert_eq!(refused("phi3", &long), "the factors of longrope are not in the file");
    let long = [kind("longrope"), factor(2.0)];
    assert_eq!(refused("phi3", &long), "beside longrope it is not honoured");
}

/// Values of `_compute_yarn_parameters` in transformers 5, for heads of 16 elements.
#[test]
fn yarn_is_that_of_the_peers_with_either_factor_on_cosines() {
    let yarn = [
        (".rope.scaling.original_context_length", Some(U32(64))),
        (".rope.scaling.factor", Some(F32(4.0))),
        (".rope.scaling.type", Some(Text("yarn"))),
    ];
    let with = |name, value| [&yarn[..], &[(name, Some(F32(value)))]].concat();
    let usual = 1.138_629_436_111_989;
    let own = ".rope.scaling.yarn_attn_factor";
    for changes in [&yarn[..], &with(own, 1.0), &with(own, 1.138_629_4)] {
        let rope = config("qwen2", changes).rotary.unwrap().global;
        near(rope.attention_factor.into(), usual);
        assert_eq!(rope.position_divisor, 1.0);
        let divisors = rope.yarn.unwrap();
        for (pair, expected) in YARN_16.into_iter().enumerate() {
            near(divisors.divisor(pair), expected);
        }
    }
    let twice = config("qwen2", &with(".rope.scaling.attn_factor", 2.0)).rotary.unwrap().global;
    near(twice.attention_factor.into(), 2.0 * usual);
    let other = with(own, 2.0);
    assert_eq!(refused("qwen2", &other), "only 1 and the usual factor of YaRN are honoured");
    let [_, _, kind] = yarn;
    let nonsense = [(".rope.scaling.factor", Some(F32(f32::NAN))), kind];
    assert_eq!(refused("qwen2", &nonsense), "its numbers make no sense");
    let mixed = with(".rope.scaling.yarn_ext_factor", 0.5);
    assert_eq!(refused("qwen2", &mixed), "nothing is done with it here");
}

const YARN_16: [f64; 8] = [1.0, 4.0 / 3.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0];

#[test]
fn gemma_scales_embeddings_and_scores_by_its_sizes() {
    let small = config("gemma3", &[]);
    assert_eq!(small.embedding.scale, 8.0);
    assert_eq!(small.attention.scale, Some(0.25));
    assert_eq!(small.order, Order::Sandwich);
    assert_eq!(small.feed_forward, FeedForward::Gated(Activation::GeluTanh));
    let long_heads = (".attention.key_length", Some(U32(64)));
    assert_eq!(config("gemma3", &[long_heads]).attention.scale, Some(0.125));
    // Gemma 3 27B: by the width of the model, not of its heads.
    let large = [long_heads, (".block_count", Some(U32(62)))];
    assert_eq!(config("gemma3", &large).attention.scale, Some(0.25));
    let activation = |name| (".hidden_activation", Some(Text(name)));
    assert_eq!(config("gemma3", &[activation("gelu_pytorch_tanh")]), small);
    let reason = "only `gelu_pytorch_tanh` is honoured";
    assert_eq!(refused("gemma3", &[activation("silu")]), reason);
}

/// A list of booleans in the format: its type, that of its elements, their number, a byte each.
fn truths(values: &[bool]) -> Vec<u8> {
    let mut bytes = [9_u32.to_le_bytes(), 7_u32.to_le_bytes()].concat();
    bytes.extend((values.len() as u64).to_le_bytes());
    bytes.extend(values.iter().map(|value| u8::from(*value)));
    bytes
}

const fn sized(size: WriteValue<'_>) -> Change<'_> {
    (".attention.sliding_window", Some(size))
}

const fn pattern(value: WriteValue<'_>) -> Change<'_> {
    (".attention.sliding_window_pattern", Some(value))
}

#[test]
fn gemma_has_windows_in_some_layers_and_a_base_of_their_own() {
    let window = |changes: &[Change<'_>]| config("gemma3", changes).attention.window;
    let of = |every, first| Some(Window::all_but(31, every, first));
    assert_eq!(window(&[]), None);
    assert_eq!(window(&[sized(U32(0))]), None);
    assert_eq!(window(&[sized(U32(32))]), of(6, 5));
    assert_eq!(window(&[sized(U32(32)), pattern(U32(4))]), of(4, 3));
    assert_eq!(window(&[sized(U32(32)), pattern(U32(0))]), of(0, 0));
    assert_eq!(window(&[sized(U32(32)), pattern(U32(1))]), None);
    for (listed, layers) in [
        (vec![true, false], Some([true, false])),
        (vec![false, true], Some([false, true])),
        (vec![true, true], Some([true, true])),
        (vec![false, false], None),
    ] {
        let listed = truths(&listed);
        let window = window(&[sized(U32(32)), pattern(Stored(&listed))]);
        let layers_with = window.map(|window| [0, 1].map(|layer| window.is_in(layer)));
        assert_eq!(layers_with, layers);
    }
    let reason = "a number, or whether each layer has a window, is honoured";
    let (short, long) = (truths(&[true]), truths(&[true; 3]));
    for wrong in [Stored(&short), Stored(&long), U32s(&[1, 2]), Text("all")] {
        assert_eq!(refused("gemma3", &[sized(U32(32)), pattern(wrong)]), reason);
    }
    let numbers = window(&[sized(U32(32)), pattern(U32s(&[1, 0]))]).unwrap();
    assert_eq!([0, 1].map(|layer| numbers.is_in(layer)), [true, false]);
    assert_eq!(refused("gemma3", &[sized(F32(0.5))]), "it is no size");
    assert_eq!(refused("gemma3", &[sized(Text("32"))]), "it is no number");

    // Positions are divided only in the other layers.
    let linear = (".rope.scaling.factor", Some(F32(8.0)));
    let local = |base| (".rope.freq_base_swa", Some(F32(base)));
    let rotary = config("gemma3", &[sized(U32(32)), linear]).rotary.unwrap();
    assert_eq!((rotary.global.position_divisor, rotary.local.position_divisor), (8.0, 1.0));
    assert_eq!(rotary.local.base, 10_000.0);
    let rotary = config("gemma3", &[sized(U32(32)), local(5_000.0)]).rotary.unwrap();
    assert_eq!((rotary.global.base, rotary.local.base), (10_000.0, 5_000.0));
    let bad = [sized(U32(32)), local(-1.0)];
    assert_eq!(refused("gemma3", &bad), "a positive number is needed");
    let scaled = [
        (".rope.scaling.factor", Some(F32(4.0))),
        sized(U32(32)),
        (".rope.scaling.type", Some(Text("yarn"))),
    ];
    let reason = "of this architecture only none and linear are honoured";
    assert_eq!(refused("gemma3", &scaled), reason);
}
