//! What every bench shares: the streams to decode ([`corpora`]), the decoders ([`engines`]), and what is done with
//! the events they give ([`sink`]); streams that grow ([`shapes`]); what the machine itself can do with the same bytes
//! ([`limits`]); the clients and the server they call ([`callers`]); what servers are asked ([`call`]); what is said on a
//! command line and at the head of a table ([`plan`]); and what is made of measured numbers ([`figures`]).
//!
//! Not here: rounds and tables, which belong to the bench that uses them.
#![forbid(unsafe_code)]

pub mod call;
pub mod callers;
pub mod corpora;
pub mod engines;
pub mod figures;
pub mod limits;
pub mod plan;
pub mod shapes;
pub mod sink;
