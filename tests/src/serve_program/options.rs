//! The options of the `serve` program.

use std::ffi::OsString;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};
use mcp_sse_core::http::ProtocolVersion;

use super::breaking::{Break, How};

pub(super) const HELP: &str = "\
usage: serve [OPTIONS]

A small MCP server with the tools echo, add, slow (progress, and it can be cancelled), counter and region (a parameter that a
header mirrors). It prints its URL, and serves until it is interrupted.

--listen ADDRESS      where to listen; port 0 is any free one                     (default 127.0.0.1:8000)
--path PATH           the endpoint's path                                         (default /mcp)
--protocol VERSION    speak this revision; may be repeated                        (default all five)
--always-streams      answer on an event stream, even if nothing comes before the answer
--tls CERT KEY        speak TLS, with a chain of certificates and a key, as PEM files
--break HOW:N         break each response after N bytes, its head included. HOW is cut (the connection is closed), reset, or
                      stall (nothing more comes). Over HTTP/2, N counts from the client's last bytes

Requests must name a loopback host and origin, wherever they come from. To try it:
  cargo run --release -p mcp-sse-tokio --example call -- --protocol auto URL tools/call '{\"name\":\"slow\"}'
Exit status: 0 interrupted, 1 it could not serve, 2 a usage error.";

/// What the arguments ask for.
#[derive(Debug)]
pub(super) enum Invocation {
    Serve(Settings),
    Help,
}

/// The options.
#[derive(Debug)]
pub struct Settings {
    pub(super) listen: SocketAddr,
    pub(super) path: String,
    /// Empty: all.
    pub(super) versions: Vec<ProtocolVersion>,
    pub(super) always_streams: bool,
    /// The files of the certificates and of the key.
    pub(super) tls: Option<(PathBuf, PathBuf)>,
    pub(super) breaking: Option<Break>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 8000).into(),
            path: "/mcp".to_owned(),
            versions: Vec::new(),
            always_streams: false,
            tls: None,
            breaking: None,
        }
    }
}

/// A usage error: what was expected.
#[derive(Debug)]
pub(super) struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<lexopt::Error> for Usage {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Invocation, Usage> {
    let mut settings = Settings::default();
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("listen") => settings.listen = address(&parser.value()?.string()?)?,
            Arg::Long("path") => settings.path = path(parser.value()?.string()?)?,
            Arg::Long("protocol") => settings.versions.push(version(&parser.value()?.string()?)?),
            Arg::Long("always-streams") => settings.always_streams = true,
            Arg::Long("tls") => settings.tls = Some((parser.value()?.into(), parser.value()?.into())),
            Arg::Long("break") => settings.breaking = Some(breaking(&parser.value()?.string()?)?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Invocation::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Invocation::Serve(settings))
}

fn address(text: &str) -> Result<SocketAddr, Usage> {
    text.parse().map_err(|_| Usage(format!("--listen: expected an address such as 127.0.0.1:8000, got {text:?}")))
}

fn path(text: String) -> Result<String, Usage> {
    let is_path = text.starts_with('/') && !text.contains(['?', '#', ' ']);
    if is_path { Ok(text) } else { Err(Usage(format!("--path: expected a path such as /mcp, got {text:?}"))) }
}

fn version(name: &str) -> Result<ProtocolVersion, Usage> {
    let known = name.parse().ok().filter(|version| ProtocolVersion::KNOWN.contains(version));
    known.ok_or_else(|| Usage(format!("--protocol: expected a revision such as 2026-07-28, got {name:?}")))
}

fn breaking(text: &str) -> Result<Break, Usage> {
    let parts = text.split_once(':').and_then(|(how, after)| {
        let how = match how {
            "cut" => How::Cut,
            "reset" => How::Reset,
            "stall" => How::Stall,
            _ => return None,
        };
        Some(Break { how, after: after.parse().ok()? })
    });
    parts.ok_or_else(|| Usage(format!("--break: expected cut:N, reset:N or stall:N, got {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Invocation, String> {
        parse(arguments.iter().map(OsString::from)).map_err(|usage| usage.to_string())
    }

    #[test]
    fn no_argument_is_the_loopback_address_and_all_revisions() {
        let Ok(Invocation::Serve(settings)) = parsed(&[]) else { panic!("to serve was expected") };
        assert_eq!((settings.listen.to_string(), &*settings.path), ("127.0.0.1:8000".to_owned(), "/mcp"));
        assert!(settings.versions.is_empty() && settings.breaking.is_none() && settings.tls.is_none());
    }

    #[test]
    fn all_options() {
        let arguments = [
            "--listen=[::1]:0",
            "--path",
            "/a/b",
            "--protocol=2025-06-18",
            "--protocol",
            "2026-07-28",
            "--always-streams",
            "--tls",
            "cert.pem",
            "key.pem",
            "--break",
            "reset:300",
        ];
        let Ok(Invocation::Serve(settings)) = parsed(&arguments) else { panic!("to serve was expected") };
        assert_eq!((settings.listen.to_string(), &*settings.path), ("[::1]:0".to_owned(), "/a/b"));
        assert_eq!(settings.versions, [ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28]);
        assert!(settings.always_streams);
        assert_eq!(settings.tls, Some(("cert.pem".into(), "key.pem".into())));
        assert_eq!(settings.breaking, Some(Break { how: How::Reset, after: 300 }));
    }

    #[test]
    fn usage_errors_say_what_was_expected() {
        let cases: [(&[&str], &str); 9] = [
            (&["--listen", "localhost"], "expected an address"),
            (&["--path", "mcp"], "expected a path"),
            (&["--protocol", "auto"], "expected a revision"),
            (&["--protocol", "2031-01-01"], "expected a revision"),
            (&["--break", "cut"], "expected cut:N"),
            (&["--break", "bend:3"], "expected cut:N"),
            (&["--break", "cut:-1"], "expected cut:N"),
            (&["--tls", "cert.pem"], "missing"),
            (&["more"], "more"),
        ];
        for (arguments, expected) in cases {
            match parsed(arguments) {
                Err(usage) => assert!(usage.contains(expected), "{arguments:?}: {usage}"),
                Ok(other) => panic!("{arguments:?}: {other:?}"),
            }
        }
    }
}
