//! The server under load, on loopback: client and server are two processes, since a process has so many descriptors only.
//!
//! `cargo run --release --manifest-path benches/Cargo.toml --bin load -- [--sessions N] [--seconds S] [--rmcp PROGRAM]`
//! prints: memory per idle session, the time of a broadcast to all of them with none lost, what one reader that never
//! reads costs, and requests a second beside a bare hyper service that answers the same bytes under the same settings (and beside the server at
//! PROGRAM, which is run with the argument `stateless` and prints its URL). Each number is of the run that printed it; the
//! rates are medians of short turns that the servers take one after another, so that their ratio stands on a noisy machine.
//!
//! It ends with 1 if anything was lost, or answered wrongly.

mod client;
mod rates;
mod server;
mod sessions;

use std::process::ExitCode;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is asked for.
struct Options {
    sessions: usize,
    seconds: f64,
    rmcp: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ran = match &*arguments {
        [serve, which] if serve == "serve" => server::run(which),
        arguments => options(arguments).and_then(|options| run(&options)),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("load: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options { sessions: 10_000, seconds: 10.0, rmcp: None };
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--sessions" => options.sessions = value.parse()?,
            [name, value] if name == "--seconds" => options.seconds = value.parse()?,
            [name, value] if name == "--rmcp" => options.rmcp = Some(value.clone()),
            other => return Err(format!("expected --sessions N, --seconds S or --rmcp PROGRAM, got {other:?}").into()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        sessions::run(options.sessions).await?;
        rates::run(options.seconds, options.rmcp.as_deref()).await
    })
}
