//! A scripted HTTP proxy on a loopback port: it sends requests on, opens tunnels, refuses, hangs up or says nothing, and keeps
//! what it was asked.
//!
//! Rules: it is a real proxy, so that what the server behind it sees can be checked too; one connection to a server for each
//! connection of a client. Nothing of the crates under test is used here.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What the proxy does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Sends it on, or opens the tunnel.
    Serve,
    /// Opens the tunnel once the server has said something, and says both in one breath.
    ServeTogether,
    /// Answers with this status itself.
    Refuse(u16),
    /// Answers with half a head, and closes.
    CutHead,
    /// Closes.
    Close,
    /// Says nothing until the client goes away.
    Silence,
}

/// One request's head, as the proxy was sent it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The request line.
    pub line: String,
    /// Header names in lower case and values, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The number of the client's connection, from 0.
    pub connection: usize,
}

impl Asked {
    /// The value of a header, if it came.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The proxy, which listens as long as the process lives.
pub struct ForwardProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ForwardProxy {
    /// Starts a proxy that does this with every request.
    ///
    /// # Panics
    /// If the system gives no port.
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("the port's number");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&asked);
        thread::spawn(move || {
            for (connection, client) in listener.incoming().flatten().enumerate() {
                let shared = Arc::clone(&shared);
                // Sockets that break end the connection, and say nothing else.
                thread::spawn(move || serve(&client, connection, manner, &shared).ok());
            }
        });
        Self { address, asked }
    }

    /// Its URL, with credentials before the host if there are any.
    pub fn url(&self, credentials: &str) -> String {
        let at = if credentials.is_empty() { "" } else { "@" };
        format!("http://{credentials}{at}{}", self.address)
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(client: &TcpStream, connection: usize, manner: Manner, log: &Mutex<Vec<Asked>>) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut server: Option<TcpStream> = None;
    while let Some(asked) = read_head(&mut reader, connection)? {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        let mut writer = client;
        match manner {
            Manner::Serve | Manner::ServeTogether => {}
            Manner::Refuse(status) => {
                let length = asked.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
                io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
                write!(writer, "HTTP/1.1 {status} No\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno")?;
                continue;
            }
            Manner::CutHead => {
                writer.write_all(b"HTTP/1.1 200 O")?;
                return client.shutdown(Shutdown::Both);
            }
            Manner::Close => return client.shutdown(Shutdown::Both),
            Manner::Silence => {
                io::copy(&mut reader, &mut io::sink())?;
                return Ok(());
            }
        }
        let mut words = asked.line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if method == "CONNECT" {
            let mut server = TcpStream::connect(target)?;
            let mut opened = b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n".to_vec();
            if manner == Manner::ServeTogether {
                let mut first = [0; 4096];
                let bytes = server.read(&mut first)?;
                opened.extend_from_slice(&first[..bytes]);
            }
            writer.write_all(&opened)?;
            let back = carry_back(&server, client)?;
            io::copy(&mut reader, &mut &server)?;
            server.shutdown(Shutdown::Write)?;
            back.join().ok();
            return Ok(());
        }
        let Some((authority, path)) = target.strip_prefix("http://").and_then(|rest| rest.split_once('/')) else {
            return client.shutdown(Shutdown::Both);
        };
        let server = match &server {
            Some(server) => server,
            None => {
                let made = TcpStream::connect(authority)?;
                carry_back(&made, client)?;
                server.insert(made)
            }
        };
        send_on(&asked, method, path, &mut reader, server)?;
    }
    Ok(())
}

/// A head, line by line; `None` if the client has gone.
fn read_head(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let header =
        |line: &String| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers = lines.iter().skip(1).filter_map(header).collect();
    Ok(lines.into_iter().next().map(|line| Asked { line, headers, connection }))
}

/// The request as it goes to the server: the target is a path, and what was meant for the proxy is gone.
fn send_on(asked: &Asked, method: &str, path: &str, body: &mut impl Read, mut server: &TcpStream) -> io::Result<()> {
    write!(server, "{method} /{path} HTTP/1.1\r\n")?;
    for (name, value) in asked.headers.iter().filter(|(name, _)| name != "proxy-authorization") {
        write!(server, "{name}: {value}\r\n")?;
    }
    server.write_all(b"\r\n")?;
    let length = asked.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    io::copy(&mut body.take(length), &mut server)?;
    Ok(())
}

/// Carries what the server says to the client, its end too.
fn carry_back(server: &TcpStream, client: &TcpStream) -> io::Result<thread::JoinHandle<()>> {
    let (mut server, mut client) = (server.try_clone()?, client.try_clone()?);
    Ok(thread::spawn(move || {
        io::copy(&mut server, &mut client).ok();
        client.shutdown(Shutdown::Write).ok();
    }))
}
