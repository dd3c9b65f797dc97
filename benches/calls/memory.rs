//! What connections that wait, and large answers, take of a client's memory.

use mcp_sse_benches::callers::orders::{Measured, Order};
use mcp_sse_benches::callers::server::LARGE_BYTES;
use mcp_sse_benches::callers::{Caller, Failure, Job};

use crate::process::{Calling, Server};

/// Of one caller; on the heap, and of the process.
pub(crate) struct Use {
    pub(crate) caller: Caller,
    /// Bytes for each connection.
    pub(crate) idle: Bytes,
    /// Multiples of the answer's size, as a JSON body and as an event.
    pub(crate) large: [Bytes; 2],
}

#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) heap: f64,
    pub(crate) resident: f64,
}

pub(crate) fn run(server: &Server, connections: usize) -> Result<Vec<Use>, Failure> {
    let of = |caller| {
        // A process for each, so that none has what the one before left.
        let measure = |order, by: usize| match Calling::counted(caller, server)?.order(order)? {
            Measured::Memory { heap: Some(heap), resident } => {
                Ok(Bytes { heap: heap as f64 / by as f64, resident: resident as f64 / by as f64 })
            }
            other => Err(Failure::from(format!("not counted: {other:?}"))),
        };
        let large = |job| measure(Order::Large(job), LARGE_BYTES);
        let idle = measure(Order::Idle(connections), connections)?;
        Ok(Use { caller, idle, large: [large(Job::LargeJson)?, large(Job::LargeStream)?] })
    };
    Caller::ALL.into_iter().map(of).collect()
}
