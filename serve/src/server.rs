//! Accepts and serves connections until the server is stopped.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread::available_parallelism;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nanoembed::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use crate::address::{Address, Listener};
use crate::api::{App, router};
use crate::models::Models;
use crate::options::Options;
use crate::patient::Patient;

/// The largest number of open connections; further ones wait until one is closed.
const CONNECTIONS: u32 = 512;

/// The largest size of a request's head in bytes.
const HEAD_BYTES: usize = 32 << 10;

/// The pause after the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: Listener,
    app: Arc<App>,
    stop: watch::Sender<bool>,
}

/// Stops a server, from any thread. Clones stop the same one.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

/// What a server has done until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests among them that were answered with an error.
    pub failed: u64,
    /// Texts embedded or ranked.
    pub texts: u64,
    /// Tokens of these texts.
    pub tokens: u64,
    /// Tokens added to texts that were continued.
    pub generated: u64,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Stopper {
    /// Stops the server once it has answered the requests that it has begun to read.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Listens on an address. Clients can connect from now on; [`run`](Self::run) answers them.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](nanoembed::Kind::Usage) if there is no model, if the address cannot be
    /// listened on, or if other machines can reach it and `options` have no key.
    pub fn bind(address: &Address, models: Models, options: Options) -> Result<Self> {
        if models.all().is_empty() {
            return Err(Error::usage("there is no model to serve"));
        }
        if options.api_key.as_deref().is_some_and(|key| key.trim().is_empty()) {
            return Err(Error::argument("api_key", "is empty"));
        }
        let listener = address.listen(options.api_key.is_some())?;
        let has_port = matches!(address, Address::Tcp { .. });
        let app = Arc::new(App::new(models, options, has_port)?);
        Ok(Self { listener, app, stop: watch::Sender::new(false) })
    }

    /// The address for clients, such as `http://127.0.0.1:8080` or `unix:/run/nanoembed`.
    #[must_use]
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// The means to stop the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers requests until the server is [stopped](Stopper::stop).
    ///
    /// # Errors
    ///
    /// Fails if the system has no thread or socket left for it.
    pub fn run(self) -> Result<Summary> {
        let Self { listener, app, stop } = self;
        let threads = available_parallelism().map_or(2, usize::from);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(threads)
            .build();
        let failure = |error: io::Error| Error::usage(format!("cannot serve: {error}"));
        let runtime = runtime.map_err(failure)?;
        let stop = stop.subscribe();
        runtime.block_on(serve(listener, Arc::clone(&app), stop)).map_err(failure)?;
        drop(runtime);
        let (requests, failed) = app.metrics.totals();
        let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let (texts, tokens) = (count(&app.metrics.texts), count(&app.metrics.tokens));
        let generated = count(&app.metrics.generated);
        Ok(Summary { requests, failed, texts, tokens, generated })
    }
}

/// Accepts connections until the server is stopped, then waits for those that are open.
async fn serve(listener: Listener, app: Arc<App>, stop: watch::Receiver<bool>) -> io::Result<()> {
    match listener {
        Listener::Tcp(listener) => {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let accept = |context: &mut Context<'_>| {
                let accepted = listener.poll_accept(context);
                accepted.map_ok(|(stream, _)| {
                    // Answers are written whole, so that none waits for the next.
                    drop(stream.set_nodelay(true));
                    stream
                })
            };
            accept_all(accept, &app, stop).await;
        }
        #[cfg(unix)]
        Listener::Unix(listener, _file) => {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let accept = |context: &mut Context<'_>| {
                listener.poll_accept(context).map_ok(|(stream, _)| stream)
            };
            accept_all(accept, &app, stop).await;
        }
    }
    Ok(())
}

async fn accept_all<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<S>>,
    app: &Arc<App>,
    mut stop: watch::Receiver<bool>,
) {
    let router = router(Arc::clone(app));
    let patience = app.options.limits.patience;
    let connections = Arc::new(Semaphore::new(CONNECTIONS as usize));
    loop {
        let accepted = {
            let mut stopped = pin!(stop.wait_for(|is_stopped| *is_stopped));
            let mut permit = pin!(Arc::clone(&connections).acquire_owned());
            let mut permitted = None;
            poll_fn(|context| {
                if stopped.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                if permitted.is_none() {
                    match permit.as_mut().poll(context) {
                        Poll::Ready(permit) => permitted = permit.ok(),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                accept(context).map(|stream| Some((stream, permitted.take())))
            })
            .await
        };
        let Some((stream, permit)) = accepted else { break };
        let stream = match stream {
            Ok(stream) => Patient::new(stream, patience),
            Err(error) => {
                app.options.observer.warn(&format!("a connection failed: {error}"));
                sleep(PAUSE).await;
                continue;
            }
        };
        let (router, stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            let service = TowerToHyperService::new(router);
            converse(stream, service, stop, patience).await;
            drop(permit);
        });
    }
    // All permits: the connections that there are have ended. Those of clients who neither send nor
    // read end by their patience.
    drop(connections.acquire_many(CONNECTIONS).await);
}

/// Answers the requests of a connection, one after the other. When the server is stopped, the one
/// that has begun is the last.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: Patient<S>,
    service: TowerToHyperService<axum::Router>,
    mut stop: watch::Receiver<bool>,
    patience: Duration,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut stopped = pin!(stop.wait_for(|is_stopped| *is_stopped));
    let mut is_stopping = false;
    // What goes wrong on a connection is the client's affair.
    let _ended = poll_fn(|context| {
        if !is_stopping && stopped.as_mut().poll(context).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
}
