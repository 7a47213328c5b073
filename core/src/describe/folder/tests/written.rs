//! Texts that are written and read again.

use std::string::{String, ToString as _};
use std::vec::Vec;

use super::{Files, std};
use crate::describe::folder::{Description, MODULES, TextPath};

const CONFIG: &str = r#"{"model_type": "bert", "num_hidden_layers": 1, "hidden_size": 4,
    "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9,
    "max_position_embeddings": 16"#;

#[test]
fn a_description_is_that_of_the_texts_that_are_written_of_it() {
    let module = |kind, path| std::format!(r#"{{"type": "{kind}", "path": "{path}"}}"#);
    let modules = [
        module("Transformer", ""),
        module("Pooling", "1_Pooling"),
        module("Normalize", "4_Normalize"),
        module("Dense", "2_Dense"),
        module("LayerNorm", "3_Norm"),
        module("Normalize", "4_Normalize"),
    ];
    let config = std::format!("{CONFIG}}}");
    let classifier = std::format!(
        r#"{CONFIG}, "num_labels": 1, "architectures": ["BertForSequenceClassification"]}}"#
    );
    let limit = r#"{"model_max_length": 12}"#;
    let dense = r#"{"in_features": 4, "out_features": 3, "bias": false,
        "activation_function": "torch.nn.modules.activation.GELU"}"#;
    let embeds = [
        ("config.json", &*config),
        ("tokenizer_config.json", limit),
        (MODULES, &std::format!("[{}]", modules.join(","))),
        ("1_Pooling/config.json", r#"{"pooling_mode": ["cls", "mean"], "include_prompt": false}"#),
        ("2_Dense/config.json", dense),
        ("3_Norm/config.json", r#"{"dimension": 3}"#),
    ];
    let compares = [("config.json", &*classifier), ("tokenizer_config.json", limit)];
    for files in [&embeds[..], &compares] {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let files = Files(&files);
        let described = Description::read(&files).unwrap();
        let mut written = Vec::new();
        let put = &mut |path: TextPath<'_>, text: &dyn std::fmt::Display| {
            let path = [path.folder, path.name].into_iter().filter(|part| !part.is_empty());
            written.push((path.collect::<Vec<_>>().join("/"), text.to_string()));
            Ok(())
        };
        described.each_text(put).unwrap();
        assert_eq!(Description::read(&Files(&written)).unwrap(), described);
        assert_eq!(written.len(), files.0.len());
    }
}
