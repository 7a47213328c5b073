//! What attention costs that only looks at what is near.

use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed_core::kernel::{Kernels, Multiply};
use nanoembed_core::model::{Batch, InOrder, Window};
use nanoembed_core::owned::{Recipe, TextEncoder};
use nanoembed_tests::checkpoint::Checkpoint;

static MULTIPLICATIONS: AtomicUsize = AtomicUsize::new(0);

fn counted(product: Multiply<'_>) {
    MULTIPLICATIONS.fetch_add(product.multiplications(), Ordering::Relaxed);
    (Kernels::portable().multiply_f32)(product);
}

/// Multiplications of the attention of ModernBERT's layers, `every`th of which sees all tokens.
fn multiplications(every: usize, tokens: usize) -> usize {
    let kernels = Kernels { multiply_f32: counted, ..Kernels::portable() };
    let folder = Checkpoint::named("modernbert_mean");
    let mut model = folder.model("config.json");
    model.config.positions = tokens;
    model.config.attention.window = Some(Window { reach: 6, every, first: 0 });
    folder.weights().with(|weights| {
        let encoder = TextEncoder::open(&weights, &model, Recipe::default()).unwrap();
        let encoder = encoder.with_kernels(&weights, kernels).unwrap();
        let mut session = encoder.session(tokens, 1).unwrap();
        let ids: Vec<u32> = (0..tokens).map(|i| (i % 900) as u32).collect();
        let texts = Batch { ids: &ids, types: &[], lengths: &[tokens] };
        MULTIPLICATIONS.store(0, Ordering::Relaxed);
        encoder.states(&weights, &mut session, &InOrder, &texts, &mut |_, _| Ok(())).unwrap();
    });
    MULTIPLICATIONS.load(Ordering::Relaxed)
}

#[test]
fn windows_cost_as_much_as_the_text_is_long() {
    let growth = |every| {
        let [short, long] = [512, 4096].map(|tokens| multiplications(every, tokens));
        assert!(short > 0);
        long as f64 / short as f64
    };
    let local = growth(0);
    assert!(local < 8.2, "{local}");
    // Of layers that see all tokens the cost grows with the square.
    assert!(growth(1) > 50.0);
}
