//! Batches of pairs that are compared in one pass.

use nanoembed_core::owned::TokenizedPair;

/// The most tokens of pairs that are compared together: enough that the tokens that they share are a
/// small part of the work, few enough that progress is seen.
pub(super) const BATCH_TOKENS: usize = 1024;

/// Neighbouring pairs put together, at most `most` of them: those that share first tokens. Others
/// gain nothing from it and stand alone.
pub(super) fn batches(pairs: &[TokenizedPair], most: usize) -> Vec<&[TokenizedPair]> {
    let mut batches = Vec::new();
    let mut rest = pairs;
    while let Some(first) = rest.first() {
        let mut tokens = first.shared;
        let fitting = rest.iter().take(most).take_while(|pair| {
            tokens += pair.ids.len() - pair.shared;
            tokens <= BATCH_TOKENS && shares(first, pair)
        });
        let (batch, after) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

/// Returns true if both pairs share first tokens.
fn shares(first: &TokenizedPair, other: &TokenizedPair) -> bool {
    let shared = first.shared;
    shared > 0 && other.shared == shared && first.ids.get(..shared) == other.ids.get(..shared)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::CrossEncoder;

    const FOLDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models");

    fn tokens(model: &CrossEncoder, pairs: &[(&str, &str)]) -> Vec<TokenizedPair> {
        pairs.iter().map(|(query, text)| model.encode(query, text).unwrap()).collect()
    }

    #[test]
    fn pairs_with_the_same_question_are_put_together_by_causal_models() {
        let causal = CrossEncoder::open(Path::new(FOLDERS).join("qwen3_reranker")).unwrap();
        let pairs = [("a", "one"), ("a", "2"), ("a", ""), ("b", "one"), ("b", "two"), ("a", "one")];
        let tokens = tokens(&causal, &pairs);
        let sizes = |most| batches(&tokens, most).iter().map(|it| it.len()).collect::<Vec<_>>();
        assert_eq!(sizes(9), [3, 2, 1]);
        assert_eq!(sizes(2), [2, 1, 2, 1]);
        let shared = tokens[0].shared;
        assert!(shared > 10 && tokens.iter().all(|pair| pair.ids.len() > shared));
    }

    #[test]
    fn pairs_of_other_models_stand_alone() {
        let other = CrossEncoder::open(Path::new(FOLDERS).join("cross_encoder")).unwrap();
        let tokens = tokens(&other, &[("a", "one"), ("a", "one")]);
        assert_eq!(batches(&tokens, 9).len(), 2);
    }

    #[test]
    fn a_score_is_the_same_among_any_others() {
        for folder in ["qwen3_reranker", "qwen3_reranker_untied"] {
            let model = CrossEncoder::open(Path::new(FOLDERS).join(folder)).unwrap();
            let long = "Two of them are in Berlin. ".repeat(6);
            let texts = ["", "12 years", "\n\nA list", &long, "It is in Germany.", ": no", "é"];
            let pairs: Vec<(&str, &str)> =
                texts.iter().map(|text| ("Where is Berlin?", *text)).collect();
            let together = model.score_pairs(&pairs).unwrap();
            for ((query, text), score) in pairs.iter().zip(&together) {
                let alone = model.score(query, text).unwrap();
                assert_eq!(alone.logit().to_bits(), score.logit().to_bits(), "{folder} {text:?}");
            }
        }
    }
}
