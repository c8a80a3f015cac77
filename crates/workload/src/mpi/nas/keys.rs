//! The keys that IS sorts: how many keys each rank draws for each bucket.

/// The multiplier of the benchmark's random number generator, 5^13.
const MULTIPLIER: u64 = 1_220_703_125;
/// The generator's initial state.
const SEED: u64 = 314_159_265;
/// The generator's modulus, 2^46, as a bit mask.
const MASK: u64 = (1 << 46) - 1;

/// Returns, for each rank, the number of its keys in each of `1 << bucket_bits` buckets. The ranks together
/// draw `1 << key_bits` keys. `ranks` must be a power of two. Each rank draws the next part of one common
/// sequence. A key is the sum of four draws, so the middle buckets get the most keys.
#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
pub(super) fn histograms(key_bits: u32, bucket_bits: u32, ranks: u32) -> Vec<Vec<u32>> {
    let keys = (1_u64 << key_bits) / u64::from(ranks);
    let step = power(MULTIPLIER, 4 * keys);
    let mut seed = SEED;
    let draw = |state: &mut u64| {
        *state = product(*state, MULTIPLIER);
        *state
    };
    let mut histogram = || {
        let mut counts = vec![0; 1 << bucket_bits];
        let mut state = seed;
        for _ in 0..keys {
            let sum = draw(&mut state) + draw(&mut state) + draw(&mut state) + draw(&mut state);
            counts[(sum >> (48 - bucket_bits)) as usize] += 1;
        }
        seed = product(seed, step);
        counts
    };
    (0..ranks).map(|_| histogram()).collect()
}

fn product(a: u64, b: u64) -> u64 {
    // The wrapping product keeps the low 64 bits, which include the 46 bits needed.
    a.wrapping_mul(b) & MASK
}

fn power(base: u64, exponent: u64) -> u64 {
    (0..64 - exponent.leading_zeros()).rev().fold(1, |power, bit| {
        let square = product(power, power);
        if exponent >> bit & 1 == 1 { product(square, base) } else { square }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_draw_one_sequence_in_turn() {
        let whole = &histograms(12, 5, 1)[0];
        let parts = histograms(12, 5, 8);
        for bucket in 0..32 {
            assert_eq!(whole[bucket], parts.iter().map(|part| part[bucket]).sum::<u32>());
        }
        assert!(parts.iter().all(|part| part.iter().sum::<u32>() == 1 << 9));
    }

    /// The sum of four uniform draws is less than a quarter of its largest value with probability 1/24.
    #[test]
    fn keys_gather_in_the_middle() {
        let counts = &histograms(20, 8, 1)[0];
        let low: u32 = counts[..64].iter().sum();
        assert!(f64::from(low).mul_add(24.0 / 1_048_576.0, -1.0).abs() < 0.02, "{low}");
    }
}
