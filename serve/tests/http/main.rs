//! The server over real sockets, with small models.

mod batches;
mod client;
mod completions;
mod description;
mod ends;
mod limits;
mod ollama;
mod openai;
mod rankings;
mod search;
mod texts;
