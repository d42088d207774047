//! Who decided which blocks were collected: the configured victim policy, or what the device has to spare.
//!
//! The rule, in [`judge`]: a victim was the policy's decision if the policy named it, and the demand that it
//! was collected for could have been met or left something to choose from (`ftl::gc::unmet`). The others are
//! victims of the hard reserve's greedy rule, and those of a pool that is collected until nothing is left, in
//! which every policy takes the same blocks sooner or later. With less than half of the victims the policy has
//! not decided, and the run does not measure it. An external trigger is assumed to be one that can be met.

use super::counters::GcCounts;
use super::declare::section;
use super::words::words;

/// The policy decided if at least this share of the victims were its decision.
pub const LEAST_SHARE: f64 = 0.5;

words! {
    /// Who decided.
    pub enum DecidedBy by default Nobody {
        /// The configured victim policy.
        Policy = "policy",
        /// The reserve, or a watermark above what the device has to spare.
        Reserve = "reserve",
        /// No block was collected.
        Nobody = "nobody",
    }
}

section! {
    /// Who decided which blocks were collected: whether the run measures its victim policy.
    pub struct Verdict;
    fields {
        /// `policy`, `reserve` where less than half of the victims were the policy's choice, or `nobody`
        /// where no block was collected. Runs that the reserve decided say nothing about their policies.
        decided_by: DecidedBy [Number, fact("decided_by")],
        /// Victims that the policy named for a demand that collection could meet, over all victims; `null`
        /// without victims. The others were named by the greedy rule of the reserve, or collected because
        /// the triggers would hold even with every invalid page reclaimed.
        policy_share: Option<f64> [Percent, paged("policy_share", "chosen by policy")],
        /// Victims for a demand that collection could not meet, whoever named them, over all victims.
        unmet_share: Option<f64> [Percent],
        /// What was found and, where the policy has not decided, what to change.
        reason: String,
    }
}

/// Apply the rule.
#[must_use]
pub fn judge(gc: &GcCounts) -> Verdict {
    let share = |n: u64| n as f64 / gc.calls as f64;
    if gc.calls == 0 {
        return Verdict { reason: "no block was collected".into(), ..Verdict::default() };
    }
    let policy = share(gc.victims.decided);
    let (unmet, greedy) = (share(gc.victims.unmet), share(gc.victims.reserve_greedy));
    let decided_by = if policy >= LEAST_SHARE { DecidedBy::Policy } else { DecidedBy::Reserve };
    let reason = if decided_by == DecidedBy::Policy {
        format!("{:.1} % of the victims were its choice", 100.0 * policy)
    } else if unmet >= greedy {
        format!(
            "for {:.1} % of the victims the triggers could not be met, since they would still hold with \
             every invalid page reclaimed, and no block had more than two invalid pages to choose by; \
             raise device.over_provisioning, fill less of the device, or choose a trigger that the spare \
             space can meet (gc.trigger, gc.reserve)",
            100.0 * unmet
        )
    } else {
        format!(
            "{:.1} % of the victims were chosen by the greedy rule of the reserve, since the policy's own \
             choices freed nothing; raise device.over_provisioning, or let collection begin earlier \
             (gc.trigger)",
            100.0 * greedy
        )
    };
    Verdict { decided_by, policy_share: Some(policy), unmet_share: Some(unmet), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::counters::VictimCounts;

    /// `unmet` of the policy's victims.
    fn of(policy: u64, reserve_greedy: u64, unmet: u64) -> Verdict {
        let victims = VictimCounts { policy, reserve_greedy, unmet, decided: policy - unmet };
        judge(&GcCounts { calls: policy + reserve_greedy, victims, ..GcCounts::default() })
    }

    #[test]
    fn half_of_the_victims_make_the_policy_decide() {
        let half = of(70, 30, 20);
        assert_eq!((half.decided_by, half.policy_share), (DecidedBy::Policy, Some(0.5)));
        assert_eq!(half.unmet_share, Some(0.2));
        assert_eq!(half.reason, "50.0 % of the victims were its choice");
        assert_eq!(of(69, 31, 20).decided_by, DecidedBy::Reserve);
        assert_eq!(of(100, 0, 0).policy_share, Some(1.0));
    }

    #[test]
    fn the_larger_cause_is_named() {
        let unmet = of(96, 4, 90);
        assert_eq!((unmet.decided_by, unmet.policy_share), (DecidedBy::Reserve, Some(0.06)));
        assert!(
            unmet.reason.starts_with("for 90.0 % of the victims the triggers"),
            "{}",
            unmet.reason
        );
        let greedy = of(10, 90, 5);
        assert!(greedy.reason.starts_with("90.0 % of the victims were chosen by the greedy"));
        assert!(greedy.reason.contains("device.over_provisioning"));
    }

    #[test]
    fn without_victims_nobody_decided() {
        let none = of(0, 0, 0);
        assert_eq!(
            (none.decided_by, none.policy_share, none.unmet_share),
            (DecidedBy::Nobody, None, None)
        );
        assert_eq!(serde_json::to_value(&none).unwrap()["decided_by"], "nobody");
    }
}
