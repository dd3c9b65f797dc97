//! What an exchange comes to.
//!
//! Rules: there is one verdict, and nothing after it; it carries facts about an answer, never a second copy of it. The
//! words it is said in are in `outcome`; deciding happens in `state`.

use alloc::string::String;
use core::time::Duration;

use super::outcome::{AnswerInfo, Cause, Damage, Exposure, Failure};
use super::request::Cursor;

/// What an exchange comes to. There is exactly one, and nothing after it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// The answer was delivered, and the stream ended as it should or was closed by us, having it.
    Settled(AnswerInfo),
    /// The answer was delivered; something after it, or around it, was damaged.
    Salvaged {
        /// Facts about the answer.
        answer: AnswerInfo,
        /// What was damaged.
        damage: Damage,
    },
    /// Modern era: the answer is lost; send the request again, as a new one with a new id.
    Reissue {
        /// How it was lost.
        cause: Cause,
        /// How far the lost request had got.
        exposure: Exposure,
    },
    /// Legacy era: the answer may still come. Ask for the rest of this stream with GET and `Last-Event-ID`; never POST
    /// again (E6).
    Resume {
        /// The cursor: never empty, and fit to be sent back as it is (E26).
        last_event_id: String,
        /// How long to wait first: `retry`, else 1 s.
        after: Duration,
        /// The `retry` that this stream gave last, else the one that came with the cursor; at least 10 ms.
        retry: Option<Duration>,
        /// Whether a message with a new event id came on this stream, so that resuming it leads somewhere (F11).
        progressed: bool,
        /// How the stream was lost.
        cause: Cause,
        /// How far this HTTP request had got.
        exposure: Exposure,
    },
    /// Legacy era: a listening stream is over, which ends nothing but the stream (F12).
    Reopen {
        /// Where to go on, if the stream had event ids, or began at a cursor.
        cursor: Option<Cursor>,
        /// How long to wait first: the last `retry`, else 1 s.
        after: Duration,
        /// Whether a message came on this stream that is not the one the cursor names. An opening that brought none
        /// was an empty one.
        progressed: bool,
        /// How it ended.
        cause: Cause,
    },
    /// Asked to follow redirects: send the same request to this place.
    Redirect {
        /// The `Location` as the server wrote it, to be resolved against the request's URL.
        location: String,
    },
    /// A notification or a deletion was taken; or, under 2024-11-05, any message, whose answer comes on the channel.
    Accepted {
        /// The status.
        status: u16,
    },
    /// It failed.
    Failed(Failure),
}
