//! HTTP dates, and the time a server asks its client to wait.
//!
//! The core has no clock, so a date is only ever compared with another date of the same server: the `Retry-After` date
//! with the `Date` of the response that carried it (F13). That also makes a wrong clock on either side harmless.

use core::time::Duration;

/// A time as HTTP writes it (RFC 9110 5.6.7), in whole seconds since 1970-01-01T00:00:00Z.
///
/// ```
/// use mcp_sse_core::http::HttpDate;
///
/// let date = HttpDate::parse(b"Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
/// assert_eq!(date.unix_seconds(), 784_111_777);
/// assert_eq!(HttpDate::parse(b"Sunday, 06-Nov-94 08:49:37 GMT"), Some(date));
/// assert_eq!(HttpDate::parse(b"Sun Nov  6 08:49:37 1994"), Some(date));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HttpDate(u64);

impl HttpDate {
    /// Reads any of the three forms a recipient must accept; `None` for anything else, and for years before 1970.
    ///
    /// The day's name must be one, but is not checked against the date. A two-digit year below 70 lies in this century.
    /// Second 60 (a leap second) is the second after 59.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        imf_fixdate(value).or_else(|| rfc850_date(value)).or_else(|| asctime_date(value))
    }

    pub(super) const fn from_unix_seconds(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> u64 {
        self.0
    }
}

/// How long the server asks to wait before the next attempt (`Retry-After`, RFC 9110 10.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryAfter {
    /// So many seconds; a number too large for 64 bits is the largest one.
    Seconds(u64),
    /// Until this time.
    At {
        /// When to try again, by the server's clock.
        date: HttpDate,
        /// What the server's clock said when it answered: the response's `Date`, if it had a valid one.
        server_time: Option<HttpDate>,
    },
}

impl RetryAfter {
    /// Reads one value; the server's time is filled in by the head, since `Date` may come later.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        if let Some(seconds) = saturating_decimal(value) {
            return Some(Self::Seconds(seconds));
        }
        HttpDate::parse(value).map(|date| Self::At { date, server_time: None })
    }

    /// The time to wait, counted from the arrival of the response: zero if the date has passed, `None` if a date came
    /// without a `Date` to hold it against.
    ///
    /// It can be as long as [`u64::MAX`] seconds: add it with saturation and cap it.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        match *self {
            Self::Seconds(seconds) => Some(Duration::from_secs(seconds)),
            Self::At { date, server_time } => server_time.map(|now| Duration::from_secs(date.0.saturating_sub(now.0))),
        }
    }
}

/// A non-empty run of digits as a number that stops at `u64::MAX`.
fn saturating_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        text.iter()
            .fold(0u64, |number, &digit| number.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0')))),
    )
}

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
const LONG_DAYS: [&[u8]; 7] = [b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday"];

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(value: &[u8]) -> Option<HttpDate> {
    let mut rest = Cursor(value);
    rest.one_of(&DAYS)?;
    rest.literal(b", ")?;
    let day = rest.digits(2)?;
    rest.literal(b" ")?;
    let month = rest.one_of(&MONTHS)?;
    rest.literal(b" ")?;
    let year = rest.digits(4)?;
    rest.literal(b" ")?;
    let seconds = rest.time_of_day()?;
    rest.literal(b" GMT")?;
    rest.end()?;
    seconds_since_epoch(year, month, day, seconds)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850_date(value: &[u8]) -> Option<HttpDate> {
    let mut rest = Cursor(value);
    rest.one_of(&LONG_DAYS)?;
    rest.literal(b", ")?;
    let day = rest.digits(2)?;
    rest.literal(b"-")?;
    let month = rest.one_of(&MONTHS)?;
    rest.literal(b"-")?;
    let year = rest.digits(2)?;
    rest.literal(b" ")?;
    let seconds = rest.time_of_day()?;
    rest.literal(b" GMT")?;
    rest.end()?;
    // RFC 9110 wants a year more than 50 years ahead read as past; without a clock the century turns at the epoch.
    let century = if year < 70 { 2000 } else { 1900 };
    seconds_since_epoch(century + year, month, day, seconds)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime_date(value: &[u8]) -> Option<HttpDate> {
    let mut rest = Cursor(value);
    rest.one_of(&DAYS)?;
    rest.literal(b" ")?;
    let month = rest.one_of(&MONTHS)?;
    rest.literal(b" ")?;
    let day = if rest.literal(b" ").is_some() { rest.digits(1)? } else { rest.digits(2)? };
    rest.literal(b" ")?;
    let seconds = rest.time_of_day()?;
    rest.literal(b" ")?;
    let year = rest.digits(4)?;
    rest.end()?;
    seconds_since_epoch(year, month, day, seconds)
}

/// What is left of a date's text; each step takes its part or says `None`.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// The index of the name that comes next.
    fn one_of(&mut self, names: &[&[u8]]) -> Option<usize> {
        names.iter().position(|name| self.literal(name).is_some())
    }

    fn digits(&mut self, count: usize) -> Option<u64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let number = saturating_decimal(digits)?;
        self.0 = rest;
        Some(number)
    }

    /// `08:49:37` as seconds since midnight.
    fn time_of_day(&mut self) -> Option<u64> {
        let hour = self.digits(2)?;
        self.literal(b":")?;
        let minute = self.digits(2)?;
        self.literal(b":")?;
        let second = self.digits(2)?;
        (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
    }

    const fn end(&self) -> Option<()> {
        if self.0.is_empty() { Some(()) } else { None }
    }
}

/// Whether the Gregorian calendar gives the year a 29 February.
pub(super) const fn is_leap_year(year: u64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The days of a month; the month counts from 0.
pub(super) const fn days_in_month(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap_year(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// The month counts from 0, the day from 1.
fn seconds_since_epoch(year: u64, month: usize, day: u64, seconds: u64) -> Option<HttpDate> {
    if year < 1970 || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let leap_days_until = |year: u64| year / 4 - year / 100 + year / 400;
    let leap_days = leap_days_until(year - 1) - leap_days_until(1969);
    let whole_months: u64 = (0..month).map(|month| days_in_month(year, month)).sum();
    let days = (year - 1970) * 365 + leap_days + whole_months + day - 1;
    Some(HttpDate(days * 86_400 + seconds))
}
