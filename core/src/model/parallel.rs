//! Parallel execution: threads belong to the host, which receives the work of one long text in
//! parts.

use crate::error::Result;

/// Runs the parts of a piece of work, in any order and in parallel if it can.
///
/// A host with threads collects the parts and gives each to one of them:
///
/// ```ignore
/// impl Parallel for Pool {
///     fn jobs(&self) -> usize { rayon::current_num_threads() }
///     fn run(&self, parts: Parts<'_>, job: &Job<'_>) -> Result<()> {
///         parts.collect::<Vec<_>>().into_par_iter().try_for_each(job)
///     }
/// }
/// ```
pub trait Parallel: Sync {
    /// The largest number of parts into which the work is divided; each needs its own scratch
    /// memory.
    fn jobs(&self) -> usize;

    /// Calls `job` with every part.
    ///
    /// # Errors
    ///
    /// The first error of `job`.
    fn run(&self, parts: Parts<'_>, job: &Job<'_>) -> Result<()>;
}

/// The function to call with each part.
pub type Job<'j> = dyn Fn(WorkPart<'_>) -> Result<()> + Sync + 'j;

/// Runs all parts in order on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct InOrder;

impl Parallel for InOrder {
    fn jobs(&self) -> usize {
        1
    }

    fn run(&self, mut parts: Parts<'_>, job: &Job<'_>) -> Result<()> {
        parts.try_for_each(job)
    }
}

/// A part of the work: the piece of the output that it writes, and its scratch memory.
#[derive(Debug)]
pub struct WorkPart<'a> {
    /// Counts from 0.
    pub(super) index: usize,
    pub(super) output: &'a mut [f32],
    pub(super) floats: &'a mut [f32],
    pub(super) bytes: &'a mut [u8],
}

/// The parts of a piece of work.
#[derive(Debug)]
pub struct Parts<'a> {
    index: usize,
    output: &'a mut [f32],
    output_size: usize,
    floats: &'a mut [f32],
    floats_size: usize,
    bytes: &'a mut [u8],
    bytes_size: usize,
}

impl<'a> Parts<'a> {
    /// Divides `output` into parts of `output_size` (the last may be shorter), each with
    /// `floats_size` and `bytes_size` of the scratch memory.
    pub(super) fn new(
        (output, output_size): (&'a mut [f32], usize),
        (floats, floats_size): (&'a mut [f32], usize),
        (bytes, bytes_size): (&'a mut [u8], usize),
    ) -> Self {
        Self { index: 0, output, output_size, floats, floats_size, bytes, bytes_size }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = WorkPart<'a>;

    fn next(&mut self) -> Option<WorkPart<'a>> {
        if self.output.is_empty() || self.output_size == 0 {
            return None;
        }
        let size = self.output_size.min(self.output.len());
        let index = self.index;
        self.index += 1;
        Some(WorkPart {
            index,
            output: split_off(&mut self.output, size)?,
            floats: split_off(&mut self.floats, self.floats_size)?,
            bytes: split_off(&mut self.bytes, self.bytes_size)?,
        })
    }
}

/// Splits the first `size` elements off a slice; `None` if it has fewer.
pub(super) fn split_off<'a, T>(slice: &mut &'a mut [T], size: usize) -> Option<&'a mut [T]> {
    slice.split_off_mut(..size)
}
