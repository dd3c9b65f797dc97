//! HTTP dates (F13), against the `httpdate` crate.

use std::time::{Duration, UNIX_EPOCH};

use mcp_sse_core::http::HttpDate;

const SECONDS_PER_DAY: u64 = 86_400;
/// 9999-12-31T23:59:59Z
const LAST: u64 = 253_402_300_799;

fn ours(text: &str) -> Option<u64> {
    HttpDate::parse(text.as_bytes()).map(HttpDate::unix_seconds)
}

fn oracle(text: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(UNIX_EPOCH).unwrap().as_secs())
}

/// The three forms of one time.
fn forms(seconds: u64) -> [String; 3] {
    let imf = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
    let long_day = match &imf[..3] {
        "Mon" => "Monday",
        "Tue" => "Tuesday",
        "Wed" => "Wednesday",
        "Thu" => "Thursday",
        "Fri" => "Friday",
        "Sat" => "Saturday",
        _ => "Sunday",
    };
    let (day, month, year, time) = (&imf[5..7], &imf[8..11], &imf[12..16], &imf[17..25]);
    let padded_day = day.strip_prefix('0').map_or_else(|| day.to_owned(), |digit| format!(" {digit}"));
    [
        format!("{long_day}, {day}-{month}-{} {time} GMT", &year[2..]),
        format!("{} {month} {padded_day} {time} {year}", &imf[..3]),
        imf,
    ]
}

#[test]
fn f13_every_kind_of_day_is_read_as_the_oracle_reads_it() {
    // Steps that walk through all days of the month, months, leap years and times of day.
    let mut seconds = 0;
    while seconds <= LAST {
        let [rfc850, asctime, imf] = forms(seconds);
        assert_eq!(ours(&imf), Some(seconds), "{imf}");
        assert_eq!(ours(&asctime), Some(seconds), "{asctime}");
        // Two digits name a year of 1970 to 2069; for others the day's name is wrong, which the oracle refuses.
        if let Some(expected) = oracle(&rfc850) {
            assert_eq!(ours(&rfc850), Some(expected), "{rfc850}");
        }
        seconds += 13 * SECONDS_PER_DAY + 3607;
    }
    assert_eq!(ours(&forms(LAST)[2]), Some(LAST));
}

#[test]
fn f13_two_digit_years_turn_at_the_epoch() {
    for day in 0..36_524 {
        let seconds = day * SECONDS_PER_DAY + day;
        let [rfc850, ..] = forms(seconds);
        assert_eq!(oracle(&rfc850), Some(seconds), "{rfc850}");
        assert_eq!(ours(&rfc850), Some(seconds), "{rfc850}");
    }
}

/// The oracle takes any byte between year and time of the RFC 850 form.
fn oracle_is_lax(text: &str) -> bool {
    let separator = text.len().checked_sub("x08:49:37 GMT".len()).map(|at| text.as_bytes()[at]);
    text.contains("day, ") && separator != Some(b' ')
}

/// Whatever the oracle takes, we take, and read alike.
#[test]
fn f13_near_misses_are_read_as_the_oracle_reads_them() {
    let (mut taken, mut refused) = (0u32, 0u32);
    for seconds in [784_111_777, 951_827_696, 1_709_164_800, 4_102_444_799] {
        for text in forms(seconds) {
            for position in 0..=text.len() {
                for replacement in (0..=0x7f).map(char::from) {
                    let mut changed = text.clone();
                    if position < text.len() {
                        changed.replace_range(position..=position, &replacement.to_string());
                    } else {
                        changed.push(replacement);
                    }
                    let changed = changed.trim();
                    match oracle(changed) {
                        Some(_) if oracle_is_lax(changed) => assert_eq!(ours(changed), None),
                        Some(expected) => {
                            taken += 1;
                            assert_eq!(ours(changed), Some(expected), "{changed:?}");
                        }
                        None => refused += 1,
                    }
                }
                let cut = &text[..position];
                assert!(position == text.len() || ours(cut).is_none(), "{cut:?}");
            }
        }
    }
    assert!(taken > 100 && refused > 10_000, "{taken} {refused}");
}

#[test]
fn f13_what_is_no_date_is_refused() {
    for text in [
        "",
        "0",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1995 08:49:37 GMT",
        "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Xxx, 06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
    ] {
        assert_eq!(ours(text), None, "{text}");
        assert_eq!(oracle(text), None, "{text}");
    }
}

/// Where we are more lenient than the oracle, on purpose.
#[test]
fn f13_wrong_day_names_and_leap_seconds_are_read() {
    assert_eq!(ours("Mon, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
    assert_eq!(ours("Sat, 31 Dec 2016 23:59:60 GMT"), ours("Sun, 01 Jan 2017 00:00:00 GMT"));
    assert!(ours("Sun, 01 Jan 2017 00:00:00 GMT").is_some());
}
