//! When a lost channel is opened anew (H5), and a lost subscription (F10): waits that double, with jitter.
//!
//! Rule: the core has no source of chance, so the jitter is computed from a seed that the embedder gives.

use core::time::Duration;

/// Waits that double from a first to a longest one, each shortened by up to a half.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::legacy::Reconnect;
///
/// let waits = Reconnect::CHANNEL;
/// for (failures, most) in [(0, 500), (1, 1_000), (2, 2_000), (6, 30_000), (60, 30_000)] {
///     let (wait, most) = (waits.wait(failures, 7), Duration::from_millis(most));
///     assert!(wait <= most && wait >= most / 2);
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

    /// The wait after `failures` losses in a row that came before this one: between half the longest and all of it, so
    /// that clients that lost the same server at once come back apart.
    #[must_use]
    pub fn wait(self, failures: u32, seed: u64) -> Duration {
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        let most = self.first.saturating_mul(factor).min(self.most);
        // In steps of a thousandth of the half, which is finer than any timer here needs.
        let thousandths = u32::try_from(mix(seed, failures) % 1001).unwrap_or_default();
        most / 2 + most / 2000 * thousandths
    }
}

/// A hash of two integers that spreads every bit of both over all bits of the outcome: the finalizer of splitmix64
/// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014), after the seed has moved on by its
/// increment, 2^64 over the golden ratio, once for each failure.
const fn mix(seed: u64, failures: u32) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(failures as u64));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
