//! Policies: the events of compactions, and page-aligned tables.

use crate::rig::{self, CHECKED, assert_equal, option_sets};
use ssd_core::rng::Stream;
use ssd_kv::policy::{BlockEvent, InputBlock, OpenOutput, Pages, Policy, Retention, Reuse};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct EventLog {
    events: Vec<(InputBlock, BlockEvent)>,
}

/// Notes all events.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<EventLog>>);

impl Policy for Watcher {
    fn watches(&self) -> bool {
        true
    }

    fn event(&mut self, block: InputBlock, event: BlockEvent) {
        self.0.lock().expect("no panic").events.push((block, event));
    }
}

fn filled(options: &Options, policy: Box<dyn Policy>) -> (MemoryVfs, Db, rig::Map) {
    let vfs = MemoryVfs::new();
    let mut db = Db::open_with(Arc::new(vfs.clone()), options.clone(), policy).expect("it opens");
    let mut random = Stream::new(4, "filled");
    let mut model = rig::Map::new();
    for i in 0..6000_u64 {
        let key = format!("{:06}", random.below(3000)).into_bytes();
        if i % 9 == 0 {
            db.delete(&key, false).expect("deleted");
            model.remove(&key);
        } else {
            let value = vec![(i % 256) as u8; 10 + random.below(900) as usize];
            db.put(&key, &value, false).expect("written");
            model.insert(key, value);
        }
    }
    (vfs, db, model)
}

/// Every block starts once, then come its pairs, then it ends; all input is seen; switches are in between.
#[test]
fn events_tell_the_whole_story() {
    let watcher = Watcher::default();
    let (_, mut db, model) = filled(&option_sets()[0], Box::new(watcher.clone()));
    db.compact_range(None, None).expect("compacted");
    assert_equal(&db, &model, None);
    let seen = watcher.0.lock().expect("no panic");
    let mut open: BTreeMap<InputBlock, u64> = BTreeMap::new();
    let (mut counts, mut last) = ([0_u64; 5], None);
    for &(block, event) in &seen.events {
        counts[event as usize] += 1;
        match event {
            BlockEvent::Start => assert!(open.insert(block, 0).is_none(), "started twice"),
            BlockEvent::KvReserved | BlockEvent::KvDropped => {
                *open.get_mut(&block).expect("started") += 1;
                last = Some(block);
            }
            BlockEvent::Switch => assert_eq!(last, Some(block), "the block interrupted"),
            BlockEvent::End => assert!(open.remove(&block).expect("started") > 0, "no pairs"),
        }
    }
    assert!(open.is_empty(), "all blocks end");
    // Starts, reserved and dropped pairs, switches, ends; and where the blocks were.
    assert_eq!(counts, [2793, 24_985, 3664, 8884, 2793]);
    let of_level = |level| seen.events.iter().filter(|(block, _)| block.level == level).count();
    assert_eq!([0, 1, 2].map(of_level), [11_702, 31_161, 256]);
    assert_eq!(db.stats().levels.map(|l| l.compactions)[..4], [0, 12, 1, 0]);
}

#[test]
fn aligned_blocks_begin_at_pages() {
    for (pages, options) in [(1, &option_sets()[0]), (4, &option_sets()[0]), (1, &option_sets()[1])]
    {
        let (vfs, mut db, model) = filled(options, Box::new(Pages::new(4096, pages)));
        assert_equal(&db, &model, None);
        db.compact_range(None, None).expect("compacted");
        for key in model.keys() {
            assert!(db.get(key, CHECKED, None).expect("read").is_some());
        }
        db.verify().expect("whole, filters too");
        drop(db);
        for name in vfs.snapshot().keys().filter(|n| n.ends_with(".ldb")) {
            let (mut blocks, mut full) = (0, 0);
            ssd_kv::dump(Arc::new(vfs.clone()), name, &mut |line| {
                if let Some(rest) = line.strip_prefix("--- block at ") {
                    let mut numbers = rest.split(' ').filter_map(|w| w.parse::<usize>().ok());
                    let offset = numbers.next().expect("an offset");
                    let size = numbers.next().expect("a size");
                    assert_eq!(offset % 4096, 0, "{name}");
                    assert!(size + 5 <= 4096 * pages, "{name}: {size} bytes");
                    blocks += 1;
                    full += usize::from(size > 4096 * pages * 3 / 4);
                }
                Ok(())
            })
            .expect("a table");
            let compressed = options.compression != ssd_kv::Compression::None;
            assert!(
                compressed || blocks < 20 || full * 4 > blocks * 3,
                "{name}: {full} of {blocks} are full"
            );
        }
    }
}

/// Both limits of retention, to the byte. A block of 1,000 B leaves 4,096 - 1,000 - 5 = 3,091 B of its page empty, an
/// open one of 2,000 B 2,091.
#[test]
fn retention_ends_a_block_early_within_its_limits() {
    let kept = InputBlock { level: 1, file: 7, offset: 0, size: 1000 };
    let open = |entries, size, written| OpenOutput { entries, size, written };
    let all = Retention::new(Pages::new(4096, 1));
    let mut filled = all.with_least_fill(2048);
    assert_eq!(filled.reuse(kept, open(1, 2047, 0)), Reuse::IfEmpty);
    assert_eq!(filled.reuse(kept, open(1, 2048, 0)), Reuse::CloseFirst);
    assert_eq!(filled.reuse(kept, open(0, 4, 0)), Reuse::CloseFirst, "nothing ends early");
    let mut half = all.with_space_budget(50);
    assert_eq!(half.reuse(kept, open(0, 4, 2 * 3091 - 1)), Reuse::IfEmpty);
    assert_eq!(half.reuse(kept, open(0, 4, 2 * 3091)), Reuse::CloseFirst);
    let zeros = 3091 + 3091 + 2091;
    assert_eq!(half.reuse(kept, open(9, 2000, 2 * zeros - 1)), Reuse::IfEmpty);
    assert_eq!(half.reuse(kept, open(9, 2000, 2 * zeros)), Reuse::CloseFirst);
}
