//! Encoders of all families through GGUF: what is written has the ids and embeddings of
//! transformers, with the settings of this project's own in it or without them, as other programs
//! write such files.

use std::path::Path;

use nanoembed_core::event::{Mode, Value as GgufValue};
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use serde_json::Value;
use tempfile::TempDir;

use super::families::{Expected, TOLERANCE, farthest, lines, models, name_of};
use super::{failure, objects, stdout};

/// The families that llama.cpp knows, of which whole models are among the tests' data.
pub const KNOWN: [&str; 12] = [
    "distilbert",
    "embeddinggemma",
    "embeddinggemma2_text",
    "embeddinggemma2_towers",
    "eurobert",
    "jina_v2_code",
    "jina_v2_en",
    "jina_v3",
    "nomic_bert",
    "qwen3_embedding",
    "roberta",
    "xlmr_bge_m3",
];

/// Writes the model in a folder as GGUF.
pub fn written(folder: &Path, out: &Path) -> Vec<u8> {
    let (folder, path) = (folder.to_str().unwrap(), out.to_str().unwrap());
    stdout(&["migrate", "-q", folder, path], "");
    std::fs::read(out).unwrap()
}

/// Changes the keys of a file.
pub fn changed(
    bytes: &[u8],
    keep: impl Fn(&str) -> bool,
    more: &[(&str, WriteValue<'_>)],
) -> Vec<u8> {
    with_vector(bytes, keep, more, None)
}

/// Changes the keys of a file, and adds a vector of ones.
fn with_vector(
    bytes: &[u8],
    keep: impl Fn(&str) -> bool,
    more: &[(&str, WriteValue<'_>)],
    vector: Option<(&str, usize)>,
) -> Vec<u8> {
    let file = Gguf::parse(bytes, Mode::Strict).unwrap();
    let keys = file.metadata().map(|(key, _)| key).filter(|key| keep(key));
    let mut metadata: Vec<(&str, WriteValue<'_>)> =
        keys.map(|key| (key, WriteValue::Stored(file.stored_value(key).unwrap()))).collect();
    metadata.extend_from_slice(more);
    let mut specs: Vec<TensorSpec<'_>> = file
        .tensors()
        .map(|tensor| {
            let header = tensor.header();
            TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape }
        })
        .collect();
    specs.extend(vector.map(|(name, elements)| {
        let shape = Shape::new(&[elements as u64]).unwrap();
        TensorSpec { name, dtype: Dtype::F32, shape }
    }));
    let plan = GgufPlan { metadata: &metadata, tensors: &specs, alignment: 32 };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    file.tensors().for_each(|tensor| writer.data(tensor.data()).unwrap());
    if let Some((_, elements)) = vector {
        writer.data(&[1.0_f32.to_le_bytes()].repeat(elements).concat()).unwrap();
    }
    writer.finish().unwrap()
}

pub fn is_foreign(key: &str) -> bool {
    !key.starts_with("nanoembed.")
}

pub fn run(command: &[&str], model: &Path, how: &[&str], texts: &str) -> Vec<Value> {
    let form = ["-m", model.to_str().unwrap(), "-i", "jsonl", "--format", "jsonl", "-q"];
    objects(&stdout(&[command, &form, how].concat(), texts))
}

/// Holds what a model makes of `rows` against what transformers does.
pub fn check(model: &Path, rows: &[Value], numbers: &[Vec<f64>], how: &[&str]) {
    let texts = lines(rows, &["text"]);
    for (row, found) in rows.iter().zip(run(&["tokenize"], model, how, &texts)) {
        assert_eq!(found["ids"], row["ids"], "{model:?} {}", row["text"]);
    }
    for (row, found) in rows.iter().zip(run(&["embed", "--precise"], model, how, &texts)) {
        let expected = &numbers[usize::try_from(row["row"].as_u64().unwrap()).unwrap()];
        let apart = farthest(&found["embedding"], expected);
        assert!(apart <= TOLERANCE, "{model:?} {}: {apart:e}", row["text"]);
    }
}

#[test]
fn what_is_written_has_the_ids_and_embeddings_of_transformers() {
    let out = TempDir::new().unwrap();
    for family in KNOWN {
        let folder = models().join(family);
        let model = out.path().join(family).with_extension("gguf");
        written(&folder, &model);
        let Expected { rows, numbers, .. } = Expected::read(&folder);
        check_prompts(&model, &rows, &numbers);
    }
}

/// As [`check`], with the prompt of each row.
fn check_prompts(model: &Path, rows: &[Value], numbers: &[Vec<f64>]) {
    let mut prompts: Vec<&str> = rows.iter().map(name_of).collect();
    prompts.sort_unstable();
    prompts.dedup();
    for prompt in prompts {
        let these: Vec<Value> = rows.iter().filter(|row| name_of(row) == prompt).cloned().collect();
        let how = match prompt {
            "" => ["--prompt", ""],
            name => ["--prompt-name", name],
        };
        check(model, &these, numbers, &how);
    }
}

#[test]
fn so_has_a_file_without_settings_of_our_own() {
    let out = TempDir::new().unwrap();
    for family in KNOWN {
        let folder = models().join(family);
        let model = out.path().join(family).with_extension("gguf");
        let bytes = written(&folder, &model);
        std::fs::write(&model, changed(&bytes, is_foreign, &[])).unwrap();
        let Expected { rows, numbers, .. } = Expected::read(&folder);
        let longest = rows.iter().map(|row| row["ids"].as_array().unwrap().len()).max().unwrap();
        let longest = longest.to_string();
        // Such files say no prompts, nor that vectors keep their lengths.
        let numbers: Vec<Vec<f64>> = numbers.iter().map(|vector| unit(vector)).collect();
        let rows: Vec<Value> = rows.into_iter().filter(|row| name_of(row).is_empty()).collect();
        check(&model, &rows, &numbers, &["--prompt", "", "--max-tokens", &longest]);
    }
}

/// A folder with experts to whose sum no bias is added.
fn experts() -> TempDir {
    let folder = TempDir::new().unwrap();
    let whole = models().join("nomic_moe");
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    for file in [
        "1_Pooling/config.json",
        "config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        std::fs::copy(whole.join(file), folder.path().join(file)).unwrap();
    }
    let mut file = std::fs::read(whole.join("model.safetensors")).unwrap();
    let length = u64::from_le_bytes(*file.first_chunk().unwrap());
    let start = 8 + usize::try_from(length).unwrap();
    let tensors: serde_json::Map<String, Value> = serde_json::from_slice(&file[8..start]).unwrap();
    for (_, bias) in tensors.iter().filter(|(name, _)| name.ends_with("experts.bias")) {
        let [from, to]: [usize; 2] = serde_json::from_value(bias["data_offsets"].clone()).unwrap();
        file[start + from..start + to].fill(0);
    }
    std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
    folder
}

#[test]
fn experts_are_written_as_llama_cpp_reads_them() {
    let (out, folder) = (TempDir::new().unwrap(), experts());
    let model = out.path().join("m.gguf");
    let bytes = written(folder.path(), &model);
    let file = Gguf::parse(&bytes, Mode::Strict).unwrap();
    let dims = |name: &str| file.tensor(name).unwrap().header().shape.dims().to_vec();
    assert_eq!(dims("blk.1.ffn_up_exps.weight"), [4, 40, 32]);
    assert_eq!(dims("blk.1.ffn_down_exps.weight"), [4, 32, 40]);
    assert_eq!(dims("blk.1.ffn_gate_inp.weight"), [4, 32]);
    let whole = models().join("nomic_moe");
    let Expected { rows, numbers, .. } = Expected::read(&whole);
    let values = std::fs::read(whole.join("expected.without_bias.f32")).unwrap();
    let values = values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into());
    let values: Vec<f64> = values.collect();
    let numbers: Vec<Vec<f64>> = values.chunks(numbers[0].len()).map(<[f64]>::to_vec).collect();
    check_prompts(&model, &rows, &numbers);
    for kind in ["weights", "amb"] {
        let converted = out.path().join("m").with_extension(kind);
        let [from, to] = [&model, &converted].map(|path| path.to_str().unwrap());
        stdout(&["convert", "-q", "--type", "f32", from, to], "");
        check_prompts(&converted, &rows, &numbers);
    }
    let count = "nomic-bert-moe.expert_count";
    for (key, value) in [(count, 1), (count, 0), ("nomic-bert-moe.expert_shared_count", 1)] {
        let keys = [(key, WriteValue::U32(value))];
        std::fs::write(&model, changed(&bytes, |known| known != key, &keys)).unwrap();
        let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
        assert!(found.contains("nomic-bert-moe.expert_"), "{found}");
    }
}

/// The vector scaled to length 1.
fn unit(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

/// A folder with a ModernBERT that embeds and has no modules.
fn modern_bert() -> TempDir {
    let folder = TempDir::new().unwrap();
    let whole = models().join("modernbert_reranker");
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(whole.join(file), folder.path().join(file)).unwrap();
    }
    let config = std::fs::read_to_string(whole.join("config.json")).unwrap();
    let config = config.replace("ModernBertForSequenceClassification", "ModernBertModel");
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    folder
}

/// A folder with a T5 without the dense layer of sentence-t5, which llama.cpp does not compute; its
/// feed-forward layers have gates if it `is_gated`.
fn t5(is_gated: bool) -> TempDir {
    let folder = TempDir::new().unwrap();
    let whole = models().join("t5_encoder");
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    for file in [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        std::fs::copy(whole.join(file), folder.path().join(file)).unwrap();
    }
    let modules = folder.path().join("modules.json");
    change_json(&modules, |modules| {
        modules.as_array_mut().unwrap().retain(|it| it["path"] != "2_Dense");
    });
    if is_gated {
        change_json(&folder.path().join("config.json"), |config| {
            config["feed_forward_proj"] = "gated-gelu".into();
            config["dense_act_fn"] = "gelu_new".into();
            config["is_gated_act"] = true.into();
        });
        let weights = folder.path().join("model.safetensors");
        std::fs::write(&weights, gated(&std::fs::read(&weights).unwrap())).unwrap();
    }
    folder
}

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// T5's weights with a gate beside each `wi`, which has the elements of `wo` in another shape.
fn gated(file: &[u8]) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk::<8>().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length).try_into().unwrap());
    let mut data = data.to_vec();
    let mut tensors: serde_json::Map<String, Value> = serde_json::from_slice(header).unwrap();
    let named: Vec<String> = tensors.keys().filter(|it| it.contains(".wi.")).cloned().collect();
    for name in named {
        let wi = tensors.remove(&name).unwrap();
        let offsets = &tensors[&name.replace(".wi.", ".wo.")]["data_offsets"];
        let [start, end]: [usize; 2] = serde_json::from_value(offsets.clone()).unwrap();
        let mut gate = wi.clone();
        gate["data_offsets"] = serde_json::json!([data.len(), data.len() + end - start]);
        data.extend_from_within(start..end);
        tensors.insert(name.replace(".wi.", ".wi_0."), gate);
        tensors.insert(name.replace(".wi.", ".wi_1."), wi);
    }
    let header = Value::Object(tensors).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// Models of which only the folder says what their vectors are.
pub fn others() -> [TempDir; 3] {
    [modern_bert(), t5(false), t5(true)]
}

#[test]
fn other_models_embed_as_their_folders_do() {
    for folder in others() {
        let out = TempDir::new().unwrap();
        let model = out.path().join("m.gguf");
        let bytes = written(folder.path(), &model);
        let foreign = out.path().join("foreign.gguf");
        std::fs::write(&foreign, changed(&bytes, is_foreign, &[])).unwrap();
        let texts: Vec<Value> = Expected::read(&models().join("roberta")).rows;
        let texts = lines(&texts, &["text"]);
        let expected = run(&["embed", "--precise"], folder.path(), &[], &texts);
        let ids = run(&["tokenize"], folder.path(), &[], &texts);
        assert!(ids.iter().any(|row| row["ids"].as_array().unwrap().len() > 40));
        for model in [&model, &foreign] {
            assert_eq!(run(&["tokenize"], model, &[], &texts), ids);
            for (found, expected) in
                run(&["embed", "--precise"], model, &[], &texts).iter().zip(&expected)
            {
                let expected: Vec<f64> =
                    serde_json::from_value(expected["embedding"].clone()).unwrap();
                assert!(farthest(&found["embedding"], &expected) <= TOLERANCE, "{model:?}");
            }
        }
    }
}

#[test]
fn t5_is_written_as_llama_cpp_reads_it() {
    let [folder, out] = [t5(true), TempDir::new().unwrap()];
    let model = out.path().join("m.gguf");
    let bytes = written(folder.path(), &model);
    let file = Gguf::parse(&bytes, Mode::Strict).unwrap();
    let value = |key: &str| file.value(key).unwrap_or_else(|| panic!("{key}"));
    assert_eq!(value("general.architecture"), GgufValue::Text("t5encoder"));
    for (key, size) in [
        // The usual length of texts: the model has no limit.
        ("t5encoder.context_length", 160),
        ("t5encoder.attention.relative_buckets_count", 32),
        ("t5encoder.block_count", 3),
        ("t5encoder.feed_forward_length", 96),
    ] {
        assert_eq!(value(key), GgufValue::Unsigned(size), "{key}");
    }
    assert!(file.value("t5encoder.attention.layer_norm_rms_epsilon").is_some());
    assert_eq!(value("tokenizer.ggml.add_bos_token"), GgufValue::Bool(false));
    assert_eq!(value("tokenizer.ggml.add_eos_token"), GgufValue::Bool(true));
    let mut names: Vec<&str> = file.tensors().map(|tensor| tensor.header().name).collect();
    names.sort_unstable();
    let part = |layer: u32| {
        let parts = ["attn_k", "attn_norm", "attn_o", "attn_q", "attn_rel_b", "attn_v"];
        let parts = parts.into_iter().chain(["ffn_down", "ffn_gate", "ffn_norm", "ffn_up"]);
        let parts = parts.filter(move |part| layer == 0 || *part != "attn_rel_b");
        parts.map(move |part| format!("enc.blk.{layer}.{part}.weight"))
    };
    let whole = ["enc.output_norm.weight", "token_embd.weight"].map(str::to_owned);
    let expected: Vec<String> = (0..3).flat_map(part).chain(whole).collect();
    assert_eq!(names, expected);
}

/// Longer texts than `model_max_length` says are run, as the model has no limit.
#[test]
fn t5_has_no_limit_of_positions() {
    let [folder, out] = [t5(false), TempDir::new().unwrap()];
    let model = out.path().join("m.gguf");
    written(folder.path(), &model);
    let text = format!("{{\"text\": \"{}\"}}\n", "password ".repeat(400));
    let how = ["--max-tokens", "2000"];
    for model in [folder.path(), &model] {
        let ids = &run(&["tokenize"], model, &how, &text)[0]["ids"];
        assert!(ids.as_array().unwrap().len() > 600, "{ids}");
        let usual = run(&["tokenize"], model, &[], &text);
        assert_eq!(usual[0]["ids"].as_array().unwrap().len(), 160);
    }
    let [a, b] = [folder.path(), &model].map(|model| run(&["embed"], model, &how, &text));
    assert_eq!(a, b);
}

/// Checkpoints call the table of tokens so or so, or have it twice.
#[test]
fn the_token_table_of_t5_has_two_names() {
    let [folder, out] = [t5(false), TempDir::new().unwrap()];
    let texts = "{\"text\": \"How do I reset my password?\"}\n";
    let expected = run(&["embed"], folder.path(), &[], texts);
    let weights = folder.path().join("model.safetensors");
    let usual = std::fs::read(&weights).unwrap();
    let (short, long) = ("\"shared.weight\"", "\"encoder.embed_tokens.weight\"");
    for is_alone in [true, false] {
        std::fs::write(&weights, renamed(&usual, short, long, is_alone)).unwrap();
        for (ending, command) in [("gguf", "migrate"), ("weights", "convert"), ("amb", "convert")] {
            let file = out.path().join("m").with_extension(ending);
            let paths = [folder.path(), &file].map(|path| path.to_str().unwrap());
            let f32 = if command == "convert" { &["--type", "f32"][..] } else { &[] };
            stdout(&[&[command, "-q", paths[0], paths[1]], f32].concat(), "");
            assert_eq!(run(&["embed"], &file, &[], texts), expected, "{ending} {is_alone}");
        }
    }
}

/// A safetensors file with a tensor under another name, or a copy of it under both.
fn renamed(file: &[u8], from: &str, to: &str, is_alone: bool) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk::<8>().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length).try_into().unwrap());
    let header = std::str::from_utf8(header).unwrap();
    let mut tensors: serde_json::Map<String, Value> =
        serde_json::from_str(&header.replace(from, to)).unwrap();
    let (from, to) = (from.trim_matches('"'), to.trim_matches('"'));
    let mut data = data.to_vec();
    if !is_alone {
        let [start, end]: [usize; 2] =
            serde_json::from_value(tensors[to]["data_offsets"].clone()).unwrap();
        let mut copy = tensors[to].clone();
        copy["data_offsets"] = serde_json::json!([data.len(), data.len() + end - start]);
        data.extend_from_within(start..end);
        tensors.insert(from.to_owned(), copy);
    }
    let header = Value::Object(tensors).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn tokens_of_prompts_are_left_out_as_in_the_folder() {
    let folder = TempDir::new().unwrap();
    let from = models().join("nomic_bert");
    for entry in std::fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let pooling = std::fs::read(from.join("1_Pooling/config.json")).unwrap();
    let mut pooling: Value = serde_json::from_slice(&pooling).unwrap();
    pooling["include_prompt"] = false.into();
    std::fs::write(folder.path().join("1_Pooling/config.json"), pooling.to_string()).unwrap();
    let file = folder.path().join("m.gguf");
    written(folder.path(), &file);
    let embedded = |model: &Path| {
        run(&["embed", "--precise"], model, &["--prompt", "search: "], "{\"text\": \"a b c\"}\n")
    };
    let numbers = |found: &[Value]| -> Vec<f64> {
        serde_json::from_value(found[0]["embedding"].clone()).unwrap()
    };
    let expected = numbers(&embedded(folder.path()));
    assert!(farthest(&embedded(&file)[0]["embedding"], &expected) <= TOLERANCE);
    assert!(farthest(&embedded(&from)[0]["embedding"], &expected) > 100.0 * TOLERANCE);
}

#[test]
fn what_gguf_cannot_say_is_refused_by_name() {
    let out = TempDir::new().unwrap();
    let out = out.path().join("m.gguf");
    for (family, said) in [
        ("bert_max_pool", "pooling"),
        ("bert_cased", "Dense"),
        ("modernbert_mean", "norm.bias"),
        ("cross_encoder", "compares two texts"),
        ("gte", "`gte`"),
        ("albert", "`albert`"),
        ("mpnet", "`mpnet`"),
        ("nomic_moe", "experts.bias"),
        ("t5_encoder", "Dense"),
    ] {
        let folder = models().join(family);
        let found = failure(&["migrate", folder.to_str().unwrap(), out.to_str().unwrap()], b"", 1);
        assert!(found.contains(said), "{family}: {found}");
        assert!(!out.exists(), "{family}");
    }
}

#[test]
fn what_a_file_asks_for_and_is_not_done_is_refused_by_name() {
    let out = TempDir::new().unwrap();
    let model = out.path().join("m.gguf");
    let refused = |bytes: Vec<u8>, said: &str| {
        std::fs::write(&model, bytes).unwrap();
        let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
        assert!(found.contains(said), "{found}");
    };
    let jina = written(&models().join("jina_v3"), &model);
    let all = |_: &str| true;
    for (key, value) in [
        ("jina-bert-v3.attention.max_alibi_bias", WriteValue::F32(8.0)),
        ("jina-bert-v3.expert_count", WriteValue::U32(8)),
        ("tokenizer.ggml.normalizer.lowercase", WriteValue::Bool(true)),
        ("nanoembed.of_tomorrow", WriteValue::U32(1)),
    ] {
        refused(changed(&jina, all, &[(key, value)]), &format!("`{key}`"));
    }
    for (key, value, said) in [
        ("jina-bert-v3.attention.causal", WriteValue::Bool(true), "only false"),
        ("jina-bert-v3.pooling_type", WriteValue::U32(4), "pooling_type"),
        ("jina-bert-v3.block_count", WriteValue::U32(2), "`blk.2."),
        ("jina-bert-v3.block_count", WriteValue::U32(u32::MAX), "larger"),
        ("jina-bert-v3.attention.head_count", WriteValue::U32(0), "head_count"),
        ("jina-bert-v3.embedding_length", WriteValue::Text("48"), "a number"),
        ("tokenizer.ggml.model", WriteValue::Text("rwkv"), "tokenizer.ggml.model"),
        ("general.architecture", WriteValue::Text("neo-bert"), "`neo-bert`"),
        ("nanoembed.tokenizer", WriteValue::Text("{}"), "nanoembed.tokenizer"),
    ] {
        refused(changed(&jina, |known| known != key, &[(key, value)]), said);
    }
    let plain = written(t5(false).path(), &model);
    for buckets in [0, 3, 512] {
        let key = "t5encoder.attention.relative_buckets_count";
        let keys = [(key, WriteValue::U32(buckets))];
        refused(changed(&plain, |known| known != key, &keys), "relative_buckets_count");
    }
    let qwen = written(&models().join("qwen3_embedding"), &model);
    let pre = "tokenizer.ggml.pre";
    let unknown = [(pre, WriteValue::Text("of_tomorrow"))];
    refused(changed(&qwen, |key| key != pre, &unknown), "of_tomorrow");
}

/// The same in all layers of a kind, by one number or by a list. Without our keys it has no merges
/// but the listed ones.
#[test]
fn heads_of_embedding_gemma_2_are_those_of_a_kind_of_layers() {
    use WriteValue::{Bools, I32s, U32};
    let out = TempDir::new().unwrap();
    let model = out.path().join("m.gguf");
    let file = written(&models().join("embeddinggemma2_text"), &model);
    let text = "{\"text\": \"a b\"}\n";
    let expected = run(&["embed", "--precise"], &model, &[], text);
    let [heads, pattern] = ["attention.head_count_kv", "attention.sliding_window_pattern"];
    let [key, merges] = ["gemma-embedding2.attention.head_count_kv", "tokenizer.ggml.merges"];
    std::fs::write(&model, changed(&file, |it| it != key, &[(key, U32(1))])).unwrap();
    assert_eq!(run(&["embed", "--precise"], &model, &[], text), expected);
    for (key, value, said) in [
        (heads, I32s(&[1, 1, 1]), heads),
        (heads, I32s(&[1, 1, 1, 1, 1]), heads),
        (heads, I32s(&[1, 1, 3, 1]), heads),
        (heads, I32s(&[0, 1, 0, 1]), heads),
        (heads, U32(2), "attention.head_count"),
        (pattern, Bools(&[true, false]), pattern),
        ("attention.value_length_swa", U32(24), "attention.value_length_swa"),
        ("attention.key_length_swa", U32(24), "attention.value_length_swa"),
        ("rope.dimension_count_swa", U32(8), "rope.dimension_count_swa"),
        ("embedding_length_per_layer_input", U32(0), "embedding_length_per_layer_input"),
        ("embedding_length_out", U32(45), "`output.weight`"),
    ] {
        let key = format!("gemma-embedding2.{key}");
        std::fs::write(&model, changed(&file, |it| it != key, &[(&key, value)])).unwrap();
        let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
        assert!(found.contains(said), "{key}: {found}");
    }
    std::fs::write(&model, changed(&file, |it| is_foreign(it) && it != merges, &[])).unwrap();
    let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
    assert!(found.contains(merges), "{found}");
}

/// With norms of queries the gate is the second half of a joined matrix; llama.cpp takes the first.
#[test]
fn jinas_model_for_code_has_its_gate_apart() {
    let out = TempDir::new().unwrap();
    let model = out.path().join("m.gguf");
    let code = written(&models().join("jina_v2_code"), &model);
    let file = Gguf::parse(&code, Mode::Strict).unwrap();
    for name in ["ffn_gate", "ffn_up", "attn_q_norm", "attn_k_norm", "attn_norm_2"] {
        assert!(file.tensor(&format!("blk.2.{name}.weight")).is_some(), "{name}");
    }
    let usual = written(&models().join("jina_v2_en"), &model);
    let norm = Some(("blk.0.attn_q_norm.weight", 48));
    std::fs::write(&model, with_vector(&usual, |_| true, &[], norm)).unwrap();
    let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
    assert!(found.contains("`blk.0.ffn_gate.weight`"), "{found}");
}

#[test]
fn tensors_that_a_family_does_not_use_are_refused_by_name() {
    let out = TempDir::new().unwrap();
    let model = out.path().join("m.gguf");
    let refused = |bytes: &[u8], name: &str, elements: usize, said: &str| {
        let all = |_: &str| true;
        let file = with_vector(bytes, all, &[], Some((name, elements)));
        std::fs::write(&model, file).unwrap();
        let found = failure(&["embed", "-m", model.to_str().unwrap(), "a"], b"", 1);
        assert!(found.contains(&format!("`{name}`")) && found.contains(said), "{found}");
    };
    let unused = "no model that is known here uses such a tensor";
    let eurobert = written(&models().join("eurobert"), &model);
    refused(&eurobert, "blk.0.attn_q_norm.weight", 12, unused);
    refused(&eurobert, "blk.0.post_attention_norm.weight", 48, unused);
    refused(&eurobert, "token_embd_norm.weight", 48, unused);
    refused(&eurobert, "blk.0.attn_q.bias", 48, "there is no tensor");
    let jina = written(&models().join("jina_v3"), &model);
    refused(&jina, "blk.0.ffn_gate.weight", 48, unused);
    refused(&jina, "blk.0.attn_q.weight", 48, unused);
    refused(&jina, "position_embd.weight", 48, unused);
    refused(&jina, "token_embd.bias", 48, unused);
    refused(&jina, "blk.token_embd.weight", 48, unused);
    let jina = written(&models().join("jina_v2_en"), &model);
    refused(&jina, "position_embd.weight", 48, unused);
    refused(&jina, "blk.0.attn_norm_2.weight", 48, unused);
    let plain = written(t5(false).path(), &model);
    refused(&plain, "enc.blk.1.attn_rel_b.weight", 128, unused);
    refused(&plain, "enc.blk.1.ffn_gate.weight", 48, unused);
    refused(&plain, "blk.0.attn_q.weight", 48, unused);
    refused(&plain, "dense_2.weight", 48, "gemma-embedding");
    let roberta = written(&models().join("roberta"), &model);
    refused(&roberta, "blk.0.ffn_gate.weight", 48, unused);
    refused(&roberta, "cls.weight", 48, unused);
}

#[test]
fn a_factor_without_a_kind_of_scaling_is_linear_as_in_llama_cpp() {
    let out = TempDir::new().unwrap();
    for (family, architecture) in [("jina_v3", "jina-bert-v3"), ("eurobert", "eurobert")] {
        let model = out.path().join("m.gguf");
        let whole = written(&models().join(family), &model);
        let of = |key: &str| format!("{architecture}.rope.scaling.{key}");
        let (kind, factor) = (of("type"), of("factor"));
        let embedded = |keys: &[(&str, WriteValue<'_>)]| {
            std::fs::write(&model, changed(&whole, |_| true, keys)).unwrap();
            run(&["embed", "--precise"], &model, &[], "{\"text\": \"a b c d e f\"}\n")
        };
        let by_four = (factor.as_str(), WriteValue::F32(4.0));
        let kind = |name: &'static str| (kind.as_str(), WriteValue::Text(name));
        let (plain, divided) = (embedded(&[]), embedded(&[kind("linear"), by_four]));
        assert_ne!(plain, divided, "{family}");
        assert_eq!(embedded(&[by_four]), divided, "{family}");
        assert_eq!(embedded(&[kind("none"), by_four]), plain, "{family}");
        assert_eq!(embedded(&[(&factor, WriteValue::F32(0.0))]), plain, "{family}");
    }
}

#[test]
fn convert_writes_the_same_file_as_migrate() {
    let folder = models().join("distilbert");
    let out = TempDir::new().unwrap();
    let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let (converted, migrated) = (path("a.gguf"), path("b.gguf"));
    let model = folder.to_str().unwrap();
    stdout(&["convert", model, &converted], "");
    stdout(&["migrate", model, &migrated], "");
    assert_eq!(std::fs::read(&converted).unwrap(), std::fs::read(&migrated).unwrap());
    let said = failure(&["convert", model, &converted, "--type", "int8"], b"", 2);
    assert!(said.contains("quantize"), "{said}");
}
