//! An HTTP server for embedding models, rerankers and decoders, with the interfaces that clients
//! know: those of OpenAI, Ollama, text-embeddings-inference, Jina and Cohere.
//!
//! | module | role |
//! |---|---|
//! | `models` | the models of a server, by name |
//! | `options` | limits, the API key, the observer |
//! | `address` | addresses and sockets to listen on |
//! | `server` | accepts and serves connections |
//! | `patient` | streams that give up on clients that do not read |
//! | `place` | the limit on requests in progress, and on their bytes |
//! | `line` | jobs that wait, and leave when nobody waits for them |
//! | `crew` | the threads that do the jobs of a line |
//! | `queue` | texts to embed and to rank, and the thread that computes them together |
//! | `turn` | the parts of several requests that are computed at once |
//! | `continuation` | texts to continue, and the threads that do it |
//! | `search` | searches in files, and the thread that does them |
//! | `metrics` | counts for Prometheus |
//! | `api` | the endpoints |
//!
//! ```no_run
//! use nanoembed_serve::{Address, Models, Options, Server};
//!
//! let mut models = Models::default();
//! models.add_built_in(&nanoembed::Model::options())?;
//! let address = Address::Tcp { host: "127.0.0.1".into(), port: 8080 };
//! let server = Server::bind(&address, models, Options::default())?;
//! println!("{}", server.url());
//! server.run()?;
//! # Ok::<(), nanoembed::Error>(())
//! ```
//!
//! [`Server::run`] blocks until a [`Stopper`] stops it; requests that have begun are still answered.
//! Vectors have the bits of [`Encoder::embed_all`](nanoembed::Encoder::embed_all), whatever else is
//! computed at the time, and texts are continued as by
//! [`Generator::generate`](nanoembed::Generator::generate).

mod address;
mod api;
mod continuation;
mod crew;
mod line;
mod metrics;
mod models;
mod options;
mod patient;
mod place;
mod queue;
mod search;
mod server;
mod turn;

pub use address::Address;
pub use models::Models;
pub use options::{Limits, Options};
pub use search::{Found, Search, SearchRequest};
pub use server::{Server, Stopper, Summary};
