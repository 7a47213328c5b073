//! Arguments that several commands share.

pub(crate) mod choice;
pub(crate) mod limits;
pub(crate) mod size;
pub(crate) mod words;
pub(crate) mod writing;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use nanoembed::inspect::verification::{Finding, verify_files};
use nanoembed::open::reading::Reading;
use nanoembed::open::source::Source;
use nanoembed::stored::FileSet;
use nanoembed::words::Policy;
use nanoembed::{Encoder, EncoderOptions, Pooling, Prefix, Role};
use nanoembed_core::event::Mode;

use crate::error::{Error, Result, warn};
use crate::progress::Terminal;
use choice::choice;
use limits::{Read, SessionLimit};

/// A whole number that is not negative.
pub(crate) fn whole(text: &str) -> std::result::Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".into())
}

/// A number, and no infinity.
pub(crate) fn number(text: &str) -> std::result::Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| "expected a number".into())
}

/// The number of results.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct TopArgs {
    /// Number of results, the best of all [default: 10; with `rerank --sort` all]
    #[arg(short = 'k', long = "top", value_name = "N", value_parser = count)]
    asked: Option<u32>,
}

impl TopArgs {
    /// The number that was asked for.
    pub(crate) fn asked(self) -> Option<usize> {
        self.asked.map(|count| count as usize)
    }

    /// The number, where not all are wanted.
    pub(crate) fn count(self) -> usize {
        self.asked().unwrap_or(10)
    }
}

/// A number of results or requests: at least one.
pub(crate) fn count(text: &str) -> std::result::Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "expected a whole number, 1 or more".into())
}

/// The number of threads.
fn threads(text: &str) -> std::result::Result<u16, String> {
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.ok_or_else(|| "expected a whole number from 1 to 1024".into())
}

/// The arguments about the model and how it runs.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// A `.weights`, `.amb`, GGUF or UQFF file, or a folder as on Hugging Face or of UQFF [default:
    /// all-MiniLM-L6-v2, built in]
    #[arg(long, short, value_name = "FILE", env = "NANOEMBED_MODEL", hide_env_values = true)]
    pub(crate) model: Option<PathBuf>,

    /// Number of tokens of a text that are used [default: that of the model's training, 256 for the
    /// built-in one]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) max_tokens: Option<usize>,

    /// Check the model's file first, its checksums too, as `nanoembed verify` does: takes as long
    /// as reading it
    #[arg(long)]
    verify: bool,

    #[command(flatten)]
    unknown: UnknownArgs,

    #[command(flatten)]
    adapter: AdapterArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// Settings that are passed over.
#[derive(Args, Clone, Debug)]
pub(crate) struct UnknownArgs {
    /// Pass over settings of these names in a folder's files where nobody knows what they change and
    /// the model would be refused; warns of each
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_unknown: Vec<String>,
}

impl UnknownArgs {
    /// The names, as they were given.
    pub(crate) fn names(&self) -> &[String] {
        &self.allow_unknown
    }
}

/// An adapter of the model.
#[derive(Args, Clone, Debug)]
pub(crate) struct AdapterArgs {
    /// Merge the LoRA adapter in FOLDER, as peft saves it, into the model, which has to be in a
    /// folder, too; texts that FOLDER has are used instead of the model's
    #[arg(long, value_name = "FOLDER")]
    adapter: Option<PathBuf>,
}

impl AdapterArgs {
    /// The folder, if one was given.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.adapter.as_deref()
    }
}

/// The prompt before every text.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Model")]
pub(crate) struct PromptArgs {
    /// Put this text before every text, `""` for nothing [default: the model's default prompt, if
    /// it has one]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,

    /// Put the model's prompt of this name before every text
    #[arg(long, value_name = "NAME", conflicts_with = "prompt")]
    prompt_name: Option<String>,

    /// Put the model's prompt for such texts before every text; through a model with a Router they
    /// take its route for them
    #[arg(long = "as", value_enum, value_name = "ROLE", conflicts_with_all = ["prompt", "prompt_name"])]
    role: Option<GivenRole>,
}

/// The role of a text, as it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GivenRole {
    /// A question
    Query,
    /// A text that answers questions
    Document,
}

impl GivenRole {
    /// The role, none of which is that of any text.
    pub(crate) const fn role(given: Option<Self>) -> Role {
        match given {
            None => Role::Text,
            Some(Self::Query) => Role::Query,
            Some(Self::Document) => Role::Document,
        }
    }
}

impl PromptArgs {
    /// The prompt that the arguments name; the model's default without any of them.
    pub(crate) fn prefix(&self) -> Prefix {
        match (&self.prompt, &self.prompt_name, self.role) {
            (Some(text), ..) => Prefix::Text(text.clone()),
            (_, Some(name), _) => Prefix::Named(name.clone()),
            (.., Some(GivenRole::Query)) => Prefix::Query,
            (.., Some(GivenRole::Document)) => Prefix::Document,
            _ => Prefix::Usual,
        }
    }

    /// The role that the arguments name.
    pub(crate) const fn role(&self) -> Role {
        GivenRole::role(self.role)
    }
}

/// The arguments of commands that embed.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct EmbedderArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) session_limit: SessionLimit,

    #[command(flatten)]
    pub(crate) prompts: PromptArgs,

    /// Keep only the first N numbers of every vector, for models made for it
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) truncate_dim: Option<usize>,

    /// Bring every vector to length 1 at the end, also one that `--truncate-dim` has cut
    #[arg(long)]
    pub(crate) normalize: bool,

    /// Compute in 32-bit floats throughout, also where weights are integers of 8 bits or fewer:
    /// slower, and a little nearer to the original model
    #[arg(long, conflicts_with = "requantize")]
    pub(crate) precise: bool,

    /// Code weights that are not stored as bytes as such when the model is opened, and compute in
    /// integers: faster, with a byte more of memory for each weight. It is made for encoders in
    /// blocks of few bits; of floats it takes more away than `convert --type int8` does
    #[arg(long)]
    pub(crate) requantize: bool,

    /// Pooling of the states of a decoder's tokens into one vector [default: the file's, else the
    /// last token in GGUF files, and the mean in others]
    #[arg(long, value_parser = choice::<Pooling>(), value_name = "HOW")]
    pub(crate) pooling: Option<Pooling>,
}

impl EmbedderArgs {
    /// Opens the model, verified first if that was asked for, to be used as the arguments say.
    pub(crate) fn open(&self, quiet: bool) -> Result<Encoder> {
        let source = self.model.open_for(self.prompts.role(), quiet)?;
        let encoder = self.options().open_source(source)?;
        encoder.warnings().iter().for_each(warn);
        Ok(encoder)
    }

    fn options(&self) -> EncoderOptions {
        Encoder::options()
            .max_tokens(self.model.max_tokens)
            .limits(self.session_limit.limits())
            .truncate_dim(self.truncate_dim)
            .normalize(self.normalize)
            .precise(self.precise)
            .requantize(self.requantize)
            .pooling(self.pooling)
            .prompt(self.prompts.prefix())
    }
}

/// Refuses a model's file that is damaged; warns of a format without checksums.
pub(crate) fn verify_model(path: &Path, quiet: bool) -> Result<()> {
    let set = FileSet::open(path)?;
    verify_files(&set, Mode::Lenient, Policy::default(), &Terminal::new(quiet))
        .map(|_| ())
        .map_err(|findings| Finding::into_failure(findings, path))
}

impl ModelArgs {
    /// The model's file, unless it is the one that is built in.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        let model = |path| Read::Model { path, adapter: self.adapter.folder() };
        self.model.as_deref().map(model).into_iter().collect()
    }

    /// Opens the model's files, verified first if that was asked for. What is made of them has the
    /// warnings.
    pub(crate) fn open(&self, quiet: bool) -> Result<Source> {
        self.open_for(Role::Text, quiet)
    }

    /// The same for texts of a role.
    pub(crate) fn open_for(&self, role: Role, quiet: bool) -> Result<Source> {
        if self.verify {
            let Some(path) = &self.model else {
                return Err(Error::usage("--verify is for a model's file").with_hint(
                    "name it with `--model`; the model built in is part of the program",
                ));
            };
            verify_model(path, quiet)?;
        }
        let adapter = self.adapter.folder().map(Path::to_owned);
        match &self.model {
            Some(path) => {
                let unknown = self.unknown.names().to_vec();
                Source::open_with(path, &Reading { role, unknown, adapter })
            }
            None if adapter.is_some() => {
                Err(Error::argument("adapter", "needs the model's folder in `--model`"))
            }
            None => Source::built_in(),
        }
    }

    /// Makes the threads that were asked for.
    pub(crate) fn use_threads(&self) -> Result<()> {
        self.threads.use_threads()
    }
}

/// The number of threads.
#[derive(Args, Debug)]
pub(crate) struct ThreadArgs {
    /// Number of threads [default: one for each of the CPU's]
    #[arg(long, value_name = "N", value_parser = threads)]
    #[arg(env = "NANOEMBED_THREADS", hide_env_values = true)]
    threads: Option<u16>,
}

impl ThreadArgs {
    /// Makes the threads that were asked for.
    pub(crate) fn use_threads(&self) -> Result<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.into())
            .build_global()
            .map_err(|error| Error::argument("threads", format!("{threads}: {error}")))
    }
}
