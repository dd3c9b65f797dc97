//! The servers of both adapters over real sockets, one file per behaviour; each test is run over each. What they decide is the
//! core's, and is tested in `server`; what is one adapter's own is in `blocking_server` and `tokio_server`.

mod eras;
mod handlers;
mod heads;
mod readers;
mod shutdown;
mod tls;
mod vanishing;
