//! OUT on its way to the disk.

use super::Convert;
use crate::atomic::NewFile;
use crate::checkpoint::tensor::Tensor;
use crate::error::{Failure, Result};
use crate::mapped::Mapped;
use crate::progress::Progress;
use crate::weights_file::Written;

impl Convert {
    /// Lets `write` fill OUT from `tensors`, and `check` see its bytes before it gets its name: a
    /// file that cannot be used is not handed out. Both are told the name for their messages.
    pub(super) fn create(
        &self,
        tensors: &[Tensor<'_>],
        quiet: bool,
        write: impl FnOnce((&str, &mut NewFile), Option<&Progress>) -> Result<Written>,
        check: impl FnOnce(&str, &[u8]) -> Result<()>,
    ) -> Result<Written> {
        let mut file = NewFile::create(&self.output, true)?;
        let name = file.name();
        let total = tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = (!quiet).then(|| Progress::bytes("converting", total));
        let written = write((&name, &mut file), progress.as_ref())?;
        drop(progress);
        if let Some(file) = file.written()? {
            let bytes = Mapped::of(file).map_err(|error| Failure::reading(&name, &error))?;
            check(&name, &bytes)?;
        }
        file.commit()?;
        Ok(written)
    }
}
