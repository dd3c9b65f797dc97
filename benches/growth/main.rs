//! How the decoder's work and memory grow: `cargo bench --bench growth` prints both, with what is to be reached and whether it
//! is. `-- --quick` does it for streams of up to 16 MiB.
//!
//! The program starts itself once more, with an allocator (glibc's) that takes every buffer of 128 KiB and more fresh from the
//! system. By itself it would keep up to 32 MiB for reuse and no more, so that events of 16 MiB would get memory that is warm,
//! and those of 64 MiB not, and time would seem to grow with the size.
//!
//! It ends with 1 if a count of memory is missed. Times are only shown: a machine has other things to do.

use std::alloc::System;
use std::env;
use std::process::{Command, ExitCode};

use mcp_sse_benches::plan::Plan;
use mcp_sse_benches::shapes::MIB;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

mod memory;
mod time;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How glibc is told.
const THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";

const SIZES: [usize; 5] = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];

fn main() -> ExitCode {
    let said = match Plan::of(env::args().skip(1)) {
        Ok(said) => said,
        Err(usage) => {
            eprintln!("unknown argument; {usage}");
            return ExitCode::FAILURE;
        }
    };
    if said.leaves_out("growth") {
        return ExitCode::SUCCESS;
    }
    if env::var_os(THRESHOLD).is_none() {
        return match again() {
            Ok(code) => code,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let (sizes, rounds) = if said.is_quick { (&SIZES[..3], 5) } else { (&SIZES[..], 7) };
    time::print(sizes, rounds);
    if memory::print(said.is_quick) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn again() -> std::io::Result<ExitCode> {
    let status = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(THRESHOLD, (128 * 1024).to_string())
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
