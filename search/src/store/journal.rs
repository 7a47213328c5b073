//! The journal of an index that is being made: vectors with the digests of their texts, one after the
//! other.
//!
//! | bytes | field |
//! |---|---|
//! | 8 + 16 + 4 + 4 | magic, fingerprint, elements of a vector, 0 |
//! | 16 + 4 + 4 + n + 8 each | digest of the text, scale, length, codes, digest of the record before |
//!
//! A record that is incomplete or damaged ends the journal: only those before it count.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nanoembed::Observer;
use nanoembed::digest::digest;

use crate::segment::{Identity, Vector};

const MAGIC: [u8; 8] = *b"nembjrn1";
const HEADER: usize = 32;

/// The interval at which a process that waits looks for the lock.
const INTERVAL: Duration = Duration::from_millis(50);

/// The bytes of a record besides its codes.
const FIELDS: usize = 16 + 4 + 4 + 8;

/// A journal that this process has locked.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    header: Vec<u8>,
    /// The vectors that an earlier process left behind when it was killed.
    pub(crate) vectors: HashMap<u128, Vector>,
}

impl Journal {
    /// Opens the journal at `path` when no other process has it. `observer` may end the wait.
    pub(super) fn open(
        path: &Path,
        identity: &Identity,
        observer: &dyn Observer,
    ) -> io::Result<Self> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file, observer)?;
        let mut header = MAGIC.to_vec();
        header.extend(identity.fingerprint.to_le_bytes());
        header.extend(identity.dimensions.to_le_bytes());
        header.resize(HEADER, 0);
        let mut vectors = HashMap::new();
        let whole = read(&file, &header, identity.dimensions as usize, &mut vectors)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        Ok(Self { file, header, vectors })
    }

    /// Adds vectors.
    pub(crate) fn add<'v>(
        &mut self,
        vectors: impl Iterator<Item = (u128, &'v Vector)>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.file.stream_position()? == 0 {
            bytes.extend(&self.header);
        }
        for (of, vector) in vectors {
            let start = bytes.len();
            bytes.extend(of.to_le_bytes());
            bytes.extend(vector.scale.to_le_bytes());
            bytes.extend(vector.length.to_le_bytes());
            bytes.extend(&vector.codes);
            bytes.extend(check(bytes.get(start..).unwrap_or_default()));
        }
        self.file.write_all(&bytes)
    }

    /// Removes all vectors.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0)).map(|_| ())
    }
}

/// Locks the file, after the process that has locked it.
fn lock(file: &File, observer: &dyn Observer) -> io::Result<()> {
    let mut waits = false;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if observer.is_cancelled() => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut waits, true) {
                    observer.note("another process indexes this folder: waiting for it");
                }
                thread::sleep(INTERVAL);
            }
            // Where files cannot be locked, an index is still replaced as a whole.
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(error);
            }
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

fn check(record: &[u8]) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = digest(record).to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Reads the records up to the first that is incomplete or damaged; returns the length of the journal
/// up to there.
fn read(
    file: &File,
    header: &[u8],
    dimensions: usize,
    vectors: &mut HashMap<u128, Vector>,
) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut found = vec![0; header.len()];
    if read_whole(&mut reader, &mut found)?.is_none() || found != header {
        return Ok(0);
    }
    let mut whole = header.len() as u64;
    let mut record = vec![0; dimensions.saturating_add(FIELDS)];
    while read_whole(&mut reader, &mut record)?.is_some() {
        let Some((fields, told)) = record.split_last_chunk::<8>() else { break };
        if check(fields) != *told {
            break;
        }
        let Some((of, rest)) = fields.split_first_chunk() else { break };
        let Some((scale, rest)) = rest.split_first_chunk() else { break };
        let Some((length, codes)) = rest.split_first_chunk() else { break };
        let vector = Vector {
            codes: codes.to_vec(),
            scale: f32::from_le_bytes(*scale),
            length: f32::from_le_bytes(*length),
        };
        vectors.insert(u128::from_le_bytes(*of), vector);
        whole += record.len() as u64;
    }
    Ok(whole)
}

/// Fills a buffer; `None` if the file ends first.
fn read_whole(reader: &mut BufReader<&File>, buffer: &mut [u8]) -> io::Result<Option<()>> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(Some(())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Nobody has locked the journals of tests.
    struct NoWaiting;

    impl Observer for NoWaiting {
        fn note(&self, note: &str) {
            panic!("{note}");
        }
    }

    /// Cancels as soon as it is told that another has the lock.
    #[derive(Default)]
    struct Impatient(AtomicBool);

    impl Observer for Impatient {
        fn note(&self, _: &str) {
            self.0.store(true, Ordering::Relaxed);
        }

        fn is_cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn waiting_for_another_process_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let identity = Identity::default();
        let first = Journal::open(&path, &identity, &NoWaiting).unwrap();
        let impatient = Impatient::default();
        let error = Journal::open(&path, &identity, &impatient).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(impatient.is_cancelled());
        drop(first);
        Journal::open(&path, &identity, &NoWaiting).unwrap();
    }

    #[test]
    fn a_cut_or_changed_journal_keeps_the_records_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let identity = Identity { fingerprint: 7, root: 8, dimensions: 3 };
        let open = |identity| Journal::open(&path, identity, &NoWaiting).unwrap();
        let vector = |at: u8| Vector { codes: vec![at; 3], scale: 0.5, length: f32::from(at) };
        let all: Vec<(u128, Vector)> = (0..4).map(|at| (u128::from(at), vector(at))).collect();
        let mut journal = open(&identity);
        journal.add(all[..2].iter().map(|(of, vector)| (*of, vector))).unwrap();
        journal.add(all[2..].iter().map(|(of, vector)| (*of, vector))).unwrap();
        drop(journal);
        let bytes = std::fs::read(&path).unwrap();
        let record = FIELDS + 3;
        assert_eq!(bytes.len(), HEADER + 4 * record);
        for length in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let whole = length.saturating_sub(HEADER) / record;
            let journal = open(&identity);
            assert_eq!(journal.vectors, all[..whole].iter().cloned().collect());
            assert_eq!(
                journal.file.metadata().unwrap().len() as usize % record,
                if length < HEADER { 0 } else { HEADER }
            );
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            std::fs::write(&path, &changed).unwrap();
            let whole = at.checked_sub(HEADER).map_or(0, |at| at / record);
            assert_eq!(open(&identity).vectors, all[..whole].iter().cloned().collect());
        }
        std::fs::write(&path, &bytes).unwrap();
        assert!(open(&Identity { fingerprint: 9, ..identity }).vectors.is_empty());
    }
}
