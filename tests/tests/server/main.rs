//! The server, one file per behaviour (rows S2 to S11), without sockets.

mod admission;
mod arrays;
mod asking;
mod back_to_back;
mod broadcast;
mod channel;
mod disconnect;
mod hosts;
mod queue;
mod random;
mod response;
mod resumption;
mod sessions;
mod shutdown;
mod strangers;
mod subscriptions;
