//! Addresses and sockets to listen on.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use nanoembed::{Error, Result};

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A host by its name or IP address, and a port.
    Tcp {
        /// The host.
        host: String,
        /// The port; 0 for any that is free.
        port: u16,
    },
    /// A Unix socket, which only this account can open. One that nobody listens on is replaced.
    Unix(PathBuf),
}

/// A bound socket.
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
}

/// The file of a socket. It is removed when this value is dropped.
#[cfg(unix)]
pub(crate) struct SocketFile(PathBuf);

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

impl Address {
    /// Starts to listen. Unless requests need a key (`has_key`), refuses addresses that other
    /// machines can reach.
    pub(crate) fn listen(&self, has_key: bool) -> Result<Listener> {
        match self {
            Self::Tcp { host, port } => listen_tcp(host, *port, has_key),
            #[cfg(unix)]
            Self::Unix(path) => listen_unix(path),
            #[cfg(not(unix))]
            Self::Unix(_) => Err(Error::argument("unix_socket", "is for Unix")),
        }
    }
}

fn listen_tcp(host: &str, port: u16, has_key: bool) -> Result<Listener> {
    let place = format!("{host}:{port}");
    let failure = |error: &io::Error| {
        let failure = Error::usage(format!("cannot listen: {error}")).at(&place);
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                failure.with_hint("another program listens there; `--port` names another port")
            }
            _ => failure,
        }
    };
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|error| failure(&error))?.collect();
    if !has_key && addresses.iter().any(|address| !address.ip().is_loopback()) {
        let message = format!("{host} can be reached from other machines, so it needs an API key");
        return Err(Error::argument("host", message)
            .with_hint("set NANOEMBED_API_KEY, or `--api-key`; 127.0.0.1 needs none"));
    }
    let listener = TcpListener::bind(&addresses[..]).map_err(|error| failure(&error))?;
    listener.set_nonblocking(true).map_err(|error| failure(&error))?;
    Ok(Listener::Tcp(listener))
}

#[cfg(unix)]
fn listen_unix(path: &std::path::Path) -> Result<Listener> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    let failure =
        |error: &io::Error| Error::usage(format!("cannot listen: {error}")).at(path.display());
    if let Ok(file) = path.symlink_metadata() {
        if !file.file_type().is_socket() {
            return Err(
                Error::argument("unix_socket", "names a file that is no socket").at(path.display())
            );
        }
        if UnixStream::connect(path).is_ok() {
            let message = "names a socket on which another program listens";
            return Err(Error::argument("unix_socket", message).at(path.display()));
        }
        std::fs::remove_file(path).map_err(|error| failure(&error))?;
    }
    let listener = UnixListener::bind(path).map_err(|error| failure(&error))?;
    let file = SocketFile(path.to_owned());
    set_permissions(path, Permissions::from_mode(0o600)).map_err(|error| failure(&error))?;
    listener.set_nonblocking(true).map_err(|error| failure(&error))?;
    Ok(Listener::Unix(listener, file))
}

impl Listener {
    /// The address for clients.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("http://{address}"),
                Err(_) => "http://".into(),
            },
            #[cfg(unix)]
            Self::Unix(_, file) => format!("unix:{}", file.0.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, has_key: bool) -> Option<String> {
        let address = Address::Tcp { host: host.into(), port: 0 };
        address.listen(has_key).err().map(|error| error.message().to_owned())
    }

    #[test]
    fn other_machines_need_a_key() {
        let message = "0.0.0.0 can be reached from other machines, so it needs an API key";
        assert_eq!(refused("0.0.0.0", false).as_deref(), Some(message));
        assert_eq!(refused("0.0.0.0", true), None);
        assert_eq!(refused("127.0.0.1", false), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_for_its_owner_and_replaces_none_in_use() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        let first = address.listen(false).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let second = address.listen(false).err().unwrap();
        assert!(second.message().contains("another program listens"), "{second}");
        drop(first);
        assert!(!path.exists());
        // One that was left by a program that is gone.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        address.listen(false).unwrap();
        std::fs::write(&path, "text").unwrap();
        assert!(address.listen(false).err().unwrap().message().contains("no socket"));
    }
}
