//! What is made of measured numbers, the same way in every bench.

/// The one in the middle; the upper of two.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Whether a target is reached, as the tables say it.
#[must_use]
pub const fn verdict(is_reached: bool) -> &'static str {
    if is_reached { "pass" } else { "**short**" }
}
