//! Transformers of all families in lent memory through C: the bits of models on the heap, in exactly
//! the memory that was planned.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::score::nanoembed_score;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenize::nanoembed_tokenize;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// Folders under `tests/data/models` whose `.weights` file keeps their texts.
const FOLDERS: [&str; 12] = [
    "bert_max_pool",
    "distilbert",
    "embeddinggemma",
    "eurobert",
    "gte",
    "jina_v3",
    "modernbert_mean",
    "mpnet",
    "nomic_bert",
    "qwen3_embedding",
    "roberta",
    "xlmr_bge_m3",
];

/// Texts that tokenizers stumble over.
const TEXTS: [&str; 8] = [
    "",
    "How do I reset my password?",
    "  HÉLLO,\u{a0}wörld\u{200b}! 中国 \u{301}x ",
    "[SEP] [CLS]x[MASK] [PAD][UNK] [unk]",
    "<s>a</s> <mask>  b <MASK>x<pad> <unk>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
    "각 İI ﬁ ½ ß Σας\r\n\tx",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen one two \
     three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen one two three \
     four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models").join(name)
}

/// Another one each time: tests run side by side, and none writes what another one has mapped.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The file that `nanoembed convert` makes of a folder.
fn converted(name: &str, weight_type: WeightType) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.weights", number()));
    let conversion = Conversion::new(folder(name), &file).weight_type(weight_type);
    conversion.run(&Silent).unwrap_or_else(|why| panic!("{name}: {why}"));
    file
}

/// The ids of the texts that a folder has expected values of.
fn expected_ids(name: &str) -> Vec<Vec<u32>> {
    let text = std::fs::read_to_string(folder(name).join("expected.json")).expect("it is there");
    let expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let id = |id: &serde_json::Value| id.as_u64().expect("an id") as u32;
    let rows = expected["rows"].as_array().expect("rows").iter();
    rows.map(|row| row["ids"].as_array().expect("ids").iter().map(id).collect()).collect()
}

/// Memory as `malloc` gives it.
fn memory(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16)]
}

/// A model and its workspace.
struct Opened {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
    dimensions: usize,
    /// What they lie in, where that is lent.
    _memory: Vec<Vec<u128>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: what lies in lent memory is left alone.
        unsafe {
            nanoembed_workspace_free(self.workspace);
            nanoembed_model_free(self.model);
        }
    }
}

fn on_heap(path: &Path, tokens: u32) -> Opened {
    let path = CString::new(path.to_str().expect("UTF-8")).expect("no zeros");
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let mut info = nanoembed_model_info::default();
    // SAFETY: everything is there.
    unsafe {
        let options = nanoembed_model_options { tokens, ..Default::default() };
        let status = nanoembed_model_open(path.as_ptr(), &options, &mut model, null_mut());
        assert_eq!(status, NANOEMBED_OK);
        assert_eq!(nanoembed_workspace_new(model, &mut workspace), NANOEMBED_OK);
        let none = NANOEMBED_PROMPT_NONE;
        let (text, error) = (c"".as_ptr(), null_mut());
        nanoembed_workspace_set_prompt(model, workspace, none, text, 0, error);
        nanoembed_model_get_info(model, &mut info);
    }
    Opened { model, workspace, dimensions: info.dimensions as usize, _memory: Vec::new() }
}

/// Opens in exactly the memory that is planned; one byte less is too little.
fn lent(file: &[u8], vocabulary: nanoembed_vocabulary) -> Result<Opened, nanoembed_error> {
    lent_as(file, nanoembed_model_options { vocabulary, ..Default::default() })
}

fn lent_as(file: &[u8], options: nanoembed_model_options) -> Result<Opened, nanoembed_error> {
    let (data, length) = (file.as_ptr(), file.len() as u64);
    let source = nanoembed_source { data, length, ..Default::default() };
    let mut error = nanoembed_error::default();
    let (mut plan, mut bytes) = (nanoembed_plan::default(), 0);
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let too_small = u32::from(ErrorKind::BufferTooSmall.code());
    // SAFETY: everything is there, with its true sizes, and outlives the handles.
    unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut bytes, &mut error), NANOEMBED_OK);
        let mut scratch = memory(bytes);
        let at = scratch.as_mut_ptr().cast::<u8>();
        let planned = nanoembed_plan_model(&source, &options, at, bytes, &mut plan, &mut error);
        if planned != NANOEMBED_OK {
            return Err(error);
        }
        let (mut first, mut second) = (memory(plan.model_bytes), memory(plan.workspace_bytes));
        let place = first.as_mut_ptr().cast::<u8>();
        for (size, expected) in
            [(plan.model_bytes - 1, too_small), (plan.model_bytes, NANOEMBED_OK)]
        {
            let (out, error) = (&mut model, &mut error);
            let status =
                nanoembed_model_init(&source, &options, place, size, at, bytes, out, error);
            // Some damage shows only when memory is filled.
            if size == plan.model_bytes && status != NANOEMBED_OK {
                return Err(*error);
            }
            assert_eq!(status, expected, "{}", name(error));
        }
        assert_eq!(nanoembed_workspace_bytes(model), plan.workspace_bytes);
        let (place, size) = (second.as_mut_ptr().cast::<u8>(), plan.workspace_bytes);
        assert_eq!(nanoembed_workspace_init(model, place, size - 1, &mut workspace), too_small);
        assert_eq!(nanoembed_workspace_init(model, place, size, &mut workspace), NANOEMBED_OK);
        let dimensions = plan.dimensions as usize;
        Ok(Opened { model, workspace, dimensions, _memory: vec![first, second] })
    }
}

fn name(error: &nanoembed_error) -> String {
    let bytes: Vec<u8> = error.name.iter().map(|c| c.cast_unsigned()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

impl Opened {
    fn vector(
        &self,
        embed: impl FnOnce(*mut f32, usize) -> nanoembed_status,
    ) -> Result<Vec<u32>, nanoembed_status> {
        let mut vector = vec![f32::NAN; self.dimensions];
        match embed(vector.as_mut_ptr(), vector.len()) {
            NANOEMBED_OK => Ok(vector.iter().map(|x| x.to_bits()).collect()),
            status => Err(status),
        }
    }

    /// The bits of the vector of known tokens.
    fn of_ids(&self, ids: &[u32]) -> Result<Vec<u32>, nanoembed_status> {
        let Self { model, workspace, .. } = *self;
        // SAFETY: handles are good, and the rest lies here.
        self.vector(|out, room| unsafe {
            nanoembed_embed_ids(model, workspace, ids.as_ptr(), ids.len(), out, room, null_mut())
        })
    }

    /// The tokens of a text that are used, and how many it has.
    fn tokenized(&self, text: &str) -> Result<(Vec<u32>, u32), nanoembed_status> {
        let mut info = nanoembed_model_info::default();
        // SAFETY: the handle is good.
        assert_eq!(unsafe { nanoembed_model_get_info(self.model, &mut info) }, NANOEMBED_OK);
        let mut ids = vec![0; info.workspace_tokens as usize];
        let mut found = nanoembed_tokenized::default();
        let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
        let (out, room) = (ids.as_mut_ptr(), ids.len());
        // SAFETY: handles are good, and the rest lies here.
        let status =
            unsafe { nanoembed_tokenize(self.model, start, bytes, out, room, &mut found, none) };
        ids.truncate(found.tokens as usize);
        if status == NANOEMBED_OK { Ok((ids, found.total)) } else { Err(status) }
    }

    /// The bits of the vector of a text, and its tokens.
    fn of_text(&self, text: &str) -> (Result<Vec<u32>, nanoembed_status>, Vec<u32>) {
        let Self { model, workspace, .. } = *self;
        let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
        let mut tokenized = nanoembed_tokenized::default();
        let mut info = nanoembed_model_info::default();
        let mut ids = Vec::new();
        // SAFETY: handles are good, and the rest lies here.
        unsafe {
            assert_eq!(nanoembed_model_get_info(model, &mut info), NANOEMBED_OK);
            ids.resize(info.workspace_tokens as usize, 0);
            let (out, room) = (ids.as_mut_ptr(), ids.len());
            nanoembed_tokenize(model, start, bytes, out, room, &mut tokenized, none);
        }
        ids.truncate(tokenized.tokens as usize);
        // SAFETY: handles are good, and the rest lies here.
        let vector = self.vector(|out, room| unsafe {
            nanoembed_embed_text(model, workspace, start, bytes, out, room, null_mut(), none)
        });
        (vector, ids)
    }
}

#[test]
fn vectors_are_those_of_models_on_the_heap_bit_for_bit() {
    for weight_type in [WeightType::F32, WeightType::Int8] {
        for name in FOLDERS {
            let path = converted(name, weight_type);
            let file = std::fs::read(&path).expect("it was made");
            let ours = lent(&file, NANOEMBED_VOCABULARY_NONE);
            let ours = ours.unwrap_or_else(|error| panic!("{name}: {}", self::name(&error)));
            let theirs = on_heap(&path, 0);
            let ids = expected_ids(name);
            assert!(ids.len() >= 4, "{name}");
            for ids in ids {
                let expected = theirs.of_ids(&ids);
                assert!(expected.is_ok(), "{name}: {expected:?}");
                assert_eq!(ours.of_ids(&ids), expected, "{name} {weight_type:?}: {ids:?}");
            }
            let (text, _) = ours.of_text("x");
            assert_eq!(text, Err(u32::from(ErrorKind::MissingVocabulary.code())), "{name}");
        }
    }
}

#[test]
fn texts_are_tokenised_as_on_the_heap() {
    for folder in FOLDERS {
        let path = converted(folder, WeightType::F32);
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{folder}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        for text in TEXTS {
            let (expected, ids) = theirs.of_text(text);
            assert!(expected.is_ok(), "{folder}: {text}");
            assert_eq!(ours.of_text(text), (expected, ids), "{folder}: {text:?}");
        }
    }
}

/// What generated texts are made of.
const PARTS: &[&str] = &[
    "the",
    "and ",
    " of",
    "Reset",
    "PASSWORD",
    "ing",
    "é",
    "e\u{301}",
    "ﬁ",
    "Ａ",
    "ａｂ",
    "①",
    "½",
    "ß",
    "İ",
    "Σας",
    "привет ",
    "ё",
    "и\u{306}",
    "漢字",
    "中国",
    "、",
    "かな",
    "ガ",
    "ｶﾞ",
    "각",
    "\u{1100}\u{1161}\u{11A8}",
    "नमस्ते",
    "क्षि",
    "ส\u{E33}",
    "שָׁלוֹם",
    "مرحبا",
    "لا",
    "\u{200d}",
    "👩\u{200d}👩\u{200d}👧",
    "🇩🇪🇫",
    "👍🏽",
    "\u{fe0f}",
    "\u{ad}",
    "\u{feff}",
    "\u{200b}",
    "\0",
    "\u{1}",
    "\u{85}",
    "\u{fffd}",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "▁",
    "▁▁",
    "<s>",
    "</s>",
    "<mask>",
    " <mask> ",
    "<unk>",
    "<pad>",
    "<bos>",
    "<0x0A>",
    "\n\n",
    "▁▁▁▁ ",
    "====",
    " for the cursor",
    "[CLS]",
    "0",
    "12",
    "3.14",
    "!",
    "?!",
    "...",
    "…",
    "'s",
    "don't",
    "-",
    "_",
    "#",
    "@x",
    "a",
    "aaa",
    "zzzzzzzz",
    "\u{301}",
    "\u{300}\u{301}",
    "x\u{323}\u{307}",
    "\u{1D15E}",
    "\u{10FFFF}",
    "ŀ",
    "™",
    "㎏",
    "㋿",
    "ﷺ",
];

/// Texts of up to so many parts, the same in every run.
fn generated(count: usize, most: usize) -> Vec<String> {
    let mut state = 12_345_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut text = |_| {
        let parts = random(most) + 1;
        (0..parts).map(|_| PARTS[random(PARTS.len())]).collect()
    };
    (0..count).map(&mut text).collect()
}

/// A folder's model with the tokenizer of another one.
fn with_tokenizer_of(model: &str, tokenizer: &str) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{model}-{}", number()));
    // What an earlier run left.
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made).expect("room for a folder");
    let copy = |from: &Path, to: &Path| {
        std::fs::copy(from, to).unwrap_or_else(|why| panic!("{}: {why}", from.display()));
    };
    for entry in std::fs::read_dir(folder(model)).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = made.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&to).expect("room for a folder");
            for inner in std::fs::read_dir(entry.path()).expect("a folder") {
                let inner = inner.expect("an entry");
                copy(&inner.path(), &to.join(inner.file_name()));
            }
        } else {
            copy(&entry.path(), &to);
        }
    }
    copy(&folder(tokenizer).join("tokenizer.json"), &made.join("tokenizer.json"));
    made
}

/// Tokenizers that are done without a heap, and models whose vocabulary has room for them.
const TOKENIZERS: [(&str, &str); 12] = [
    ("xlmr_e5", "xlmr_bge_m3"),
    ("xlmr_bge_m3", "xlmr_bge_m3"),
    ("xlmr_reranker", "xlmr_bge_m3"),
    ("bert_unigram", "xlmr_bge_m3"),
    ("gte", "xlmr_bge_m3"),
    ("jina_v3", "xlmr_bge_m3"),
    ("roberta", "roberta"),
    ("modernbert_cls", "modernbert_mean"),
    ("modernbert_mean", "modernbert_mean"),
    ("qwen3_embedding", "qwen3_embedding"),
    ("eurobert", "eurobert"),
    ("embeddinggemma", "embeddinggemma"),
];

#[test]
fn ids_of_generated_texts_are_those_of_the_heap() {
    let texts = generated(1500, 12);
    for (tokenizer, model) in TOKENIZERS {
        let made = with_tokenizer_of(model, tokenizer);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("of-{tokenizer}.weights"));
        let conversion = Conversion::new(&made, &path);
        conversion.run(&Silent).unwrap_or_else(|why| panic!("{tokenizer}: {why}"));
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{tokenizer}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        for text in &texts {
            let (found, expected) = (ours.tokenized(text), theirs.tokenized(text));
            assert!(expected.is_ok(), "{tokenizer}: {text:?}");
            assert_eq!(found, expected, "{tokenizer}: {text:?}");
        }
        // Texts that are longer than what is held of them at a time; Unigram needs no spaces.
        for text in generated(30, 1200) {
            let is_ways = model == "xlmr_bge_m3";
            let text = if is_ways { text.split_whitespace().collect() } else { text };
            let expected = theirs.of_text(&text).0;
            assert!(expected.is_ok(), "{tokenizer}: {text:?}");
            assert_eq!(ours.of_text(&text).0, expected, "{tokenizer}: {text:?}");
        }
    }
}

#[test]
fn tokens_that_go_across_spaces_are_merged_as_on_the_heap() {
    let made = with_tokenizer_of("embeddinggemma", "embeddinggemma");
    let settings = made.join("tokenizer.json");
    let text = std::fs::read_to_string(&settings).expect("it was copied");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let vocabulary = json["model"]["vocab"].as_object_mut().expect("tokens");
    let last = vocabulary.values().filter_map(serde_json::Value::as_u64).max().expect("ids");
    vocabulary.retain(|_, id| id.as_u64() != Some(last));
    vocabulary.insert(String::from("e▁t"), last.into());
    let merges = json["model"]["merges"].as_array_mut().expect("merges");
    merges.push(serde_json::json!(["e", "▁t"]));
    std::fs::write(&settings, json.to_string()).expect("room for it");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("across-spaces.weights");
    Conversion::new(&made, &path).run(&Silent).expect("it is a model");
    let file = std::fs::read(&path).expect("it was made");
    let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO).map_err(|error| name(&error)).expect("opens");
    let theirs = on_heap(&path, 0);
    let joined = theirs.tokenized("ze tz").expect("a text").0;
    assert!(joined.contains(&(last as u32)), "{joined:?}");
    for text in ["ze tz", "the time  e t", " e te t", "one to three"] {
        assert_eq!(ours.tokenized(text), theirs.tokenized(text), "{text:?}");
    }
    // All of it is one word, of which there is room for four characters a token.
    assert_eq!(ours.of_text(&"a ".repeat(700)).0, Err(u32::from(ErrorKind::OverLimit.code())));
}

/// Models of three tokenizers that get prompts, whose tokens count in pooling or not.
const PROMPTED: [(&str, bool); 7] = [
    ("mpnet", true),
    ("nomic_bert", false),
    ("xlmr_bge_m3", false),
    ("gte", true),
    ("qwen3_embedding", true),
    ("modernbert_mean", false),
    ("embeddinggemma", false),
];

/// A model with these prompts.
fn prompted(model: &str, are_pooled: bool) -> PathBuf {
    let made = with_tokenizer_of(model, model);
    let prompts = r#"{"prompts": {"query": "Represent this sentence: ", "passage": "p\u00e9: ",
        "odd": "<mask> x", "\u0061": " a "}, "default_prompt_name": "a"}"#;
    let write = |name: &str, text: &str| {
        std::fs::write(made.join(name), text).unwrap_or_else(|why| panic!("{name}: {why}"));
    };
    write("config_sentence_transformers.json", prompts);
    if !are_pooled {
        std::fs::create_dir_all(made.join("1_Pooling")).expect("room for a folder");
        write(
            "1_Pooling/config.json",
            r#"{"pooling_mode_mean_tokens": true, "include_prompt": false}"#,
        );
        write(
            "modules.json",
            r#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]"#,
        );
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prompted-{model}.weights"));
    Conversion::new(&made, &path).run(&Silent).unwrap_or_else(|why| panic!("{model}: {why}"));
    path
}

impl Opened {
    fn set_prompt(&self, prompt: nanoembed_prompt, text: &str) -> nanoembed_status {
        let (start, bytes) = (text.as_ptr().cast(), text.len());
        // SAFETY: handles are good.
        unsafe {
            let (model, workspace) = (self.model, self.workspace);
            nanoembed_workspace_set_prompt(model, workspace, prompt, start, bytes, null_mut())
        }
    }
}

#[test]
fn texts_behind_prompts_are_those_of_the_heap() {
    let long = "word ".repeat(900);
    let texts = ["", "How do I reset it?", " <mask> b", "\u{301}x 中国", "'s", long.trim_end()];
    for (model, are_pooled) in PROMPTED {
        let path = prompted(model, are_pooled);
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{model}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        // What stands there before anything is chosen.
        assert_eq!(theirs.set_prompt(NANOEMBED_PROMPT_USUAL, ""), NANOEMBED_OK);
        for text in texts {
            assert_eq!(ours.of_text(text), theirs.of_text(text), "{model}: {text:?}");
        }
        for (prompt, text) in [
            (NANOEMBED_PROMPT_NONE, ""),
            (NANOEMBED_PROMPT_QUERY, ""),
            (NANOEMBED_PROMPT_DOCUMENT, ""),
            (NANOEMBED_PROMPT_NAMED, "odd"),
            (NANOEMBED_PROMPT_NAMED, "a"),
            (NANOEMBED_PROMPT_TEXT, "task: é "),
            (NANOEMBED_PROMPT_USUAL, ""),
        ] {
            assert_eq!(ours.set_prompt(prompt, text), NANOEMBED_OK, "{model}: {prompt} {text}");
            assert_eq!(theirs.set_prompt(prompt, text), NANOEMBED_OK, "{model}: {prompt} {text}");
            for text in texts {
                let (found, expected) = (ours.of_text(text).0, theirs.of_text(text).0);
                assert!(expected.is_ok(), "{model}: {text:?}");
                assert_eq!(found, expected, "{model}: {prompt} {text:?}");
            }
        }
        let invalid = u32::from(ErrorKind::InvalidArgument.code());
        let too_small = u32::from(ErrorKind::BufferTooSmall.code());
        assert_eq!(ours.set_prompt(NANOEMBED_PROMPT_NAMED, "none"), invalid);
        assert_eq!(ours.set_prompt(NANOEMBED_PROMPT_TEXT, &"x".repeat(257)), too_small);
        assert_eq!(ours.set_prompt(NANOEMBED_PROMPT_TEXT, &"x".repeat(256)), NANOEMBED_OK);
        // A text that is cut nowhere has to fit behind it.
        let over = u32::from(ErrorKind::OverLimit.code());
        assert_eq!(ours.of_text(&"漢".repeat(4000)).0, Err(over), "{model}");
    }
}

#[test]
fn static_models_with_a_unigram_tokenizer_are_those_of_the_heap() {
    for weight_type in [WeightType::F32, WeightType::F16] {
        let path = converted("model2vec_unigram_f16", weight_type);
        let file = std::fs::read(&path).expect("it was made");
        for tokens in [0, 5, 200] {
            let options = nanoembed_model_options { tokens, ..Default::default() };
            let ours = lent_as(&file, options).unwrap_or_else(|why| panic!("{}", name(&why)));
            let theirs = on_heap(&path, tokens);
            let long = generated(20, 900);
            for text in generated(1500, 12).iter().chain(&long).map(String::as_str).chain(TEXTS) {
                let (found, expected) = (ours.of_text(text), theirs.of_text(text));
                assert!(expected.0.is_ok(), "{text:?}");
                assert_eq!(found, expected, "{tokens}: {text:?}");
                assert_eq!(ours.tokenized(text), theirs.tokenized(text), "{tokens}: {text:?}");
            }
        }
        let ours = lent(&file, NANOEMBED_VOCABULARY_NONE).unwrap_or_else(|_| panic!());
        assert_eq!(ours.of_ids(&[5, 9]), on_heap(&path, 0).of_ids(&[5, 9]));
    }
}

/// Models that compare texts.
const CROSS_ENCODERS: [&str; 3] = ["cross_encoder", "xlmr_reranker", "modernbert_reranker"];

impl Opened {
    /// The bits of the score of a pair.
    fn score(&self, query: &str, document: &str) -> Result<u32, nanoembed_status> {
        let mut score = f32::NAN;
        let (a, b) = (query.as_ptr().cast(), document.as_ptr().cast());
        let (a_bytes, b_bytes, out, none) =
            (query.len(), document.len(), &raw mut score, null_mut());
        let Self { model, workspace, .. } = *self;
        // SAFETY: handles are good, and the rest lies here.
        match unsafe { nanoembed_score(model, workspace, a, a_bytes, b, b_bytes, out, none) } {
            NANOEMBED_OK => Ok(score.to_bits()),
            status => Err(status),
        }
    }
}

/// Both give the same scores, texts that are cut included.
fn assert_scores(path: &Path, what: &str) {
    let file = std::fs::read(path).expect("it was made");
    let (short, long) = (generated(40, 12), generated(12, 160));
    let pairs = short.iter().zip(short.iter().rev());
    let pairs = pairs.chain(long.iter().zip(long.iter().rev())).chain(long.iter().zip(&short));
    let pairs: Vec<_> = pairs.chain(short.iter().zip(&long)).collect();
    for tokens in [0, 7, 16, 23] {
        let options = nanoembed_model_options { tokens, ..Default::default() };
        let ours = lent_as(&file, options).unwrap_or_else(|why| panic!("{what}: {}", name(&why)));
        let theirs = on_heap(path, tokens);
        for (query, document) in &pairs {
            let (found, expected) = (ours.score(query, document), theirs.score(query, document));
            assert!(expected.is_ok(), "{what}: {query:?} {document:?}");
            assert_eq!(found, expected, "{what} {tokens}: {query:?} {document:?}");
        }
    }
}

#[test]
fn scores_of_pairs_are_those_of_the_heap_bit_for_bit() {
    for folder in CROSS_ENCODERS {
        for weight_type in [WeightType::F32, WeightType::Int8] {
            assert_scores(&converted(folder, weight_type), folder);
        }
    }
    let bert = r#"{"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}"#;
    let sequence = r#"{"type": "Sequence", "processors": [{"type": "RobertaProcessing",
        "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": true}]}"#;
    let roberta = r#"{"type": "RobertaProcessing", "sep": ["[SEP]", 907], "cls": ["[CLS]", 906],
        "trim_offsets": true, "add_prefix_space": false}"#;
    for (kind, folder, post) in [
        ("bert", "cross_encoder", bert),
        ("sequence", "xlmr_reranker", sequence),
        ("roberta", "modernbert_reranker", roberta),
    ] {
        let made = with_tokenizer_of(folder, folder);
        let settings = made.join("tokenizer.json");
        let text = std::fs::read_to_string(&settings).expect("it was copied");
        let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["post_processor"] = serde_json::from_str(post).expect("JSON");
        std::fs::write(&settings, json.to_string()).expect("room for it");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pair-{kind}.weights"));
        Conversion::new(&made, &path).run(&Silent).unwrap_or_else(|why| panic!("{kind}: {why}"));
        assert_scores(&path, kind);
    }
}

#[test]
fn models_that_compare_embed_nothing_and_others_compare_nothing() {
    let other = u32::from(ErrorKind::OtherModel.code());
    for (folder, compares) in [("cross_encoder", true), ("nomic_bert", false)] {
        let file = std::fs::read(converted(folder, WeightType::F32)).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{folder}: {}", name(&error)));
        assert_eq!(ours.dimensions == 0, compares, "{folder}");
        let refused = if compares { ours.of_text("x").0.err() } else { ours.score("x", "y").err() };
        assert_eq!(refused, Some(other), "{folder}");
        if compares {
            assert_eq!(ours.of_ids(&[2, 3]), Err(other));
            let without = lent(&file, NANOEMBED_VOCABULARY_NONE).unwrap_or_else(|_| panic!());
            let missing = u32::from(ErrorKind::MissingVocabulary.code());
            assert_eq!(without.score("x", "y"), Err(missing));
        }
    }
}

#[test]
fn files_that_are_cut_or_damaged_are_refused_or_run() {
    damage("nomic_bert");
    damage("xlmr_bge_m3");
    damage("modernbert_mean");
    damage("embeddinggemma");
    damage("cross_encoder");
    damage("model2vec_unigram_f16");
}

fn damage(name: &str) {
    let path = converted(name, WeightType::Int8);
    let mut file = std::fs::read(&path).expect("it was made");
    for cut in (0..file.len()).step_by(file.len() / 31) {
        assert!(lent_or_not(&file[..cut]).is_err(), "{cut}");
    }
    let end = file.len();
    for at in (0..end.min(8192)).step_by(97).chain((8192..end).step_by(end / 61)) {
        file[at] ^= 0x15;
        let _ = lent_or_not(&file);
        file[at] ^= 0x15;
    }
}

/// As [`lent`], of a file whose header may be wrong, too.
fn lent_or_not(file: &[u8]) -> Result<(), nanoembed_status> {
    let (data, length) = (file.as_ptr(), file.len() as u64);
    let source = nanoembed_source { data, length, ..Default::default() };
    let mut bytes = 0;
    // SAFETY: everything is there.
    match unsafe { nanoembed_plan_scratch(&source, &mut bytes, null_mut()) } {
        NANOEMBED_OK => lent(file, NANOEMBED_VOCABULARY_AUTO).map(|_| ()).map_err(|it| it.status),
        status => Err(status),
    }
}
