//! Streams that give up on clients that do not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails to write if the other side reads nothing for some time.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// When writing began to wait, if it waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) const fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, waiting: None }
    }

    /// The result of a write, or an error if it has waited too long.
    fn heed<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.heed(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.heed(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.heed(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::future::poll_fn;

    use tokio::net::UnixStream;

    use super::*;

    /// Writes until an error, or at least `most` bytes.
    async fn written(mut stream: Patient<UnixStream>, most: usize) -> io::Result<usize> {
        let mut bytes = 0;
        while bytes < most {
            let write =
                |context: &mut Context<'_>| Pin::new(&mut stream).poll_write(context, &[0; 65536]);
            bytes += poll_fn(write).await?;
        }
        Ok(bytes)
    }

    #[test]
    fn patience_ends_with_those_who_do_not_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (stream, _other) = UnixStream::pair().unwrap();
            let stream = Patient::new(stream, Duration::from_millis(50));
            let error = written(stream, usize::MAX).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            let (stream, other) = UnixStream::pair().unwrap();
            let reading = tokio::spawn(async move {
                let mut bytes = 0;
                while bytes < 10 << 20 {
                    other.readable().await?;
                    match other.try_read(&mut [0; 65536]) {
                        Ok(count) => bytes += count,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(bytes)
            });
            let stream = Patient::new(stream, Duration::from_secs(600));
            assert!(written(stream, 10 << 20).await.unwrap() >= 10 << 20);
            assert!(reading.await.unwrap().unwrap() >= 10 << 20);
        });
    }
}
