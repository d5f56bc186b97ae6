//! Counts of which a model vendor may learn the magnitude only.

/// The count itself where it may be told, else the smallest power of ten from 10 on that it is below.
pub(super) fn told(count: Option<u64>, is_exact: bool) -> (Option<u64>, Option<u64>) {
    match is_exact {
        true => (count, None),
        false => (None, count.map(below)),
    }
}

fn below(count: u64) -> u64 {
    let mut powers = std::iter::successors(Some(10_u64), |power| power.checked_mul(10));
    powers.find(|power| *power > count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_that_may_not_be_told_becomes_a_power_of_ten_above_it() {
        for (count, power) in [
            (0, 10),
            (9, 10),
            (10, 100),
            (73, 100),
            (999, 1_000),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(told(Some(count), false), (None, Some(power)), "{count}");
            assert_eq!(told(Some(count), true), (Some(count), None));
        }
        assert_eq!(told(None, false), (None, None));
    }
}
