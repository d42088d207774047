use super::*;

/// Changes of a group from its first page on; `None`: the page stays.
fn changes(of: &[Option<Change>]) -> Changes {
    let mut changes = Changes::default();
    for (position, change) in (0..).zip(of) {
        change.iter().for_each(|&change| changes.add(position, change));
    }
    changes
}

/// Every page of a group of `n` and its parity holds data.
fn full(n: usize) -> GroupState {
    GroupState { mapped: (2 << n) - 1, kept: 0 }
}

fn of(list: &[Option<Change>]) -> Plan {
    Plan::new(ParityUpdate::Fewest, list.len() as u32, changes(list), full(list.len()))
}

/// The first `m` of `n` pages are written.
fn first(m: usize, n: usize) -> Vec<Option<Change>> {
    (0..n).map(|i| (i < m).then_some(Change::Whole)).collect()
}

#[test]
fn rmw_reads_one_page_more_than_it_writes_and_rcw_those_that_stay() {
    for n in 1..16 {
        for m in 1..=n {
            let reads = of(&first(m, n)).reads.count_ones() as usize;
            assert_eq!(reads, if m == n { 0 } else { (m + 1).min(n - m) }, "{m} of {n}");
            let with = |update| Plan::new(update, n as u32, changes(&first(m, n)), full(n));
            let rmw = with(ParityUpdate::ReadModify);
            let rcw = with(ParityUpdate::Reconstruct);
            if m < n {
                assert_eq!(rmw.reads.count_ones() as usize, m + 1);
                assert_eq!(rcw.reads.count_ones() as usize, n - m);
            } else {
                assert_eq!([rmw, rcw].map(|plan| plan.method), [Method::Full; 2]);
            }
        }
    }
}

#[test]
fn figure_3_of_the_paper() {
    // Groups of 4. W0 and W2 go to chips 0-3, W1 to chips 6 and 7.
    let (w0, w1, w2) = (of(&first(3, 3)), of(&first(1, 3)), of(&first(2, 3)));
    assert_eq!((w0.method, w0.reads.count_ones()), (Method::Full, 0));
    assert_eq!((w1.method, w1.reads.count_ones()), (Method::ReadModify, 2));
    assert_eq!((w2.method, w2.reads.count_ones()), (Method::Reconstruct, 1));
}

#[test]
fn a_group_of_two_is_a_mirror() {
    let plan = of(&[Some(Change::Whole)]);
    assert_eq!(plan, Plan { method: Method::Full, ..Plan::DROP });
}

#[test]
fn what_was_never_written_or_is_kept_is_not_read() {
    let change = changes(&first(1, 4));
    let fewest = |mapped, kept| {
        let plan = Plan::new(ParityUpdate::Fewest, 4, change, GroupState { mapped, kept });
        (plan.method, plan.reads, plan.sources)
    };
    assert_eq!(fewest(0, 0), (Method::Full, 0, 0));
    // A page that was not written joins two that were: the parity alone is read.
    assert_eq!(fewest(0b10110, 0), (Method::ReadModify, 0b10000, 0b10000));
    // The old page and the parity are kept; then the three others.
    assert_eq!(fewest(0b11111, 0b10001), (Method::ReadModify, 0, 0b10001));
    assert_eq!(fewest(0b11111, 0b01110), (Method::Reconstruct, 0, 0b01110));
}

#[test]
fn the_rest_of_a_page_written_in_part_is_read_whatever_the_method() {
    let (part, whole) = (Some(Change::Part), Some(Change::Whole));
    let plan = of(&[part, whole, whole, None]);
    assert_eq!((plan.method, plan.reads, plan.sources), (Method::Reconstruct, 0b1001, 0b1000));
    let full = of(&[part, whole]);
    assert_eq!((full.method, full.reads, full.sources), (Method::Full, 1, 0));
    let none = GroupState { mapped: 0b110, kept: 0 };
    let new = Plan::new(ParityUpdate::Fewest, 2, changes(&[part, whole]), none);
    assert_eq!(new.reads, 0, "there is no rest");
}

#[test]
fn a_trim_is_an_update_unless_no_data_are_left() {
    let (trim, whole) = (Some(Change::Trim), Some(Change::Whole));
    let one = of(&[trim, None, None]);
    assert_eq!((one.method, one.reads), (Method::ReadModify, 0b1001));
    let all = of(&[trim; 3]);
    assert_eq!(all, Plan::DROP);
    let rest = of(&[trim, whole, trim]);
    assert_eq!((rest.method, rest.reads), (Method::Full, 0));
}
