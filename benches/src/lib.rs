//! What every bench shares: the streams to decode ([`corpora`]), the decoders ([`engines`]), and what is done with
//! the events they give ([`sink`]); streams that grow ([`shapes`]); what the machine itself can do with the same bytes
//! ([`limits`]); and what servers are asked ([`call`]).
//!
//! Not here: clocks, rounds and tables, which belong to the bench that uses them.
#![forbid(unsafe_code)]

pub mod call;
pub mod corpora;
pub mod engines;
pub mod limits;
pub mod shapes;
pub mod sink;
