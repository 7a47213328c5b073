//! JSON, blocks, and the tensors of UQFF, GGUF and AMB files.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::safetensors::{Entry, Safetensors, dtype_name};
use nanoembed_core::format::uqff::{
    Uqff, UqffLayer, is_uqff, place_in_blob, write_blobs, write_tensors,
};
use nanoembed_core::quant::{dequantize, dequantize_weight, quantize, supports};
use nanoembed_core::tensor::{Dtype, Encoding, Weight};
use nanoembed_core::text::json::Lexer;

/// A lexer fed in two parts finds the same lexemes as one fed at once.
///
/// The first byte chooses the cut.
///
/// # Panics
///
/// If the cut matters.
pub fn json(input: &[u8]) {
    let Some((cut, text)) = input.split_first() else { return };
    let (front, back) = text.split_at(usize::from(*cut) % (text.len() + 1));
    assert_eq!(lexemes(&[text]), lexemes(&[front, back]), "cut at {}", front.len());
}

fn lexemes(pieces: &[&[u8]]) -> Vec<String> {
    let mut lexer = Lexer::new(0);
    let mut found = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match lexer.next(rest) {
                Ok((used, lexeme)) => {
                    rest = &rest[used..];
                    found.extend(lexeme.map(|lexeme| format!("{lexeme:?}")));
                }
                Err(error) => {
                    found.push(format!("{error:?}"));
                    return found;
                }
            }
        }
    }
    found.push(format!("{:?}", lexer.finish()));
    found
}

/// Tensors that the views of UQFF, GGUF and AMB accept can be dequantised in any range, and UQFF
/// can be written and read back.
///
/// The first two bytes choose the range.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn weights(input: &[u8]) {
    let Some(([first, length], file)) = input.split_first_chunk::<2>() else { return };
    let (first, mut out) = (usize::from(*first), vec![0.0; usize::from(*length)]);
    if let Ok(gguf) = Gguf::parse(file, Mode::Lenient) {
        for tensor in gguf.tensors() {
            let header = tensor.header();
            let there = header.shape.elements().unwrap_or(0) >= (first + out.len()) as u64;
            let answer = dequantize(header.dtype, tensor.data(), first, &mut out);
            assert_eq!(answer.is_ok(), there);
        }
    }
    if let Ok(amb) = Amb::parse(file, Mode::Lenient) {
        let _ = amb.duplicate_member();
        if let Some(tokenizer) = amb.tokenizer() {
            assert_eq!(tokenizer.tokens().len(), tokenizer.tokens().count());
            assert_eq!(tokenizer.merges().len(), tokenizer.merges().count());
        }
        for tensor in amb.tensors() {
            let header = tensor.header();
            let encoding = Encoding::Plain { dtype: header.dtype, data: tensor.data() };
            let weight = Weight::new(header.shape, encoding).expect("validated");
            let there = weight.elements() >= (first + out.len()) as u64;
            let answer = dequantize_weight(&weight, first, &mut out);
            let bad_scale = answer.is_err_and(|e| e.kind() == ErrorKind::BadScale);
            assert!(bad_scale || answer.is_ok() == there);
        }
    }
    let mut entries = [Entry::default(); 256];
    let Ok(uqff) = Uqff::parse(file, Mode::Lenient, &mut entries) else { return };
    let layers: Vec<UqffLayer<'_>> = uqff.layers().map(|layer| layer.expect("validated")).collect();
    for layer in &layers {
        let there = layer.weight.elements() >= (first + out.len()) as u64;
        let answer = dequantize_weight(&layer.weight, first, &mut out);
        // No program writes weights as powers of two or E5M2.
        let unsupported = answer.is_err_and(|e| e.kind() == ErrorKind::UnsupportedDtype);
        assert!(unsupported || answer.is_ok() == there);
    }
    let mut written = Vec::new();
    if write_tensors(&layers, &[], true, &mut written).is_ok() {
        let mut entries = [Entry::default(); 512];
        let back = Uqff::parse(&written, Mode::Strict, &mut entries).expect("our own file");
        assert_eq!(back.layers().count(), layers.len());
    }
    let numbered: Vec<_> = (0_u32..).zip(layers.iter().copied()).collect();
    let mut written = Vec::new();
    if !layers.is_empty() && write_blobs(&numbered, &[], &mut written).is_ok() {
        let mut entries = [Entry::default(); 512];
        let back = Uqff::parse(&written, Mode::Strict, &mut entries).expect("our own file");
        assert_eq!(back.layers().count(), layers.len());
    }
}

/// Quantisers accept any values, and blocks any bits.
///
/// The first byte chooses the type.
///
/// # Panics
///
/// If they do not.
pub fn blocks(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let dtype = Dtype::ALL[usize::from(*choice) % Dtype::ALL.len()];
    let elements = bytes.len() / dtype.block_bytes() * dtype.block_elements();
    let mut values = vec![0.0; elements];
    let answer = dequantize(dtype, bytes, 0, &mut values);
    assert_eq!(answer.is_ok(), supports(dtype));
    let values: Vec<_> = bytes.as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    let whole = values.len() / dtype.block_elements();
    let mut blocks = vec![0; whole * dtype.block_bytes()];
    let _ = quantize(dtype, &values[..whole * dtype.block_elements()], &mut blocks);
}

/// A container that is accepted here is accepted by the reference too, with the same tensors at the
/// same offsets.
///
/// # Panics
///
/// If it is not.
pub fn container(file: &[u8]) {
    let _ = is_uqff(file);
    let mut entries = [Entry::default(); 256];
    let Ok(ours) = Safetensors::parse(file, Mode::Lenient, &mut entries) else { return };
    let theirs = safetensors::SafeTensors::deserialize(file).expect("what we accept");
    assert_eq!(ours.len(), theirs.len());
    for tensor in ours.tensors() {
        let header = tensor.header();
        let name: String = nanoembed_core::text::json::chars(header.name).collect();
        let other = theirs.tensor(&name).expect("the same names");
        assert_eq!(dtype_name(header.dtype), Some(other.dtype().to_string().as_str()));
        let dims: Vec<_> = other.shape().iter().map(|dim| *dim as u64).collect();
        assert_eq!(header.shape.dims(), dims);
        assert_eq!(tensor.data(), other.data());
        assert!(ours.tensor(&name).is_some_and(|found| found.data() == other.data()));
    }
}

/// A blob of UQFF 0.x with arbitrary bytes is assembled and dequantised, or rejected at an offset
/// in a named field.
///
/// # Panics
///
/// If an error is outside the blob, or values cannot be computed.
pub fn blob(blob: &[u8]) {
    let header = format!(
        "{{\"0\":{{\"dtype\":\"U8\",\"shape\":[{0}],\"data_offsets\":[0,{0}]}}}}",
        blob.len()
    );
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), blob].concat();
    let start = 8 + header.len() as u64;
    for mode in [Mode::Lenient, Mode::Strict] {
        let mut entries = [Entry::default(); 2];
        match Uqff::parse(&file, mode, &mut entries) {
            Ok(uqff) => {
                let layer = uqff.layer("0").expect("it is there").expect("validated");
                let mut out = [0.0; 300];
                let some = layer.weight.elements().min(300) as usize;
                let _ = dequantize_weight(&layer.weight, 0, &mut out[..some]);
            }
            Err(error) => {
                let offset = error.offset().expect("an error about the file");
                assert!((start..=file.len() as u64).contains(&offset), "{error}");
                let _ = place_in_blob(blob, offset - start);
            }
        }
    }
}

/// An accepted GGUF file can be iterated and dequantised, and its values copied. Types known only
/// by size are rejected as such.
///
/// # Panics
///
/// If it cannot.
pub fn gguf(file: &[u8]) {
    let Ok(gguf) = Gguf::parse(file, Mode::Lenient) else { return };
    for (key, _) in gguf.metadata() {
        assert!(gguf.stored_value(key).is_some(), "{key}");
        gguf.elements(key).into_iter().flatten().for_each(drop);
    }
    gguf.tokens().for_each(drop);
    for tensor in gguf.tensors() {
        let header = tensor.header();
        let some = header.shape.elements().unwrap_or(0).min(300) as usize;
        let mut out = [0.0; 300];
        let found = dequantize(header.dtype, tensor.data(), 0, &mut out[..some]);
        if supports(header.dtype) {
            found.expect("all that is there");
        } else {
            assert!(found.is_err_and(|error| error.kind() == ErrorKind::UnsupportedDtype));
        }
    }
}
