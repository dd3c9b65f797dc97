//! Messages: an `Exchange` beside the decoder alone, and the encoder beside others. `cargo bench --bench messages` prints both,
//! with what is to be reached and whether it is; `-- --quick` does it on little input.

use std::env;
use std::process::ExitCode;

mod encoder;
mod exchange;
mod rounds;

use rounds::Plan;

fn main() -> ExitCode {
    let mut plan = Plan::FULL;
    for argument in env::args().skip(1) {
        match argument.as_str() {
            // Cargo passes it to every bench.
            "--bench" => {}
            "--quick" => plan = Plan::QUICK,
            _ => {
                eprintln!("unknown argument; there is --quick");
                return ExitCode::FAILURE;
            }
        }
    }
    exchange::print(plan);
    encoder::print(plan);
    ExitCode::SUCCESS
}
