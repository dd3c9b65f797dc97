//! When a lost channel is opened anew (H5), and a lost subscription (F10): waits that double, with jitter.
//!
//! Rule: the core has no source of chance, so the jitter is computed from a seed that the embedder gives.

use core::time::Duration;

/// Waits that double from a first to a longest one, each shortened by up to a quarter.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::legacy::Reconnect;
///
/// let waits = Reconnect::CHANNEL;
/// for (failures, most) in [(0, 500), (1, 1_000), (2, 2_000), (6, 30_000), (60, 30_000)] {
///     let (wait, most) = (waits.wait(failures, 7), Duration::from_millis(most));
///     assert!(wait <= most && wait >= most * 3 / 4);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Reconnect {
    /// The longest wait after the first loss.
    pub first: Duration,
    /// The longest wait of all.
    pub most: Duration,
}

impl Reconnect {
    /// H5: the channel of 2024-11-05, 0.5 s doubling to 30 s.
    pub const CHANNEL: Self = Self { first: Duration::from_millis(500), most: Duration::from_secs(30) };
    /// F10: a subscription, 1 s doubling to 30 s.
    pub const SUBSCRIPTION: Self = Self { first: Duration::from_secs(1), most: Duration::from_secs(30) };

    /// The wait after `failures` losses in a row that came before this one.
    #[must_use]
    pub fn wait(self, failures: u32, seed: u64) -> Duration {
        let doubled = 1_u32.checked_shl(failures).map_or(self.most, |factor| self.first.saturating_mul(factor));
        let longest = doubled.min(self.most);
        // A quarter at most: clients that lost the same server at once come back apart, and none comes early.
        longest - longest / 1024 * (scatter(seed, failures) % 256)
    }
}

/// A number that differs between seeds and between rounds (the finaliser of SplitMix64).
fn scatter(seed: u64, round: u32) -> u32 {
    let mut mixed = seed.wrapping_add(u64::from(round).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 32) as u32
}
