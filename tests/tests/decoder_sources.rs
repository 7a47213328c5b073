//! A decoder over weights other than a file in memory: storage read into a tile, `.weights` files,
//! and sources that provide values instead of bytes.

use std::cell::Cell;

use nanoembed_core::describe::gguf::gguf_llama_config;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::{EmbdPlan, EmbdVocabulary, EmbdWriter, MERGES};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::llama::{Activations, LlamaConfig, LlamaPlan, Output, RopePairs};
use nanoembed_core::model::{Matrix, MatrixEncoding, SliceWeights, Weights};
use nanoembed_core::owned::{CausalModel, Decoder};
use nanoembed_core::quant;
use nanoembed_core::read::ReadAt;
use nanoembed_core::source::stored::StoredWeights;
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader, TensorSpec};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use nanoembed_tests::hostile::each_mutation;

const PROMPT: [u32; 9] = [257, 3, 90, 260, 12, 12, 200, 31, 265];

/// The logits after [`PROMPT`] and then after one more token.
fn logits(
    decoder: &Decoder,
    weights: &impl Weights,
    (activations, tile_bytes): (Activations, usize),
) -> Result<Vec<f32>, Error> {
    let plan = LlamaPlan { activations, tile_bytes, ..LlamaPlan::new(4, 16) };
    let mut session = decoder.session(plan)?;
    let vocabulary = decoder.config().vocabulary;
    let mut logits = vec![0.0; 2 * vocabulary];
    let (first, second) = logits.split_at_mut(vocabulary);
    decoder.forward(weights, &mut session, &PROMPT, Output::LastLogits(first))?;
    decoder.forward(weights, &mut session, &[7], Output::LastLogits(second))?;
    Ok(logits)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A file that records the largest piece requested.
struct Storage<'f> {
    file: &'f [u8],
    largest: Cell<usize>,
}

impl ReadAt for Storage<'_> {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        self.largest.set(self.largest.get().max(destination.len()));
        ReadAt::read_at(self.file, offset, destination)
    }
}

fn unnamed(header: &TensorHeader<'_>) -> TensorHeader<'static> {
    let TensorHeader { dtype, shape, offset, bytes, .. } = *header;
    TensorHeader { name: "", dtype, shape, offset, bytes }
}

#[test]
fn weights_read_through_a_tile_give_the_same_bits_as_borrowed_ones() {
    let file = data::read("llama/tiny.gguf");
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    let find = |name: &str| gguf.tensor(name).map(|tensor| unnamed(tensor.header()));
    let borrowed = SliceWeights::new(&file, find);
    let config = gguf_llama_config(&gguf).unwrap();
    let decoder = Decoder::open(&borrowed, config).unwrap();
    // The longest row is one of floats: 64 of them.
    let least = 256;
    for activations in [Activations::Floats, Activations::Words, Activations::Bytes] {
        let expected = logits(&decoder, &borrowed, (activations, 0)).unwrap();
        for tile in [least, 1000, 1 << 20] {
            let storage = Storage { file: &file, largest: Cell::new(0) };
            let stored = StoredWeights::new(&storage, find);
            let found = logits(&decoder, &stored, (activations, tile)).unwrap();
            assert_eq!(bits(&found), bits(&expected), "{activations:?} {tile}");
            assert!(storage.largest.get() <= tile, "{} of {tile}", storage.largest.get());
        }
        let stored = StoredWeights::new(file.as_slice(), find);
        let error = logits(&decoder, &stored, (activations, least - 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    }
}

/// Weights whose matrices with these names are provided as values.
struct Given<'f> {
    gguf: Gguf<'f>,
    file: &'f [u8],
    names: Vec<&'static str>,
}

impl Weights for Given<'_> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>, Error> {
        let found = Matrix::find(name, |name| self.gguf.tensor(name).map(|it| *it.header()))?;
        let given = self.names.iter().position(|known| *known == name);
        Ok(found.map(|matrix| match given {
            Some(number) => {
                let encoding = MatrixEncoding::Values(u32::try_from(number).unwrap());
                let Matrix { rows, cols, .. } = matrix;
                Matrix { encoding, rows, cols, ..Matrix::EMPTY }
            }
            None => matrix,
        }))
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, _: &'t mut [u8]) -> Result<&'t [u8], Error> {
        let start = usize::try_from(offset).unwrap();
        Ok(&self.file[start..start + length])
    }

    fn borrows(&self) -> bool {
        true
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<(), Error> {
        let tensor = self.gguf.tensor(self.names[number as usize]).unwrap();
        let first = usize::try_from(first).unwrap();
        quant::dequantize(tensor.header().dtype, tensor.data(), first, out)
    }
}

#[test]
fn values_that_the_source_gives_are_weights_too() {
    let file = data::read("llama/tiny.gguf");
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    let config = gguf_llama_config(&gguf).unwrap();
    let run = |names: Vec<&'static str>| {
        let weights = Given { gguf, file: &file, names };
        let decoder = Decoder::open(&weights, config).unwrap();
        logits(&decoder, &weights, (Activations::Floats, 0)).unwrap()
    };
    let names =
        vec!["token_embd.weight", "blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output.weight"];
    assert_eq!(bits(&run(names)), bits(&run(Vec::new())));
}

#[test]
fn a_source_without_values_says_so() {
    struct Empty;
    impl Weights for Empty {
        fn matrix(&self, _: &str) -> Result<Option<Matrix>, Error> {
            Ok(None)
        }
        fn bytes<'t>(&'t self, _: u64, _: usize, _: &'t mut [u8]) -> Result<&'t [u8], Error> {
            Ok(&[])
        }
        fn borrows(&self) -> bool {
            true
        }
    }
    let error = Empty.values(0, 0, &mut []).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedDtype);
    let sizes = ["n_vocab", "n_embd", "n_layers", "n_heads", "max_seq_len", "intermediate_size"];
    let number = |member: &str| (sizes.contains(&member) || member == "head_dim").then_some(2.0);
    let config = LlamaConfig::read(number, RopePairs::Halves).unwrap();
    assert_eq!(Decoder::open(&Empty, config).unwrap_err().kind(), ErrorKind::MissingTensor);
}

/// A decoder of one layer as a `.weights` file with these lines of merges and changes to the
/// metadata.
fn weights_file(merges: &[u8], changes: &[(&'static str, &'static str)]) -> Vec<u8> {
    const HIDDEN: u64 = 4;
    let tokens: [&[u8]; 7] = [b"a", b"b", b"c", b"ab", b"abc", b"<end>", b"<begin>"];
    let mut metadata = vec![
        ("architecture", "llama"),
        ("vocab_size", "7"),
        ("hidden_size", "4"),
        ("num_layers", "1"),
        ("num_attention_heads", "2"),
        ("num_key_value_heads", "1"),
        ("max_position_emb", "16"),
        ("intermediate_size", "6"),
        ("pre_tokenizer", "gpt-2"),
        ("added_tokens", "5 6"),
        ("add_bos", "true"),
        ("bos_token_id", "6"),
        ("eos_token_id", "5"),
    ];
    for (key, value) in changes {
        metadata.retain(|(known, _)| known != key);
        metadata.push((key, value));
    }
    let layer = |part: &str| format!("model.layers.0.{part}.weight");
    let shapes: [(String, &[u64]); 11] = [
        ("model.embed_tokens.weight".into(), &[7, HIDDEN]),
        ("model.norm.weight".into(), &[HIDDEN]),
        (layer("input_layernorm"), &[HIDDEN]),
        (layer("post_attention_layernorm"), &[HIDDEN]),
        (layer("self_attn.q_proj"), &[HIDDEN, HIDDEN]),
        (layer("self_attn.k_proj"), &[HIDDEN / 2, HIDDEN]),
        (layer("self_attn.v_proj"), &[HIDDEN / 2, HIDDEN]),
        (layer("self_attn.o_proj"), &[HIDDEN, HIDDEN]),
        (layer("mlp.gate_proj"), &[6, HIDDEN]),
        (layer("mlp.up_proj"), &[6, HIDDEN]),
        (layer("mlp.down_proj"), &[HIDDEN, 6]),
    ];
    let shape = |dims: &[u64]| Shape::new(dims).unwrap();
    let mut tensors: Vec<TensorSpec<'_>> = shapes
        .iter()
        .map(|(name, dims)| TensorSpec { name, dtype: Dtype::F32, shape: shape(dims) })
        .collect();
    let floats: u64 = tensors.iter().map(|tensor| tensor.shape.elements().unwrap()).sum();
    if !merges.is_empty() {
        let shape = shape(&[merges.len() as u64]);
        tensors.push(TensorSpec { name: MERGES, dtype: Dtype::U8, shape });
    }
    let vocabulary = Some(EmbdVocabulary { tokens: &tokens, special: [5, 5, 6, 5, 5] });
    let plan = EmbdPlan {
        metadata: &metadata,
        vocabulary,
        tensors: &tensors,
        aligned: true,
        checksums: false,
    };
    let mut file = Vec::new();
    let mut writer = EmbdWriter::new(plan, &mut file).unwrap();
    for index in 0..floats {
        let value = (index as f32 * 0.37).sin();
        writer.data(&value.to_le_bytes()).unwrap();
    }
    writer.data(merges).unwrap();
    writer.finish().unwrap();
    file
}

const MERGE_LINES: &[u8] = b"a b\nab c\n";

#[test]
fn a_weights_file_has_tokens_merges_and_the_ends_of_texts() {
    let model = CausalModel::open(weights_file(MERGE_LINES, &[])).unwrap();
    assert_eq!(model.tokenize("abcab<end>c", SpecialTokens::AsTokens).unwrap(), [6, 4, 3, 5, 2]);
    assert_eq!(model.ends().ids(), [5]);
    let silent = CausalModel::open(weights_file(MERGE_LINES, &[("add_bos", "false")])).unwrap();
    assert_eq!(silent.tokenize("ba", SpecialTokens::AsTokens).unwrap(), [1, 0]);
    let mut session = model.session(LlamaPlan::new(4, 8)).unwrap();
    let mut logits = [0.0; 7];
    model.forward(&mut session, &[6, 4, 3], Output::LastLogits(&mut logits)).unwrap();
    assert!(logits.iter().all(|x| x.is_finite()) && logits.iter().any(|x| *x != logits[0]));
}

#[test]
fn what_a_weights_file_lacks_is_refused() {
    let open = |merges: &[u8], changes: &[(&'static str, &'static str)]| {
        CausalModel::open(weights_file(merges, changes)).unwrap_err().kind()
    };
    assert_eq!(open(b"", &[]), ErrorKind::MissingVocabulary);
    assert_eq!(open(b"a b\na x\n", &[]), ErrorKind::BadVocabulary);
    assert_eq!(open(b"ab\n", &[]), ErrorKind::BadVocabulary);
    assert_eq!(open(b"\xFF\xFE\n", &[]), ErrorKind::BadVocabulary);
    assert_eq!(open(MERGE_LINES, &[("pre_tokenizer", "other")]), ErrorKind::UnsupportedTokenizer);
    assert_eq!(open(MERGE_LINES, &[("num_layers", "2")]), ErrorKind::MissingTensor);
    assert_eq!(open(MERGE_LINES, &[("num_layers", "0")]), ErrorKind::BadMetadata);
    assert_eq!(open(MERGE_LINES, &[("rope_theta", "ten thousand")]), ErrorKind::BadMetadata);
    assert_eq!(open(MERGE_LINES, &[("norm_offset", "true")]), ErrorKind::BadMetadata);
    assert_eq!(open(MERGE_LINES, &[("add_bos", "perhaps")]), ErrorKind::BadMetadata);
    assert_eq!(open(MERGE_LINES, &[("hidden_size", "8")]), ErrorKind::WrongShape);
    assert_eq!(open(MERGE_LINES, &[("architecture", "bert")]), ErrorKind::OtherModel);
}

#[test]
fn a_hostile_weights_file_neither_panics_nor_runs_away() {
    let file = weights_file(MERGE_LINES, &[]);
    let mut opened = 0;
    each_mutation(&file, (0..file.len()).step_by(2), |mutated, _| {
        let Ok(model) = CausalModel::open(mutated) else { return };
        opened += 1;
        let _ = model.tokenize("abc<begin>abcb", SpecialTokens::AsTokens);
        let Ok(mut session) = model.session(LlamaPlan::new(2, 4)) else { return };
        let mut logits = vec![0.0; model.config().vocabulary];
        let _ = model.forward(&mut session, &[0, 1], Output::LastLogits(&mut logits));
    });
    assert!(opened > 1000, "{opened}");
    for length in 0..file.len() {
        assert!(CausalModel::open(&file[..length]).is_err(), "{length}");
    }
}
