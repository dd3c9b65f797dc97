//! Messages: an `Exchange` beside the decoder alone, and the encoder beside others. `cargo bench --bench messages` prints both,
//! with what is to be reached and whether it is; `-- --quick` does it on little input.

use std::env;
use std::process::ExitCode;

mod encoder;
mod exchange;
mod rounds;

use mcp_sse_benches::plan::Plan;
use rounds::Amount;

fn main() -> ExitCode {
    let said = match Plan::of(env::args().skip(1)) {
        Ok(said) => said,
        Err(usage) => {
            eprintln!("unknown argument; {usage}");
            return ExitCode::FAILURE;
        }
    };
    if said.leaves_out("messages") {
        return ExitCode::SUCCESS;
    }
    let amount = if said.is_quick { Amount::QUICK } else { Amount::FULL };
    exchange::print(amount);
    encoder::print(amount);
    ExitCode::SUCCESS
}
