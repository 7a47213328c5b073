//! Decoders' folders whose files contradict each other, or whose tokenizer is not what another
//! program makes of it: refused by name.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::decoder_folders::{GEMMA, text};
use crate::{byte_pairs, failure, objects, stdout};

fn change(folder: &TempDir, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.path().join(file);
    let bytes = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
    let mut value: Value = serde_json::from_slice(&bytes).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn ids(folder: &Path, text_of: &str) -> Value {
    objects(&stdout(&["tokenize", "-m", text(folder), "--json", "--", text_of], ""))[0]["ids"]
        .clone()
}

fn refused(folder: &TempDir) -> String {
    failure(&["tokenize", "-m", text(folder.path()), "a text"], b"", 1)
}

#[test]
fn the_template_says_what_stands_around_texts() {
    for (begins, adds) in [(true, false), (false, true)] {
        let (folder, reference) = byte_pairs::folder("smollm", begins, json!({}));
        let token = &reference["added"][0];
        let expected = ids(folder.path(), "they said");
        assert_eq!(expected[0] == token[1], begins);
        for class in ["PreTrainedTokenizerFast", "GPT2Tokenizer", "LlamaTokenizer"] {
            change(&folder, "tokenizer_config.json", |it| {
                *it =
                    json!({"tokenizer_class": class, "bos_token": token[0], "add_bos_token": adds});
            });
            // That class put the token there by its own setting once.
            if class == "LlamaTokenizer" {
                let error = refused(&folder);
                assert!(error.contains("add_bos_token"), "{error}");
            } else {
                assert_eq!(ids(folder.path(), "they said"), expected, "{class}");
            }
        }
    }
}

#[test]
fn settings_that_contradict_tokenizer_json_are_refused() {
    let (folder, _) = byte_pairs::folder("smollm", false, json!({}));
    let word = json!({"content": "they", "lstrip": false, "rstrip": false, "normalized": false, "single_word": false, "special": true});
    for (member, value) in [
        ("added_tokens_decoder", json!({"5000": word})),
        ("additional_special_tokens", json!(["the"])),
        ("pad_token", json!("the")),
        ("split_special_tokens", json!(true)),
        ("add_prefix_space", json!(true)),
    ] {
        change(&folder, "tokenizer_config.json", |it| {
            *it = json!({"tokenizer_class": "GPT2Tokenizer", member: value});
        });
        let error = refused(&folder);
        assert!(error.contains(member) && error.contains("[208]"), "{member}: {error}");
    }
    change(&folder, "tokenizer_config.json", |it| *it = json!({"truncation_side": "left"}));
    ids(folder.path(), "texts are not cut");
    let error = failure(&["embed", "a text", "-m", text(folder.path())], b"", 1);
    assert!(error.contains("truncation_side"), "{error}");
}

#[test]
fn a_tokenizer_json_that_other_programs_read_otherwise_is_refused() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 7] = [
        ("version", |it| it["version"] = json!("2.0")),
        ("member_of_mine", |it| it["member_of_mine"] = json!(1)),
        ("merged twice", |it| {
            let merges = it["model"]["merges"].as_array_mut().unwrap();
            merges.push(merges[0].clone());
        }),
        ("has the id", |it| {
            let added = it["added_tokens"].as_array_mut().unwrap();
            let mut token = added[0].clone();
            token["id"] = json!(added.len() + it["model"]["vocab"].as_object().unwrap().len() + 3);
            token["content"] = json!("<far>");
            it["added_tokens"].as_array_mut().unwrap().push(token);
        }),
        ("normalized", |it| {
            it["added_tokens"][0]["normalized"] = json!(true);
            it["normalizer"] = json!({"type": "NFC"});
        }),
        ("place for the text", |it| {
            it["post_processor"]["single"].as_array_mut().unwrap().pop();
        }),
        ("post_processor.single", |it| {
            it["post_processor"]["single"][1]["Sequence"]["id"] = json!("B");
        }),
    ];
    for (named, of) in changes {
        let (folder, _) = byte_pairs::folder("smollm", true, json!({}));
        ids(folder.path(), "they said");
        change(&folder, "tokenizer.json", of);
        let error = refused(&folder);
        assert!(error.contains(named), "{named}: {error}");
    }
}

#[test]
fn added_tokens_beside_a_sentence_piece_model_are_found_as_their_rules_say() {
    let folder = GEMMA.folder(json!({}));
    let (apart, joined) = ("a <end_of_turn>\t b", "a<end_of_turn>b");
    assert_ne!(ids(folder.path(), apart), ids(folder.path(), joined));
    change(&folder, "tokenizer_config.json", |it| {
        it["added_tokens_decoder"]["5"]["lstrip"] = json!(true);
        it["added_tokens_decoder"]["5"]["rstrip"] = json!(true);
    });
    assert_eq!(ids(folder.path(), apart), ids(folder.path(), joined));
    // Files have no place for rules.
    for name in ["m.amb", "m.weights", "m.gguf"] {
        let out = folder.path().join(name);
        let error = failure(&["convert", text(folder.path()), text(&out)], b"", 1);
        assert!(error.contains("rstrip"), "{name}: {error}");
    }
    for (member, value) in
        [("split_special_tokens", json!(true)), ("additional_special_tokens", json!(["<|more|>"]))]
    {
        let folder = GEMMA.folder(json!({"vocab_size": 1200}));
        change(&folder, "tokenizer_config.json", |it| it[member] = value);
        let error = refused(&folder);
        assert!(error.contains(member), "{error}");
    }
}
