//! The settings of a BERT with WordPiece in a GGUF file: every key and every tensor is used,
//! irrelevant, or rejected by name, on the heap and in place.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::{gguf_bert_setting_at_fault, gguf_bert_tensor_at_fault};
use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{Gguf, WriteValue};
use nanoembed_core::owned::Encoder;
use nanoembed_core::source::ModelSource;
use nanoembed_tests::changed::{self, Ones};
use nanoembed_tests::data;

use WriteValue::{Bool, Text, U32};

/// Opens a model of two layers with these keys and vectors; returns the name of a rejected one.
fn refused(keys: &[(&str, WriteValue<'_>)], vectors: &[Ones<'_>]) -> Option<String> {
    let file = changed::gguf(&data::read("cases/gguf-mean/model.gguf"), &[], keys, vectors);
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    let setting = gguf_bert_setting_at_fault(&gguf).map(|setting| setting.key);
    let name = setting.or(gguf_bert_tensor_at_fault(&gguf).map(|refusal| refusal.name));
    let expected = name.map_or(Ok(()), |_| Err(ErrorKind::UnsupportedSetting));
    let in_place = ModelSource::Gguf(gguf).encoder_config().map(drop);
    assert_eq!(in_place.map_err(|error| error.kind()), expected, "{name:?}");
    let opened = Encoder::open(&file[..]).map(drop);
    assert_eq!(opened.map_err(|fault| fault.error().kind()), expected, "{name:?}");
    name.map(str::to_owned)
}

#[test]
fn tensors_that_the_model_would_not_use_are_refused_by_name() {
    assert_eq!(refused(&[], &[]), None);
    for (name, elements) in [
        ("blk.0.ffn_gate.weight", 32),
        ("blk.0.attn_q_norm.weight", 16),
        ("blk.1.attn_norm_2.weight", 16),
        ("blk.2.attn_q.bias", 16),
        ("rope_freqs.weight", 4),
        ("token_embd.bias", 16),
        ("cls.weight", 16),
        ("cls.output.bias", 1),
    ] {
        assert_eq!(refused(&[], &[(name, elements)]).as_deref(), Some(name));
    }
    let fewer = refused(&[("bert.block_count", U32(1))], &[]);
    assert_eq!(fewer.as_deref(), Some("blk.1.attn_q.weight"));
}

#[test]
fn keys_of_our_own_are_used_or_refused_by_name() {
    for used in [
        ("nanoembed.normalize", Text("false")),
        ("nanoembed.normalize", Bool(false)),
        ("nanoembed.split_ideographs", Text("false")),
        ("nanoembed.strip_accents", Text("false")),
        ("nanoembed.max_tokens", U32(8)),
        ("nanoembed.embedding_dim", U32(16)),
        ("nanoembed.include_prompt", Bool(false)),
        ("nanoembed.prompt.query", Text("query: ")),
        ("nanoembed.hidden_act", Text("gelu")),
        // Metadata of a converted file.
        ("nanoembed.metadata.author", Text("somebody")),
    ] {
        assert_eq!(refused(&[used], &[]), None);
    }
    for (key, value) in [
        ("nanoembed.foo", Text("x")),
        ("nanoembed.pooling", Text("cls")),
        ("nanoembed.hidden_act", Text("relu")),
        ("nanoembed.do_lower_case", Text("false")),
        ("nanoembed.layer_norm_eps", Text("1e-5")),
        ("nanoembed.num_layers", U32(1)),
        ("nanoembed.prompt.query", U32(1)),
        ("nanoembed.include_prompt", U32(0)),
    ] {
        assert_eq!(refused(&[(key, value)], &[]).as_deref(), Some(key));
    }
}
