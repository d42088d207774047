use super::*;
use crate::cases::cases;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(256, 72))]

    #[test]
    fn it_equals_a_plain_list(
        pages in 1u32..100,
        steps in proptest::collection::vec((0u32..100, 0u32..4), 0..2000),
    ) {
        let (mut stack, mut plain) = (Recency::new(pages), Vec::<u32>::new());
        for (page, what) in steps {
            let page = page % pages;
            plain.retain(|&one| one != page);
            if what == 0 {
                stack.remove(page);
            } else {
                stack.push(page);
                plain.insert(0, page);
            }
            prop_assert_eq!(stack.len as usize, plain.len());
        }
        for (depth, &page) in plain.iter().enumerate() {
            prop_assert_eq!(stack.depth(page) as usize, depth);
            prop_assert_eq!(stack.at(depth as u32), Some(page));
        }
        prop_assert_eq!(stack.at(1000), plain.last().copied());
        prop_assert!((0..pages).all(|page| stack.contains(page) == plain.contains(&page)));
    }
}
