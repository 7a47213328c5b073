//! Settings that are known and change nothing in what is computed here, by the kind of file.

/// Of a `generation_config.json`: ways to choose the next token, and bookkeeping. Which tokens
/// begin and end a text is not among them.
pub const GENERATION_CONFIG: &[&str] = &[
    "_commit_hash",
    "_from_auto",
    "_from_model_config",
    "_from_pipeline",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "bad_words_ids",
    "begin_suppress_tokens",
    "cache_config",
    "cache_implementation",
    "chat_format",
    "compile_config",
    "constraints",
    "continuous_batching_config",
    "decoder_start_token_id",
    "disable_compile",
    "diversity_penalty",
    "do_sample",
    "dola_layers",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "encoder_repetition_penalty",
    "epsilon_cutoff",
    "eta_cutoff",
    "exponential_decay_length_penalty",
    "force_words_ids",
    "forced_bos_token_id",
    "forced_decoder_ids",
    "forced_eos_token_id",
    "generation_kwargs",
    "guidance_scale",
    "is_assistant",
    "length_penalty",
    "low_memory",
    "max_cache_len",
    "max_length",
    "max_matching_ngram_size",
    "max_new_tokens",
    "max_time",
    "max_window_size",
    "min_length",
    "min_new_tokens",
    "min_p",
    "no_repeat_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "penalty_alpha",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "remove_invalid_values",
    "renormalize_logits",
    "repetition_penalty",
    "return_dict_in_generate",
    "return_legacy_cache",
    "sequence_bias",
    "suppress_tokens",
    "target_lookbehind",
    "temperature",
    "token_healing",
    "top_h",
    "top_k",
    "top_p",
    "transformers_version",
    "trust_remote_code",
    "typical_p",
    "use_cache",
    "watermarking_config",
];

/// Of objects in which every member counts.
pub const NONE: &[&str] = &[];

/// Of a `tokenizer.json`: how texts of a batch are made one length, and ids to text.
pub const TOKENIZER_JSON: &[&str] = &["padding", "decoder"];

/// Of `truncation` in a `tokenizer.json`: how long texts are is said elsewhere.
pub const TRUNCATION: &[&str] = &["max_length", "strategy", "stride"];

/// Of a WordPiece model's `tokenizer_config.json`: where files lie, how batches are padded, how ids
/// become text.
pub const TOKENIZER_CONFIG: &[&str] = &[
    "_commit_hash",
    "backend",
    "cache_dir",
    "chat_template",
    "clean_up_tokenization",
    "clean_up_tokenization_spaces",
    "device_map",
    "from_slow",
    "full_tokenizer_file",
    "init_inputs",
    "is_local",
    "legacy",
    "local_files_only",
    "max_length",
    "model_input_names",
    "model_specific_special_tokens",
    "name_or_path",
    "pad_to_multiple_of",
    "pad_token_type_id",
    "padding",
    "padding_side",
    "processor_class",
    "return_token_type_ids",
    "revision",
    "sp_model_kwargs",
    "special_tokens_map_file",
    "stride",
    "token",
    "tokenizer_file",
    "tokenizer_type",
    "transformers_version",
    "truncation",
    "truncation_strategy",
    "trust_remote_code",
    "use_auth_token",
    "use_fast",
    "verbose",
    "vocab_file",
    "vocab_size",
];

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::open::settings_rule::Members;

    #[test]
    fn every_listed_member_passes_and_an_invented_one_is_refused_by_name() {
        for list in [GENERATION_CONFIG, TOKENIZER_JSON, TRUNCATION, TOKENIZER_CONFIG] {
            let mut object: Map<String, Value> =
                list.iter().map(|name| ((*name).to_owned(), json!("any"))).collect();
            assert_eq!(object.len(), list.len(), "a name is listed twice");
            let pass = Value::Object(object.clone());
            Members::new(&pass, "file.json").unwrap().finish(list).unwrap();
            object.insert("attention_of_mine".into(), json!(1));
            let refused = Value::Object(object);
            let result = Members::new(&refused, "file.json").unwrap().finish(list);
            assert!(format!("{:?}", result.unwrap_err()).contains("`attention_of_mine`"));
        }
    }
}
