//! The tiny models in `tests/data/models`, one of each family as it lies on the hub: ids, embeddings
//! and logits are those of transformers.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{failure, objects, stdout};

/// How far off a number may be: weights are random, so nothing evens out.
pub const TOLERANCE: f64 = 2e-5;

pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models")
}

/// Models with all of their files.
fn complete() -> Vec<PathBuf> {
    let folders = models().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_complete = |folder: &PathBuf| {
        folder.join("model.safetensors").exists() && folder.join("expected.json").exists()
    };
    let mut folders: Vec<PathBuf> = folders.filter(is_complete).collect();
    folders.sort();
    folders
}

pub struct Expected {
    pub rows: Vec<Value>,
    pub numbers: Vec<Vec<f64>>,
    max_tokens: Option<u64>,
}

impl Expected {
    pub fn read(folder: &Path) -> Self {
        let said = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        let width = usize::try_from(said["shape"][1].as_u64().unwrap()).unwrap();
        let bytes = std::fs::read(folder.join("expected.f32")).unwrap();
        let numbers = bytes.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it)));
        let numbers: Vec<f64> = numbers.collect();
        let numbers = numbers.chunks_exact(width).map(<[f64]>::to_vec).collect();
        let rows = said["rows"].as_array().unwrap().clone();
        let max_tokens = said["num_labels"].as_u64().and_then(|_| said["max_length"].as_u64());
        Self { rows, numbers, max_tokens }
    }
}

pub fn lines(rows: &[Value], members: &[&str]) -> String {
    let line = |row: &Value| {
        let object = members.iter().map(|name| ((*name).to_owned(), row[*name].clone()));
        format!("{}\n", Value::Object(object.collect()))
    };
    rows.iter().map(line).collect()
}

pub fn farthest(found: &Value, expected: &[f64]) -> f64 {
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), expected.len());
    let apart = found.iter().zip(expected).map(|(a, b)| (a.as_f64().unwrap() - b).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn every_family_has_the_ids_and_embeddings_of_transformers() {
    let mut families = 0;
    for folder in complete() {
        let Expected { rows, numbers, max_tokens: None } = Expected::read(&folder) else {
            continue;
        };
        families += 1;
        is_near(&folder, &rows, &numbers);
    }
    assert!(families >= 15, "{families}");
}

/// Holds ids and embeddings of `model` against the expected ones.
fn is_near(model: &Path, rows: &[Value], numbers: &[Vec<f64>]) {
    each_embedding(model, &["embed", "--precise"], rows, &mut |row, found| {
        let apart = farthest(found, &numbers[number_of(row)]);
        assert!(apart <= TOLERANCE, "{} {}: {apart:e}", model.display(), row["text"]);
    });
}

/// Shows `judge` each row with the embedding that `command` prints, and holds its ids against those
/// of the model's tokenizer.
pub fn each_embedding(
    model: &Path,
    command: &[&str],
    rows: &[Value],
    judge: &mut dyn FnMut(&Value, &Value),
) {
    let model = model.to_str().unwrap();
    let mut prompts: Vec<&str> = rows.iter().map(name_of).collect();
    prompts.sort_unstable();
    prompts.dedup();
    for prompt in prompts {
        let these: Vec<Value> = rows.iter().filter(|row| name_of(row) == prompt).cloned().collect();
        let texts = lines(&these, &["text"]);
        let how = match prompt {
            "" => ["--prompt", ""],
            name => ["--prompt-name", name],
        };
        let form = ["-m", model, "-i", "jsonl", "--format", "jsonl", "-q"];
        let run = |command: &[&str]| objects(&stdout(&[command, &form, &how].concat(), &texts));
        for (row, found) in these.iter().zip(run(&["tokenize"])) {
            assert_eq!(found["ids"], row["ids"], "{model} {}", row["text"]);
        }
        for (row, found) in these.iter().zip(run(command)) {
            judge(row, &found["embedding"]);
        }
    }
}

pub fn number_of(row: &Value) -> usize {
    usize::try_from(row["row"].as_u64().unwrap()).unwrap()
}

/// Converts the model in `folder` to a file with this ending in `out`.
fn converted(folder: &Path, out: &TempDir, kind: &str, ending: &str) -> PathBuf {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let file = out.path().join(format!("{name}.{kind}.{ending}"));
    let paths = [folder.to_str().unwrap(), file.to_str().unwrap()];
    stdout(&["convert", paths[0], paths[1], "--type", kind], "");
    file
}

#[test]
fn one_file_has_what_the_folder_has() {
    let out = TempDir::new().unwrap();
    for folder in complete() {
        let Expected { rows, numbers, max_tokens } = Expected::read(&folder);
        for ending in ["weights", "amb"] {
            let file = converted(&folder, &out, "f32", ending);
            let name = file.to_str().unwrap();
            stdout(&["verify", "--strict", name], "");
            assert!(stdout(&["inspect", name], "").contains("tensors"));
            match max_tokens {
                Some(most) => has_logits(&file, most, &rows, &numbers),
                None => is_near(&file, &rows, &numbers),
            }
        }
    }
}

#[test]
fn eight_bits_are_near_in_every_family() {
    let out = TempDir::new().unwrap();
    for folder in complete() {
        let Expected { rows, numbers, max_tokens: None } = Expected::read(&folder) else {
            continue;
        };
        for ending in ["weights", "amb"] {
            let file = converted(&folder, &out, "int8", ending);
            let (mut sum, mut count) = (0.0, 0.0);
            each_embedding(&file, &["embed"], &rows, &mut |row, found| {
                if let Some(cosine) = cosine(found, &numbers[number_of(row)]) {
                    sum += cosine;
                    count += 1.0;
                }
            });
            assert!(count > 0.0 && sum / count >= 0.995, "{}: {}", file.display(), sum / count);
        }
    }
}

/// `None` if one of both is nothing but zeros, as the vector of a text without tokens.
fn cosine(found: &Value, expected: &[f64]) -> Option<f64> {
    let found: Vec<f64> = found.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let length = (product(&found, &found) * product(expected, expected)).sqrt();
    (length > 0.0).then(|| product(&found, expected) / length)
}

/// As sentence-transformers saves a model that was opened with `truncate_dim`.
#[test]
fn vectors_are_cut_to_the_elements_that_the_settings_keep() {
    const CONFIG: &str = "config_sentence_transformers.json";
    let vector = |model: &Path| {
        let text = ["-m", model.to_str().unwrap(), "Bread and butter", "--format", "jsonl"];
        let line = objects(&stdout(&[&["embed"], &text[..]].concat(), "")).remove(0);
        line["embedding"].as_array().unwrap().clone()
    };
    let set = |folder: &Path, kept: Value| {
        let path = folder.join(CONFIG);
        let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config["truncate_dim"] = kept;
        std::fs::remove_file(&path).unwrap();
        std::fs::write(path, config.to_string()).unwrap();
    };
    for name in ["distilbert", "bert_max_pool", "bert_cased", "embeddinggemma2_text"] {
        let whole = vector(&models().join(name));
        let copy = copied(&models().join(name));
        set(copy.path(), json!(8));
        assert_eq!(vector(copy.path()), whole[..8], "{name}");
        let out = TempDir::new().unwrap();
        for ending in ["weights", "amb"] {
            let file = converted(copy.path(), &out, "f32", ending);
            assert_eq!(vector(&file), whole[..8], "{name}.{ending}");
        }
        let gguf = out.path().join("o.gguf");
        let said =
            failure(&["migrate", copy.path().to_str().unwrap(), gguf.to_str().unwrap()], b"", 1);
        assert!(said.contains("error[208]") && !gguf.exists(), "{name}: {said}");
        set(copy.path(), json!(1 << 20));
        assert_eq!(vector(copy.path()), whole, "{name}");
        set(copy.path(), json!(0));
        let said = failure(&["embed", "-m", copy.path().to_str().unwrap(), "a"], b"", 1);
        assert!(said.contains("truncate_dim"), "{said}");
    }
}

#[test]
fn a_file_of_another_family_is_refused_where_only_bert_is_read() {
    let out = TempDir::new().unwrap();
    let folder = models().join("mpnet");
    for ending in ["weights", "amb"] {
        let file = converted(&folder, &out, "f32", ending);
        let (file, other) = (file.to_str().unwrap(), out.path().join("other.weights"));
        let said = failure(&["convert", file, other.to_str().unwrap()], b"", 1);
        assert!(said.contains("folder"), "{said}");
        let said = failure(&["embed", "-m", file, "--requantize", "a"], b"", 2);
        assert!(said.contains("requantize"), "{said}");
    }
    let file = converted(&models().join("cross_encoder"), &out, "f16", "weights");
    let said = failure(&["embed", "-m", file.to_str().unwrap(), "a"], b"", 1);
    assert!(said.contains("rerank"), "{said}");
}

pub fn name_of(row: &Value) -> &str {
    row["prompt_name"].as_str().unwrap_or_default()
}

#[test]
fn cross_encoders_have_the_logits_of_transformers() {
    let mut families = 0;
    for folder in complete() {
        let Expected { rows, numbers, max_tokens: Some(most) } = Expected::read(&folder) else {
            continue;
        };
        families += 1;
        has_logits(&folder, most, &rows, &numbers);
    }
    assert!(families >= 7, "{families}");
}

/// Holds the logits of `model` against the expected ones.
fn has_logits(model: &Path, most: u64, rows: &[Value], numbers: &[Vec<f64>]) {
    let (model, most) = (model.to_str().unwrap(), most.to_string());
    let pairs = lines(rows, &["query", "document"]);
    let form = ["-m", model, "-i", "jsonl", "--format", "jsonl", "--max-tokens", &most];
    let found = objects(&stdout(&[&["rerank"], &form[..]].concat(), &pairs));
    assert_eq!(found.len(), rows.len());
    for ((row, found), expected) in rows.iter().zip(&found).zip(numbers) {
        let apart = farthest(&json!([found["logit"]]), expected);
        assert!(apart <= TOLERANCE, "{model} {}: {apart:e}", row["query"]);
        let sigmoid = row["sigmoid"].as_f64().unwrap();
        let logit = row["logit"].as_f64().unwrap();
        let score = found["score"].as_f64().unwrap();
        assert!((score - sigmoid).abs().min((score - logit).abs()) < 1e-5, "{model} {score}");
    }
}

#[test]
fn a_causal_reranker_in_a_gguf_file_has_the_logits_of_its_folder() {
    let Expected { rows, numbers, max_tokens: Some(most) } =
        Expected::read(&models().join("qwen3_reranker"))
    else {
        panic!("the folder has a limit");
    };
    let file = models().join("../rerank/qwen3.gguf");
    has_logits(&file, most, &rows, &numbers);
    let work = TempDir::new().unwrap();
    let changed = work.path().join("changed.gguf");
    let changed_to = |from: &[u8], to: &[u8]| {
        let mut bytes = std::fs::read(&file).unwrap();
        let place = bytes.windows(from.len()).position(|it| it == from).unwrap();
        bytes[place..place + to.len()].copy_from_slice(to);
        std::fs::write(&changed, bytes).unwrap();
        failure(&["rerank", "-m", changed.to_str().unwrap(), "q", "t"], b"", 1)
    };
    let key = "tokenizer.chat_template.rerank";
    let said = changed_to(b"{query}", b"{quest}");
    assert!(said.contains("error[208]") && said.contains(key), "{said}");
    let said = changed_to(b"template.rerank", b"template.others");
    assert!(said.contains("error[301]") && said.contains(key), "{said}");
    let model = file.to_str().unwrap();
    let said = failure(&["rerank", "-m", model, "--prompt", "x", "q", "t"], b"", 2);
    assert!(said.contains("template"), "{said}");
    let out = work.path().join("o.weights");
    let said = failure(&["convert", model, out.to_str().unwrap()], b"", 1);
    assert!(said.contains("error[208]") && !out.exists(), "{said}");
}

#[test]
fn an_instruction_takes_its_place_in_the_prompt_of_a_reranker() {
    for name in ["qwen3_reranker", "qwen3_reranker_untied", "qwen3_reranker_seqcls_st6"] {
        let folder = models().join(name);
        let said = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        let rows = said["prompted"].as_array().unwrap();
        let model = folder.to_str().unwrap();
        let form = ["rerank", "-m", model, "-i", "jsonl", "--format", "jsonl"];
        let pairs = lines(rows, &["query", "document"]);
        let text = said["prompts"]["code"].as_str().unwrap();
        let ways = [["--prompt-name", "code"], ["--prompt", text]];
        for found in ways.map(|how| objects(&stdout(&[&form[..], &how].concat(), &pairs))) {
            for (row, found) in rows.iter().zip(found) {
                let expected = row["logit"].as_f64().unwrap();
                let apart = (found["logit"].as_f64().unwrap() - expected).abs();
                assert!(apart <= TOLERANCE, "{name} {}: {apart:e}", row["query"]);
            }
        }
        let missing = failure(&["rerank", "-m", model, "--prompt-name", "odd", "q", "t"], b"", 1);
        assert!(missing.contains("code"), "{missing}");
    }
    let plain = models().join("qwen3_reranker_seqcls");
    let model = ["rerank", "-m", plain.to_str().unwrap(), "--prompt"];
    let refused = failure(&[&model[..], &["x", "q", "t"]].concat(), b"", 2);
    assert!(refused.contains("template"), "{refused}");
    stdout(&[&model[..], &["", "q", "t"]].concat(), "");
}

#[test]
fn texts_are_ranked_for_people_and_pairs_may_lack_nothing() {
    let folder = models().join("cross_encoder");
    let model = folder.to_str().unwrap();
    let question = ["rerank", "-m", model, "How do I reset my password?"];
    let texts = ["Click on the link.", "A cat on a mat."];
    let scores = stdout(&[&question[..], &texts].concat(), "");
    let scores: Vec<f64> = scores.lines().map(|line| line.parse().unwrap()).collect();
    let sorted = stdout(&[&question[..], &texts, &["--sort"]].concat(), "");
    let best = if scores[0] >= scores[1] { texts[0] } else { texts[1] };
    assert!(sorted.lines().next().unwrap().ends_with(best), "{sorted} {scores:?}");
    let one = stdout(&[&question[..], &texts, &["--sort", "-k", "1"]].concat(), "");
    assert_eq!(one.trim_end(), sorted.lines().next().unwrap());
    let said = failure(&[&question[..], &texts, &["-k", "1"]].concat(), b"", 2);
    assert!(said.contains("--sort"), "{said}");
    let said = failure(&["rerank", "-m", model, "-i", "jsonl"], b"{\"document\": \"a\"}\n", 1);
    assert!(said.contains("`query`"), "{said}");
    let skipped = ["rerank", "-m", model, "-i", "jsonl", "--json", "--on-error", "null"];
    let lines = "{\"document\": \"a\", \"id\": 7}\n{\"query\": \"b\", \"document\": \"a\"}\n";
    let found = objects(&stdout(&skipped, lines));
    assert_eq!((&found[0]["id"], found[0].get("logit")), (&json!(7), Some(&Value::Null)));
    assert!(found[1]["logit"].is_number() && found[1].get("query").is_none());
    failure(&["rerank", "-m", model], b"a\n", 2);
    failure(&["rerank", "a", "b"], b"", 2);
    let said = failure(&["embed", "-m", model, "a"], b"", 1);
    assert!(said.contains("rerank"), "{said}");
    let encoder = models().join("bert_max_pool");
    let said = failure(&["rerank", "-m", encoder.to_str().unwrap(), "a", "b"], b"", 1);
    assert!(said.contains("embed"), "{said}");
}

/// A copy of a model's folder, to be changed.
pub fn copied(folder: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    copy_files(folder, copy.path());
    copy
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(Result::unwrap) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy_files(&path, &to),
            false => drop(std::fs::copy(path, to).unwrap()),
        }
    }
}

#[test]
fn pairs_that_a_tokenizer_puts_together_otherwise_are_refused_by_name() {
    for (file, setting, place, value) in [
        ("tokenizer_config.json", "model_input_names", "", json!(["input_ids", "attention_mask"])),
        ("tokenizer.json", "type_id", "/post_processor/pair/3/Sequence", json!(0)),
    ] {
        let folder = copied(&models().join("cross_encoder"));
        let path = folder.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut changed: Value = serde_json::from_str(&text).unwrap();
        changed.pointer_mut(place).unwrap()[setting] = value;
        std::fs::write(&path, changed.to_string()).unwrap();
        let said = failure(&["rerank", "-m", folder.path().to_str().unwrap(), "a", "b"], b"", 1);
        let named = place.split('/').nth(1).unwrap_or(setting);
        assert!(said.contains("error[208]") && said.contains(named), "{said}");
    }
}

#[test]
fn families_that_are_not_run_are_refused_by_name() {
    let folder = TempDir::new().unwrap();
    for (kind, said) in [("electra", "electra"), ("deberta", "deberta"), ("umt5", "umt5")] {
        let config = json!({"model_type": kind, "hidden_size": 8});
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let found = failure(&["embed", "-m", folder.path().to_str().unwrap(), "a"], b"", 1);
        assert!(found.contains(said) && found.contains("model_type"), "{found}");
    }
}

#[test]
fn files_that_contradict_each_other_about_the_tokenizer_are_refused() {
    let folder = copied(&models().join("roberta"));
    let path = folder.path().join("tokenizer_config.json");
    let config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let model = folder.path().to_str().unwrap();
    let embed = ["embed", "-m", model, "a"];
    stdout(&embed, "");
    for (name, value) in [
        ("do_lower_case", json!(true)),
        ("add_prefix_space", json!(true)),
        ("truncation_side", json!("left")),
        ("split_special_tokens", json!(true)),
        ("added_tokens_decoder", json!({"100000": {"content": "<new>"}})),
        ("added_tokens_decoder", json!({"0": {"content": "<s>", "lstrip": true}})),
    ] {
        let mut changed = config.clone();
        changed[name] = value;
        std::fs::write(&path, changed.to_string()).unwrap();
        let said = failure(&embed, b"", 1);
        assert!(said.contains("error[208]") && said.contains(name), "{said}");
    }
    // An id of another tokenizer.
    let mut changed = config;
    changed["added_tokens_decoder"] = json!({"9": {"content": "<new>"}});
    std::fs::write(&path, changed.to_string()).unwrap();
    stdout(&embed, "");
}

/// Every family, so that none gives numbers that are none.
#[test]
fn weights_that_are_no_numbers_give_no_vectors() {
    for model in complete() {
        let name = model.file_name().unwrap().to_str().unwrap();
        let folder = copied(&model);
        let weights = folder.path().join("model.safetensors");
        let mut bytes = std::fs::read(&weights).unwrap();
        let header = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let tensors: Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
        let is_float =
            |it: &Value| it["dtype"].as_str().is_some_and(|it| it.starts_with(['F', 'B']));
        for tensor in tensors.as_object().unwrap().values().filter(|it| is_float(it)) {
            let end = |at: usize| usize::try_from(tensor["data_offsets"][at].as_u64().unwrap());
            bytes[8 + header + end(0).unwrap()..8 + header + end(1).unwrap()].fill(0xff);
        }
        std::fs::write(&weights, &bytes).unwrap();
        let path = folder.path().to_str().unwrap();
        let is_ranked = name.contains("rerank") || name.contains("cross");
        let said = match is_ranked {
            true => failure(&["rerank", "-m", path, "question", "a"], b"", 1),
            false => failure(&["embed", "-m", path, "a"], b"", 1),
        };
        assert!(said.contains("error[310]"), "{name}: {said}");
    }
}

/// BERT's class goes by the token, tokenizers by the id.
#[test]
fn ends_of_texts_with_ids_of_other_tokens_are_refused() {
    let folder = copied(&models().join("bert_cased"));
    let path = folder.path().join("tokenizer.json");
    let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for post in [
        json!({"type": "BertProcessing", "sep": ["[SEP]", 5], "cls": ["[CLS]", 6]}),
        json!({
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [6], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [5], "tokens": ["[SEP]"]},
            },
        }),
    ] {
        file["post_processor"] = post;
        std::fs::write(&path, file.to_string()).unwrap();
        let said = failure(&["embed", "-m", folder.path().to_str().unwrap(), "a"], b"", 1);
        assert!(said.contains("tokenizer.json"), "{said}");
    }
}
