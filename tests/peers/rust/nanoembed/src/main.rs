//! nanoembed on a `.weights` file, mapped: the core as a host without frills uses it.

use std::fs::File;

use anyhow::{Result, ensure};
use memmap2::Mmap;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::{Bert, BertConfig, Layer, Plan, Run, SliceWeights, Workspace};
use nanoembed_core::tensor::TensorHeader;
use peer_protocol::{Engine, serve};

/// Short texts are packed until this many tokens are computed together.
const PACKED_TOKENS: usize = 512;

type Find = Box<dyn Fn(&str) -> Option<TensorHeader<'static>> + Sync>;

struct Nanoembed {
    weights: SliceWeights<'static, Find>,
    model: Bert<Vec<Layer>>,
    kernels: Kernels,
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

struct Request {
    ids: Vec<u32>,
    lengths: Vec<usize>,
    plan: Plan,
}

impl Engine for Nanoembed {
    type Request = Request;

    fn open(path: &str, threads: usize) -> Result<Self> {
        ensure!(threads == 1, "this worker has one thread");
        // SAFETY: the benchmark does not write to the file while it is mapped.
        let map = unsafe { Mmap::map(&File::open(path)?)? };
        // One model a process: it may live as long as that.
        let map: &'static [u8] = Box::leak(Box::new(map));
        let file = Embd::parse(map, Mode::Lenient)?;
        let config = BertConfig::from_metadata(|key| file.metadata_value(key))?;
        let find: Find = Box::new(move |name| file.tensor(name).map(|tensor| *tensor.header()));
        let weights = SliceWeights::new(map, find);
        let model = Bert::open(&weights, config, vec![Layer::EMPTY; config.layers])?;
        Ok(Self { weights, model, kernels: kernel::detect(), floats: Vec::new(), bytes: Vec::new() })
    }

    fn prepare(&mut self, texts: Vec<Vec<u32>>) -> Result<Request> {
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let total: usize = lengths.iter().sum();
        let plan = Plan::new(total.min(PACKED_TOKENS).max(longest));
        let needs = Workspace::needs(self.model.config(), &plan)?;
        self.floats.resize(needs.floats.max(self.floats.len()), 0.0);
        self.bytes.resize(needs.bytes.max(self.bytes.len()), 0);
        Ok(Request { ids: texts.concat(), lengths, plan })
    }

    fn run(&mut self, request: &Request) -> Result<Vec<f32>> {
        let config = self.model.config();
        let mut workspace =
            Workspace::new(config, &request.plan, &mut self.floats, &mut self.bytes)?;
        let mut out = vec![0.0; request.lengths.len() * config.hidden];
        let run = Run::new(&self.weights, &self.kernels);
        self.model.embed_batch(&run, &request.ids, &request.lengths, &mut workspace, &mut out)?;
        Ok(out)
    }
}

fn main() -> Result<()> {
    serve::<Nanoembed>()
}
