//! The blocking adapter's server over real sockets, one file per behaviour. What it decides is the core's, and is tested in
//! `server`.

mod eras;
mod framing;
mod handlers;
mod heads;
mod shutdown;
mod support;
mod threads;
mod tls;
mod vanishing;
