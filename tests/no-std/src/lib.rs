//! Proves that `mcp-sse-core` needs `core` and `alloc` only: this static library has a panic handler and an
//! allocator of its own, so that anything of `std` behind it would be a second one, and the link would fail.
//! What is called here is reached from C, so that nothing is thrown away.
#![no_std]

extern crate alloc;

use core::panic::PanicInfo;

use linked_list_allocator::LockedHeap;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallEvent, CallOptions, Client, ClientConfig, Endpoint, Step};
use mcp_sse_core::http::ResponseHead;

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

static mut ARENA: [u8; 1 << 20] = [0; 1 << 20];

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Makes one call over a response that is a constant, and gives the length of its result in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn mcp_sse_call() -> usize {
    // SAFETY: the arena belongs to the heap alone, and the program calls this once.
    unsafe { HEAP.lock().init((&raw mut ARENA).cast(), 1 << 20) };
    call().unwrap_or(0)
}

fn call() -> Option<usize> {
    let now = Timestamp::ZERO;
    let mut client = Client::new(Endpoint::parse("http://localhost/mcp").ok()?, ClientConfig::default());
    client.call("tools/list", None, CallOptions::default(), now).ok()?;
    let mut length = 0;
    while let Some(step) = client.poll_step(now) {
        match step {
            Step::Send(id, _) => {
                let exchange = client.exchange(id)?;
                let head = ResponseHead::from_headers(200, [("content-type", "text/event-stream")]);
                exchange.on_head(&head, now).ok()?;
                let mut body: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n\n";
                exchange.on_body(&mut body, now).ok()?;
            }
            Step::Event(_, CallEvent::Answer { answer, .. }) => length = answer.message.result()?.len(),
            _ => {}
        }
    }
    Some(length)
}

/// The shipped `alloc` was built to unwind and names this; with `panic = "abort"` nothing ever calls it.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}
