//! A client that is h2 and nothing else: it sends a request, and says what h2 shows of the response.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Longer than anything takes.
const BOUND: Duration = Duration::from_secs(15);

/// What came of a request.
#[derive(Debug)]
pub struct Came {
    /// The status, if there was a head.
    pub status: Option<u16>,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// How it ended, if not by END_STREAM.
    pub error: Option<h2::Error>,
}

/// One connection.
pub struct RawClient {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<Result<(), h2::Error>>,
}

/// A request under way.
pub struct Pending {
    response: ResponseFuture,
    /// Keeps the stream from being reset.
    _sender: SendStream<Bytes>,
}

impl RawClient {
    /// Connects.
    ///
    /// # Errors
    /// If the connection or the handshake fails: a peer that resets at once may do so before the connection is seen.
    pub async fn connect(address: SocketAddr) -> Result<Self, h2::Error> {
        let tcp = TcpStream::connect(address).await.map_err(|_| h2::Reason::CONNECT_ERROR)?;
        tcp.set_nodelay(true).map_err(|_| h2::Reason::CONNECT_ERROR)?;
        // The connection has more room than a stream, so that streams are held up one by one.
        let mut builder = h2::client::Builder::new();
        builder.initial_connection_window_size(1 << 20);
        let (sender, connection) = builder.handshake(tcp).await?;
        Ok(Self { sender, driver: tokio::spawn(connection) })
    }

    /// Sends a POST with this message.
    ///
    /// # Errors
    /// If h2 refuses to.
    ///
    /// # Panics
    /// If the path is none.
    pub async fn post(&mut self, path: &str, message: &Value) -> Result<Pending, h2::Error> {
        let uri = format!("http://localhost{path}");
        let head = http::Request::post(uri).header("content-type", "application/json").body(()).expect("a request");
        poll_fn(|context| self.sender.poll_ready(context)).await?;
        let (response, mut sender) = self.sender.send_request(head, false)?;
        // Fails if the stream has ended meanwhile, without a word on why: its response tells.
        let _ = sender.send_data(Bytes::from(message.to_string()), true);
        Ok(Pending { response, _sender: sender })
    }

    /// Sends a POST with this message and reads the response to its end.
    pub async fn exchange(&mut self, path: &str, message: &Value) -> Came {
        match self.post(path, message).await {
            Ok(pending) => pending.read().await,
            Err(error) => Came { status: None, body: Vec::new(), error: Some(error) },
        }
    }

    /// How the connection ended.
    ///
    /// # Errors
    /// If not in order.
    ///
    /// # Panics
    /// If it does not end.
    pub async fn ended(self) -> Result<(), h2::Error> {
        drop(self.sender);
        tokio::time::timeout(BOUND, self.driver).await.expect("the connection ends").expect("no panic")
    }
}

impl Pending {
    /// Reads the response to its end.
    ///
    /// # Panics
    /// If it does not end.
    pub async fn read(self) -> Came {
        tokio::time::timeout(BOUND, self.read_on()).await.expect("the stream ends")
    }

    async fn read_on(self) -> Came {
        let mut came = Came { status: None, body: Vec::new(), error: None };
        match self.response.await {
            Ok(head) => {
                came.status = Some(head.status().as_u16());
                came.error = read_body(head.into_body(), &mut came.body).await.err();
            }
            Err(error) => came.error = Some(error),
        }
        came
    }

    /// Reads the head and so many bytes of the body, and leaves the stream open.
    ///
    /// # Errors
    /// If the stream ends before.
    ///
    /// # Panics
    /// If they do not come.
    pub async fn read_some(self, bytes: usize) -> Result<(RecvStream, SendStream<Bytes>), h2::Error> {
        let reading = async {
            let mut body = self.response.await?.into_body();
            let mut taken = 0;
            while taken < bytes {
                let data = body.data().await.expect("more of the body")?;
                body.flow_control().release_capacity(data.len())?;
                taken += data.len();
            }
            Ok((body, self._sender))
        };
        tokio::time::timeout(BOUND, reading).await.expect("bytes come")
    }
}

async fn read_body(mut body: RecvStream, bytes: &mut Vec<u8>) -> Result<(), h2::Error> {
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok(())
}
