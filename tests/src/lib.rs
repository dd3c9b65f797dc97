//! Shared test tools.

pub mod adapters;
pub mod back_to_back;
pub mod bare_loop;
pub mod blocking;
pub mod call_program;
pub mod channel_driver;
pub mod chunking;
pub mod conformance;
pub mod forward_proxy;
pub mod fuzz;
pub mod legacy_peer;
pub mod loop_driver;
pub mod matrix;
pub mod oracle;
pub mod peer;
pub mod peer_h2;
pub mod picture;
pub mod real_clients;
pub mod real_servers;
pub mod recordings;
pub mod serve_program;
pub mod served;
pub mod server_driver;
pub mod session_server;
pub mod story;
pub mod tokio_client;
