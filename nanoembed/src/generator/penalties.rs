//! Tokens that were there already become less likely.
//!
//! | penalty | of the tokens of | logit |
//! |---|---|---|
//! | repetition | prompt and continuation | divided if it is positive, else multiplied, as in transformers |
//! | presence | continuation | reduced once, as with OpenAI |
//! | frequency | continuation | reduced once for each time, as with OpenAI |

use std::collections::HashMap;

/// Penalties, and the tokens so far with their numbers in the continuation.
#[derive(Debug)]
pub(super) struct Penalties {
    repetition: f32,
    presence: f32,
    frequency: f32,
    counts: HashMap<u32, u32>,
}

impl Penalties {
    /// For a prompt. `repetition` of 1 and 0 of the others change nothing.
    pub(super) fn new([repetition, presence, frequency]: [f32; 3], prompt: &[u32]) -> Self {
        let is_repeated = repetition.to_bits() != 1.0_f32.to_bits();
        let counts = prompt.iter().filter(|_| is_repeated).map(|id| (*id, 0)).collect();
        Self { repetition, presence, frequency, counts }
    }

    /// Adds a token of the continuation.
    pub(super) fn add(&mut self, id: u32) {
        let count = self.counts.entry(id).or_default();
        *count = count.saturating_add(1);
    }

    /// Changes the logits of the tokens so far.
    pub(super) fn apply(&self, logits: &mut [f32]) {
        for (id, count) in &self.counts {
            let Some(logit) = usize::try_from(*id).ok().and_then(|id| logits.get_mut(id)) else {
                continue;
            };
            *logit = if *logit > 0.0 { *logit / self.repetition } else { *logit * self.repetition };
            if *count > 0 {
                #[expect(clippy::cast_precision_loss, reason = "fewer than 2²⁴ tokens")]
                let count = *count as f32;
                *logit -= self.presence + self.frequency * count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definitions, in f64 and token by token: that of transformers' `RepetitionPenaltyLogitsProcessor`,
    /// and those of OpenAI's documentation.
    fn twin(logits: &[f32], prompt: &[u32], added: &[u32], [r, p, f]: [f32; 3]) -> Vec<f64> {
        let twin = |(id, logit): (u32, &f32)| {
            let mut logit = f64::from(*logit);
            if prompt.contains(&id) || added.contains(&id) {
                logit = if logit < 0.0 { logit * f64::from(r) } else { logit / f64::from(r) };
            }
            let count = added.iter().filter(|it| **it == id).count();
            let presence = if count > 0 { 1.0 } else { 0.0 };
            logit - presence * f64::from(p) - count as f64 * f64::from(f)
        };
        (0_u32..).zip(logits).map(twin).collect()
    }

    #[test]
    fn penalties_are_those_of_transformers_and_openai() {
        let logits = [2.5, -1.25, 0.0, 3.0, -0.5, 7.0];
        let (prompt, added) = ([0, 1, 1, 9], [3, 1, 3, 3, 2]);
        for given in [
            [1.0, 0.0, 0.0],
            [1.3, 0.0, 0.0],
            [0.7, 0.0, 0.0],
            [1.0, 0.5, 0.0],
            [1.0, 0.0, 0.25],
            [1.1, -0.5, 1.5],
        ] {
            let mut penalties = Penalties::new(given, &prompt);
            added.iter().for_each(|id| penalties.add(*id));
            let mut changed = logits;
            penalties.apply(&mut changed);
            for (changed, expected) in changed.iter().zip(twin(&logits, &prompt, &added, given)) {
                assert!(
                    (f64::from(*changed) - expected).abs() < 1e-6,
                    "{given:?}: {changed} {expected}"
                );
            }
        }
    }
}
