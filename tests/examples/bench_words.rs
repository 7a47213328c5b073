//! Opening, lookup and search against crate `finalfusion`, interleaved, on a made-up file:
//! `cargo run --release --example bench_words -p nanoembed-tests -- FOLDER [WORDS] [COLS]`.
//!
//! The file (1.2 GB for the default million words of 300 columns) is written into FOLDER unless it is there.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufReader, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

use finalfusion::prelude::{Embeddings, MmapEmbeddings as _, StorageViewWrap, VocabWrap};
use finalfusion::similarity::WordSimilarity as _;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    BrokenUtf8, Decoder, Finalfusion, Plan, StorageSpec, Writer,
};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::sink::Sink;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::{Index, IndexOptions, Memory, Stored, Words};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::finalfusion::{Numbers, search};

type Any<T> = Result<T, Box<dyn std::error::Error>>;

struct ToFile(BufWriter<File>);

impl Sink for ToFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(|_| Error::without_offset(ErrorKind::WriteFailed))
    }
}

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

fn name(row: u32) -> String {
    // Spread over the alphabet, as words are.
    format!("w{:x}", u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24)
}

fn write(path: &Path, words: u32, storage: StorageSpec) -> Any<()> {
    let plan = Plan {
        metadata: None,
        vocabulary: WordVocabulary {
            words,
            subwords: Subwords::None,
            min_n: 0,
            max_n: 0,
            begin: Bracket::BEGIN,
            end: Bracket::END,
        },
        word_bytes: (0..words).map(|row| name(row).len() as u64).sum(),
        ngram_bytes: 0,
        storage,
        norms: false,
        norms_listed: true,
        broken_utf8: BrokenUtf8::Error,
    };
    let mut writer = Writer::new(plan, ToFile(BufWriter::new(File::create(path)?)))?;
    (0..words).try_for_each(|row| writer.word(name(row).as_bytes()))?;
    let mut numbers = Numbers(7);
    match storage {
        StorageSpec::Array { rows, cols } => {
            let mut row = vec![0.0; cols as usize];
            for _ in 0..rows {
                row.iter_mut().for_each(|value| *value = numbers.float() + 0.01);
                let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
                let bytes: Vec<u8> =
                    row.iter().flat_map(|value| (value / norm).to_le_bytes()).collect();
                writer.data(&bytes)?;
            }
        }
        StorageSpec::Quantized { rows, cols, codes_per_row, centroids, .. } => {
            for _ in 0..centroids * cols {
                writer.data(&(numbers.float() / 50.0).to_le_bytes())?;
            }
            for _ in 0..rows {
                let code = |_| u8::try_from(numbers.below(centroids.into())).unwrap_or(0);
                let codes: Vec<u8> = (0..codes_per_row).map(code).collect();
                writer.data(&codes)?;
            }
        }
    }
    writer.finish()?.0.flush()?;
    Ok(())
}

/// Median milliseconds of what runs in turns.
fn in_turns(rounds: usize, runs: &mut [(&str, &mut dyn FnMut())]) -> Vec<f64> {
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..rounds {
        for ((_, run), times) in runs.iter_mut().zip(&mut times) {
            let start = Instant::now();
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
    // SAFETY: the file is this program's own and nobody shortens it meanwhile.
    Ok(unsafe { memmap2::Mmap::map(&File::open(path)?)? })
}

fn theirs(path: &Path) -> Any<Embeddings<VocabWrap, StorageViewWrap>> {
    let mut reader = BufReader::new(File::open(path)?);
    Ok(Embeddings::mmap_embeddings(&mut reader)?)
}

fn lookups(words: &Words<Memory<'_>, Vec<u64>>, path: &Path, count: u32) -> Any<()> {
    let theirs = theirs(path)?;
    let mut numbers = Numbers(3);
    let mut pick = |among: u32| name(u32::try_from(numbers.below(among.into())).unwrap_or(0));
    let random: Vec<String> = (0..20_000).map(|_| pick(count)).collect();
    let hot: Vec<String> = (0..20_000).map(|_| pick(1000)).collect();
    let mut vector = vec![0.0; words.cols()];
    let mut sum = 0.0;
    for (what, asked) in [("random", random), ("hot 1000", hot)] {
        println!("20,000 lookups, {what}");
        let medians = in_turns(
            11,
            &mut [
                ("  finalfusion, embedding()", &mut || {
                    for word in &asked {
                        black_box(theirs.embedding(word).map(|v| v.to_vec()));
                    }
                }),
                ("  nanoembed, vector()", &mut || {
                    for word in &asked {
                        let _ = black_box(words.vector(word, &mut vector, &mut []));
                        sum += vector[0];
                    }
                }),
            ],
        );
        println!("  ratio {:.2}", medians[1] / medians[0]);
    }
    black_box(sum);
    Ok(())
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
    let map = mapped(&path)?;

    println!("opening {}", path.display());
    let medians = in_turns(
        5,
        &mut [
            ("  finalfusion, mmap", &mut || drop(black_box(theirs(&path)))),
            ("  nanoembed, with an index", &mut || drop(black_box(open(&map)))),
            ("  nanoembed, without", &mut || {
                let _ = black_box(Finalfusion::parse(&map, Mode::Lenient));
            }),
            ("  nanoembed, one vector by ReadAt, no index", &mut || {
                let file = File::open(&path).ok();
                let Some(file) = &file else { return };
                let mut buffer = vec![0; 1 << 16];
                let decoder = Decoder::new(Mode::Lenient);
                let mut seek = Seek::new(OnDisk(file), decoder, &mut buffer).without_data();
                while let Ok(true) = seek.next_event(|_| Ok(())) {}
                let Some(layout) = seek.decoder().layout() else { return };
                let mut vector = vec![0.0; cols as usize];
                let words = Words::scan(Stored(OnDisk(file)), layout);
                let _ = black_box(words.vector(&name(count - 1), &mut vector, &mut []));
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
