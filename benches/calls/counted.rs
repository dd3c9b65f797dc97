//! The process of one caller, with every byte on its heap counted: for memory, and never for time.

use std::alloc::System;
use std::process::ExitCode;

use cap::Cap;
use mcp_sse_benches::callers::{self, Heap};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let heap = Heap { used: || HEAP.allocated() as u64, peak: || HEAP.max_allocated() as u64 };
    match callers::run(&arguments, Some(heap)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("calls-counted: {failure}");
            ExitCode::FAILURE
        }
    }
}
