//! Requests a second: ours, a bare hyper service that answers the same bytes, and another server if one is named.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcp_sse_benches::call::{ANSWER, CALL};

use crate::Failure;
use crate::client::{Connection, post};
use crate::server::Running;

/// Connections, each with one request at a time.
const CONNECTIONS: usize = 32;
/// Turns that each server takes.
const TURNS: u32 = 15;

struct Contender {
    name: &'static str,
    server: Running,
    rates: Vec<f64>,
    requests: u64,
}

/// Measures for so long altogether, and prints the medians.
pub(crate) async fn run(seconds: f64, rmcp: Option<&str>) -> Result<(), Failure> {
    let mut contenders = vec![
        Contender { name: "hyper alone", server: Running::this("bare")?, rates: Vec::new(), requests: 0 },
        Contender { name: "ours", server: Running::this("ours")?, rates: Vec::new(), requests: 0 },
        // As most write it, and as nobody should: it waits for a head for ever.
        Contender { name: "no time-outs", server: Running::this("trusting")?, rates: Vec::new(), requests: 0 },
    ];
    if let Some(program) = rmcp {
        let mut command = Command::new(program);
        command.arg("stateless");
        contenders.push(Contender { name: "rmcp", server: Running::start(command)?, rates: Vec::new(), requests: 0 });
    }
    for contender in &contenders {
        check(contender).await?;
    }
    let turn = Duration::from_secs_f64(seconds / f64::from(TURNS) / contenders.len() as f64);
    for _ in 0..TURNS {
        for contender in &mut contenders {
            let (requests, rate) = rate(&contender.server, turn).await?;
            contender.requests += requests;
            contender.rates.push(rate);
        }
    }
    let floor = contenders[0].rates.clone();
    for contender in &mut contenders {
        // Of each turn by itself: what the machine does besides changes from turn to turn.
        let mut ratios: Vec<f64> = contender.rates.iter().zip(&floor).map(|(rate, floor)| rate / floor).collect();
        let spent = contender.server.processor_time()?.as_secs_f64() * 1e6 / contender.requests as f64;
        println!(
            "requests: {:>12} {:>9.0} a second, {:.2} of hyper alone; {spent:.1} µs of processor time each",
            contender.name,
            median(&mut contender.rates),
            median(&mut ratios),
        );
    }
    Ok(())
}

/// The answer is what it should be; ours and the bare one's, to the byte.
async fn check(contender: &Contender) -> Result<(), Failure> {
    let request = post(&contender.server, "tools/call", Some("echo"), CALL);
    let answer = Connection::open(&contender.server).await?.exchange(&request).await?;
    let answer = String::from_utf8(answer)?;
    let is_right = if contender.name == "rmcp" { answer.contains(r#""text":"hello""#) } else { answer == ANSWER };
    if is_right { Ok(()) } else { Err(format!("{} answers {answer}", contender.name).into()) }
}

/// How many requests were answered, and how many a second.
async fn rate(server: &Running, turn: Duration) -> Result<(u64, f64), Failure> {
    let request: Arc<[u8]> = post(server, "tools/call", Some("echo"), CALL).into();
    let count = Arc::new(AtomicU64::new(0));
    let (start, mut tasks) = (Instant::now(), Vec::new());
    for _ in 0..CONNECTIONS {
        let (mut connection, request, count) =
            (Connection::open(server).await?, Arc::clone(&request), Arc::clone(&count));
        tasks.push(tokio::spawn(async move {
            while start.elapsed() < turn {
                connection.exchange(&request).await?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), Failure>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let count = count.load(Ordering::Relaxed);
    Ok((count, count as f64 / start.elapsed().as_secs_f64()))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
