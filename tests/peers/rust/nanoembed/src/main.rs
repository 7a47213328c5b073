//! nanoembed on a mapped `.weights` or `.amb` file: the core's owned types, used as a host would.
//!
//! With `--precise`, activations stay in f32 for 8-bit weights.
//!
//! Threads: rayon's global pool, sized by `RAYON_NUM_THREADS`, which the benchmark sets. Packs of
//! short texts are distributed over the threads; if there are fewer packs than threads, all work on
//! each.

use std::fs::File;

use anyhow::Result;
use memmap2::Mmap;
use nanoembed_core::model::{InOrder, Job, Parallel, Parts, Plan};
use nanoembed_core::owned::{Encoder, FileWeights, Session};
use peer_protocol::{Engine, serve};
use rayon::prelude::*;

/// Short texts are packed until this many tokens are computed together.
const PACKED_TOKENS: usize = 256;

struct Nanoembed {
    model: Encoder<FileWeights<Mmap>>,
    threads: usize,
    precise: bool,
}

/// Texts that are computed together, and the memory for it.
struct Pack {
    ids: Vec<u32>,
    lengths: Vec<usize>,
}

struct Request {
    packs: Vec<Pack>,
    /// Scratch memory: one piece for all threads together, or one per thread.
    sessions: Vec<Session>,
}

impl Nanoembed {
    fn embed<P: Parallel>(
        &self,
        pack: &Pack,
        session: &mut Session,
        parallel: &P,
    ) -> Result<Vec<f32>> {
        let Pack { ids, lengths } = pack;
        let mut out = vec![0.0; lengths.len() * self.model.dimensions()];
        self.model.embed(session, parallel, ids, lengths, 0, &mut out)?;
        Ok(out)
    }
}

impl Engine for Nanoembed {
    type Text = Vec<u32>;
    type Request = Request;

    fn open(path: &str, threads: usize) -> Result<Self> {
        // SAFETY: the benchmark does not write to the file while it is mapped.
        let map = unsafe { Mmap::map(&File::open(path)?)? };
        let model = Encoder::open(map).map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
        let precise = std::env::args().any(|argument| argument == "--precise");
        Ok(Self { model, threads, precise })
    }

    fn prepare(&mut self, texts: Vec<Vec<u32>>) -> Result<Request> {
        let mut packs: Vec<Pack> = Vec::new();
        for text in texts {
            let fits = |pack: &&mut Pack| pack.ids.len() + text.len() <= PACKED_TOKENS;
            match packs.last_mut().filter(fits) {
                Some(pack) => {
                    pack.lengths.push(text.len());
                    pack.ids.extend(text);
                }
                None => packs.push(Pack { lengths: vec![text.len()], ids: text }),
            }
        }
        let longest = packs.iter().map(|pack| pack.ids.len()).max().unwrap_or(1);
        let together = packs.len() < self.threads;
        let (sessions, jobs) = if together { (1, self.threads) } else { (self.threads, 1) };
        let sessions = (0..sessions)
            .map(|_| {
                let plan = self.model.plan(longest);
                let quantized = plan.quantized && !self.precise;
                self.model.session_for(Plan { jobs, quantized, ..plan })
            })
            .collect::<Result<_, _>>()?;
        Ok(Request { packs, sessions })
    }

    fn run(&mut self, request: &mut Request) -> Result<Vec<f32>> {
        let this = &*self;
        let Request { packs, sessions } = request;
        if let [session] = sessions.as_mut_slice() {
            let mut all = Vec::new();
            for pack in packs {
                all.extend(match this.threads {
                    1 => this.embed(pack, session, &InOrder)?,
                    _ => this.embed(pack, session, &Threads)?,
                });
            }
            return Ok(all);
        }
        let each = packs.len().div_ceil(sessions.len());
        let parts: Vec<Vec<f32>> = sessions
            .par_iter_mut()
            .zip(packs.par_chunks(each))
            .map(|(session, packs)| {
                let vectors = packs.iter().map(|pack| this.embed(pack, session, &InOrder));
                Ok(vectors.collect::<Result<Vec<_>>>()?.concat())
            })
            .collect::<Result<_>>()?;
        Ok(parts.concat())
    }
}

/// The threads of the pool work on the parts of one pack.
struct Threads;

impl Parallel for Threads {
    fn jobs(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, parts: Parts<'_>, job: &Job<'_>) -> nanoembed_core::error::Result<()> {
        parts.collect::<Vec<_>>().into_par_iter().try_for_each(job)
    }
}

fn main() -> Result<()> {
    serve::<Nanoembed>()
}
