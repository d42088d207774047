use super::*;

#[test]
fn three_digits_without_an_exponent() {
    let cases = [
        (0.0, "0"),
        (-0.0, "0"),
        (0.0004, "<0.001"),
        (-0.0004, ">-0.001"),
        (0.001, "0.00100"),
        (0.012_345, "0.0123"),
        (0.099_96, "0.100"),
        (0.999_6, "1.00"),
        (1.0, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999.4, "999"),
        (999.5, "1,000"),
        (-1234.6, "-1,235"),
        (1e15, "1,000,000,000,000,000"),
        (f64::NAN, "-"),
        (f64::INFINITY, "-"),
    ];
    for (value, text) in cases {
        assert_eq!(significant(value), text, "{value}");
    }
}

#[test]
fn times_are_rounded_before_their_unit_is_chosen() {
    let cases = [
        (0.0, "0 ns"),
        (7.0, "7 ns"),
        (7.25, "7.25 ns"),
        (999.0, "999 ns"),
        (999.4, "999 ns"),
        (999.5, "1.00 us"),
        (1000.0, "1.00 us"),
        (84_120.0, "84.1 us"),
        (700_000.0, "700 us"),
        (999_499.0, "999 us"),
        (999_500.0, "1.00 ms"),
        (3.5e9, "3.50 s"),
        (1.25e13, "12,500 s"),
        (-1500.0, "-1.50 us"),
        (f64::NAN, "-"),
    ];
    for (ns, text) in cases {
        assert_eq!(duration(ns), text, "{ns}");
    }
}

#[test]
fn bytes_have_binary_units_only() {
    const KIB: f64 = 1024.0;
    let cases = [
        (0.0, "0 B", "0 B/s"),
        (781.0, "781 B", "781 B/s"),
        (1023.0, "1023 B", "1023 B/s"),
        (1023.5, "1.00 KiB", "1.00 KiB/s"),
        (4.0 * KIB, "4 KiB", "4.00 KiB/s"),
        (1000.4 * KIB, "1,000 KiB", "1,000 KiB/s"),
        (1023.4 * KIB, "1,023 KiB", "1,023 KiB/s"),
        (1023.9 * KIB, "1.00 MiB", "1.00 MiB/s"),
        (158.2 * KIB * KIB, "158 MiB", "158 MiB/s"),
        (1.5 * KIB * KIB * KIB, "1.50 GiB", "1.50 GiB/s"),
        (f64::NAN, "-", "-"),
    ];
    for (bytes, told, a_second) in cases {
        assert_eq!(size(bytes), told, "{bytes}");
        assert_eq!(bandwidth(bytes), a_second, "{bytes}");
    }
}

#[test]
fn shares_rates_counts_and_ratios() {
    let shares = [
        (0.0, "0 %"),
        (0.000_004, "<0.001 %"),
        (0.000_123_4, "0.0123 %"),
        (0.016, "1.60 %"),
        (0.9994, "99.9 %"),
        (0.9995, "100 %"),
        (1.0, "100 %"),
        (f64::NAN, "-"),
    ];
    for (share, text) in shares {
        assert_eq!(percent(share), text, "{share}");
    }
    assert_eq!(rate(0.5), "0.500");
    assert_eq!(rate(12.0), "12");
    assert_eq!(rate(999.5), "1.00 k");
    assert_eq!(rate(1_600_000.0), "1.60 M");
    assert_eq!([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
    let ratios = [(1.0, "1.000"), (0.0, "0.000"), (0.0004, "<0.001"), (1234.5, "1,234")];
    for (value, text) in ratios {
        assert_eq!(ratio(value), text, "{value}");
    }
    assert_eq!(ratio(f64::INFINITY), "-");
}
