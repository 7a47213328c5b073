//! Sliding windows: their layers, and the cost of attention.

use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed_core::kernel::{Kernels, Multiply};
use nanoembed_core::model::{Batch, InOrder, Window, WindowLayers, read_config};
use nanoembed_core::owned::folder::Modules;
use nanoembed_core::text::json;
use nanoembed_tests::checkpoint::{Checkpoint, encoder};
use serde_json::Value;

static MULTIPLICATIONS: AtomicUsize = AtomicUsize::new(0);

fn counted(product: Multiply<'_>) {
    MULTIPLICATIONS.fetch_add(product.multiplications(), Ordering::Relaxed);
    (Kernels::portable().multiply_f32)(product);
}

/// Multiplications in the attention of ModernBERT's layers, every `every`th of which has no window.
fn multiplications(every: usize, tokens: usize) -> usize {
    let kernels = Kernels { multiply_f32: counted, ..Kernels::portable() };
    let folder = Checkpoint::named("modernbert_mean");
    let mut model = folder.model("config.json");
    model.config.positions = tokens;
    model.config.attention.window = Some(Window::all_but(6, every, 0));
    folder.weights().with(|weights| {
        let encoder = encoder(&weights, &model, &Modules::default()).unwrap();
        let encoder = encoder.with_kernels(&weights, kernels).unwrap();
        let mut session = encoder.session(tokens, 1).unwrap();
        let ids: Vec<u32> = (0..tokens).map(|i| (i % 900) as u32).collect();
        let lengths = [tokens];
        let texts = Batch::new(&ids, &lengths);
        MULTIPLICATIONS.store(0, Ordering::Relaxed);
        let each = &mut |_, _: &[f32]| Ok(());
        encoder.states(&weights, &mut session, &InOrder, &texts, each, &|_| {}).unwrap();
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
    // In layers without a window the cost grows quadratically.
    assert!(growth(1) > 50.0);
}

/// Models whose lists of layers have no period, and vectors of some of their texts in f64.
fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("../data/windows/expected.json")).unwrap()
}

#[test]
fn any_list_of_layers_says_which_have_a_window() {
    let cases = cases();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let (name, kinds) = (case["model"].as_str().unwrap(), &case["layer_types"]);
        let folder = Checkpoint::named(name);
        let mut config: Value = serde_json::from_str(&folder.text("config.json").unwrap()).unwrap();
        config["layer_types"] = kinds.clone();
        let text = config.to_string();
        let model = read_config(json::Value::parse(&text, 0).unwrap()).unwrap();
        let window = model.config.attention.window.unwrap();
        assert!(matches!(window.layers, WindowLayers::Listed(_)), "{name} {kinds}");
        {
            let weights = folder.all_weights();
            let encoder = encoder(&weights, &model, &folder.modules()).unwrap();
            let mut session = encoder.session(256, 1).unwrap();
            let texts = folder.expected();
            let rows = case["rows"].as_array().unwrap();
            for (row, vector) in rows.iter().zip(case["vectors"].as_array().unwrap()) {
                let ids = &texts[usize::try_from(row.as_u64().unwrap()).unwrap()].ids;
                let lengths = [ids.len()];
                let texts = Batch::new(ids, &lengths);
                let mut found = vec![f32::NAN; encoder.dimensions()];
                encoder.embed(&weights, &mut session, &InOrder, &texts, &mut found).unwrap();
                let apart = found.iter().zip(vector.as_array().unwrap());
                let apart = apart.map(|(a, b)| (f64::from(*a) - b.as_f64().unwrap()).abs());
                let farthest = apart.fold(0.0, f64::max);
                assert!(farthest <= 2e-5, "{name} {kinds} {row}: {farthest:e}");
            }
        }
    }
}
