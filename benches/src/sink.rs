//! What becomes of an event: every engine hands its events to a [`Sink`], the same one for all.
//!
//! Rule: [`Touch`] is the only sink that is timed. It does little, but keeps the compiler from leaving out the work
//! that made the event. [`Digest`] is for the check before it.

use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;

/// Takes events.
pub trait Sink {
    /// One dispatched event: its type, its data, and its id, empty if it has none.
    fn event(&mut self, kind: &str, data: &str, id: &str);
}

/// Looks at every event, and counts.
#[derive(Debug, Default)]
pub struct Touch {
    tally: u64,
}

impl Touch {
    /// A number that depends on all events.
    pub fn tally(&self) -> u64 {
        self.tally
    }
}

impl Sink for Touch {
    #[inline]
    fn event(&mut self, kind: &str, data: &str, id: &str) {
        let (kind, data, id) = black_box((kind, data, id));
        let ends = data.as_bytes().first().zip(data.as_bytes().last());
        let ends = ends.map_or(0, |(&first, &last)| u64::from(first) + u64::from(last));
        self.tally = self.tally.wrapping_add(ends + (kind.len() + data.len() + id.len()) as u64 + 1);
    }
}

/// What a stream's events were: two streams of the same digest gave the same events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// How many events.
    pub events: u64,
    /// How many bytes of types, data and ids.
    pub bytes: u64,
    /// A hash over all types, data and ids, in order.
    pub hash: u64,
}

impl Sink for Digest {
    fn event(&mut self, kind: &str, data: &str, id: &str) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.hash);
        for text in [kind, data, id] {
            hasher.write_usize(text.len());
            hasher.write(text.as_bytes());
        }
        self.events += 1;
        self.bytes += (kind.len() + data.len() + id.len()) as u64;
        self.hash = hasher.finish();
    }
}
