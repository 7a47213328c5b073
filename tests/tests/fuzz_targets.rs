//! Every fuzz target of the core on its seeds and some thousand mutations, deterministically.
//! cargo-fuzz continues from here, with sanitisers and guided by coverage: `.ci/run fuzz`.

use nanoembed_tests::finalfusion::Numbers;
use nanoembed_tests::fuzz::{TARGETS, mutated};
use nanoembed_tests::replays;

replays! {
    TARGETS:
    blob blocks bpe causal container decoder encoder finalfusion folder gguf json pipeline sentencepiece
    tokenizer weights
}

#[test]
fn changes_reach_every_kind_of_difference() {
    let seeds = [(0..40).collect::<Vec<u8>>(), (100..160).collect()];
    let mut numbers = Numbers(0);
    let inputs: Vec<_> = (0..1000).map(|_| mutated(&seeds, 4096, &mut numbers)).collect();
    let any = |is: fn(&Vec<u8>) -> bool| inputs.iter().any(is);
    assert!(any(|input| input.len() > 65) && any(|input| input.len() < 5));
    assert!(any(|input| input.contains(&20) && input.contains(&130)));
    assert!(any(|input| input.windows(4).any(|field| field == [0xFF; 4])));
    assert!(inputs.iter().collect::<std::collections::HashSet<_>>().len() > 950);
}
