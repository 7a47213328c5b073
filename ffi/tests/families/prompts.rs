//! Texts after prompts.

use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use nanoembed::Silent;
use nanoembed::convert::Conversion;
use nanoembed_core::ErrorKind;
use nanoembed_ffi::model::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::status::*;

use crate::opened::*;
use crate::tokenizers::with_tokenizer_of;

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
fn prompted(ending: &str, model: &str, are_pooled: bool) -> PathBuf {
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
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prompted-{model}.{ending}"));
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
fn texts_after_prompts_are_those_of_the_heap() {
    let long = "word ".repeat(900);
    let texts = ["", "How do I reset it?", " <mask> b", "\u{301}x 中国", "'s", long.trim_end()];
    for (ending, (model, are_pooled)) in ENDINGS.iter().flat_map(|it| PROMPTED.map(|of| (it, of))) {
        let path = prompted(ending, model, are_pooled);
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
        // A text that is cut nowhere has to fit after it.
        let over = u32::from(ErrorKind::OverLimit.code());
        assert_eq!(ours.of_text(&"漢".repeat(4000)).0, Err(over), "{model}");
    }
}
