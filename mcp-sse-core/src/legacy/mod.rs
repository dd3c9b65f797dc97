//! What the eras before 2026-07-28 need besides an exchange: when to ask for the rest of a broken stream
//! (2025-03-26 to 2025-11-25), and when to open the channel of 2024-11-05 anew.
//!
//! Rules: numbers in, numbers out; no message, no socket, no clock. What one stream was worth is judged in
//! [`exchange`](crate::exchange); the handshakes themselves are steps of the [`client`](crate::client).

mod reconnect;
mod resumption;

pub use reconnect::Reconnect;
pub use resumption::Resumption;
