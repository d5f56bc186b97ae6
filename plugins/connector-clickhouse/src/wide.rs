//! Integers of up to 256 bits as decimal text.

/// The decimal text of a little-endian integer with so many digits behind the point. `bytes` has at most 32 bytes.
pub(crate) fn text(bytes: &[u8], signed: bool, scale: usize, into: &mut String) {
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    into.clear();
    if negative {
        into.push('-');
    }
    let mut buffer = itoa::Buffer::new();
    match magnitude(bytes, negative) {
        // A division of 128 bits is slow in the sandbox, and nearly all numbers are small.
        Ok(number) => match u64::try_from(number) {
            Ok(small) => append(buffer.format(small), scale, into),
            Err(_) => append(buffer.format(number), scale, into),
        },
        Err(limbs) => append(&long_division(limbs), scale, into),
    }
}

/// Digits, of which so many stand behind the point.
fn append(digits: &str, scale: usize, into: &mut String) {
    let (before, after) = digits.split_at(digits.len().saturating_sub(scale));
    into.push_str(if before.is_empty() { "0" } else { before });
    if scale > 0 {
        into.push('.');
        into.extend(std::iter::repeat_n('0', scale - after.len()));
        into.push_str(after);
    }
}

/// The absolute value, in a machine's integer or in eight limbs.
fn magnitude(bytes: &[u8], negative: bool) -> Result<u128, [u32; 8]> {
    let filler = if negative { 0xff } else { 0 };
    if bytes.len() <= 16 {
        let mut all = [filler; 16];
        for (to, from) in all.iter_mut().zip(bytes) {
            *to = *from;
        }
        // A negative number in two's complement. Its absolute value fits an unsigned one of the same width, also that of
        // the smallest number.
        return Ok(match negative {
            true => u128::from_le_bytes(all).wrapping_neg(),
            false => u128::from_le_bytes(all),
        });
    }
    let mut all = [filler; 32];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = *from;
    }
    let mut limbs = [0_u32; 8];
    for (limb, four) in limbs.iter_mut().zip(all.as_chunks::<4>().0) {
        *limb = u32::from_le_bytes(*four);
    }
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
        }
    }
    match limbs {
        [a, b, c, d, 0, 0, 0, 0] => Ok([d, c, b, a]
            .into_iter()
            .fold(0, |sum, limb| sum << 32 | u128::from(limb))),
        _ => Err(limbs),
    }
}

/// Nine digits at a time.
fn long_division(mut limbs: [u32; 8]) -> String {
    const STEP: u64 = 1_000_000_000;
    let mut groups = Vec::new();
    while limbs.iter().any(|limb| *limb != 0) {
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 32 | u64::from(*limb);
            // A quotient of a remainder below the divisor fits into the limb.
            *limb = u32::try_from(value / STEP).unwrap_or(u32::MAX);
            rest = value % STEP;
        }
        groups.push(rest);
    }
    let mut groups = groups.into_iter().rev();
    let first = groups.next().unwrap_or(0).to_string();
    groups.fold(first, |text, group| format!("{text}{group:09}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], signed: bool, scale: usize, expected: &str) {
        let mut written = String::new();
        text(bytes, signed, scale, &mut written);
        assert_eq!(written, expected);
    }

    #[test]
    fn every_width_keeps_every_digit() {
        check(&[0xff], true, 0, "-1");
        check(
            &[0xff; 16],
            false,
            0,
            "340282366920938463463374607431768211455",
        );
        check(
            &i128::MIN.to_le_bytes(),
            true,
            0,
            "-170141183460469231731687303715884105728",
        );
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        check(&[0xff; 32], false, 0, most);
        let mut least = [0; 32];
        least[31] = 0x80;
        let text = "-57896044618658097711785492504343953926634992332820282019728792003956564819968";
        check(&least, true, 0, text);
    }

    #[test]
    fn a_scale_sets_the_point() {
        check(&150_i32.to_le_bytes(), true, 2, "1.50");
        check(&u64::MAX.to_le_bytes(), false, 3, "18446744073709551.615");
        let more = u128::from(u64::MAX) + 1;
        check(&more.to_le_bytes(), false, 3, "18446744073709551.616");
        let mut wide = [0xff; 32];
        wide[0] = 0xfb;
        check(&wide, true, 1, "-0.5");
        check(&(-5_i64).to_le_bytes(), true, 3, "-0.005");
        check(&[0; 32], true, 40, &format!("0.{}", "0".repeat(40)));
    }
}
