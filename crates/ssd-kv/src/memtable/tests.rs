use super::*;

/// Values of all lengths around the limit, in any order, over a table that grows beyond its capacity.
#[test]
fn long_values_are_read_as_they_were_written() {
    let table = MemTable::new(1 << 12);
    let value = |i: u64| vec![i as u8; [0, 3, 511, 512, 513, 4096, 5001][i as usize % 7]];
    for i in (0..200).rev() {
        let key = format!("{:0width$}", i, width = 3 + i as usize % 5);
        let tag = Tag::new(i + 1, ValueKind::Value);
        table.add(key.as_bytes(), tag, &value(i));
    }
    for i in 0..200 {
        let key = format!("{:0width$}", i, width = 3 + i as usize % 5);
        assert_eq!(table.get(key.as_bytes(), i), None, "before it was written");
        assert_eq!(table.get(key.as_bytes(), 300), Some(Some(value(i))), "{key}");
    }
    let mut read = 0;
    let all = table.read_on(table.begin().unwrap(), |internal, shown| {
        read += 1;
        assert_eq!(shown, value(key::tag(internal).sequence() - 1));
        Ok::<_, ()>(true)
    });
    assert!(all.is_ok_and(|rest| rest.is_none()) && read == 200);
}

/// A search compares keys: their nodes lie close together, however long the values are.
#[test]
fn nodes_of_long_values_are_as_small_as_of_short_ones() {
    let words_with = |length: usize| {
        let table = MemTable::new(1 << 20);
        for i in 0..100 {
            table.add(format!("{i:03}").as_bytes(), Tag::seek(i + 1), &vec![7; length]);
        }
        table.read().words_in_use()
    };
    assert_eq!(words_with(4096), words_with(8));
}

/// Measured: `leveldb.approximate-memory-usage` of LevelDB 1.23 over the same changes.
#[test]
fn usage_is_counted_as_leveldb_does() {
    let table = MemTable::new(1 << 20);
    assert_eq!((table.usage(), table.is_empty()), (4104, true));
    assert!(table.begin().is_none());
    let mut grew = Vec::new();
    for i in 0..300 {
        let before = table.usage();
        table.add(format!("{i:03}").as_bytes(), Tag::seek(i + 1), &b"vvvvvvvvv"[..i as usize % 10]);
        if table.usage() > before {
            grew.push((i, table.usage()));
        }
    }
    assert_eq!(grew, [(102, 8208), (206, 12_312)]);
    assert!(!table.is_empty());
    assert!(table.begin().is_some());
}
