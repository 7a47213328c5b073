//! The tiny models in `tests/data/heads`, which make other vectors than one for a text: sparse ones,
//! and one for each token, as those of sentence-transformers, PyLate and FlagEmbedding.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::families::{TOLERANCE, farthest, lines};
use super::{failure, nanoembed, objects, stdout};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/heads").join(name)
}

/// The expected results of a model.
fn expected(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder(name).join("expected.json")).unwrap()).unwrap()
}

fn rows(name: &str) -> Vec<Value> {
    expected(name)["rows"].as_array().unwrap().clone()
}

/// The lines that `embed` writes for these texts.
fn embedded(model: &Path, further: &[&str], rows: &[Value]) -> Vec<Value> {
    let form = ["embed", "-m", model.to_str().unwrap(), "-i", "jsonl", "--json", "-q"];
    objects(&stdout(&[&form, further].concat(), &lines(rows, &["text"])))
}

/// A copy of a model's folder.
fn copied(name: &str) -> TempDir {
    let scratch = TempDir::new().unwrap();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        fs::create_dir_all(scratch.path().join(&inside)).unwrap();
        for entry in folder(name).join(&inside).read_dir().unwrap().map(Result::unwrap) {
            let path = inside.join(entry.file_name());
            match entry.path().is_dir() {
                true => folders.push(path),
                false => drop(fs::copy(entry.path(), scratch.path().join(path)).unwrap()),
            }
        }
    }
    scratch
}

/// Replaces a part of a file of a copied folder.
fn change(scratch: &TempDir, file: &str, old: &str, new: &str) {
    let path = scratch.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(path, text.replacen(old, new, 1)).unwrap();
}

/// Holds the weights of a sparse vector against the expected ones.
fn check_sparse(found: &Value, row: &Value) {
    let text = &row["text"];
    let indices: Vec<u64> =
        found["indices"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    assert!(indices.is_sorted_by(|a, b| a < b), "{text}: {indices:?}");
    let mut expected: Vec<(u64, f64)> = row["sparse"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, weight)| (id.parse().unwrap(), weight.as_f64().unwrap()))
        .collect();
    expected.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(indices, expected.iter().map(|(id, _)| *id).collect::<Vec<_>>(), "{text}");
    let weights: Vec<f64> = expected.iter().map(|(_, weight)| *weight).collect();
    let apart = farthest(&found["values"], &weights);
    assert!(apart <= TOLERANCE, "{text}: {apart:e}");
}

#[test]
fn sparse_vectors_are_those_of_transformers() {
    for name in ["splade", "splade_distil", "bge_m3_multi"] {
        let rows = rows(name);
        for (found, row) in
            embedded(&folder(name), &["--vectors", "sparse", "--precise"], &rows).iter().zip(&rows)
        {
            assert!(found.get("embedding").is_none(), "{found}");
            check_sparse(&found["sparse"], row);
        }
    }
}

/// The numbers of a file of f32.
fn floats(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it))).collect()
}

/// Holds the vectors of a text's tokens against the expected ones, of `width` numbers each.
fn check_multi(found: &Value, expected: &[f64], width: usize) {
    let vectors = found["embeddings"].as_array().unwrap();
    assert_eq!(vectors.len(), expected.len() / width, "{found}");
    for (vector, expected) in vectors.iter().zip(expected.chunks_exact(width)) {
        assert!(farthest(vector, expected) <= TOLERANCE, "{vector}");
    }
}

/// The texts of ColBERT on one side, and the numbers of each.
fn sided(side: &str) -> Vec<(Value, Vec<f64>)> {
    let (width, all) = (128, floats(&folder("colbert").join("expected.f32")));
    let number = |row: &Value, name: &str| usize::try_from(row[name].as_u64().unwrap()).unwrap();
    let rows = rows("colbert").into_iter().filter(|row| row["kind"] == side);
    let numbers = |row: Value| {
        let (offset, tokens) = (number(&row, "offset"), number(&row, "tokens"));
        let numbers = all[offset * width..(offset + tokens) * width].to_vec();
        (row, numbers)
    };
    rows.map(numbers).collect()
}

/// How the vectors of one side are asked for.
fn multi(side: &str) -> [&str; 5] {
    ["--vectors", "multi", "--precise", "--as", side]
}

#[test]
fn a_text_that_is_cut_is_told_the_length_of_its_side() {
    let (model, text) = (folder("colbert"), "the house ".repeat(100));
    let model = model.to_str().unwrap();
    let said = |side, further: &[&str]| {
        let arguments = [&["embed", &text, "-m", model, "--format", "jsonl"], &multi(side)[..]];
        let assert = nanoembed(&[&arguments.concat(), further].concat()).assert().success();
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    };
    let cut = |tokens, more| {
        format!("warning: only the first {tokens} tokens of the text were used{more}\n")
    };
    // As `query_length` and `document_length` say.
    assert_eq!(said("query", &[]), cut(32, ""));
    assert_eq!(said("document", &[]), cut(96, ""));
    let more = "; `--max-tokens 32` uses as much as the model can";
    assert_eq!(said("query", &["--max-tokens", "16"]), cut(16, more));
    let assert = nanoembed(&["rerank", "-m", model, "x", &text]).assert().success();
    assert_eq!(String::from_utf8_lossy(&assert.get_output().stderr), cut(96, ""));
}

/// Holds the vectors that a model makes against those of ColBERT.
fn check_colbert(model: &Path) {
    for side in ["query", "document"] {
        let expected = sided(side);
        let rows: Vec<Value> = expected.iter().map(|(row, _)| row.clone()).collect();
        let found = embedded(model, &multi(side), &rows);
        for (found, (_, expected)) in found.iter().zip(&expected) {
            check_multi(found, expected, 128);
        }
        // It makes nothing else.
        let usual = embedded(model, &["--precise", "--as", side], &rows);
        assert_eq!(usual, found);
    }
}

#[test]
fn vectors_of_tokens_are_those_of_pylate() {
    check_colbert(&folder("colbert"));
}

#[test]
fn vectors_of_tokens_are_those_of_sentence_transformers() {
    check_colbert(&folder("colbert_st6"));
}

#[test]
fn vectors_of_tokens_are_those_of_colberts_authors() {
    let model = artifact();
    check_colbert(model.path());
    for ending in ["weights", "amb"] {
        let file = model.path().join(format!("model.{ending}"));
        stdout(&["convert", model.path().to_str().unwrap(), file.to_str().unwrap(), "-q"], "");
        check_colbert(&file);
    }
    change(&model, "artifact.metadata", "\"cosine\"", "\"l2\"");
    let said = failure(&["embed", "-m", model.path().to_str().unwrap(), "a"], b"", 1);
    assert!(said.contains("artifact.metadata: `similarity`"), "{said}");
}

/// The model of `colbert` as ColBERT's authors save it: its layer is among the weights of the
/// transformer, and the tokens before texts have other names.
fn artifact() -> TempDir {
    let model = copied("colbert_artifact");
    let bytes = |file: &str| fs::read(folder("colbert").join(file)).unwrap();
    let mut members = serde_json::Map::new();
    let mut data = Vec::new();
    for (file, prefix) in [("model.safetensors", "bert."), ("1_Dense/model.safetensors", "")] {
        let bytes = bytes(file);
        let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
        let (header, own) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
        let header: Value = serde_json::from_slice(header).unwrap();
        for (name, tensor) in
            header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__")
        {
            let mut tensor = tensor.clone();
            for offset in tensor["data_offsets"].as_array_mut().unwrap() {
                *offset = (offset.as_u64().unwrap() + data.len() as u64).into();
            }
            members.insert(format!("{prefix}{name}"), tensor);
        }
        data.extend_from_slice(own);
    }
    let header = serde_json::to_vec(&members).unwrap();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(model.path().join("model.safetensors"), [&length, &header[..], &data].concat())
        .unwrap();
    let tokenizer = String::from_utf8(bytes("tokenizer.json")).unwrap();
    let names = [
        ("[unused0]", "[first]"),
        ("[unused1]", "[second]"),
        ("[Q] ", "[unused0]"),
        ("[D] ", "[unused1]"),
    ];
    let tokenizer = names.iter().fold(tokenizer, |text, (old, new)| text.replace(old, new));
    fs::write(model.path().join("tokenizer.json"), tokenizer).unwrap();
    model
}

#[test]
fn settings_of_modules_for_late_interaction_are_honoured_or_refused_by_name() {
    let (mask, list) = ("2_MultiVectorMask/config.json", "modules.json");
    let transformer = "sentence_bert_config.json";
    let class = "multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask";
    for (file, old, new, expected) in [
        (transformer, "\"token\": null", "\"token\": \"[odd]\"", "query_expansion"),
        (transformer, "\"fixed\"", "\"random\"", "query_expansion"),
        (
            transformer,
            "\"document_length\"",
            "\"query_length\": 8, \"document_length\"",
            "query_length",
        ),
        (
            mask,
            "\"keep_only_token_ids\": null",
            "\"keep_only_token_ids\": [7]",
            "keep_only_token_ids",
        ),
        (mask, "\"document\"", "\"image\"", "skiplist_tasks"),
        (
            list,
            class,
            "multi_vector_encoder.modules.token_pooling.HierarchicalTokenPooling",
            "HierarchicalTokenPooling",
        ),
        (
            "3_Normalize/config.json",
            "\"module_output_name\": \"token_embeddings\"",
            "\"module_output_name\": \"odd\"",
            "module_output_name",
        ),
        ("config_sentence_transformers.json", "\"maxsim\"", "\"meanmaxsim\"", "meanmaxsim"),
        (
            "config_sentence_transformers.json",
            "\"prompts\"",
            "\"query_length\": 32, \"prompts\"",
            "query_prefix",
        ),
    ] {
        let scratch = copied("colbert_st6");
        change(&scratch, file, old, new);
        let model = scratch.path().to_str().unwrap();
        let said = failure(&["embed", "-m", model, "--as", "query", "a"], b"", 1);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let scratch = copied("colbert_st6");
    let text = [serde_json::json!({"text": "a, b!"})];
    let count = |side| {
        let found = embedded(scratch.path(), &["--as", side], &text);
        found[0]["embeddings"].as_array().unwrap().len()
    };
    // [CLS] [Q] a , b ! [SEP], and without punctuation.
    assert_eq!((count("query"), count("document")), (32, 5));
    change(&scratch, transformer, "\"length\": 32", "\"length\": 16");
    assert_eq!(count("query"), 16);
    change(&scratch, transformer, "\"fixed\"", "\"min\"");
    assert_eq!(count("query"), 16);
    change(&scratch, mask, "\"document\"", "\"query\"");
    assert_eq!((count("query"), count("document")), (14, 7));
    change(&scratch, transformer, "\"document_length\": 96", "\"document_length\": 4");
    assert_eq!(count("document"), 4);
    let prompts = "config_sentence_transformers.json";
    change(&scratch, prompts, "\"[D] \"", "\"\"");
    assert_eq!(count("document"), 4);
}

#[test]
fn vectors_of_tokens_are_those_of_flagembedding() {
    let (width, rows) = (32, rows("bge_m3_multi"));
    let numbers = floats(&folder("bge_m3_multi").join("expected_colbert.f32"));
    let mut numbers = numbers.chunks_exact(width);
    let found = embedded(&folder("bge_m3_multi"), &["--vectors", "multi", "--precise"], &rows);
    for (found, row) in found.iter().zip(&rows) {
        let count = usize::try_from(row["colbert_rows"].as_u64().unwrap()).unwrap();
        let expected: Vec<f64> = numbers.by_ref().take(count).flatten().copied().collect();
        check_multi(found, &expected, width);
    }
}

#[test]
fn texts_are_ranked_by_late_interaction() {
    let expected = expected("colbert");
    let texts = |side| sided(side).into_iter().map(|(row, _)| row["text"].clone());
    let (queries, documents): (Vec<Value>, Vec<Value>) =
        (texts("query").collect(), texts("document").collect());
    let pairs: Vec<Value> = queries
        .iter()
        .flat_map(|query| {
            let pair = move |document| serde_json::json!({"query": query, "document": document});
            documents.iter().map(pair)
        })
        .collect();
    let model = folder("colbert");
    let rerank = ["rerank", "-m", model.to_str().unwrap(), "-i", "jsonl", "--json"];
    let found = objects(&stdout(&rerank, &lines(&pairs, &["query", "document"])));
    let sums =
        expected["maxsim"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    assert_eq!(found.len(), 9);
    for (found, sum) in found.iter().zip(sums) {
        // Of 32 vectors.
        let apart = found["score"].as_f64().unwrap() - sum.as_f64().unwrap();
        assert!(
            apart.abs() <= 32.0 * TOLERANCE && found["logit"] == found["score"],
            "{found} {sum}"
        );
    }
    let said = failure(&[&rerank[..], &["--prompt", "x"]].concat(), b"", 2);
    assert!(said.contains("prompt"), "{said}");
}

#[test]
fn questions_and_answers_are_told_apart() {
    let model = folder("colbert");
    let model = model.to_str().unwrap();
    let said = failure(&["embed", "-m", model, "a"], b"", 2);
    assert!(said.contains("--as") && said.contains("document"), "{said}");
    let said = failure(&["embed", "-m", model, "--vectors", "sparse", "a"], b"", 1);
    assert!(said.contains("no sparse vectors") && said.contains("multi"), "{said}");
    let said = failure(&["embed", "-m", model, "--as", "query", "--dtype", "f16", "a"], b"", 2);
    assert!(said.contains("--dtype"), "{said}");
    let text = stdout(&["embed", "-m", model, "--as", "query", "a", "b"], "");
    let counts: Vec<usize> = text.lines().map(|line| line.split_whitespace().count()).collect();
    let one = [vec![128; 32], vec![0]].concat();
    assert_eq!(counts, [one.clone(), one].concat());
}

#[test]
fn settings_of_late_interaction_are_honoured_or_refused_by_name() {
    let settings = "config_sentence_transformers.json";
    for (file, old, new, expected) in [
        (settings, "\"[Q] \"", "\"[odd] \"", "query_prefix"),
        (settings, "\"query_length\": 32", "\"query_length\": 2", "query_length"),
        (settings, "\"skiplist_words\": [", "\"skiplist_words\": [1, ", "skiplist_words"),
        ("1_Dense/config.json", "\"bias\"", "\"use_residual\": true, \"bias\"", "use_residual"),
        ("modules.json", "pylate.models", "odd.models", "odd.models"),
        (
            "tokenizer_config.json",
            "\"mask_token\": \"[MASK]\"",
            "\"mask_token\": \"[odd]\"",
            "mask_token",
        ),
    ] {
        let scratch = copied("colbert");
        change(&scratch, file, old, new);
        let model = scratch.path().to_str().unwrap();
        let said = failure(&["embed", "-m", model, "--as", "query", "a"], b"", 1);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let scratch = copied("colbert");
    let text = [serde_json::json!({"text": "a, b!"})];
    let count = |side| {
        let found = embedded(scratch.path(), &["--as", side], &text);
        found[0]["embeddings"].as_array().unwrap().len()
    };
    // [CLS] [Q] a , b ! [SEP], and without punctuation.
    assert_eq!((count("query"), count("document")), (32, 5));
    change(&scratch, settings, "\"do_query_expansion\": true", "\"do_query_expansion\": false");
    assert_eq!(count("query"), 7);
    change(&scratch, settings, "\"query_length\": 32", "\"query_length\": 4");
    assert_eq!(count("query"), 4);
    change(&scratch, settings, "\"[D] \"", "\"\"");
    assert_eq!(count("document"), 4);
}

#[test]
fn a_model_makes_what_it_is_made_for() {
    let splade = folder("splade");
    let [one, ..] = &rows("splade")[..] else { panic!("no row") };
    let found = embedded(&splade, &[], std::slice::from_ref(one));
    check_sparse(&found[0]["sparse"], one);
    let model = splade.to_str().unwrap();
    let said = failure(&["embed", "-m", model, "--vectors", "dense", "a"], b"", 1);
    assert!(said.contains("no dense vectors") && said.contains("sparse"), "{said}");
    let said = failure(&["search", "-m", model, "a", "-", "--vectors", "dense"], b"a\n", 1);
    assert!(said.contains("no dense vectors"), "{said}");
    let (bge, rows) = (folder("bge_m3_multi"), rows("bge_m3_multi"));
    let width = 32;
    let numbers = fs::read(bge.join("expected.f32")).unwrap();
    let numbers = numbers.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it)));
    let numbers: Vec<f64> = numbers.collect();
    for (found, expected) in
        embedded(&bge, &["--precise"], &rows).iter().zip(numbers.chunks_exact(width))
    {
        assert!(farthest(&found["embedding"], expected) <= TOLERANCE, "{found}");
        assert!(found.get("sparse").is_none());
    }
}

#[test]
fn sparse_vectors_are_told_by_their_tokens() {
    let model = folder("splade");
    let [row, ..] = &rows("splade")[..] else { panic!("no row") };
    let found = embedded(&model, &["--pieces"], std::slice::from_ref(row));
    let vocabulary = fs::read_to_string(model.join("tokenizer.json")).unwrap();
    let vocabulary: Value = serde_json::from_str(&vocabulary).unwrap();
    let sparse = &found[0]["sparse"];
    let pieces = sparse["pieces"].as_array().unwrap();
    for (piece, id) in pieces.iter().zip(sparse["indices"].as_array().unwrap()) {
        assert_eq!(&vocabulary["model"]["vocab"][piece.as_str().unwrap()], id);
    }
    let text = row["text"].as_str().unwrap();
    let line = stdout(&["embed", "-m", model.to_str().unwrap(), text], "");
    let weights: Vec<f64> =
        line.split_whitespace().map(|it| it.rsplit_once(':').unwrap().1.parse().unwrap()).collect();
    assert_eq!(weights.len(), pieces.len());
    assert!(weights.is_sorted_by(|a, b| a >= b), "{line}");
}

#[test]
fn what_sparse_vectors_are_not_is_refused() {
    let out = TempDir::new().unwrap();
    let file = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let model = folder("splade");
    let model = model.to_str().unwrap();
    let bge = folder("bge_m3_multi");
    let bge = ["embed", "-m", bge.to_str().unwrap(), "--vectors", "sparse", "a"];
    let refused = |arguments: &[&str], code, expected: &str| {
        let said = failure(arguments, b"", code);
        assert!(said.contains(expected), "{said}");
    };
    refused(&["embed", "-m", model, "-o", &file("x.npy"), "a"], 2, "dense");
    refused(&["embed", "-m", model, "--dtype", "int8", "a"], 2, "--dtype");
    refused(&["embed", "-m", model, "--truncate-dim", "4", "a"], 2, "dense");
    refused(&["embed", "-m", model, "--normalize", "a"], 2, "dense");
    refused(&["embed", "--vectors", "sparse", "a"], 1, "dense");
    refused(&["embed", "--pieces", "a"], 2, "--pieces");
    refused(&[&bge[..], &["--truncate-dim", "4"]].concat(), 2, "dense");
    assert_eq!(out.path().read_dir().unwrap().count(), 0);
}

#[test]
fn settings_of_sparse_models_are_refused_by_name() {
    let pooling = "1_SpladePooling/config.json";
    for (file, old, new, expected) in [
        (pooling, "\"max\"", "\"mean\"", "pooling_strategy"),
        (pooling, "\"relu\"", "\"gelu\"", "activation_function"),
        (pooling, "\"pooling_strategy\"", "\"odd\": 1, \"pooling_strategy\"", "odd"),
        ("modules.json", "MLMTransformer", "Transformer", "fill-mask"),
        ("modules.json", "models.SpladePooling", "models.SparseAutoEncoder", "SparseAutoEncoder"),
        ("config.json", "\"gelu\"", "\"gelu_new\"", "hidden_act"),
        ("config.json", "\"vocab_size\": 900", "\"vocab_size\": 901", "word_embeddings"),
        (
            "config.json",
            "\"tie_word_embeddings\": true",
            "\"tie_word_embeddings\": false",
            "cls.predictions.decoder.weight",
        ),
    ] {
        let scratch = copied("splade");
        change(&scratch, file, old, new);
        let said = failure(&["embed", "-m", scratch.path().to_str().unwrap(), "a"], b"", 1);
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn pickled_layers_are_named_and_dense_vectors_stay() {
    let scratch = copied("bge_m3_multi");
    let model = scratch.path().to_str().unwrap();
    fs::remove_file(scratch.path().join("sparse_linear.safetensors")).unwrap();
    let sparse = ["embed", "-m", model, "--vectors", "sparse", "a"];
    let said = failure(&sparse, b"", 1);
    assert!(said.contains("no sparse vectors") && !said.contains(".pt"), "{said}");
    fs::write(scratch.path().join("sparse_linear.pt"), "PK").unwrap();
    let said = failure(&sparse, b"", 1);
    assert!(said.contains("sparse_linear.pt") && said.contains("save_file"), "{said}");
    stdout(&["embed", "-m", model, "a"], "");
}

#[test]
fn one_file_has_the_heads_of_the_folder() {
    let out = TempDir::new().unwrap();
    for name in ["splade", "splade_distil", "bge_m3_multi"] {
        let rows = rows(name);
        let sparse = ["--vectors", "sparse", "--precise"];
        let expected = embedded(&folder(name), &sparse, &rows);
        for ending in ["weights", "amb"] {
            let file = out.path().join(format!("{name}.{ending}"));
            let paths = [folder(name), file.clone()].map(|it| it.to_str().unwrap().to_owned());
            stdout(&["convert", &paths[0], &paths[1], "--type", "f32"], "");
            stdout(&["verify", "--strict", &paths[1]], "");
            assert_eq!(embedded(&file, &sparse, &rows), expected, "{name}.{ending}");
            stdout(&["convert", &paths[0], &paths[1], "--type", "int8"], "");
            assert_eq!(embedded(&file, &sparse, &rows).len(), rows.len());
        }
        let quantized = out.path().join(name).join("model-0.uqff");
        fs::create_dir(quantized.parent().unwrap()).unwrap();
        let paths = [folder(name), quantized.clone()].map(|it| it.to_str().unwrap().to_owned());
        stdout(&["quantize", &paths[0], &paths[1], "--type", "q8_0"], "");
        assert_eq!(embedded(&quantized, &sparse, &rows).len(), rows.len());
        let gguf = out.path().join("x.gguf");
        let from = folder(name);
        let said = failure(&["convert", from.to_str().unwrap(), gguf.to_str().unwrap()], b"", 1);
        assert!(said.contains("sparse"), "{name}: {said}");
    }
}

#[test]
fn one_file_has_the_vectors_of_tokens_of_the_folder() {
    let out = TempDir::new().unwrap();
    for name in ["colbert", "bge_m3_multi"] {
        let rows = rows(name);
        let how: &[&str] = match name {
            "colbert" => &multi("query"),
            _ => &["--vectors", "multi", "--precise"],
        };
        let expected = embedded(&folder(name), how, &rows);
        for ending in ["weights", "amb"] {
            let file = out.path().join(format!("{name}.{ending}"));
            let paths = [folder(name), file.clone()].map(|it| it.to_str().unwrap().to_owned());
            stdout(&["convert", &paths[0], &paths[1], "--type", "f32"], "");
            stdout(&["verify", "--strict", &paths[1]], "");
            assert_eq!(embedded(&file, how, &rows), expected, "{name}.{ending}");
        }
        let quantized = out.path().join(name).join("model-0.uqff");
        fs::create_dir(quantized.parent().unwrap()).unwrap();
        let paths = [folder(name), quantized.clone()].map(|it| it.to_str().unwrap().to_owned());
        stdout(&["quantize", &paths[0], &paths[1], "--type", "q8_0"], "");
        assert_eq!(embedded(&quantized, how, &rows).len(), rows.len());
        let gguf = out.path().join("x.gguf");
        let from = folder(name);
        failure(&["convert", from.to_str().unwrap(), gguf.to_str().unwrap()], b"", 1);
    }
}

#[test]
fn pieces_of_sparse_vectors_are_not_cut() {
    let out = TempDir::new().unwrap();
    let pruned = out.path().join("pruned");
    let to = pruned.to_str().unwrap();
    let prune = |name: &str| {
        let model = folder(name);
        ["prune-vocabulary", "-m", model.to_str().unwrap(), "-o", to, "hello world"]
            .map(ToOwned::to_owned)
    };
    let arguments = prune("splade");
    let said = failure(&arguments.each_ref().map(|it| &**it), b"", 1);
    assert!(said.contains("sparse vectors"), "{said}");
    // A token of the text has a weight whatever the vocabulary has beside it.
    stdout(&prune("bge_m3_multi").each_ref().map(|it| &**it), "");
    let texts = [serde_json::json!({"text": "hello world"})];
    let sparse = ["--vectors", "sparse", "--precise", "--pieces"];
    let weights = |model: &Path| {
        let found = embedded(model, &sparse, &texts)[0]["sparse"].clone();
        (found["pieces"].clone(), found["values"].clone())
    };
    assert_eq!(weights(&pruned), weights(&folder("bge_m3_multi")));
}
