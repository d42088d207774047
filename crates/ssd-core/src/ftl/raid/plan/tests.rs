use super::*;

const MAPPED: Before = Before { mapped: true, kept: false };

fn of(changes: &[Change]) -> Plan {
    Plan::new(ParityUpdate::Fewest, changes, &vec![MAPPED; changes.len()], MAPPED)
}

/// `m` of `n` pages are written.
fn first(m: usize, n: usize) -> Vec<Change> {
    (0..n).map(|i| if i < m { Change::Whole } else { Change::None }).collect()
}

#[test]
fn rmw_reads_one_page_more_than_it_writes_and_rcw_those_that_stay() {
    for n in 1..16 {
        for m in 1..=n {
            let reads = of(&first(m, n)).reads.count_ones() as usize;
            assert_eq!(reads, if m == n { 0 } else { (m + 1).min(n - m) }, "{m} of {n}");
            let with = |update| Plan::new(update, &first(m, n), &vec![MAPPED; n], MAPPED);
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
    // Groups of 4. W0 and W2 come to chips 0-3, W1 to chips 6 and 7.
    let (w0, w1, w2) = (of(&first(3, 3)), of(&first(1, 3)), of(&first(2, 3)));
    assert_eq!((w0.method, w0.reads.count_ones()), (Method::Full, 0));
    assert_eq!((w1.method, w1.reads.count_ones()), (Method::ReadModify, 2));
    assert_eq!((w2.method, w2.reads.count_ones()), (Method::Reconstruct, 1));
}

#[test]
fn a_group_of_two_is_a_mirror() {
    let plan = of(&[Change::Whole]);
    assert_eq!(plan, Plan { method: Method::Full, reads: 0, sources: 0 });
}

#[test]
fn what_was_never_written_or_is_kept_is_not_read() {
    let (none, kept) = (Before::default(), Before { mapped: true, kept: true });
    let changes = first(1, 4);
    let fewest = |data: &[Before], parity| {
        let plan = Plan::new(ParityUpdate::Fewest, &changes, data, parity);
        (plan.method, plan.reads, plan.sources)
    };
    assert_eq!(fewest(&[none; 4], none), (Method::Full, 0, 0));
    // A page that was not written joins two that were: the parity alone is read.
    let some = [none, MAPPED, MAPPED, none];
    assert_eq!(fewest(&some, MAPPED), (Method::ReadModify, 0b10000, 0b10000));
    // The old page and the parity are kept; then the three others.
    let both = [kept, MAPPED, MAPPED, MAPPED];
    assert_eq!(fewest(&both, kept), (Method::ReadModify, 0, 0b10001));
    let others = [MAPPED, kept, kept, kept];
    assert_eq!(fewest(&others, MAPPED), (Method::Reconstruct, 0, 0b01110));
}

#[test]
fn the_rest_of_a_page_written_in_part_is_read_whatever_the_method() {
    let changes = [Change::Part, Change::Whole, Change::Whole, Change::None];
    let plan = of(&changes);
    assert_eq!((plan.method, plan.reads, plan.sources), (Method::Reconstruct, 0b1001, 0b1000));
    let full = of(&[Change::Part, Change::Whole]);
    assert_eq!((full.method, full.reads, full.sources), (Method::Full, 1, 0));
    let none = [Before::default(), MAPPED];
    let new = Plan::new(ParityUpdate::Fewest, &[Change::Part, Change::Whole], &none, MAPPED);
    assert_eq!(new.reads, 0, "there is no rest");
}

#[test]
fn a_trim_is_an_update_unless_no_data_are_left() {
    let one = of(&[Change::Trim, Change::None, Change::None]);
    assert_eq!((one.method, one.reads), (Method::ReadModify, 0b1001));
    let all = of(&[Change::Trim; 3]);
    assert_eq!(all, Plan { method: Method::Drop, reads: 0, sources: 0 });
    let rest = of(&[Change::Trim, Change::Whole, Change::Trim]);
    assert_eq!((rest.method, rest.reads), (Method::Full, 0));
}
