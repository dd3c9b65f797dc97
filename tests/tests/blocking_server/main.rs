//! What is the blocking adapter's own in serving: threads, and HTTP/1.1 as it reads it. What both adapters share is in
//! `servers`.

mod framing;
mod handlers;
mod heads;
mod threads;
mod vanishing;

type Served = mcp_sse_tests::served::Served<mcp_sse_blocking::Server>;
