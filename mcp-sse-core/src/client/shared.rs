//! What the calls of one client share and learn: ids. The era and version of the origin, its session and its
//! tools' headers will live here too, so that every call sees one finding.
//!
//! Rule: nothing here belongs to a single call.

use crate::jsonrpc::Id;

/// The largest integer that every JSON reader keeps exactly (F8).
const MAX_ID: i64 = (1 << 53) - 1;

/// What calls share.
#[derive(Debug)]
pub(super) struct Shared {
    last_id: i64,
}

impl Shared {
    pub(super) const fn new() -> Self {
        Self { last_id: 0 }
    }

    /// F8: a fresh id, unique over the client's life; `None` once all are used up.
    pub(super) fn next_id(&mut self) -> Option<Id> {
        if self.ids_left() == 0 {
            return None;
        }
        self.last_id += 1;
        Some(Id::Integer(self.last_id))
    }

    pub(super) const fn ids_left(&self) -> i64 {
        MAX_ID - self.last_id
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, MAX_ID, Shared};

    /// F8: the last id is used once, and no other after it.
    #[test]
    fn f8_ids_end_with_the_last() {
        let mut shared = Shared { last_id: MAX_ID - 2 };
        assert_eq!(shared.ids_left(), 2);
        assert_eq!(
            [(); 4].map(|()| shared.next_id()),
            [Some(MAX_ID - 1), Some(MAX_ID), None, None].map(|id| id.map(Id::from))
        );
        assert_eq!(shared.ids_left(), 0);
    }
}
