//! The conversations of the earlier revisions, and how it is found out which one to have, over real sockets and over both
//! adapters: one file per behaviour, each test run once for each adapter.

mod cancel;
mod channel;
mod close;
mod handlers;
mod ladder;
mod listening;
mod resumption;
mod sessions;
mod subscriptions;
