//! WARCIP: pages whose rewrite intervals are similar share a block.
//!
//! Paper: Yang, Pei and Yang, "WARCIP: write amplification reduction by clustering I/O pages", SYSTOR 2019. A write
//! goes to the cluster whose mean interval is nearest to the time since the last write of its page; copies have a class
//! of their own. A cluster that receives most of the writes is split, and a cluster that receives few is merged with a
//! neighbour. A page that has been copied since its last write stayed too long in its block: its age at the copy is
//! added to its interval.
//! Where it is silent, decided: the policy starts with one cluster and has at most `classes` - 1. Intervals are counted
//! in pages written by the host. A review of the clusters is due each time the host has written as many pages as 256
//! blocks hold. The mean of a cluster covers its writes since the last review; until the first of them it keeps the
//! mean from before. A review splits the cluster that received more than half of the writes into two, with half and
//! with one and a half times its mean. If it splits none, it removes the cluster with the fewest writes, provided that
//! they would not fill a block; later writes of its pages go to the nearest remaining cluster. The copy of a page is
//! dated to the opening of the block that holds it. The first write of a page goes to the cluster that had the longest
//! mean interval at the last review. Of clusters that are equally near, or have equally few writes, the policy takes
//! the one with the shortest mean interval. History: the last write, 4 B per logical page.

use super::history::LastWrites;
use super::persistence::{keeps, knows};
use super::{CLASSES, Classes, Ground, PageCopy, PageWrite, ReplacedPage, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of WARCIP.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "warcip",
    summary: "clusters of rewrite intervals, and copies apart",
    paper: "Yang, Pei and Yang, WARCIP: write amplification reduction by clustering I/O pages, SYSTOR 2019",
    params: &[CLASSES],
};

/// Blocks of pages that the host writes between two reviews of the clusters.
const REVIEW: u64 = 256;

/// Writes of similar intervals.
#[derive(Clone, Copy, Default)]
struct Cluster {
    /// Mean interval.
    mean: f64,
    /// Writes since the last review.
    writes: u64,
}

keeps!(Cluster: mean, writes);

/// The clusters, those of short intervals first, and the last write of each page.
pub struct Policy {
    last: LastWrites,
    clusters: Vec<Cluster>,
    most: u32,
    pages_per_block: u64,
    /// Writes until the next review.
    left: u64,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let pages_per_block = u64::from(ground.pages_per_block);
        assert!(pages_per_block > 0, "blocks without pages");
        // Until writes show otherwise, assume the interval of pages that are all written equally often.
        let cluster = Cluster { mean: f64::from(ground.pages), writes: 0 };
        Policy {
            last: LastWrites::new(ground.pages),
            clusters: vec![cluster],
            most: spec.int("classes") as u32 - 1,
            pages_per_block,
            left: REVIEW * pages_per_block,
        }
    }

    /// The cluster whose mean is nearest to `interval`.
    fn nearest(&self, interval: f64) -> usize {
        let far = |at: &usize| (self.clusters[*at].mean - interval).abs();
        let nearest = (0..self.clusters.len()).min_by(|a, b| far(a).total_cmp(&far(b)));
        nearest.expect("there is always a cluster")
    }

    /// Split the cluster with more than half of the writes, or remove the one with almost none.
    fn review(&mut self) {
        let total: u64 = self.clusters.iter().map(|cluster| cluster.writes).sum();
        let writes = |at: &usize| self.clusters[*at].writes;
        let most = (0..self.clusters.len()).max_by_key(writes).expect("there is a cluster");
        let least = (0..self.clusters.len()).min_by_key(writes).expect("there is a cluster");
        if self.clusters.len() < self.most as usize && self.clusters[most].writes * 2 > total {
            let Cluster { mean, .. } = self.clusters[most];
            self.clusters[most].mean = mean / 2.0;
            self.clusters.insert(most + 1, Cluster { mean: mean * 1.5, writes: 0 });
        } else if self.clusters.len() > 1 && self.clusters[least].writes < self.pages_per_block {
            self.clusters.remove(least);
        }
        self.clusters.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        self.clusters.iter_mut().for_each(|cluster| cluster.writes = 0);
        assert!(!self.clusters.is_empty() && self.clusters.len() <= self.most as usize);
        self.left = REVIEW * self.pages_per_block;
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: self.most, all: self.most + 1 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let age = self.last.write(page.lpn, page.clock);
        let copies = Some(self.most);
        debug_assert!(self.left > 0, "{page:?}: a review is due");
        let waited = |age: u64| match page.replaces {
            Some(ReplacedPage { class, age: since }) if class == copies => {
                age.saturating_sub(since)
            }
            _ => 0,
        };
        let cluster = match age {
            Some(age) => {
                let interval = (age + waited(age)) as f64;
                let at = self.nearest(interval);
                let cluster = &mut self.clusters[at];
                cluster.writes += 1;
                cluster.mean += (interval - cluster.mean) / cluster.writes as f64;
                at
            }
            None => self.clusters.len() - 1,
        };
        self.left -= 1;
        if self.left == 0 {
            self.review();
        }
        debug_assert!(cluster < self.most as usize, "{page:?} is in cluster {cluster}");
        cluster as u32
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(page.class.is_none_or(|class| class <= self.most), "{page:?} has no class");
        debug_assert!(self.clusters.len() <= self.most as usize, "{page:?}: too many clusters");
        self.most
    }

    knows! { Policy: last, clusters, left; given most, pages_per_block; if |policy| {
        (1..=policy.most as usize).contains(&policy.clusters.len()) && policy.left > 0
    } }
}
