use super::*;

#[test]
fn classes_are_those_of_the_policy_as_configured() {
    let spec = PolicySpec::with_defaults(&dac::INFO).with("classes", crate::plug::Value::Int(3));
    assert_eq!(Classes::of_policy(&spec), Some(Classes { host: 0, all: 3 }));
    assert_eq!(Classes::of_policy(&PolicySpec::with_defaults(&none::INFO)), None);
    let sepbit = Classes::of_policy(&PolicySpec::with_defaults(&sepbit::INFO)).unwrap();
    assert_eq!((sepbit.of_host(true), sepbit.of_host(false)), (6, 2));
}

#[test]
fn ages_are_counted_from_the_last_write() {
    let mut last = history::LastWrites::new(2);
    assert_eq!(last.write(Lpn(0), 0), None);
    assert_eq!((last.age(Lpn(0), 7), last.age(Lpn(1), 7)), (Some(7), None));
    assert_eq!(last.write(Lpn(0), 9), Some(9));
    // Clocks of more than 32 bits.
    let far = u64::from(u32::MAX) + 5;
    assert_eq!(last.write(Lpn(1), far), None);
    assert_eq!(last.age(Lpn(1), far + 3), Some(3));
}

/// What a policy saves is all that it knows: at most 4 B per logical page, besides its notes of blocks and samples.
#[test]
fn histories_take_four_bytes_a_page_at_most() {
    let (pages, beside) = (1usize << 20, 1usize << 17);
    let ground = Ground {
        pages: pages as u32,
        host_pages: pages as u32,
        data_pages: 0,
        pages_per_block: 256,
        most_classes: 16,
        pools: 1,
        blocks_per_pool: 5000,
        seed: 1,
    };
    let bytes = |spec: &PolicySpec| {
        let mut bytes = Vec::new();
        Separation::build(spec, &ground).save(&mut bytes);
        bytes.len()
    };
    let mut without = Vec::new();
    for info in ALL.iter().filter(|info| info.name != future::INFO.name) {
        let found = bytes(&PolicySpec::with_defaults(info));
        assert!(found <= 4 * pages + beside, "{}: {found} B for {pages} pages", info.name);
        if found < 1 << 10 {
            without.push(info.name);
        }
    }
    assert_eq!(without, ["fdp", "host-and-copies", "none"]);
}
