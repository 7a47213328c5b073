//! Requests that pages of other sites make a browser send. They name the site as the origin or, where its name was made to mean
//! this machine (DNS rebinding), as the host.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};

use super::failure::Failure;

/// Rejects requests of other sites: needed where no key is asked for.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Failure> {
    for name in [header::HOST, header::ORIGIN] {
        let Some(value) = text(headers, &name) else { continue };
        let host = value.split_once("://").map_or(value, |(_, host)| host);
        if !is_own(host) {
            return Err(Failure::foreign(value));
        }
    }
    Ok(())
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    // A name that is no text is nobody's.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Returns true for a name of this machine, with a port or without.
fn is_own(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        for own in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "a.localhost"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "",
            "null",
            "example.org",
            "localhost.example.org:80",
            "10.0.0.1",
            "[2001::1]",
            "127.0.0.1.example.org",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
