//! When a broken stream is asked for its rest, and when that is given up (F11, F12).
//!
//! Rules: a wait is never shorter than the one before while nothing new comes; openings that bring nothing are
//! counted, however politely they end; nothing here knows what was on the stream.

use core::time::Duration;

/// The waits and the budget of one stream that is resumed.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::legacy::Resumption;
///
/// let mut resumption = Resumption::new(2);
/// let second = Duration::from_secs(1);
/// // The request's own stream broke: the first GET.
/// assert_eq!(resumption.next(second, true), Some(second));
/// // That GET brought nothing, and asks to come back sooner: not sooner than before.
/// assert_eq!(resumption.next(Duration::from_millis(10), false), Some(second));
/// // The second one that brings nothing is the last.
/// assert_eq!(resumption.next(second, false), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption {
    /// The wait before the last opening.
    waited: Duration,
    /// Openings in a row that brought no message under a new event id.
    barren: u32,
    most_barren: u32,
}

impl Resumption {
    /// A stream that is given up once `most_barren` openings in a row have brought nothing new.
    #[must_use]
    pub const fn new(most_barren: u32) -> Self {
        Self { waited: Duration::ZERO, barren: 0, most_barren }
    }

    /// A stream was lost: how long to wait before the next opening, or `None` if the budget is used up. `asked` is
    /// what the stream asks to wait, `progressed` whether it brought anything new; the first stream of all, which a
    /// request opened, counts as if it had.
    pub fn next(&mut self, asked: Duration, progressed: bool) -> Option<Duration> {
        if progressed {
            self.barren = 0;
            self.waited = asked;
        } else {
            self.barren = self.barren.saturating_add(1);
            self.waited = self.waited.max(asked);
        }
        (self.barren < self.most_barren).then_some(self.waited)
    }
}
