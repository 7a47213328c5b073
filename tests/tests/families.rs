//! Encoders of all families as published on the hub, against values that transformers computed in
//! f64: see `data/models`.

use nanoembed_core::ErrorKind;
use nanoembed_core::kernel;
use nanoembed_core::model::llama::{
    Activations, Cache, Llama, LlamaLayer, LlamaMemory, LlamaPlan, Output,
};
use nanoembed_core::model::{
    Activation, Batch, ClassifierModel, DenseActivation, DenseSettings, Disentangled, EncoderSpec,
    FamilyBiases, FamilyModel, FeedForward, HeadModule, InOrder, LayerSet, Mask, Mixture,
    Placeholders, PoolingMode, PoolingModes, QueryKeyNorm, Relative, Run, TokenScore, Window,
    read_config, read_scoring_config,
};
use nanoembed_core::owned::TokenEncoder;
use nanoembed_core::owned::folder::Modules;
use nanoembed_core::text::json::Value;
use nanoembed_tests::checkpoint::{Checkpoint, Expected, encoder};
use safetensors::tensor::TensorView;

/// The tolerance of an element.
const TOLERANCE: f32 = 5e-6;

fn largest_difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |largest, it| if it <= largest { largest } else { it })
}

#[test]
fn embeddings_and_logits_are_those_of_transformers_on_every_table_of_kernels() {
    let mut checked = 0;
    for folder in Checkpoint::all() {
        let (name, model) = (folder.name(), folder.model("config.json"));
        let expected = folder.expected();
        let width = expected[0].values.len();
        {
            let weights = folder.all_weights();
            let encoder = encoder(&weights, &model, &folder.modules()).unwrap();
            assert_eq!(width, encoder.dimensions().max(encoder.labels()), "{name}");
            for kernels in kernel::available() {
                let encoder = encoder.clone().with_kernels(&weights, kernels).unwrap();
                // One text at a time, and as many packed as fit.
                let longest = expected.iter().map(|text| text.ids.len()).max().unwrap();
                for (room, together) in [(longest, 1), (longest + 50, expected.len())] {
                    let mut session = encoder.session(room, 1).unwrap();
                    for texts in expected.chunks(together) {
                        let join = |of: fn(&Expected) -> &[f32]| {
                            texts.iter().flat_map(of).copied().collect::<Vec<f32>>()
                        };
                        let values = join(|text| &text.values);
                        let ids: Vec<u32> =
                            texts.iter().flat_map(|text| &text.ids).copied().collect();
                        let types: Vec<u8> =
                            texts.iter().flat_map(|text| &text.types).copied().collect();
                        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
                        let texts = Batch { types: &types, ..Batch::new(&ids, &lengths) };
                        let mut found = vec![f32::NAN; values.len()];
                        if encoder.labels() > 0 {
                            encoder.logits(&weights, &mut session, &InOrder, &texts, &mut found)
                        } else {
                            encoder.embed(&weights, &mut session, &InOrder, &texts, &mut found)
                        }
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                        let difference = largest_difference(&found, &values);
                        println!("{name} {} {together}: {difference:e}", kernels.name);
                        assert!(difference <= TOLERANCE, "{name} {}: {difference:e}", kernels.name);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked >= 25 * 10);
}

const BERT: &str = r#"{"model_type": "bert", "vocab_size": 90, "hidden_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "max_position_embeddings": 64, "hidden_act": "gelu"}"#;

/// The rejection of a `config.json`: the member at fault, and the error.
fn refusal(config: &str) -> (String, ErrorKind) {
    let fault = read_config(Value::parse(config, 0).unwrap()).unwrap_err();
    (fault.key.to_owned(), fault.error.kind())
}

#[test]
fn families_that_are_not_run_are_refused_by_name() {
    read_config(Value::parse(BERT, 0).unwrap()).unwrap();
    for family in ["deberta", "electra", "umt5", "xlm-roberta-xl", "llama"] {
        let other = BERT.replace("\"bert\"", &format!("\"{family}\""));
        let expected = ("model_type".to_owned(), ErrorKind::UnsupportedArchitecture);
        assert_eq!(refusal(&other), expected, "{family}");
    }
    let missing = BERT.replace("model_type", "_commit_hash");
    assert_eq!(refusal(&missing), ("model_type".to_owned(), ErrorKind::MissingMetadata));
}

#[test]
fn settings_that_are_not_known_or_not_done_are_refused_by_name() {
    use ErrorKind::{BadMetadata, MissingMetadata, OverLimit, UnsupportedSetting};
    for (from, to, key, kind) in [
        ("\"gelu\"", "\"swish\"", "hidden_act", UnsupportedSetting),
        ("\"gelu\"", "\"gelu\", \"embedding_size\": 24", "embedding_size", UnsupportedSetting),
        ("\"gelu\"", "\"gelu\", \"is_decoder\": true", "is_decoder", UnsupportedSetting),
        (
            "\"gelu\"",
            "\"gelu\", \"position_embedding_type\": \"relative_key\"",
            "position_embedding_type",
            UnsupportedSetting,
        ),
        ("\"gelu\"", "\"gelu\", \"layer_norm_eps\": -1", "layer_norm_eps", BadMetadata),
        ("\"hidden_size\": 48", "\"hidden_size\": 50", "num_attention_heads", BadMetadata),
        ("\"hidden_size\": 48", "\"hidden_size\": 0", "hidden_size", BadMetadata),
        ("\"hidden_size\": 48", "\"hidden_size\": null", "hidden_size", MissingMetadata),
        ("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2000", "num_hidden_layers", OverLimit),
    ] {
        let config = BERT.replace(from, to);
        assert_eq!(refusal(&config), (key.to_owned(), kind), "{to}");
    }
}

#[test]
fn one_model_may_spell_its_settings_in_two_ways() {
    let mut others = 0;
    for folder in Checkpoint::all() {
        for other in ["config.v5.json", "config.hub.json"] {
            if folder.text(other).is_some() {
                assert_eq!(folder.model(other), folder.model("config.json"), "{}", folder.name());
                others += 1;
            }
        }
    }
    assert_eq!(others, 5);
}

#[test]
fn every_family_refuses_members_that_it_does_not_know() {
    for folder in Checkpoint::all() {
        let config = folder.text("config.json").unwrap();
        let further = config.replacen('{', "{\"attention_of_mine\": 1, ", 1);
        let expected = ("attention_of_mine".to_owned(), ErrorKind::UnsupportedSetting);
        assert_eq!(refusal(&further), expected, "{}", folder.name());
        // Members that one family knows are not known to every family.
        let name = folder.name();
        let foreign = if name.starts_with("modernbert") { "hidden_act" } else { "norm_bias" };
        let further = config.replacen('{', &format!("{{\"{foreign}\": \"x\", "), 1);
        assert_eq!(
            refusal(&further),
            (foreign.to_owned(), ErrorKind::UnsupportedSetting),
            "{name}"
        );
    }
}

#[test]
fn heads_that_classify_are_those_that_the_architecture_names() {
    let classifier = |name: &str, from: &str, to: &str| {
        let folder = Checkpoint::named(name);
        let config = folder.text("config.json").unwrap().replace(from, to);
        assert_ne!(folder.text("config.json").unwrap(), config);
        read_config(Value::parse(&config, 0).unwrap())
            .map(|model| model.classifier)
            .map_err(|fault| (fault.key.to_owned(), fault.error.kind()))
    };
    let ranks = ("\"BertForSequenceClassification\"", "\"BertForMaskedLM\"");
    assert_eq!(classifier("cross_encoder", ranks.0, ranks.1), Ok(None));
    let identity = classifier("cross_encoder", "4.0.1", "4.0.2").unwrap().unwrap();
    assert_eq!(identity.on_logits, Some(DenseActivation::Identity));
    let odd = classifier("cross_encoder", "linear.Identity", "activation.Softmax");
    assert_eq!(odd, Err(("activation_fn".to_owned(), ErrorKind::UnsupportedSetting)));
    let late = classifier("modernbert_reranker", "\"mean\"", "\"late\"");
    assert_eq!(late, Err(("classifier_pooling".to_owned(), ErrorKind::UnsupportedSetting)));
    let unknown = classifier("eurobert", "EuroBertModel", "EuroBertForSequenceClassification");
    assert_eq!(unknown, Err(("architectures".to_owned(), ErrorKind::UnsupportedSetting)));
    let last = classifier("qwen3_embedding", "ForCausalLM", "ForSequenceClassification");
    let last = last.unwrap().unwrap();
    assert_eq!((last.pooling, last.hidden, last.output), (PoolingMode::Last, None, "score"));
    // Padding at the end is cut off, which only a causal model does not notice.
    let sees_all = classifier(
        "qwen3_reranker_seqcls",
        "\"attention_bias\"",
        "\"is_causal\": false, \"attention_bias\"",
    );
    assert_eq!(sees_all, Err(("is_causal".to_owned(), ErrorKind::UnsupportedSetting)));
}

#[test]
fn tokens_are_scored_by_causal_models_alone() {
    let read = |name: &str, from: &str, to: &str| {
        let config = Checkpoint::named(name).text("config.json").unwrap().replace(from, to);
        let score = TokenScore { yes: 1, no: None, rows: None };
        read_scoring_config(Value::parse(&config, 0).unwrap(), score)
            .map(|model| model.classifier.map(|head| (head.output, head.is_tied)))
            .map_err(|fault| (fault.key.to_owned(), fault.error.kind()))
    };
    assert_eq!(read("qwen3_reranker", "", ""), Ok(Some(("lm_head", true))));
    assert_eq!(read("qwen3_reranker_untied", "", ""), Ok(Some(("lm_head", false))));
    let unsupported = || Err(("architectures".to_owned(), ErrorKind::UnsupportedSetting));
    assert_eq!(read("qwen3_reranker_seqcls", "", ""), unsupported());
    assert_eq!(read("bert_cased", "BertModel", "BertForCausalLM"), unsupported());

    let opened = |name: &str, change: &dyn Fn(&mut ClassifierModel)| {
        let folder = Checkpoint::named(name);
        let mut model = folder.model("config.json");
        change(model.classifier.as_mut().unwrap());
        let opened = encoder(&folder.all_weights(), &model, &Modules::default());
        opened.map(|_| ()).map_err(|error| error.kind())
    };
    let untied = |head: &mut ClassifierModel| head.is_tied = false;
    assert_eq!(opened("qwen3_reranker", &untied), Err(ErrorKind::MissingTensor));
    assert_eq!(opened("qwen3_reranker_untied", &untied), Ok(()));
    let beyond = |head: &mut ClassifierModel| {
        head.token_score = Some(TokenScore { yes: 0, no: Some(919), rows: None });
    };
    assert_eq!(opened("qwen3_reranker", &beyond), Err(ErrorKind::WrongShape));
    let wide = |head: &mut ClassifierModel| head.labels = 2;
    assert_eq!(opened("qwen3_reranker_seqcls", &wide), Err(ErrorKind::WrongShape));
}

#[test]
fn weights_that_are_not_what_the_settings_say_are_refused() {
    let open = |name: &str, change: &dyn Fn(&mut FamilyModel), modules: &Modules| {
        let folder = Checkpoint::named(name);
        let mut model = folder.model("config.json");
        change(&mut model);
        let opened = encoder(&folder.all_weights(), &model, modules);
        opened.map(|_| ()).map_err(|error| error.kind())
    };
    let none = &Modules::default();
    assert_eq!(open("eurobert", &|_| {}, none), Ok(()));
    // Biases that the settings ask for and the file does not have.
    let biases = |model: &mut FamilyModel| model.biases.attention = true;
    assert_eq!(open("eurobert", &biases, none), Err(ErrorKind::MissingTensor));
    let norms =
        |model: &mut FamilyModel| model.config.attention.query_key_norm = Some(QueryKeyNorm::Head);
    assert_eq!(open("eurobert", &norms, none), Err(ErrorKind::MissingTensor));
    let wide = |model: &mut FamilyModel| model.config.intermediate += 1;
    assert_eq!(open("gte", &wide, none), Err(ErrorKind::WrongShape));
    let longer = |model: &mut FamilyModel| model.config.positions += 1;
    assert_eq!(open("roberta", &longer, none), Err(ErrorKind::WrongShape));

    // Sizes that only EmbeddingGemma 2 has, and a pooling that its last layer cannot follow.
    let gemma = "embeddinggemma2_text";
    let pooled = Checkpoint::named(gemma).modules();
    assert_eq!(open(gemma, &|_| {}, &pooled), Ok(()));
    let per_layer = |model: &mut FamilyModel| model.config.per_layer = Some(15);
    let projection = |model: &mut FamilyModel| model.config.final_projection = Some(45);
    let heads = |model: &mut FamilyModel| model.config.global_heads = None;
    for change in [&per_layer as &dyn Fn(&mut FamilyModel), &projection, &heads] {
        assert_eq!(open(gemma, change, &pooled), Err(ErrorKind::WrongShape));
    }
    for modes in [vec![PoolingMode::Max], vec![PoolingMode::Mean, PoolingMode::First]] {
        let mut other = pooled.clone();
        other.pooling.as_mut().unwrap().modes = modes;
        assert_eq!(open(gemma, &|_| {}, &other), Err(ErrorKind::UnsupportedSetting));
    }

    let listed = Checkpoint::named("bert_cased").modules();
    assert_eq!(open("bert_cased", &|_| {}, &listed), Ok(()));
    // A linear layer that takes other vectors than pooling makes, or whose weights have another
    // shape.
    let mut two = listed.clone();
    two.pooling.as_mut().unwrap().modes.push(PoolingMode::Max);
    assert_eq!(open("bert_cased", &|_| {}, &two), Err(ErrorKind::WrongShape));
    let changed = |change: &dyn Fn(&mut DenseSettings)| {
        let mut modules = listed.clone();
        let [HeadModule::Dense(dense)] = &mut modules.head[..] else { panic!("{listed:?}") };
        change(&mut dense.settings);
        open("bert_cased", &|_| {}, &modules)
    };
    assert_eq!(changed(&|dense| dense.outputs += 1), Err(ErrorKind::WrongShape));
    assert!(changed(&|dense| dense.bias = !dense.bias).is_err());
}

#[test]
fn texts_that_do_not_fit_the_model_are_refused() {
    let folder = Checkpoint::named("cross_encoder");
    let mut model = folder.model("config.json");
    let weights = folder.all_weights();
    let scores = encoder(&weights, &model, &Modules::default()).unwrap();
    let mut session = scores.session(64, 1).unwrap();
    let mut classify = |ids: &[u32], types: &[u8], lengths: &[usize], out: usize| {
        let texts = Batch { types, ..Batch::new(ids, lengths) };
        let mut out = vec![0.0; out];
        scores
            .logits(&weights, &mut session, &InOrder, &texts, &mut out)
            .map_err(|error| error.kind())
    };
    let invalid = Err(ErrorKind::InvalidArgument);
    assert_eq!(classify(&[2, 5, 3], &[0, 0, 1], &[3], 1), Ok(()));
    assert_eq!(classify(&[2, 5, 3], &[0, 0, 2], &[3], 1), invalid);
    assert_eq!(classify(&[2, 5, 3], &[0, 0], &[3], 1), invalid);
    assert_eq!(classify(&[2, 5, 3], &[], &[2], 1), invalid);
    assert_eq!(classify(&[2, 5, 3], &[], &[3], 2), invalid);
    assert_eq!(classify(&[], &[], &[0], 1), invalid);
    assert_eq!(classify(&[], &[], &[], 0), Ok(()));
    assert_eq!(classify(&[2, 900, 3], &[], &[3], 1), Err(ErrorKind::TokenOutOfRange));
    assert_eq!(classify(&[2; 65], &[], &[65], 1), Err(ErrorKind::TooManyTokens));

    model.classifier = None;
    let pooling = PoolingModes::from(PoolingMode::Mean);
    let spec = EncoderSpec::<&str> { family: &model, pooling, head: &[], normalize: false };
    let embeds = TokenEncoder::from_spec(&weights, &spec).unwrap();
    let mut session = embeds.session(8, 1).unwrap();
    let mut embed = |ids: &[u32], lengths: &[usize], skipped| {
        let texts = Batch { skipped, ..Batch::new(ids, lengths) };
        let mut out = vec![0.0; 48 * lengths.len()];
        embeds.embed(&weights, &mut session, &InOrder, &texts, &mut out).unwrap();
        out
    };
    // As many tokens are left out of each text, however many are computed together.
    let together = embed(&[2, 5, 3, 2, 3], &[3, 2], 1);
    assert_eq!(together, [embed(&[2, 5, 3], &[3], 1), embed(&[2, 3], &[2], 1)].concat());
    assert_ne!(together[..48], embed(&[2, 5, 3], &[3], 0));
}

/// DeBERTa's head, in f64 on the first token's hidden state: a linear layer with GELU, and another
/// one.
#[test]
fn deberta_classifies_by_its_first_token() {
    const WIDTH: usize = 48;
    let folder = Checkpoint::named("deberta_v2");
    let text = folder.text("config.json").unwrap();
    let text = text.replace("DebertaV2Model", "DebertaV2ForSequenceClassification");
    let text = text.replacen('{', r#"{"num_labels": 3, "#, 1);
    let mut model = read_config(Value::parse(&text, 0).unwrap()).unwrap();
    let noise = |seed: usize, count| -> Vec<f64> {
        (0..count).map(|i| f64::from(((i * 7 + seed) as f32 * 0.83).sin())).collect()
    };
    let dense = (noise(1, WIDTH * WIDTH), noise(2, WIDTH));
    let output = (noise(3, 3 * WIDTH), noise(4, 3));
    let bytes = |values: &[f64]| -> Vec<u8> {
        values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect()
    };
    let tensors = [
        ("pooler.dense.weight", vec![WIDTH, WIDTH], bytes(&dense.0)),
        ("pooler.dense.bias", vec![WIDTH], bytes(&dense.1)),
        ("classifier.weight", vec![3, WIDTH], bytes(&output.0)),
        ("classifier.bias", vec![3], bytes(&output.1)),
    ];
    let views = tensors.iter().map(|(name, shape, data)| {
        (*name, TensorView::new(safetensors::Dtype::F32, shape.clone(), data).unwrap())
    });
    let mut weights = folder.all_weights();
    weights.push_safetensors("", safetensors::serialize(views, None).unwrap()).unwrap();
    let ids = &folder.expected()[0].ids;
    let (lengths, mut logits) = ([ids.len()], [0.0; 3]);
    let texts = Batch::new(ids, &lengths);
    let scores = encoder(&weights, &model, &Modules::default()).unwrap();
    let mut session = scores.session(ids.len(), 1).unwrap();
    scores.logits(&weights, &mut session, &InOrder, &texts, &mut logits).unwrap();

    model.classifier = None;
    let pooling = PoolingModes::from(PoolingMode::First);
    let spec = EncoderSpec::<&str> { family: &model, pooling, head: &[], normalize: false };
    let embeds = TokenEncoder::from_spec(&weights, &spec).unwrap();
    let mut first = [0.0; WIDTH];
    embeds.embed(&weights, &mut session, &InOrder, &texts, &mut first).unwrap();
    let apply = |(weight, bias): &(Vec<f64>, Vec<f64>), x: &[f64]| -> Vec<f64> {
        let rows = weight.chunks(x.len()).zip(bias);
        rows.map(|(row, bias)| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + bias).collect()
    };
    let first = first.map(f64::from);
    let gelu = |x: f64| x * 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let pooled: Vec<f64> = apply(&dense, &first).into_iter().map(gelu).collect();
    let expected: Vec<f32> = apply(&output, &pooled).iter().map(|x| *x as f32).collect();
    let largest = expected.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
    assert!(largest_difference(&logits, &expected) <= TOLERANCE * largest);
}

/// Tokens of the full EmbeddingGemma 2 that stand for images have the vector of padding.
#[test]
fn placeholders_of_other_input_have_the_vector_of_padding() {
    let folder = Checkpoint::named("embeddinggemma2_towers");
    let text = folder.text("expected.json").unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let numbers = |name: &str| expected["placeholder"][name].as_array().unwrap().iter();
    let ids: Vec<u32> = numbers("ids").map(|id| id.as_u64().unwrap() as u32).collect();
    let vector: Vec<f32> = numbers("vector").map(|it| it.as_f64().unwrap() as f32).collect();
    let weights = folder.all_weights();
    let model = encoder(&weights, &folder.model("config.json"), &folder.modules()).unwrap();
    let mut session = model.session(ids.len(), 1).unwrap();
    let mut embed = |ids: &[u32]| {
        let (lengths, mut out) = ([ids.len()], vec![0.0; model.dimensions()]);
        let texts = Batch::new(ids, &lengths);
        model.embed(&weights, &mut session, &InOrder, &texts, &mut out).unwrap();
        out
    };
    let found = embed(&ids);
    assert!(ids.contains(&1102) && largest_difference(&found, &vector) <= TOLERANCE);
    let padded: Vec<u32> = ids.iter().map(|id| if *id == 1102 { 0 } else { *id }).collect();
    assert_eq!(embed(&padded), found);
}

/// Members that only the files of published models have, not those of the tiny ones.
#[test]
fn settings_of_published_models_are_known() {
    let with = |name: &str, config: &str, members: &str| {
        let text = Checkpoint::named(name).text(config).unwrap();
        let text = text.replacen('{', &format!("{{{members}, "), 1);
        let read = read_config(Value::parse(&text, 0).unwrap());
        read.unwrap_or_else(|fault| panic!("{name}: {fault}"))
    };
    with(
        "modernbert_reranker",
        "config.json",
        r#""layer_norm_eps": 1e-05, "reference_compile": false, "gradient_checkpointing": false"#,
    );
    with(
        "eurobert",
        "config.json",
        r#""bos_token": "<s>", "pad_token": "</s>", "clf_pooling": "late",
            "auto_map": {"AutoModel": "modeling_eurobert.EuroBertModel"}"#,
    );
    with(
        "nomic_bert",
        "config.hub.json",
        r#""auto_map": {"AutoModel": "x"}, "resid_pdrop": 0.0, "summary_type": "cls_index",
            "reorder_and_upcast_attn": false, "scale_attn_by_inverse_layer_idx": false,
            "use_xentropy": true"#,
    );
    with("jina_v2_en", "config.json", r#""attn_implementation": null, "torchscript": false"#);
    with(
        "t5_encoder",
        "config.json",
        r#""_name_or_path": "models/t5", "bos_token_id": 0, "decoder_start_token_id": 0,
            "gradient_checkpointing": false, "n_positions": 512, "output_past": true,
            "task_specific_params": {"summarization": {"num_beams": 4}}"#,
    );
    with(
        "albert",
        "config.json",
        r#""_name_or_path": "models/albert", "down_scale_factor": 1, "gap_size": 0,
            "gradient_checkpointing": false, "layers_to_keep": [], "net_structure_type": 0,
            "num_memory_blocks": 0, "position_embedding_type": "absolute""#,
    );
    with(
        "deberta_v2",
        "config.json",
        r#""conv_act": "gelu", "conv_kernel_size": 0, "gradient_checkpointing": false,
            "attention_head_size": 12, "embedding_size": 48, "torch_dtype": "float32""#,
    );
    let gte = r#"{"architectures": ["NewModel"], "attention_probs_dropout_prob": 0.0,
        "auto_map": {"AutoConfig": "configuration.NewConfig"}, "classifier_dropout": null,
        "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072,
        "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm", "logn_attention_clip1": false,
        "logn_attention_scale": false, "max_position_embeddings": 8192, "model_type": "new",
        "num_attention_heads": 12, "num_hidden_layers": 12, "pack_qkv": true, "pad_token_id": 0,
        "position_embedding_type": "rope", "rope_scaling": {"factor": 2.0, "type": "ntk"},
        "rope_theta": 500000, "type_vocab_size": 0, "unpad_inputs": false,
        "use_memory_efficient_attention": false, "vocab_size": 30528}"#;
    let gte = read_config(Value::parse(gte, 0).unwrap()).unwrap();
    assert!(!gte.config.embedding.token_types);
    assert_eq!(gte.config.rotary.unwrap().global.base, 1e6);
    let rms = r#""use_rms_norm": true"#;
    let text = Checkpoint::named("nomic_bert").text("config.hub.json").unwrap();
    let refused = text.replace(r#""use_rms_norm": false"#, rms);
    assert_eq!(refusal(&refused).0, "use_rms_norm");
    let scaled = text.replace(r#""rotary_scaling_factor": null"#, r#""rotary_scaling_factor": 2"#);
    let scaled = scaled.replace(r#""n_positions": 256"#, r#""n_positions": 1024"#);
    let scaled = read_config(Value::parse(&scaled, 0).unwrap()).unwrap();
    assert_eq!(scaled.config.positions, 256);
}

/// The values that transformers derives from settings that its code treats specially.
#[test]
fn settings_mean_what_transformers_makes_of_them() {
    let changed = |name: &str, changes: &[(&str, &str)]| {
        changes.iter().fold(Checkpoint::named(name).text("config.json").unwrap(), |text, change| {
            assert!(text.contains(change.0), "{name}: {}", change.0);
            text.replace(change.0, change.1)
        })
    };
    let read = |text: &str| {
        let read = read_config(Value::parse(text, 0).unwrap());
        read.map(|model| (model.config, model.biases)).map_err(|fault| fault.key.to_owned())
    };
    let read_changed = |name: &str, changes: &[(&str, &str)]| read(&changed(name, changes));

    let window_of = |reach, every, first| Some(Window::all_but(reach, every, first));

    // MPNet's positions begin after 1, and it has 32 buckets, regardless of settings.
    let mpnet = read_changed("mpnet", &[]);
    assert_eq!(read_changed("mpnet", &[(r#""pad_token_id": 1"#, r#""pad_token_id": 0"#)]), mpnet);
    let buckets = r#""relative_attention_num_buckets": "#;
    let sixteen = [(&*format!("{buckets}32"), &*format!("{buckets}16"))];
    assert_eq!(read_changed("mpnet", &sixteen), Err("relative_attention_num_buckets".into()));

    // EmbeddingGemma 2's window is its reach, not a width that is halved as in version 1. Its full
    // layers may have other heads, the same ones in all of them, and no other layers may.
    let gemma = |change: (&str, &str)| read_changed("embeddinggemma2_text", &[change]);
    let (text, _) = read_changed("embeddinggemma2_text", &[]).unwrap();
    assert_eq!(text.attention.window, window_of(5, 2, 1));
    let version_1 = read_changed("embeddinggemma", &[]).unwrap().0.attention.window;
    assert_eq!(version_1.map(|window| window.reach), Some(8));
    let layers = r#""1": {
      "head_dim": 24
    },
    "3": {
      "head_dim": 24
    }"#;
    let heads = |members: &str| {
        gemma((layers, members)).map(|(config, _)| config.global_heads.map(|heads| heads.size))
    };
    assert_eq!([heads(layers), heads("")], [Ok(Some(24)), Ok(None)]);
    assert_eq!(heads(r#""1": {"head_dim": 16}, "3": {"num_key_value_heads": 1}"#), Ok(None));
    for (members, key) in [
        (r#""1": {"head_dim": 24}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "3": {"head_dim": 20}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "2": {"head_dim": 24}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "3": {"head_dim": 24}, "0": {}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "3": {"head_dim": 24}, "x": {}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "1": {"head_dim": 24}"#, "per_layer_config"),
        (r#""1": {"head_dim": 24}, "3": {"sliding_window": 5}"#, "sliding_window"),
        (r#""1": {"head_dim": 25}, "3": {"head_dim": 25}"#, "num_attention_heads"),
        (r#""1": {"head_dim": 0}, "3": {"head_dim": 0}"#, "head_dim"),
        (r#""1": {"num_key_value_heads": 2}, "3": {}"#, "num_key_value_heads"),
    ] {
        assert_eq!(heads(members), Err(key.to_owned()), "{members}");
    }
    for (from, to, key) in [
        (r#""attention_bias": false"#, r#""attention_bias": true"#, "attention_bias"),
        (r#""embedding_dim": 44"#, r#""embedding_dim": null"#, "embedding_dim"),
        (r#""sliding_window": 5"#, r#""sliding_window": null"#, "sliding_window"),
        ("gelu_pytorch_tanh", "gelu", "hidden_activation"),
        (
            r#""hidden_size_per_layer_input": 16"#,
            r#""hidden_size_per_layer_input": 0"#,
            "hidden_size_per_layer_input",
        ),
    ] {
        assert_eq!(gemma((from, to)).map(drop), Err(key.to_owned()), "{to}");
    }

    // The full model is its text part, but for tokens that stand for other input; its towers say
    // nothing of texts.
    let full = |changes: &[(&str, &str)]| read_changed("embeddinggemma2_towers", changes);
    let (towers, _) = full(&[]).unwrap();
    assert_eq!(towers.embedding.placeholders, Placeholders::new([1102, 1105, 1106], 0));
    let (vision, audio) = (r#""vision_config": {"#, r#""audio_config": {"#);
    let unused =
        [(vision, r#""vision_config": {"of_mine": 1,"#), (audio, r#""audio_config": {"x": 2,"#)];
    assert_eq!(full(&unused).map(|(config, _)| config), Ok(towers));
    let text_type = r#""model_type": "embedding_gemma2_text""#;
    for (from, to, key) in [
        (text_type, r#""model_type": "gemma3_text""#, "model_type"),
        (text_type, r#""model_type": "embedding_gemma2_text", "of_mine": 1"#, "of_mine"),
        (r#""text_config": {"#, r#""text_config": null, "initializer_range": {"#, "text_config"),
        (r#""pad_token_id": 0"#, r#""pad_token_id": 1107"#, "pad_token_id"),
        (r#""image_token_id": 1102"#, r#""image_token_id": -1"#, "image_token_id"),
    ] {
        assert_eq!(full(&[(from, to)]).map(drop), Err(key.to_owned()), "{to}");
    }

    // Jina's models of version 2 call themselves `bert`. The repository of their code tells how they
    // compute; without it, the place that they come from.
    let jina = |name: &str, changes: &[(&str, &str)]| {
        read_changed(name, changes).map(|(config, _)| config.attention.query_key_norm)
    };
    let (code, vector) = ("jina_v2_code", Ok(Some(QueryKeyNorm::Vector)));
    assert_eq!([jina("jina_v2_en", &[]), jina(code, &[])], [Ok(None), vector.clone()]);
    let local = ("jinaai/jina-bert-v2-qk-post-norm--", "");
    let [usual, with_norms] = ["jina-bert-implementation", "jina-bert-v2-qk-post-norm"];
    let moved = (r#""_name_or_path": "jinaai/"#, r#""_name_or_path": "./of_tomorrow/"#);
    assert_eq!(jina(code, &[moved]), vector);
    assert_eq!(jina(code, &[local]), vector);
    assert_eq!(jina(code, &[local, (with_norms, usual)]), Ok(None));
    assert_eq!(jina(code, &[local, moved]), Err("auto_map".into()));
    assert_eq!(jina(code, &[("qk-post-norm", "qk-devlin-norm")]), Err("auto_map".into()));
    for (from, to, key) in [
        (r#""feed_forward_type": "geglu""#, r#""feed_forward_type": "reglu""#, "feed_forward_type"),
        (r#""feed_forward_type": "geglu""#, r#""feed_forward_type": null"#, "feed_forward_type"),
        (r#""hidden_act": "gelu""#, r#""hidden_act": "relu""#, "hidden_act"),
        (r#""emb_pooler": "mean""#, r#""emb_pooler": "cls""#, "emb_pooler"),
        (r#""model_type": "bert""#, r#""model_type": "jina_bert""#, "model_type"),
        ("JinaBertModel\"\n", "JinaBertForSequenceClassification\"\n", "architectures"),
    ] {
        assert_eq!(jina("jina_v2_en", &[(from, to)]), Err(key.into()), "{to}");
    }

    // ALBERT has defaults of its own, one layer for all, and no tables with longer rows.
    let albert = read_changed("albert", &[]);
    let act = |to| read_changed("albert", &[(r#""hidden_act": "gelu_new""#, to)]);
    assert_eq!(act(r#""hidden_act": null"#), albert);
    let exact = act(r#""hidden_act": "gelu""#).map(|(config, _)| config.feed_forward);
    assert_eq!(exact, Ok(FeedForward::Plain(Activation::Gelu)));
    for name in ["num_hidden_groups", "inner_group_num"] {
        let [one, two] = [1, 2].map(|number| format!(r#""{name}": {number}"#));
        let absent = format!(r#""{name}": null"#);
        assert_eq!(read_changed("albert", &[(&*one, &*absent)]), albert);
        assert_eq!(read_changed("albert", &[(&*one, &*two)]), Err(name.to_owned()));
    }
    let width = |to: &str| {
        let found = read_changed("albert", &[(r#""embedding_size": 24"#, to)]);
        found.map(|(config, _)| config.embedding.projected)
    };
    assert_eq!(width(r#""embedding_size": 48"#), Ok(Some(48)));
    assert_eq!(width(r#""embedding_size": 49"#), Err("embedding_size".into()));
    // 128 elements, which are more than the hidden states have.
    assert_eq!(width(r#""embedding_size": null"#), Err("embedding_size".into()));

    // NomicBERT has experts in the second of every few layers, so in none where all would be that.
    let nomic = |from, to| {
        let found = read_changed("nomic_moe", &[(from, to)]);
        found.map(|(config, _)| config.feed_forward)
    };
    let every = r#""moe_every_n_layers": 2"#;
    let mixture = Mixture { activation: Activation::Gelu, experts: 4, used: 2, every: 2 };
    assert_eq!(nomic(every, every), Ok(FeedForward::Mixed(mixture)));
    for none in [r#""moe_every_n_layers": 0"#, r#""moe_every_n_layers": 1"#] {
        assert_eq!(nomic(every, none), Ok(FeedForward::Plain(Activation::Gelu)));
    }
    for (from, to, key) in [
        (every, r#""moe_every_n_layers": 20000"#, "moe_every_n_layers"),
        (r#""moe_top_k": 2"#, r#""moe_top_k": 5"#, "moe_top_k"),
        (r#""moe_top_k": 2"#, r#""moe_top_k": null"#, "moe_top_k"),
        (r#""num_experts": 4"#, r#""num_experts": 0"#, "num_experts"),
        (r#""num_shared_experts": 0"#, r#""num_shared_experts": 1"#, "num_shared_experts"),
        (r#""ffn_div": 1"#, r#""ffn_div": 2"#, "ffn_div"),
        (
            r#""expert_choice_router": false"#,
            r#""expert_choice_router": true"#,
            "expert_choice_router",
        ),
        (
            r#""activation_function": "gelu""#,
            r#""activation_function": "swiglu""#,
            "activation_function",
        ),
        (
            r#""moe_normalize_expert_weights": false"#,
            r#""moe_normalize_expert_weights": true"#,
            "moe_normalize_expert_weights",
        ),
    ] {
        assert_eq!(nomic(from, to), Err(key.to_owned()), "{to}");
    }

    // DeBERTa's kinds of scores are a list or a text, and it needs both.
    let deberta = |from: &str, to: &str| {
        let found = read_changed("deberta_v2", &[(from, to)]);
        found.map(|(config, _)| config.relative)
    };
    let kinds = "[\n    \"p2c\",\n    \"c2p\"\n  ]";
    let usual = Ok(Some(Relative::Disentangled(Disentangled::new(16, 64, true).unwrap())));
    assert_eq!(deberta(kinds, r#""c2p|p2c""#), usual);
    let most = r#""max_relative_positions": -1"#;
    assert_eq!(deberta(most, r#""max_relative_positions": 0"#), usual);
    let buckets = r#""position_buckets": 16"#;
    for (from, to, expected) in [
        (most, r#""max_relative_positions": 20"#, (16, 20, true)),
        (buckets, r#""position_buckets": -1"#, (0, 64, true)),
        (r#""norm_rel_ebd": "layer_norm""#, r#""norm_rel_ebd": "none""#, (16, 64, false)),
    ] {
        let (buckets, distance, norm) = expected;
        let expected = Disentangled::new(buckets, distance, norm).unwrap();
        assert_eq!(deberta(from, to), Ok(Some(Relative::Disentangled(expected))), "{to}");
    }
    let head = r#""architectures": ["DebertaV2ForSequenceClassification"],"#;
    let model = "\"architectures\": [\n    \"DebertaV2Model\"\n  ],";
    for (from, to, key) in [
        (kinds, r#"["c2p"]"#, "pos_att_type"),
        (kinds, r#"["c2p", "p2c", "p2p"]"#, "pos_att_type"),
        (kinds, "null", "pos_att_type"),
        (r#""share_att_key": true"#, r#""share_att_key": false"#, "share_att_key"),
        (r#""relative_attention": true"#, r#""relative_attention": false"#, "relative_attention"),
        (r#""norm_rel_ebd": "layer_norm""#, r#""norm_rel_ebd": "batch""#, "norm_rel_ebd"),
        (buckets, r#""position_buckets": 128"#, "position_buckets"),
        (model, &format!("{model} \"conv_kernel_size\": 3,"), "conv_kernel_size"),
        (model, &format!("{model} \"embedding_size\": 24,"), "embedding_size"),
        (model, &format!("{model} \"z_steps\": 2,"), "z_steps"),
    ] {
        assert_eq!(deberta(from, to), Err(key.to_owned()), "{to}");
    }
    let classifier = |from: &str, to: &str| {
        read_changed("deberta_v2", &[(model, head), (from, to)]).map(|(config, _)| config.relative)
    };
    let [size, activation] = [r#""pooler_hidden_size": 48"#, r#""pooler_hidden_act": "gelu""#];
    assert_eq!(classifier(size, size), usual);
    let [other, relu] = [r#""pooler_hidden_size": 24"#, r#""pooler_hidden_act": "relu""#];
    assert_eq!(classifier(size, other), Err("pooler_hidden_size".to_owned()));
    assert_eq!(classifier(activation, relu), Err("pooler_hidden_act".to_owned()));
    assert_eq!(deberta(size, other), usual);
    assert_eq!(deberta(activation, relu), usual);

    // T5's activation is said twice, and `gated-gelu` is the approximation. A decoder beside the
    // encoder and the positions that T5 once stated change nothing.
    let t5 = read_changed("t5_encoder", &[]);
    let unused = (
        r#""is_encoder_decoder": false"#,
        r#""is_encoder_decoder": true, "n_positions": 8, "decoder_start_token_id": 0"#,
    );
    assert_eq!(read_changed("t5_encoder", &[unused]), t5);
    let [proj, act, is_gated] =
        [r#""feed_forward_proj": "relu""#, r#""dense_act_fn": "relu""#, r#""is_gated_act": false"#];
    let gated = |said: [&str; 3]| {
        let changes = [(proj, said[0]), (act, said[1]), (is_gated, said[2])];
        read_changed("t5_encoder", &changes).map(|(config, _)| config.feed_forward)
    };
    let gelu = r#""feed_forward_proj": "gated-gelu""#;
    let silu = r#""feed_forward_proj": "gated-silu""#;
    let [new, exact, is_silu] =
        ["gelu_new", "gelu", "silu"].map(|it| format!(r#""dense_act_fn": "{it}""#));
    let yes = r#""is_gated_act": true"#;
    let null = [r#""dense_act_fn": null"#, r#""is_gated_act": null"#];
    assert_eq!(gated([gelu, &new, yes]), Ok(FeedForward::Gated(Activation::GeluTanh)));
    assert_eq!(gated([gelu, null[0], null[1]]), Ok(FeedForward::Gated(Activation::GeluTanh)));
    assert_eq!(gated([silu, &is_silu, yes]), Ok(FeedForward::Gated(Activation::Silu)));
    let relu = [r#""feed_forward_proj": null"#, null[0], null[1]];
    assert_eq!(gated(relu), Ok(FeedForward::Plain(Activation::Relu)));
    assert_eq!(gated([gelu, &exact, yes]), Err("dense_act_fn".into()));
    assert_eq!(gated([gelu, &new, is_gated]), Err("is_gated_act".into()));
    let odd = r#""feed_forward_proj": "gated-tanh""#;
    assert_eq!(gated([odd, null[0], null[1]]), Err("feed_forward_proj".into()));

    // Its heads have any size, 64 unless stated, and its buckets any number that leaves some for
    // far keys.
    let t5 = |change| read_changed("t5_encoder", &[change]);
    let (heads, buckets) = (r#""d_kv": 12"#, r#""relative_attention_num_buckets": 32"#);
    let size = |change| t5((heads, change)).map(|(config, _)| config.heads.size);
    assert_eq!([size(r#""d_kv": 7"#), size(r#""d_kv": null"#)], [Ok(7), Ok(64)]);
    assert_eq!(size(r#""d_kv": 16777216"#), Err("d_kv".into()));
    let distance = r#""relative_attention_max_distance": 128"#;
    for (from, to, fits) in [
        (buckets, r#""relative_attention_num_buckets": 4"#, true),
        (buckets, r#""relative_attention_num_buckets": 3"#, false),
        (distance, r#""relative_attention_max_distance": 9"#, true),
        (distance, r#""relative_attention_max_distance": 8"#, false),
    ] {
        let found = t5((from, to)).map(drop);
        let key = "relative_attention_num_buckets".to_owned();
        assert_eq!(found, if fits { Ok(()) } else { Err(key) }, "{to}");
    }

    // Qwen's windows are in the layers from `max_window_layers` on.
    let windows = |size: &str, from: &str, list: &str| {
        let (size, from) = (format!(r#""sliding_window": {size}"#), format!("{from},{list}"));
        let changes = [
            (r#""use_sliding_window": false"#, r#""use_sliding_window": true"#),
            (r#""sliding_window": null"#, &*size),
            (r#""max_window_layers": 3,"#, &*format!(r#""max_window_layers": {from}"#)),
        ];
        read_changed("qwen3_embedding", &changes).map(|(config, _)| config.attention.window)
    };
    let (plain, _) = read_changed("qwen3_embedding", &[]).unwrap();
    assert_eq!(plain.attention.window, None);
    let window = |every, first| Ok(Some(Window::all_but(4, every, first)));
    assert_eq!(windows("5", "0", ""), window(0, 0));
    assert_eq!(windows("5", "1", ""), window(3, 0));
    assert_eq!(windows("5", "3", ""), Ok(None));
    assert_eq!(windows("5", "28", ""), Ok(None));
    let last = LayerSet::from_flags([false, false, true].into_iter()).unwrap();
    let last = Window::from_layers(4, 3, &last);
    assert_eq!(windows("5", "2", ""), Ok(last));
    let (full, sliding) = (r#""full_attention""#, r#""sliding_attention""#);
    let list = format!(r#""layer_types": [{sliding}, {full}, {sliding}],"#);
    assert_eq!(windows("5", "2", &list), window(3, 1));
    let lists = [(r#""max_window_layers": 3,"#, &*list)];
    assert_eq!(read_changed("qwen3_embedding", &lists), Err("layer_types".into()));

    // Qwen 2 has three biases in each layer, and Qwen 3 those in its settings.
    let biases = |family: &str, has: &str| {
        let family = format!(r#""model_type": "{family}""#);
        let has = format!(r#""attention_bias": {has}"#);
        let changes =
            [(r#""model_type": "qwen3""#, &*family), (r#""attention_bias": false"#, &*has)];
        read_changed("qwen3_embedding", &changes).unwrap().1
    };
    let of = |attention, output| FamilyBiases { attention, output, ..FamilyBiases::NONE };
    assert_eq!([biases("qwen2", "false"), biases("qwen2", "true")], [of(true, false); 2]);
    assert_eq!(biases("qwen3", "true"), of(true, true));
}

/// Causal models that embed give the same for a text that grows token by token, whose earlier
/// tokens stay in the cache.
#[test]
fn texts_that_grow_give_what_transformers_computed_of_them_as_a_whole() {
    let mut checked = 0;
    for folder in Checkpoint::all() {
        let model = folder.model("config.json");
        let config = model.config;
        if config.attention.mask != Mask::Causal || model.classifier.is_some() {
            continue;
        }
        let (kernels, file) = (kernel::detect(), folder.weights());
        file.with(|weights| {
            let weights = &weights;
            let layers = vec![LlamaLayer::EMPTY; config.layers];
            let llama = Llama::from_family(weights, config, model.names, layers).unwrap();
            for text in folder.expected() {
                let tokens = text.ids.len();
                let mut cache = vec![f32::NAN; Cache::floats_needed(&config, tokens).unwrap()];
                let mut cache = Cache::new(&config, tokens, &mut cache).unwrap();
                let activations = Activations::Floats;
                let plan = LlamaPlan { activations, ..LlamaPlan::new(5, tokens) };
                let needs = LlamaMemory::needs(&config, &plan).unwrap();
                let (mut floats, mut bytes) = (vec![f32::NAN; needs.floats], vec![0; needs.bytes]);
                let mut memory = LlamaMemory::new(&config, &plan, &mut floats, &mut bytes).unwrap();
                let run = Run::new(weights, &kernels);
                let mut found = vec![0.0; config.hidden];
                // The last token alone, after pieces of seven.
                let (before, last) = text.ids.split_at(tokens - 1);
                for piece in before.chunks(7) {
                    llama.forward(&run, piece, &mut cache, &mut memory, Output::Nothing).unwrap();
                }
                let output = Output::Hidden(&mut found);
                llama.forward(&run, last, &mut cache, &mut memory, output).unwrap();
                let length = found.iter().map(|x| x * x).sum::<f32>().sqrt();
                found.iter_mut().for_each(|x| *x /= length);
                let difference = largest_difference(&found, &text.values);
                assert!(difference <= TOLERANCE, "{}: {difference:e}", folder.name());
                checked += 1;
            }
        });
    }
    assert!(checked >= 9);
}
