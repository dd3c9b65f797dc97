//! The scripted peers themselves: what they are told to do is what goes over the wire.

mod bytes;
mod connections;
mod h2_scripts;
mod render;
mod scripts;
