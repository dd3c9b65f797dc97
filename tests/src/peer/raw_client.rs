//! A client that knows no HTTP: it sends bytes and tells exactly which bytes came back and how the connection ended.
//!
//! It proves the peer itself, and serves tests that need a client without rules.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// How the bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Orderly: FIN, under TLS after close_notify.
    Eof,
    /// RST.
    Reset,
    /// FIN without close_notify.
    Truncated,
    /// Nothing more came within the read bound.
    Silence,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// One connection. Reads wait 10 seconds unless told otherwise.
pub struct RawClient {
    stream: Stream,
}

impl RawClient {
    /// Connects without TLS.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let tcp = TcpStream::connect(address)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self { stream: Stream::Plain(tcp) })
    }

    /// Connects with TLS, trusting only this certificate, and completes the handshake.
    pub fn connect_tls(address: SocketAddr, certificate_pem: &str, name: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes()).map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let Stream::Plain(tcp) = Self::connect(address)?.stream else { unreachable!("connected without TLS") };
        let mut stream = StreamOwned::new(session, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self { stream: Stream::Tls(Box::new(stream)) })
    }

    /// The socket.
    pub fn tcp(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(tcp) => tcp.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Sends a POST with this message.
    pub fn post(&mut self, path: &str, message: &Value) -> io::Result<()> {
        self.send(&post_bytes(path, message))
    }

    /// Reads once: what is there.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Plain(tcp) => tcp.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }

    /// Reads exactly so many bytes.
    pub fn read_exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        match &mut self.stream {
            Stream::Plain(tcp) => tcp.read_exact(&mut bytes)?,
            Stream::Tls(stream) => stream.read_exact(&mut bytes)?,
        }
        Ok(bytes)
    }

    /// Reads until the connection ends or stays silent.
    pub fn read_all(&mut self) -> (Vec<u8>, End) {
        let mut bytes = Vec::new();
        let mut buffer = [0; 16 * 1024];
        let end = loop {
            match self.read(&mut buffer) {
                Ok(0) => break End::Eof,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) => match error.kind() {
                    io::ErrorKind::UnexpectedEof => break End::Truncated,
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => break End::Silence,
                    _ => break End::Reset,
                },
            }
        };
        (bytes, end)
    }

    /// Sends FIN and keeps reading possible.
    pub fn finish_sending(&self) -> io::Result<()> {
        self.tcp().shutdown(Shutdown::Write)
    }
}

/// A POST as a sound client would send it, but for the MCP headers.
pub fn post_bytes(path: &str, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}
