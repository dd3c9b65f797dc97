//! The server, one file per behaviour (rows S2 to S11), without sockets.

mod admission;
mod disconnect;
mod hosts;
mod queue;
mod response;
