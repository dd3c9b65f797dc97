//! The scripted peer itself: what it is told to do is what goes over the wire.

mod bytes;
mod connections;
mod render;
mod scripts;
