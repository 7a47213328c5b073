//! OUT on its way to the disk.

use super::Conversion;
use crate::checkpoint::tensor::Tensor;
use crate::convert::weights_file::WrittenModel;
use crate::error::{Error, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::NewFile;
use crate::progress::{Observer, Progress};

impl Conversion {
    /// Lets `write` fill OUT from `tensors`, and `check` see its bytes before it gets its name: a
    /// file that cannot be used is not handed out. Both get the name for their messages.
    pub(super) fn create(
        &self,
        tensors: &[Tensor<'_>],
        observer: &dyn Observer,
        write: impl FnOnce((&str, &mut NewFile), &Progress<'_>) -> Result<WrittenModel>,
        check: impl FnOnce(&str, &[u8]) -> Result<()>,
    ) -> Result<WrittenModel> {
        let mut file = NewFile::create(&self.output, true)?;
        let name = file.name();
        let total = tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = Progress::bytes(observer, "converting", total);
        let written = write((&name, &mut file), &progress)?;
        drop(progress);
        if let Some(file) = file.written()? {
            let bytes =
                MappedFile::from_file(file).map_err(|error| Error::reading(&name, &error))?;
            check(&name, &bytes)?;
        }
        file.commit()?;
        Ok(written)
    }
}
