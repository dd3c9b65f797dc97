//! Protocol versions: dates that name a revision of the MCP specification, and the eras they fall into.

use alloc::borrow::{Cow, ToOwned as _};
use core::fmt;
use core::str::FromStr;

use super::date::days_in_month;

/// A revision of the MCP specification: one of the five published dates, or a later one.
///
/// Ten bytes, copied freely; ordered by date.
///
/// ```
/// use mcp_sse_core::http::{Era, ProtocolVersion};
///
/// let version: ProtocolVersion = "2025-06-18".parse()?;
/// assert_eq!(version, ProtocolVersion::V2025_06_18);
/// assert_eq!(version.era(), Era::Legacy);
/// assert!(version < ProtocolVersion::V2026_07_28);
/// assert_eq!("2027-01-31".parse::<ProtocolVersion>()?.era(), Era::Modern);
/// assert!("2025-01-01".parse::<ProtocolVersion>().is_err());
/// # Ok::<(), mcp_sse_core::http::UnknownVersion>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion([u8; 10]);

impl ProtocolVersion {
    /// The first revision: HTTP with SSE as two channels.
    pub const V2024_11_05: Self = Self(*b"2024-11-05");
    /// Streamable HTTP with sessions; the only one that allows arrays of messages.
    pub const V2025_03_26: Self = Self(*b"2025-03-26");
    /// The first with the `MCP-Protocol-Version` header.
    pub const V2025_06_18: Self = Self(*b"2025-06-18");
    /// The last with sessions and resumption.
    pub const V2025_11_25: Self = Self(*b"2025-11-25");
    /// The first with metadata on each request and without sessions.
    pub const V2026_07_28: Self = Self(*b"2026-07-28");

    /// All published revisions, oldest first.
    pub const KNOWN: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest published revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The date as `YYYY-MM-DD`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The bytes are ASCII by construction, so the default is never taken.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// As [`as_str`](Self::as_str), to be kept: that of a published revision is borrowed.
    pub(crate) fn to_name(self) -> Cow<'static, str> {
        let known: &'static [Self] = &Self::KNOWN;
        let known = known.iter().find(|known| **known == self).map(|known| Cow::Borrowed(known.as_str()));
        known.unwrap_or_else(|| Cow::Owned(self.as_str().to_owned()))
    }

    /// Which of the three ways of speaking MCP over HTTP this revision has.
    #[must_use]
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 {
            Era::Modern
        } else if self > Self::V2024_11_05 {
            Era::Legacy
        } else {
            Era::HttpSse
        }
    }

    /// Whether a body or event may hold an array of messages: in 2025-03-26 only (E25).
    #[must_use]
    pub fn allows_arrays(self) -> bool {
        self == Self::V2025_03_26
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    /// Takes the published dates, and any valid date after them.
    ///
    /// # Errors
    ///
    /// [`UnknownVersion`] if the text is no date of the form `YYYY-MM-DD`, or an earlier date that names no revision.
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let version = Self(text.as_bytes().try_into().map_err(|_| UnknownVersion(()))?);
        if Self::KNOWN.contains(&version) || is_date(version.0) && version > Self::LATEST {
            Ok(version)
        } else {
            Err(UnknownVersion(()))
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for ProtocolVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ProtocolVersion({})", self.as_str())
    }
}

/// Whether the text is a day of the calendar, written `YYYY-MM-DD`.
fn is_date(text: [u8; 10]) -> bool {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text else {
        return false;
    };
    let number = |digits: &[u8]| {
        digits
            .iter()
            .try_fold(0u64, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
    };
    let (Some(year), Some(month @ 1..=12), Some(day)) =
        (number(&[y0, y1, y2, y3]), number(&[m0, m1]), number(&[d0, d1]))
    else {
        return false;
    };
    usize::try_from(month - 1).is_ok_and(|month| (1..=days_in_month(year, month)).contains(&day))
}

/// How MCP is spoken over HTTP; which one follows from the [`ProtocolVersion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// 2024-11-05: a GET for the event stream, POSTs to the endpoint it names.
    HttpSse,
    /// 2025-03-26 to 2025-11-25: `initialize`, sessions, resumption.
    Legacy,
    /// 2026-07-28 and later: each request stands alone.
    Modern,
}

/// The text names no revision of the specification this crate could know: it is no date, or an early one that was never
/// published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an MCP protocol version: neither a published date nor a later one")]
pub struct UnknownVersion(());
