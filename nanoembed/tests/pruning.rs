//! Vocabularies cut to texts: the texts keep their pieces and their vectors bit by bit, with every
//! kind of tokenizer and in every family.

use std::path::{Path, PathBuf};

use nanoembed::convert::{Conversion, ModelTarget, Pruned, Pruning};
use nanoembed::{CrossEncoder, Encoder, Kind, Prefix, Silent, Tokenizer};
use nanoembed_core::ErrorKind;
use serde_json::Value;
use tempfile::TempDir;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models")
}

/// The folders of the models that have all of their files.
fn folders() -> Vec<PathBuf> {
    let entries = models().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_whole = |folder: &PathBuf| {
        let has = |name| folder.join(name).exists();
        has("model.safetensors") && has("config.json") && !has("chat_template.jinja")
    };
    let mut folders: Vec<PathBuf> = entries.filter(is_whole).collect();
    folders.sort();
    folders
}

const TEXTS: [&str; 7] = [
    "How do I reset my password?",
    "Wie setze ich mein Passwort zurück? Straße, naïve, Œuvre.",
    "The weather is lovely today, isn't it…  42 % of 1,000!",
    "привет, мир; Γειά σου",
    "\u{1f600} \u{fdfa} \u{13000}\tx\u{301}\n",
    "",
    "unaffable retokenization antidisestablishmentarianism",
];

fn pruned(folder: &Path, texts: &[&str]) -> (TempDir, PathBuf, Pruned) {
    let out = TempDir::new().unwrap();
    let target = out.path().join("pruned");
    let mut pruning = Pruning::open(folder).unwrap();
    // In parts, as a program reads them.
    texts.chunks(2).for_each(|texts| pruning.read(texts).unwrap());
    let measured = pruning.measure().unwrap();
    let done = pruning.write(&target, &Silent).unwrap();
    assert_eq!(measured, done);
    (out, target, done)
}

/// The pieces of a text.
fn pieces(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode(text, None).unwrap().ids;
    ids.iter().map(|id| tokenizer.token(*id).unwrap()).collect()
}

/// The prompts of a model, and nothing.
fn prompts(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("config_sentence_transformers.json"));
    let config: Value = text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
    let prompts = config["prompts"].as_object().into_iter().flatten();
    let prompts = prompts.map(|(_, prompt)| prompt.as_str().unwrap().to_owned());
    prompts.chain([String::new()]).collect()
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}

/// Compares what `before` and `after` compute from `texts`.
fn assert_same_vectors(before: &Path, after: &Path, texts: &[&str]) {
    if let (Ok(before), Ok(after)) = (CrossEncoder::open(before), CrossEncoder::open(after)) {
        for document in texts {
            let score = |model: &CrossEncoder| model.score(texts[0], document).unwrap().logits;
            assert_eq!(bits(&score(&before)), bits(&score(&after)), "{document}");
        }
        return;
    }
    for prompt in prompts(before) {
        let open = |folder: &Path| {
            Encoder::options().prompt(Prefix::Text(prompt.clone())).open(folder).unwrap()
        };
        let (before, after) = (open(before), open(after));
        for text in texts {
            let embed = |model: &Encoder| bits(&model.embed(text).unwrap());
            assert_eq!(embed(&before), embed(&after), "{prompt:?} {text:?}");
        }
    }
}

#[test]
fn texts_keep_their_pieces_and_their_vectors() {
    let mut cut = 0;
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let (_out, target, done) = pruned(&folder, &TEXTS);
        assert!(done.pieces <= done.pieces_before && done.rare == 0, "{name}: {done:?}");
        cut += usize::from(done.pieces < done.pieces_before * 9 / 10);
        let (before, after) =
            (Tokenizer::open(&folder).unwrap(), Tokenizer::open(&target).unwrap());
        for prompt in prompts(&folder) {
            for text in TEXTS.map(|text| format!("{prompt}{text}")) {
                assert_eq!(pieces(&before, &text), pieces(&after, &text), "{name}: {text:?}");
            }
        }
        assert_same_vectors(&folder, &target, &TEXTS);
        // What stays is what the same texts need of the result.
        let again = pruned(&target, &TEXTS).2;
        assert_eq!((again.pieces, again.pieces_before), (done.pieces, done.pieces), "{name}");
    }
    assert!(cut > 10, "{cut} vocabularies were cut");
}

#[test]
fn tokens_that_a_reranker_names_are_not_cut() {
    for name in ["qwen3_reranker", "qwen3_reranker_seqcls_st6"] {
        let refused = Pruning::open(models().join(name)).unwrap_err();
        assert_eq!(refused.kind(), Kind::Core(ErrorKind::UnsupportedSetting), "{name}");
        assert!(refused.to_string().contains("chat template"), "{refused}");
    }
}

#[test]
fn each_text_alone_keeps_its_pieces() {
    for folder in folders() {
        let before = Tokenizer::open(&folder).unwrap();
        for text in TEXTS {
            let (_out, target, _) = pruned(&folder, &[text]);
            let after = Tokenizer::open(&target).unwrap();
            assert_eq!(pieces(&before, text), pieces(&after, text), "{}", folder.display());
        }
    }
}

/// A word of the texts' scripts that is cut into known pieces stays known, whatever it is.
#[test]
fn other_words_of_the_same_scripts_stay_known() {
    for folder in folders() {
        let (_out, target, _) = pruned(&folder, &TEXTS);
        let (before, after) =
            (Tokenizer::open(&folder).unwrap(), Tokenizer::open(&target).unwrap());
        let unknown = |tokenizer: &Tokenizer, text: &str| {
            let pieces = pieces(tokenizer, text);
            pieces.iter().filter(|piece| ["[UNK]", "<unk>"].contains(&&***piece)).count()
        };
        for text in [
            "Quixotic jabberwocky zephyrs",
            "übermäßig kräftige Äxte",
            "Щука съела жука",
            "ΨΩ ξύλο",
        ] {
            assert_eq!(
                unknown(&before, text),
                unknown(&after, text),
                "{}: {text}",
                folder.display()
            );
        }
    }
}

#[test]
fn rare_pieces_go_where_that_is_asked_for() {
    let folder = models().join("xlmr_bge_m3");
    let texts = ["password password password", "password weather", "password"];
    let prune = |min_count| {
        let mut pruning = Pruning::open(&folder).unwrap().min_count(min_count);
        pruning.read(&texts).unwrap();
        pruning.measure().unwrap()
    };
    let (all, often) = (prune(1), prune(4));
    assert!(all.rare == 0 && often.rare > 0 && often.pieces < all.pieces, "{all:?} {often:?}");
}

/// Copies a model's files.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to.join(name)),
            false if name.starts_with("expected") => {}
            false => drop(std::fs::copy(entry.path(), to.join(name)).unwrap()),
        }
    }
}

/// BERT's files without a `tokenizer.json`.
#[test]
fn a_vocabulary_of_lines_keeps_the_lines_that_are_needed() {
    let folder = models().join("bert_max_pool");
    let copy = TempDir::new().unwrap();
    copy_folder(&folder, copy.path());
    let json = copy.path().join("tokenizer.json");
    let tokenizer: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    std::fs::remove_file(&json).unwrap();
    let ids = tokenizer["model"]["vocab"].as_object().unwrap();
    let mut lines: Vec<_> = ids.iter().map(|(token, id)| (id.as_u64().unwrap(), token)).collect();
    lines.sort();
    let lines: String = lines.iter().map(|(_, token)| format!("{token}\n")).collect();
    std::fs::write(copy.path().join("vocab.txt"), &lines).unwrap();
    let (_out, target, done) = pruned(copy.path(), &TEXTS);
    let left = std::fs::read_to_string(target.join("vocab.txt")).unwrap();
    assert!(done.pieces < done.pieces_before && left.lines().count() == done.pieces);
    assert_same_vectors(copy.path(), &target, &TEXTS);
}

/// Without `modules.json` a model's pooling is where it usually is.
#[test]
fn the_pooling_stays_where_nothing_lists_the_modules() {
    let copy = TempDir::new().unwrap();
    copy_folder(&models().join("bert_max_pool"), copy.path());
    std::fs::remove_file(copy.path().join("modules.json")).unwrap();
    let (_out, target, done) = pruned(copy.path(), &TEXTS);
    assert!(done.left_out.is_empty(), "{:?}", done.left_out);
    assert_same_vectors(copy.path(), &target, &TEXTS);
}

/// Every file that has ids names the same tokens as before, and none has ids that are gone.
#[test]
fn ids_are_renumbered_in_all_files() {
    let folder = models().join("roberta");
    let copy = TempDir::new().unwrap();
    copy_folder(&folder, copy.path());
    let before = Tokenizer::open(&folder).unwrap();
    let last = before.encode("</s>", None).unwrap().ids[1];
    let generation = format!(r#"{{"eos_token_id": [{last}, 70], "bos_token_id": 99999}}"#);
    std::fs::write(copy.path().join("generation_config.json"), generation).unwrap();
    std::fs::write(copy.path().join("pytorch_model.bin"), "").unwrap();
    std::fs::write(copy.path().join("merges.txt"), "").unwrap();
    std::fs::create_dir(copy.path().join("onnx")).unwrap();
    let (_out, target, done) = pruned(copy.path(), &["How do I reset my password?"]);
    assert_eq!(done.left_out, ["merges.txt", "onnx/", "pytorch_model.bin"]);
    let read = |folder: &Path, name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let config = read(&target, "config.json");
    assert_eq!(config["vocab_size"], done.pieces);
    let after = Tokenizer::open(&target).unwrap();
    let token = |tokenizer: &Tokenizer, id: &Value| {
        tokenizer.token(u32::try_from(id.as_u64().unwrap()).unwrap())
    };
    for name in ["pad_token_id", "bos_token_id", "eos_token_id"] {
        let was = &read(copy.path(), "config.json")[name];
        assert_eq!(token(&after, &config[name]), token(&before, was), "{name}");
    }
    let said = read(&target, "generation_config.json");
    assert_eq!(token(&after, &said["eos_token_id"][0]).as_deref(), Some("</s>"));
    assert_eq!(token(&after, &said["eos_token_id"][1]), before.token(70));
    assert_eq!(said["bos_token_id"], 99999);
    let tokenizer = read(&target, "tokenizer.json");
    for added in tokenizer["added_tokens"].as_array().unwrap() {
        assert_eq!(token(&after, &added["id"]).as_deref(), added["content"].as_str());
    }
    let decoder = read(&target, "tokenizer_config.json")["added_tokens_decoder"].clone();
    for (id, added) in decoder.as_object().into_iter().flatten() {
        assert_eq!(after.token(id.parse().unwrap()).as_deref(), added["content"].as_str());
    }
}

/// As multilingual-e5-small has it: transformers would give another id to a token that is gone.
#[test]
fn tokens_that_only_the_settings_name_stay() {
    const MASK: &str = "<mask>";
    let folder = models().join("xlmr_bge_m3");
    let copy = TempDir::new().unwrap();
    copy_folder(&folder, copy.path());
    let is_there = |folder: &Path, token: &str| {
        let tokenizer = Tokenizer::open(folder).unwrap();
        (0..2000).any(|id| tokenizer.token(id).as_deref() == Some(token))
    };
    let change = |file: &str, change: &dyn Fn(&mut Value)| {
        let path = copy.path().join(file);
        let mut json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut json);
        std::fs::write(&path, json.to_string()).unwrap();
    };
    // A piece like others, as far as `tokenizer.json` says.
    change("tokenizer.json", &|file| {
        let added = file["added_tokens"].as_array_mut().unwrap();
        added.retain(|token| token["content"] != MASK);
    });
    let files = ["tokenizer_config.json", "special_tokens_map.json"];
    for file in files {
        change(file, &|names| {
            names
                .as_object_mut()
                .unwrap()
                .retain(|name, _| name != "mask_token" && name != "added_tokens_decoder");
        });
    }
    let (_out, target, done) = pruned(copy.path(), &["password"]);
    assert!(!is_there(&target, MASK));
    for file in files {
        change(file, &|names| names["mask_token"] = MASK.into());
    }
    let (_out, target, more) = pruned(copy.path(), &["password"]);
    assert!(is_there(&target, MASK) && more.pieces == done.pieces + 1);
}

#[test]
fn a_folder_becomes_a_file_afterwards() {
    let (out, target, _) = pruned(&models().join("xlmr_bge_m3"), &TEXTS);
    for (name, form) in [("m.weights", ModelTarget::Weights), ("m.amb", ModelTarget::Amb)] {
        let file = out.path().join(name);
        Conversion::new(&target, &file).to(form).run(&Silent).unwrap();
        let (file, folder) = (Encoder::open(&file).unwrap(), Encoder::open(&target).unwrap());
        assert_eq!(bits(&file.embed(TEXTS[1]).unwrap()), bits(&folder.embed(TEXTS[1]).unwrap()));
    }
}

#[test]
fn what_cannot_be_pruned_is_refused_and_nothing_is_replaced() {
    let refused = |path: &Path| Pruning::open(path).unwrap_err();
    let file = models().join("roberta/model.safetensors");
    assert!(refused(&file).hint().unwrap().contains("convert"));
    assert_eq!(refused(Path::new("no such folder")).code(), 501);
    let mut pruning = Pruning::open(models().join("roberta")).unwrap();
    let out = TempDir::new().unwrap();
    assert_eq!(pruning.write(out.path().join("x"), &Silent).unwrap_err().kind(), Kind::Usage);
    pruning.read(&TEXTS).unwrap();
    std::fs::write(out.path().join("mine"), "kept").unwrap();
    assert!(Pruning::check_output(out.path()).is_err());
    assert!(pruning.write(out.path(), &Silent).is_err());
    assert!(pruning.write(out.path().join("mine"), &Silent).is_err());
    assert_eq!(std::fs::read_to_string(out.path().join("mine")).unwrap(), "kept");
    let empty = out.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    pruning.write(&empty, &Silent).unwrap();
    Encoder::open(&empty).unwrap();
    let names: Vec<_> = out.path().read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
