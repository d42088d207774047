//! Round robin: the four queues of a unit in turn; an empty queue is skipped.
//!
//! Paper: "High-Performance Garbage Collection Scheme with Low Data Transfer Overhead for NoC-Based SSDC", Electronics
//! 13(23):4838, 2024, section 3.2: four task queues a channel, "processed sequentially by dedicated hardware". Read
//! here as one task of each queue in turn, in the order in which the section names the queues: host reads, GC reads,
//! host writes, GC writes. While all have work, a host write waits for one GC read and one GC program, however many are
//! queued behind them.
//! Where it is silent, decided: a queue without a task that may start loses its turn; after a power cut it is the turn
//! of host reads. With weights above 1 a queue keeps its turn for that many operations in a row, including those that
//! ran while no other queue had any.

use super::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// The queues in the order of their turns.
const TURNS: [usize; 4] = [R_HOST, R_GC, W_HOST, W_GC];

const fn weight(name: &'static str, doc: &'static str) -> ParamInfo {
    ParamInfo { name, kind: ParamKind::Int(1, 255), default: Some("1"), doc }
}

/// Registry entry of this order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "round-robin",
    summary: "the four queues in turn",
    paper: "Selective copy-back in a network-on-chip SSD controller, Electronics 13(23):4838, 2024",
    params: &[
        weight("host_reads", "host reads in a row, in operations"),
        weight("gc_reads", "GC reads in a row, in operations"),
        weight("host_writes", "host writes in a row, in operations"),
        weight("gc_writes", "GC programs and erases in a row, in operations"),
    ],
};

/// How many operations in a row each queue may start, by its number.
pub struct Policy {
    weights: [u8; 4],
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let mut weights = [0; 4];
        for (queue, name) in [
            (R_HOST, "host_reads"),
            (R_GC, "gc_reads"),
            (W_HOST, "host_writes"),
            (W_GC, "gc_writes"),
        ] {
            weights[queue] = u8::try_from(spec.int(name)).expect("its range ends at 255");
            assert!(weights[queue] > 0, "{name} never has a turn");
        }
        Policy { weights }
    }
}

impl OrderPolicy for Policy {
    fn pick(&self, heads: &Heads) -> usize {
        let turn = heads.turn();
        if heads.has(turn.queue()) && turn.taken() < self.weights[turn.queue()] {
            return turn.queue();
        }
        let at = TURNS.iter().position(|&queue| queue == turn.queue()).expect("all have turns");
        let next = (1..=TURNS.len()).map(|step| TURNS[(at + step) % TURNS.len()]);
        next.into_iter().find(|&queue| heads.has(queue)).expect("a head is present")
    }

    fn compares_ages(&self) -> bool {
        false
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Turn;
    use super::*;

    /// What starts while every queue of `present` always has a head.
    fn started(weights: [(&str, u64); 4], present: &[usize], steps: usize) -> Vec<usize> {
        let mut spec = PolicySpec::with_defaults(&INFO);
        for (name, weight) in weights {
            spec = spec.with(name, crate::plug::Value::Int(weight));
        }
        let policy = Policy::build(&spec);
        let mut turn = Turn::default();
        let mut all = Vec::new();
        for _ in 0..steps {
            let mut heads = Heads::default();
            present.iter().for_each(|&queue| heads.set(queue, 0, false));
            heads.set_turn(turn);
            let queue = policy.pick(&heads);
            turn.starts(queue);
            all.push(queue);
        }
        all
    }

    const EQUAL: [(&str, u64); 4] =
        [("host_reads", 1), ("gc_reads", 1), ("host_writes", 1), ("gc_writes", 1)];

    #[test]
    fn each_queue_has_one_turn_a_round() {
        let all = started(EQUAL, &[R_HOST, W_HOST, R_GC, W_GC], 9);
        let round = [R_GC, W_HOST, W_GC, R_HOST];
        assert_eq!(all, [R_HOST, R_GC, W_HOST, W_GC, R_HOST, R_GC, W_HOST, W_GC, R_HOST]);
        assert_eq!(all[1..5], round);
        // Without host reads, as in the backlog of a trace of writes.
        let writes = started(EQUAL, &[W_HOST, R_GC, W_GC], 6);
        assert_eq!(writes, [R_GC, W_HOST, W_GC, R_GC, W_HOST, W_GC]);
        assert_eq!(started(EQUAL, &[W_HOST], 3), [W_HOST; 3]);
    }

    #[test]
    fn weights_are_operations_in_a_row() {
        let weights = [("host_reads", 1), ("gc_reads", 2), ("host_writes", 3), ("gc_writes", 1)];
        let all = started(weights, &[W_HOST, R_GC, W_GC], 12);
        let round = [R_GC, R_GC, W_HOST, W_HOST, W_HOST, W_GC];
        assert_eq!(all, [round, round].concat());
        // A queue that has run alone for longer than its weight gives its turn up at once.
        let mut turn = Turn::default();
        (0..300).for_each(|_| turn.starts(W_HOST));
        assert_eq!((turn.queue(), turn.taken()), (W_HOST, 255));
        let mut heads = Heads::default();
        heads.set(W_HOST, 0, false);
        heads.set(R_GC, 0, false);
        heads.set_turn(turn);
        let policy = Policy::build(&PolicySpec::with_defaults(&INFO));
        assert_eq!(policy.pick(&heads), R_GC);
    }
}
