//! A folder that is being written when the program is interrupted. The only test of its process, as
//! the files of all others would be gone too.

use std::path::Path;

use nanoembed::convert::Pruning;
use nanoembed::files::new_file::remove_unfinished;
use nanoembed::{Observer, Silent, Task};
use tempfile::TempDir;

/// Interrupts the work when it writes weights.
struct Interrupting<'f>(&'f Path);

impl Observer for Interrupting<'_> {
    fn begin(&self, _: Task) {
        assert_eq!(self.0.read_dir().unwrap().count(), 1);
        drop(remove_unfinished());
    }
}

#[test]
fn an_interruption_leaves_no_part_of_a_folder() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
    let mut pruning = Pruning::open(models.join("roberta")).unwrap();
    pruning.read(&["How do I reset my password?"]).unwrap();
    let out = TempDir::new().unwrap();
    let target = out.path().join("pruned");
    pruning.write(&target, &Interrupting(out.path())).unwrap_err();
    assert_eq!(out.path().read_dir().unwrap().count(), 0);
    pruning.write(&target, &Silent).unwrap();
    assert_eq!(out.path().read_dir().unwrap().count(), 1);
}
