//! Every way from one form of a model to another: OUT gives what IN gives, or the program says why
//! there is no OUT.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use crate::tiny_model::TinyModel;
use crate::{byte_pairs, nanoembed, numbers, objects, stdout};

/// What becomes of a way.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// OUT gives the same as IN.
    Same,
    /// OUT has the weights alone, as IN has no settings in files; the program warns.
    Alone,
    /// Exit status 1, and the reason has these words.
    Refused(&'static str),
}
use Outcome::{Alone, Refused, Same};

/// A command and the ending of what it writes.
type Way = (&'static str, &'static str);

const WEIGHTS: Way = ("convert", "m.weights");
const AMB: Way = ("convert", "m.amb");
const GGUF: Way = ("migrate", "m.gguf");
const SMALL_GGUF: Way = ("quantize", "m.gguf");
const UQFF: Way = ("migrate", "m-0.uqff");
const SAFETENSORS: Way = ("migrate", "m.safetensors");

/// The file that a way makes of `input`, in a folder of its own, and what the program says; `None`
/// if it refuses.
fn made(input: &Path, folder: &Path, (command, output): Way) -> (Option<PathBuf>, String) {
    fs::create_dir_all(folder).unwrap();
    let output = folder.join(output);
    let mut arguments = vec![command, input.to_str().unwrap(), output.to_str().unwrap()];
    if command == "quantize" {
        arguments.extend(["--type", "f32"]);
    }
    let run = nanoembed(&arguments).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    match run.status.code() {
        Some(0) => (Some(output), said),
        status => {
            assert_eq!(status, Some(1), "{arguments:?}: {said}");
            assert!(!output.exists(), "{arguments:?}");
            (None, said)
        }
    }
}

/// Goes all ways from all forms that the folder has been brought to.
fn check(
    folder: &Path,
    ways: &[(&str, &[(Way, Outcome)])],
    give_the_same: impl Fn(&Path, &Path) -> bool,
) {
    let work = tempfile::TempDir::new().unwrap();
    let source = |form: &str| {
        let way = match form {
            "folder" => return folder.to_owned(),
            "weights" => WEIGHTS,
            "amb" => AMB,
            "gguf" => GGUF,
            "uqff" => UQFF,
            _ => SAFETENSORS,
        };
        let (made, said) = made(folder, &work.path().join(form), way);
        made.unwrap_or_else(|| panic!("{form}: {said}"))
    };
    for (from, ways) in ways {
        let input = source(from);
        for (number, (way, outcome)) in ways.iter().enumerate() {
            let into = work.path().join(format!("{from}-{number}"));
            let (output, said) = made(&input, &into, *way);
            let label = format!("{from} {way:?}: {said}");
            match (outcome, output) {
                (Same, Some(output)) => assert!(give_the_same(folder, &output), "{label}"),
                (Alone, Some(_)) => assert!(said.contains("the weights alone"), "{label}"),
                (Refused(why), None) => assert!(said.contains(why), "{label}"),
                (outcome, output) => panic!("{label}: {outcome:?} expected, not {output:?}"),
            }
        }
    }
}

#[test]
fn encoders_give_the_same_in_every_form_or_are_refused() {
    let no_layer = "nothing here is a layer that UQFF could hold";
    let names = "not for `bert`";
    let tiny = TinyModel::new();
    let settings: &[(Way, Outcome)] = &[
        (WEIGHTS, Same),
        (AMB, Same),
        (GGUF, Same),
        (SMALL_GGUF, Same),
        (UQFF, Refused(no_layer)),
        (SAFETENSORS, Same),
    ];
    let own = [
        (WEIGHTS, Same),
        (AMB, Same),
        (GGUF, Same),
        (SMALL_GGUF, Same),
        (UQFF, Refused(no_layer)),
        (SAFETENSORS, Alone),
    ];
    let gguf = [
        (WEIGHTS, Same),
        (AMB, Same),
        (GGUF, Same),
        (SMALL_GGUF, Same),
        (UQFF, Refused(names)),
        (SAFETENSORS, Refused(names)),
    ];
    let ways: [(&str, &[_]); 5] = [
        ("folder", settings),
        ("safetensors", settings),
        ("weights", &own),
        ("amb", &own),
        ("gguf", &gguf),
    ];
    let embedding = |model: &Path| {
        let arguments =
            ["embed", "-m", model.to_str().unwrap(), "--format", "jsonl", "hello world"];
        numbers(&objects(&stdout(&arguments, ""))[0]["embedding"])
    };
    check(tiny.path(), &ways, |source, output| {
        let (source, output) = (embedding(source), embedding(output));
        source.len() == output.len()
            && source.iter().zip(&output).all(|(a, b)| (a - b).abs() < 1e-5)
    });
}

#[test]
fn decoders_give_the_same_in_every_form_or_are_refused() {
    let (folder, _) = byte_pairs::folder("smollm", true, json!({}));
    let sizes = "GGUF wants to know the sizes of the model";
    let settings: &[(Way, Outcome)] = &[
        (WEIGHTS, Same),
        (AMB, Same),
        (GGUF, Same),
        (SMALL_GGUF, Same),
        (UQFF, Same),
        (SAFETENSORS, Same),
    ];
    let own = [
        (WEIGHTS, Refused("a decoder in a `.")),
        (AMB, Refused("a decoder in a `.")),
        (GGUF, Refused(sizes)),
        (SMALL_GGUF, Refused(sizes)),
        (UQFF, Alone),
        (SAFETENSORS, Alone),
    ];
    let gguf = [
        (WEIGHTS, Same),
        (AMB, Same),
        (GGUF, Same),
        (SMALL_GGUF, Same),
        (UQFF, Alone),
        (SAFETENSORS, Alone),
    ];
    let ways: [(&str, &[_]); 6] = [
        ("folder", settings),
        ("safetensors", settings),
        ("uqff", settings),
        ("weights", &own),
        ("amb", &own),
        ("gguf", &gguf),
    ];
    let texts = |model: &Path| {
        let model = model.to_str().unwrap();
        let length = ["--temperature", "0", "--max-tokens", "6", "hello there"];
        let mut continued = nanoembed(&[&["generate", "-m", model][..], &length].concat());
        let tokens = stdout(&["tokenize", "-m", model, "hello 1234 there"], "");
        (continued.output().unwrap().stdout, tokens)
    };
    check(folder.path(), &ways, |source, output| texts(source) == texts(output));
}

#[test]
fn what_gguf_is_not_told_of_is_refused_by_name() {
    let refused = |further: serde_json::Value, why: &str| {
        let (folder, _) = byte_pairs::folder("smollm", true, further);
        let into = tempfile::TempDir::new().unwrap();
        let (made, said) = made(folder.path(), into.path(), GGUF);
        assert!(made.is_none() && said.contains(why), "{why}: {said}");
    };
    refused(json!({"hidden_act": "gelu"}), "hidden_act");
    refused(json!({"rope_parameters": {"rope_type": "turning"}}), "turning");
    refused(json!({"model_type": "gemma"}), "not for `gemma`");
    let (folder, _) = byte_pairs::folder("smollm", true, json!({}));
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let into = tempfile::TempDir::new().unwrap();
    let (made, said) = made(folder.path(), into.path(), GGUF);
    assert!(made.is_none() && said.contains("tokenizer"), "{said}");
}

/// The rotary base of transformers 5 is in a member of its own.
#[test]
fn a_base_in_rope_parameters_is_the_one_in_gguf() {
    let parameters = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}});
    let (folder, _) = byte_pairs::folder("smollm", true, parameters);
    let into = tempfile::TempDir::new().unwrap();
    let (made, said) = made(folder.path(), into.path(), GGUF);
    let made = made.unwrap_or_else(|| panic!("{said}"));
    let told = stdout(&["inspect", "--json", made.to_str().unwrap()], "");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["metadata"]["llama.rope.freq_base"], json!(500_000.0));
}

/// Some files have an output although `tie_word_embeddings` says that it is the embeddings;
/// transformers does not use it.
#[test]
fn an_output_that_is_tied_is_not_taken_from_the_file() {
    let (tied, _) = byte_pairs::folder("smollm", true, json!({}));
    let (stored, _) = byte_pairs::folder("smollm", true, json!({}));
    let weights = stored.path().join("model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<(String, TensorView<'_>)> = tensors.tensors();
    let (_, embeddings) = tensors.iter().find(|(name, _)| name.contains("embed_tokens")).unwrap();
    let other: Vec<u8> = embeddings.data().chunks_exact(4).rev().flatten().copied().collect();
    let output = TensorView::new(Dtype::F32, embeddings.shape().to_vec(), &other).unwrap();
    tensors.push(("lm_head.weight".to_owned(), output));
    fs::write(&weights, safetensors::serialize(tensors, None).unwrap()).unwrap();
    let said = |model: &Path| {
        let model = model.to_str().unwrap();
        let length = ["--temperature", "0", "--max-tokens", "6", "hello there", "--json"];
        stdout(&[&["generate", "-m", model][..], &length].concat(), "")
    };
    let expected = said(tied.path());
    assert_eq!(said(stored.path()), expected);
    let work = tempfile::TempDir::new().unwrap();
    for (number, way) in [WEIGHTS, AMB, GGUF, SMALL_GGUF, UQFF, SAFETENSORS].iter().enumerate() {
        let (file, why) = made(stored.path(), &work.path().join(number.to_string()), *way);
        assert_eq!(said(&file.expect(&why)), expected, "{way:?}");
    }
}
