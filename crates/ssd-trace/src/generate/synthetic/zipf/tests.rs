use super::*;

fn counts(n: u64, theta: f64, draws: u64) -> Vec<u64> {
    let zipf = Zipf::new(n, theta).unwrap();
    let mut random = Stream::new(7, "zipf test");
    let mut counts = vec![0; n as usize];
    for _ in 0..draws {
        counts[zipf.rank(&mut random) as usize - 1] += 1;
    }
    counts
}

#[test]
fn chi_square_accepts_every_skew() {
    let draws = 400_000u64;
    for theta in [0.0, 0.2, 0.5, 0.99, 1.0, 1.000_000_001, 1.2, 2.0, 3.5] {
        for n in [1u64, 2, 3, 10, 100] {
            let total: f64 = (1..=n).map(|k| libm::pow(k as f64, -theta)).sum();
            let (mut chi, mut classes) = (0.0, 0.0);
            let (mut rest_seen, mut rest_expected) = (0.0, 0.0);
            for (index, &seen) in counts(n, theta, draws).iter().enumerate() {
                let weight = libm::pow((index + 1) as f64, -theta);
                let expected = weight / total * draws as f64;
                if expected < 20.0 {
                    (rest_seen, rest_expected) =
                        (rest_seen + seen as f64, rest_expected + expected);
                    continue;
                }
                chi += (seen as f64 - expected) * (seen as f64 - expected) / expected;
                classes += 1.0;
            }
            if rest_expected >= 5.0 {
                let off = rest_seen - rest_expected;
                (chi, classes) = (chi + off * off / rest_expected, classes + 1.0);
            }
            // The limit is five deviations (mean f, variance 2 f) and an allowance for the long tail.
            let freedom: f64 = classes - 1.0;
            let limit = freedom + 5.0 * (2.0 * freedom).sqrt() + 8.0;
            assert!(chi <= limit, "theta {theta}, n {n}: {chi} for {freedom} degrees");
        }
    }
}

#[test]
fn the_first_two_ranks_have_their_ratio_in_a_large_space() {
    let draws = 1_000_000u64;
    for theta in [0.8, 0.99, 1.0, 1.3] {
        let seen = counts(1 << 20, theta, draws);
        let total: f64 = (1..=1u64 << 20).map(|k| libm::pow(k as f64, -theta)).sum();
        for k in [1usize, 2] {
            let expected = libm::pow(k as f64, -theta) / total * draws as f64;
            let off = (seen[k - 1] as f64 - expected).abs() / expected.sqrt();
            assert!(off < 4.5, "theta {theta}: P({k}) is off by {off} deviations");
        }
    }
}

#[test]
fn extreme_spaces_and_skews_stay_in_range() {
    let mut random = Stream::new(1, "zipf range");
    for n in [1, 2, 1 << 40, (1 << 52) - 1] {
        for theta in [0.0, 0.99, 1.0, 5.0, 40.0, 700.0] {
            let zipf = Zipf::new(n, theta).unwrap();
            for _ in 0..2000 {
                assert!((1..=n).contains(&zipf.rank(&mut random)));
            }
        }
    }
    for theta in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(Zipf::new(10, theta).is_err());
    }
}
