//! Many sessions at once: what an idle one costs, whether a broadcast reaches all, and what a reader that never reads costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::Failure;
use crate::client::{Connection, Session, post};
use crate::server::Running;

/// How many sessions are opened at a time, so that the listener's queue does not overflow.
const AT_ONCE: usize = 64;

/// What the reader that never reads is sent at most, besides the others: more than sockets and queues hold.
const BROADCASTS: usize = 3_000;
const TEXT_BYTES: usize = 8 << 10;
/// How many of them may be on their way to who reads: less than a queue holds.
const AHEAD: usize = 32;
/// Who reads beside it.
const READERS: usize = 20;

/// Runs all of it.
pub(crate) async fn run(count: usize) -> Result<(), Failure> {
    idle_and_broadcast(count).await?;
    stuck_reader().await
}

async fn open(server: &Running, count: usize) -> Result<Vec<Session>, Failure> {
    let mut sessions = Vec::with_capacity(count);
    while sessions.len() < count {
        let batch = (0..AT_ONCE.min(count - sessions.len())).map(|_| Session::open(server));
        for session in futures_util::future::join_all(batch).await {
            sessions.push(session?);
        }
    }
    Ok(sessions)
}

async fn broadcast(connection: &mut Connection, server: &Running, text: &str) -> Result<(usize, usize), Failure> {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"load/broadcast","params":{{"level":"info","data":"{text}",{meta}}}}}"#
    );
    let answer = connection.exchange(&post(server, "load/broadcast", None, &body)).await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    let number = |name: &str| answer["result"][name].as_u64().and_then(|number| usize::try_from(number).ok());
    Ok((number("reached").ok_or("no count")?, number("refused").ok_or("no count")?))
}

async fn idle_and_broadcast(count: usize) -> Result<(), Failure> {
    let server = Running::this("ours")?;
    let mut connection = Connection::open(&server).await?;
    broadcast(&mut connection, &server, "warm").await?;
    let before = server.memory()?;
    let start = Instant::now();
    let mut sessions = open(&server, count).await?;
    let opened = start.elapsed();
    let used = server.memory()?.saturating_sub(before);
    println!(
        "idle sessions: {count} open at once (in {:.2} s), {:.1} KiB of the server's memory each",
        opened.as_secs_f64(),
        used as f64 / 1024.0 / count as f64
    );

    let start = Instant::now();
    let (reached, refused) = broadcast(&mut connection, &server, "news-of-the-day").await?;
    if (reached, refused) != (count, 0) {
        return Err(format!("a broadcast reached {reached}, and not {refused}, of {count}").into());
    }
    let queued = start.elapsed();
    for session in &mut sessions {
        session.read_until(b"news-of-the-day", 1).await?;
    }
    println!(
        "broadcast: to {count} sessions, none lost; queued in {:.0} ms, read by all in {:.0} ms",
        queued.as_secs_f64() * 1e3,
        start.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}

async fn stuck_reader() -> Result<(), Failure> {
    let server = Running::this("ours")?;
    let mut connection = Connection::open(&server).await?;
    let stuck = Session::open(&server).await?;
    let readers = open(&server, READERS).await?;
    let before = server.memory()?;
    let read: Arc<[AtomicUsize]> = (0..READERS).map(|_| AtomicUsize::new(0)).collect();
    let reading = readers.into_iter().enumerate().map(|(reader, mut session)| {
        let read = Arc::clone(&read);
        async move {
            for _ in 0..BROADCASTS {
                session.read_until(b"notifications/message", 1).await?;
                read[reader].fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), Failure>(())
        }
    });
    let readers = tokio::spawn(futures_util::future::join_all(reading));
    let (text, mut refusals) = ("x".repeat(TEXT_BYTES), 0);
    for sent in 0..BROADCASTS {
        // Who reads is never far behind, so that whoever is refused is not merely slow.
        while read.iter().any(|read| read.load(Ordering::Relaxed) + AHEAD < sent) {
            tokio::task::yield_now().await;
        }
        let (_, refused) = broadcast(&mut connection, &server, &text).await?;
        refusals += refused;
        // All but one read; whoever is refused must be that one.
        if refused > 1 {
            return Err(format!("{refused} readers were refused at once").into());
        }
    }
    for reader in readers.await? {
        reader?;
    }
    let used = server.memory()?.saturating_sub(before);
    if refusals == 0 {
        return Err("a reader that never reads was never refused".into());
    }
    println!(
        "one reader that never reads: {READERS} others got all of {} MiB; it was refused {refusals} of {BROADCASTS} \
         messages, each told to the sender; the server's memory grew by {:.1} MiB",
        (BROADCASTS * TEXT_BYTES) >> 20,
        used as f64 / f64::from(1 << 20)
    );
    drop(stuck);
    Ok(())
}
