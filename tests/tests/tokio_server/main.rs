//! What is the tokio adapter's own in serving: HTTP/2, the service under whatever drives it, connections and their bounds. What
//! both adapters share is in `servers`.

mod connections;
mod http2;
mod mounting;
mod support;
