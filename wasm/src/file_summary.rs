//! The state that a reader keeps of its file.

use nanoembed_core::event::{Event, FileInfo, Format};
use nanoembed_core::model::llama::is_decoder_tensor;
use nanoembed_core::tensor::{Dtype, TensorHeader};

/// The summary of the events so far.
#[derive(Debug, Default)]
pub(crate) struct FileSummary {
    info: Option<FileInfo>,
    has_tensors: bool,
    is_after_header: bool,
    is_uqff: bool,
    /// True if the first tensor is that of a causal model.
    has_decoder: Option<bool>,
}

impl FileSummary {
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Header(info) => self.info = Some(*info),
            Event::Data { .. } => self.is_after_header = true,
            Event::Tensor(tensor) => {
                self.is_uqff |= self.is_container() && tells_uqff(tensor, !self.has_tensors);
                self.has_tensors = true;
                if cfg!(any(feature = "embed", feature = "static")) {
                    self.has_decoder.get_or_insert(is_decoder_tensor(tensor.name));
                }
            }
            _ => {}
        }
    }

    fn is_container(&self) -> bool {
        self.info.is_some_and(|info| info.format == Format::Safetensors)
    }

    /// Returns true if the kind of the file is known, so that its first bytes are not needed again;
    /// the tensors of a safetensors file say if it is UQFF.
    pub(crate) fn header_is_read(&self) -> bool {
        self.is_after_header || (self.info.is_some() && !self.is_container())
    }

    /// Returns true if a safetensors file has turned out to be UQFF.
    pub(crate) fn found_uqff(&self) -> bool {
        self.is_uqff
    }

    /// Returns true if the file holds a causal model, which its first tensor says.
    pub(crate) fn has_decoder(&self) -> Option<bool> {
        self.has_decoder
    }

    /// The size of the whole file as its header gives it, 0 if it does not.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.info.and_then(|info| info.file_bytes).unwrap_or(0)
    }
}

/// Returns true if a tensor says that a safetensors file is UQFF: the version of 1.x, or the blob
/// of 0.x whose name is an index.
fn tells_uqff(tensor: &TensorHeader<'_>, is_first: bool) -> bool {
    let is_index = tensor.dtype == Dtype::U8
        && !tensor.name.is_empty()
        && tensor.name.bytes().all(|byte| byte.is_ascii_digit());
    tensor.name == "uqff.version.major" || (is_first && is_index)
}
