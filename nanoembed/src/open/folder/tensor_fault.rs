//! Faults of tensors that keep a model from being opened, in words.

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::TensorFault;
use nanoembed_core::tensor::Dtype;

use crate::error::Error;

/// A fault of the weights in `file`, with the name of the tensor.
pub(crate) fn failure(file: &str, fault: &TensorFault) -> Error {
    let TensorFault { error, tensor, dtype, .. } = fault;
    // What norms were called first is asked for where they are not called as they are now.
    let name = tensor.replace(".gamma", ".weight").replace(".beta", ".bias");
    let kind = error.kind();
    let message = match kind {
        ErrorKind::MissingTensor => format!("there is no tensor `{name}`"),
        ErrorKind::UnsupportedDtype => {
            let dtype = dtype.map_or("a type", Dtype::name);
            format!("`{name}` is stored as {dtype}, which is not computed with")
        }
        ErrorKind::WrongShape
        | ErrorKind::SizeMismatch
        | ErrorKind::BadScale
        | ErrorKind::NotFinite => {
            format!("`{name}`: {}", kind.message())
        }
        // Nothing is asked of a table's weights before it is refused.
        ErrorKind::UnsupportedSetting if tensor.is_empty() => {
            "a Dense module after a table of vectors is not done here".to_owned()
        }
        ErrorKind::UnsupportedSetting => {
            format!("the model's settings say that there is no tensor `{name}`, and there is one")
        }
        _ => return Error::in_file(file, *error),
    };
    let failure = Error::input(kind, message).at(file);
    match kind {
        ErrorKind::UnsupportedDtype => failure.with_hint("take the model in f32, f16 or bf16"),
        ErrorKind::MissingTensor => {
            failure.with_hint("does the model's config.json describe these weights?")
        }
        _ => failure,
    }
}
