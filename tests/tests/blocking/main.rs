//! The blocking adapter over real sockets, one file per behaviour. The break matrix is a program of its own,
//! `blocking_matrix`.

mod addresses;
mod cancel;
mod coding;
mod deadline;
mod early_response;
mod events;
mod exposure;
mod heads;
mod notify;
mod redirect;
mod reuse;
mod threads;
mod tls;
mod typed;
