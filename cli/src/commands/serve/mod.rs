//! `serve`: models behind HTTP.

#[cfg(feature = "serve")]
mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::args::limits::{Read, SessionLimit};
use crate::args::size::size;
use crate::args::{ThreadArgs, UnknownArgs, count, whole};
use crate::error::Result;

/// Answer programs over HTTP, as OpenAI, Ollama, text-embeddings-inference, Jina and Cohere do
///
/// All programs of a machine share the models, and the texts of many clients are computed together.
/// Decoders continue texts and answer messages.
/// It is part of programs that are built with the feature `serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed serve
  nanoembed serve multilingual-e5-small/ bge-reranker-base/ --port 9000
  nanoembed serve text-embedding-3-small=model.weights
  nanoembed serve smollm2.gguf all-MiniLM-L6-v2/
  nanoembed serve --search notes/
  NANOEMBED_API_KEY=… nanoembed serve --host 0.0.0.0
  curl http://127.0.0.1:8080/v1/embeddings -d '{\"input\": \"How do I reset my password?\"}'

Endpoints: /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, /v1/rerank,
/api/embed, /api/embeddings, /api/show, /api/tags, /api/version, /embed, /rerank, /tokenize,
/search, /health, /metrics; /openapi.json describes them.
A text that is too long for the model is an error unless the request says `\"truncate\": true`, which
is the default of /api/embed alone. Ctrl-C ends the server after the answers that it has begun.")]
pub(crate) struct Serve {
    /// Files or folders of models that embed texts, rank or continue them, called by their names in
    /// requests, or by NAME of NAME=MODEL [default: all-MiniLM-L6-v2, built in]
    #[arg(value_name = "MODEL")]
    models: Vec<PathBuf>,

    /// Answer /search with passages of this file or folder, as `search` does, by the first model that
    /// embeds; may be given several times
    #[arg(long, value_name = "PATH")]
    search: Vec<PathBuf>,

    /// Listen on this address; one that other machines can reach needs a key
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", help_heading = "Address")]
    host: String,

    /// Listen on this port, 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8080, help_heading = "Address")]
    port: u16,

    /// Listen on a Unix socket instead, which only this account can open
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"], help_heading = "Address")]
    unix_socket: Option<PathBuf>,

    /// Answer only requests with `Authorization: Bearer KEY` [default: $NANOEMBED_API_KEY, which
    /// other users of the machine do not see]
    #[arg(long, value_name = "KEY", help_heading = "Address")]
    api_key: Option<String>,

    /// The most bytes of a request, or with K, M, G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8M", help_heading = "Limits")]
    max_body: u64,

    /// The most texts of a request
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 2048, help_heading = "Limits")]
    max_batch: u32,

    /// The most requests at a time; more are answered with status 429, for clients to try again
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 256, help_heading = "Limits")]
    queue: u32,

    /// The most texts that are continued at a time; each takes memory for its tokens
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 4, help_heading = "Limits")]
    parallel: u32,

    /// The time for a client to send a request or to read a part of the answer, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = count, default_value_t = 30, help_heading = "Limits")]
    timeout: u32,

    /// Write a line to stderr for every request
    #[arg(long)]
    log: bool,

    /// Number of tokens of a text that are embedded or ranked [default: that of each model's training, 256 for the
    /// built-in one]
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Model")]
    max_tokens: Option<usize>,

    #[command(flatten)]
    unknown: UnknownArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    session_limit: SessionLimit,
}

/// The name and the path of NAME=PATH; a path that is there has no name.
fn named(given: &Path) -> (Option<&str>, &Path) {
    let parts = given.to_str().filter(|_| !given.exists()).and_then(|text| text.split_once('='));
    parts.map_or((None, given), |(name, path)| (Some(name), Path::new(path)))
}

impl Serve {
    /// The models' files.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        let read = |given| Read::Model { path: named(given).1, adapter: None };
        self.models.iter().map(|given| read(given)).collect()
    }

    #[cfg(not(feature = "serve"))]
    pub(crate) fn run(self, _: bool) -> Result<ExitCode> {
        let message = "this program was built without the server";
        Err(crate::error::Error::usage(message)
            .with_hint("`cargo install --path cli --features serve` builds it in"))
    }

    #[cfg(feature = "serve")]
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        use nanoembed_serve::{Address, Server};

        use crate::error::warn;
        use crate::interrupt::end_by;
        use crate::streams::say;

        self.threads.use_threads()?;
        let models = self.open()?;
        let descriptions = models.descriptions();
        if !quiet {
            models.warnings().iter().for_each(warn);
        }
        let address = match self.unix_socket.clone() {
            Some(path) => Address::Unix(path),
            None => Address::Tcp { host: self.host.clone(), port: self.port },
        };
        let options = self.options(&models, quiet)?;
        let server = Server::bind(&address, models, options)?;
        let stopper = server.stopper();
        end_by(move || stopper.stop());
        if !quiet {
            descriptions.iter().for_each(say);
            say(format_args!("listening on {}; Ctrl-C ends", server.url()));
        }
        let done = server.run()?;
        if !quiet {
            let generated = match done.generated {
                0 => String::new(),
                tokens => format!(", {tokens} tokens generated"),
            };
            say(format_args!(
                "answered {} requests, {} of them with an error: {} texts of {} tokens{generated}",
                done.requests, done.failed, done.texts, done.tokens
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    #[cfg(feature = "serve")]
    fn open(&self) -> Result<nanoembed_serve::Models> {
        let options = nanoembed::Model::options()
            .max_tokens(self.max_tokens)
            .allow_unknown(self.unknown.names())
            .limits(self.session_limit.limits());
        let mut models = nanoembed_serve::Models::default();
        for given in &self.models {
            let (name, path) = named(given);
            models.add(name, path, &options)?;
        }
        if self.models.is_empty() {
            models.add_built_in(&options)?;
        }
        if self.max_tokens.is_some() && !models.embed_or_rank() {
            let message = "is for models that embed or rank texts, and there is none";
            return Err(crate::error::Error::argument("max_tokens", message));
        }
        Ok(models)
    }

    #[cfg(feature = "serve")]
    fn search(
        &self,
        models: &nanoembed_serve::Models,
        quiet: bool,
    ) -> Result<Option<std::sync::Arc<dyn nanoembed_serve::Search>>> {
        if self.search.is_empty() {
            return Ok(None);
        }
        let Some(encoder) = models.embedder() else {
            let message = "needs a model that embeds texts, and there is none";
            return Err(crate::error::Error::argument("search", message));
        };
        let files = files::Files::open(&self.search, encoder, quiet)?;
        Ok(Some(std::sync::Arc::new(files)))
    }

    #[cfg(feature = "serve")]
    fn options(
        &self,
        models: &nanoembed_serve::Models,
        quiet: bool,
    ) -> Result<nanoembed_serve::Options> {
        use std::sync::Arc;
        use std::time::Duration;

        let limits = nanoembed_serve::Limits {
            body_bytes: usize::try_from(self.max_body).unwrap_or(usize::MAX),
            texts: self.max_batch as usize,
            requests: self.queue as usize,
            continuations: self.parallel as usize,
            patience: Duration::from_secs(self.timeout.into()),
        };
        let key = std::env::var("NANOEMBED_API_KEY").ok();
        Ok(nanoembed_serve::Options {
            limits,
            api_key: self.api_key.clone().or(key),
            notes_requests: self.log,
            search: self.search(models, quiet)?,
            observer: Arc::new(crate::progress::Terminal::new(quiet)),
        })
    }
}
