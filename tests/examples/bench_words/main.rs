//! Opening, lookup and search against crate `finalfusion`, interleaved, on a synthetic file: `cargo
//! run --release --example bench_words -p nanoembed-tests -- FOLDER [WORDS] [COLS]`.
//!
//! The file (1.2 GB for the default million words of 300 columns) is written into FOLDER unless it
//! is there.

mod made;

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cpu_time::ThreadTime;
use finalfusion::prelude::{Embeddings, MmapEmbeddings as _, StorageViewWrap, VocabWrap};
use finalfusion::similarity::WordSimilarity as _;
use made::{name, write};
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::finalfusion::{
    Finalfusion, FinalfusionDecoder, MAX_ITEM_BYTES, StorageSpec,
};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::words::{Found, Index, IndexOptions, Memory, Stored, Words};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::finalfusion::{Numbers, search};

type Any<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Copy)]
struct OnDisk<'f>(&'f File);

impl ReadAt for OnDisk<'_> {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        self.0.read_at(destination, offset).map_err(|_| Error::new(offset, ErrorKind::ReadFailed))
    }
}

/// Median CPU milliseconds of runs that alternate, which excludes the time that other programs
/// take.
fn in_turns(rounds: usize, runs: &mut [(&str, &mut dyn FnMut())]) -> Vec<f64> {
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..rounds {
        for ((_, run), times) in runs.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            run();
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let mut medians = Vec::new();
    for ((name, _), times) in runs.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!("{name:44} {median:10.3} ms (best {:.3})", times[0]);
        medians.push(median);
    }
    medians
}

fn open(bytes: &[u8]) -> Any<Words<Memory<'_>, Vec<u64>>> {
    let layout = *Finalfusion::parse(bytes, Mode::Lenient)?.layout();
    let memory = vec![0; Index::memory_needed(&layout).ok_or("too large")?];
    let index = Index::build(&Memory(bytes), &layout, IndexOptions::default(), memory, &mut [])?;
    Ok(Words::with_index(Memory(bytes), layout, index))
}

fn mapped(path: &Path) -> Any<memmap2::Mmap> {
    // SAFETY: the file belongs to this program and is not truncated in the meantime.
    Ok(unsafe { memmap2::Mmap::map(&File::open(path)?)? })
}

fn theirs(path: &Path) -> Any<Embeddings<VocabWrap, StorageViewWrap>> {
    let mut reader = BufReader::new(File::open(path)?);
    Ok(Embeddings::mmap_embeddings(&mut reader)?)
}

/// Words looked up together.
const BATCH: usize = 64;

fn lookups(words: &Words<Memory<'_>, Vec<u64>>, path: &Path, count: u32) -> Any<()> {
    let theirs = theirs(path)?;
    let mut numbers = Numbers(3);
    let mut pick = |among: u32| name(u32::try_from(numbers.below(among.into())).unwrap_or(0));
    let random: Vec<String> = (0..200_000).map(|_| pick(count)).collect();
    let hot: Vec<String> = (0..200_000).map(|_| pick(1000)).collect();
    let cols = words.cols();
    let mut vector = vec![0.0; cols];
    let mut other = vec![0.0; cols];
    let mut vectors = vec![0.0; BATCH * cols];
    let mut found: [Option<Found>; BATCH] = [None; BATCH];
    for (what, asked) in [("random", random), ("hot 1000", hot)] {
        println!("200,000 lookups, {what}");
        let batched: Vec<&str> = asked.iter().map(String::as_str).collect();
        let rows: Vec<u32> =
            asked.iter().filter_map(|word| words.find(word.as_bytes()).ok()?).collect();
        let medians = in_turns(
            7,
            &mut [
                ("  finalfusion, embedding(), first element", &mut || {
                    for word in &asked {
                        black_box(theirs.embedding(word).map(|v| v[0]));
                    }
                }),
                ("  nanoembed, row_view(), first element", &mut || {
                    for word in &asked {
                        let row = words.find(word.as_bytes()).ok().flatten();
                        let view = row.and_then(|row| words.row_view(row.into()).ok().flatten());
                        black_box(view.map(|vector| vector[0]));
                    }
                }),
                ("  finalfusion, embedding(), copied", &mut || {
                    for word in &asked {
                        black_box(theirs.embedding(word).map(|v| v.to_vec()));
                    }
                }),
                ("  nanoembed, vector()", &mut || {
                    for word in &asked {
                        let _ = black_box(words.vector(word, &mut vector, &mut []));
                    }
                }),
                ("  nanoembed, vectors() of 64", &mut || {
                    for batch in batched.chunks(BATCH) {
                        let _ = black_box(words.vectors(batch, &mut vectors, &mut found, &mut []));
                    }
                }),
                ("  nanoembed, row(), words left aside", &mut || {
                    for row in &rows {
                        let _ = black_box(words.row(u64::from(*row), &mut other, &mut []));
                    }
                }),
            ],
        );
        println!(
            "  ratio: views {:.2}, copies {:.2}, in batches {:.2}; rows alone {:.2}",
            medians[1] / medians[0],
            medians[3] / medians[2],
            medians[4] / medians[2],
            medians[5] / medians[2]
        );
    }
    Ok(())
}

/// The vector of a word, in one pass over the vocabulary and a read of its row.
fn one_by_read_at(path: &Path, word: &str) -> Any<Option<Vec<f32>>> {
    let file = File::open(path)?;
    let mut buffer = vec![0; MAX_ITEM_BYTES];
    let mut seek = Seek::new(OnDisk(&file), FinalfusionDecoder::new(Mode::Lenient), &mut buffer);
    let mut row = None;
    let mut look = |event: Event<'_>| {
        match event {
            Event::Token { id, bytes } if bytes == word.as_bytes() => row = Some(id),
            _ => {}
        }
        Ok(())
    };
    seek = seek.without_data();
    while seek.next_event(&mut look)? {}
    let Some((row, layout)) = row.zip(seek.decoder().layout()) else { return Ok(None) };
    let mut vector = vec![0.0; layout.storage.cols() as usize];
    Words::scan(Stored(OnDisk(&file)), layout).row(row.into(), &mut vector, &mut [])?;
    Ok(Some(vector))
}

/// The memory of this process in MB: its own, and pages of mapped files.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
    kilobytes / 1000.0
}

/// The memory that one run adds to this process while its result exists.
fn memory<T>(what: &str, run: impl FnOnce() -> T) {
    let before = resident();
    let result = black_box(run());
    println!("{what:44} {:10.1} MB", resident() - before);
    drop(result);
}

fn searches(words: &Words<Memory<'_>, Vec<u64>>, bytes: &[u8], path: &Path) -> Any<f64> {
    let theirs = theirs(path)?;
    let cols = words.cols();
    let mut queries = vec![0.0; 64 * cols];
    for (row, query) in (0..).zip(queries.chunks_mut(cols)) {
        words.row(row * 1009 % words.layout().storage.rows(), query, &mut [])?;
    }
    let matrix = &bytes[bytes.len() - 4 * cols * usize::try_from(words.layout().storage.rows())?..];
    println!("search, the best 10");
    let medians = in_turns(
        5,
        &mut [
            ("  streaming the matrix once", &mut || {
                let sum = matrix.as_chunks::<64>().0.iter().fold([0_u64; 8], |mut sum, chunk| {
                    for (sum, word) in sum.iter_mut().zip(chunk.as_chunks::<8>().0) {
                        *sum ^= u64::from_le_bytes(*word);
                    }
                    sum
                });
                black_box(sum);
            }),
            ("  finalfusion, word_similarity()", &mut || {
                black_box(theirs.word_similarity(&name(5), 10, None).map(|best| best.len()));
            }),
            ("  nanoembed, 1 query", &mut || {
                let _ = black_box(search(words, &queries[..cols], &[0], 10, 0));
            }),
            ("  nanoembed, 64 queries", &mut || {
                let _ = black_box(search(words, &queries, &[], 10, 0));
            }),
        ],
    );
    println!("  1 query / stream {:.2}", medians[2] / medians[0]);
    println!("  per query, 1 alone / 64 together {:.1}", medians[2] / (medians[3] / 64.0));
    Ok(medians[2])
}

fn main() -> Any<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("FOLDER [WORDS] [COLS]")?;
    let count: u32 = arguments.next().map_or(Ok(1_000_000), |words| words.parse())?;
    let cols: u32 = arguments.next().map_or(Ok(300), |cols| cols.parse())?;
    let path = Path::new(&folder).join(format!("words_{count}_{cols}.fifu"));
    if !path.exists() {
        write(&path, count, StorageSpec::Array { rows: count.into(), cols })?;
    }
    println!("opening {}", path.display());
    memory("  nanoembed, one vector by ReadAt", || one_by_read_at(&path, &name(count - 1)).ok());
    let map = mapped(&path)?;
    memory("  nanoembed, with an index", || open(&map).ok());
    memory("  finalfusion, mmap", || theirs(&path).ok());
    let medians = in_turns(
        5,
        &mut [
            ("  finalfusion, mmap", &mut || drop(black_box(theirs(&path)))),
            ("  nanoembed, with an index", &mut || drop(black_box(open(&map)))),
            ("  nanoembed, without", &mut || {
                let _ = black_box(Finalfusion::parse(&map, Mode::Lenient));
            }),
            ("  nanoembed, one vector by ReadAt, no index", &mut || {
                let _ = black_box(one_by_read_at(&path, &name(count - 1)));
            }),
        ],
    );
    println!("  ratio {:.1}", medians[0] / medians[1]);
    let words = open(&map)?;
    let index = Index::memory_needed(words.layout()).unwrap_or(0) * 8;
    println!("  index: {:.1} MB", index as f64 / 1e6);
    lookups(&words, &path, count)?;
    let float = searches(&words, &map, &path)?;

    let codes_per_row = (1..=cols / 8).rev().find(|codes| cols.is_multiple_of(*codes)).unwrap_or(1);
    let path = Path::new(&folder).join(format!("words_{count}_{cols}_pq{codes_per_row}.fifu"));
    if !path.exists() {
        let storage = StorageSpec::Quantized {
            rows: count.into(),
            cols,
            codes_per_row,
            centroids: 256,
            projection: false,
            norms: false,
        };
        write(&path, count, storage)?;
    }
    let map = mapped(&path)?;
    let words = open(&map)?;
    let query = Numbers(1).floats(cols as usize);
    println!("search on {codes_per_row} codes a row, the best 10");
    let medians = in_turns(
        11,
        &mut [("  nanoembed, 1 query", &mut || {
            let _ = black_box(search(&words, &query, &[], 10, 0));
        })],
    );
    println!("  float / codes {:.1}", float / medians[0]);
    Ok(())
}
