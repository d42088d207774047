//! Policies by name; [`PolicyInfo`] defines the parameters that each accepts.

use crate::config::text::error::{Errors, did_you_mean, one_of};
use crate::config::text::parse::{Node, RawValue};
use crate::config::text::read::{self, Span};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec, Value};

/// One decision with the policies for it.
#[derive(Clone, Copy)]
pub struct Registry {
    /// Its key.
    pub key: &'static str,
    /// "victim policy", for messages.
    pub noun: &'static str,
    /// "Victim policies", for the reference.
    pub title: &'static str,
    /// The policies, sorted by name.
    pub policies: &'static [&'static PolicyInfo],
}

/// Triggers.
pub const TRIGGERS: Registry = Registry {
    key: "gc.trigger",
    noun: "trigger",
    title: "Triggers",
    policies: crate::ftl::gc::trigger::ALL,
};
/// Victim policies.
pub const VICTIMS: Registry = Registry {
    key: "gc.victim",
    noun: "victim policy",
    title: "Victim policies",
    policies: crate::ftl::gc::victim::ALL,
};
/// Concurrency rules.
pub const CONCURRENCIES: Registry = Registry {
    key: "gc.concurrency",
    noun: "concurrency rule",
    title: "Concurrency rules",
    policies: crate::ftl::gc::concurrency::ALL,
};
/// Placements.
pub const PLACEMENTS: Registry = Registry {
    key: "alloc.placement",
    noun: "placement",
    title: "Placements",
    policies: crate::ftl::place::ALL,
};
/// Separation policies.
pub const SEPARATIONS: Registry = Registry {
    key: "alloc.separation",
    noun: "separation policy",
    title: "Separation policies",
    policies: crate::ftl::separation::ALL,
};
/// Redirections.
pub const REDIRECTS: Registry = Registry {
    key: "raid.redirect",
    noun: "redirection",
    title: "Redirections",
    policies: crate::ftl::raid::redirect::ALL,
};
/// Orders.
pub const ORDERS: Registry = Registry {
    key: "sched.order",
    noun: "order",
    title: "Orders",
    policies: crate::sched::order::ALL,
};

/// Every decision, in the order of the reference.
pub const DECISIONS: [Registry; 7] =
    [TRIGGERS, VICTIMS, CONCURRENCIES, PLACEMENTS, SEPARATIONS, REDIRECTS, ORDERS];

/// Longest time of a policy parameter: one year.
const MAX_TIME: u64 = 365 * 86_400 * 1_000_000_000;

impl Registry {
    /// The policy called `name`.
    pub fn find(&self, name: &str) -> Option<&'static PolicyInfo> {
        self.policies.iter().copied().find(|info| info.name == name)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.policies.iter().map(|info| info.name)
    }

    /// The policy that `node` names, applied to the value set before: the same name keeps the parameters that
    /// are not set again; a different name starts from its defaults.
    pub fn read(
        &self,
        errors: &mut Errors,
        path: &str,
        node: &Node,
        before: Option<&PolicySpec>,
    ) -> Option<PolicySpec> {
        let table: &[(String, Node)] = match &node.literal {
            RawValue::Text(_) => {
                return self.start(errors, path, node, before).map(|(_, spec)| spec);
            }
            RawValue::Table(table) => table,
            _ => {
                let name = self.policies.first().map_or("", |info| info.name);
                let literal = node.describe();
                let example = format!("{name:?} or {{ policy = {name:?} }}");
                let message = format!("found {literal}; expected a {}: {example}", self.noun);
                errors.add(node.place, path, message);
                return None;
            }
        };
        let (info, mut spec) = match table.iter().find(|(key, _)| key == "policy") {
            Some((_, name)) => self.start(errors, &format!("{path}.policy"), name, before)?,
            None => {
                let Some(info) = before.and_then(|spec| self.find(&spec.policy)) else {
                    let names = one_of(self.names());
                    let message = format!("the policy is missing; expected policy = {names}");
                    errors.add(node.place, path, message);
                    return None;
                };
                (info, before.cloned()?)
            }
        };
        for (key, value) in table.iter().filter(|(key, _)| key != "policy") {
            let path = format!("{path}.{key}");
            match info.params.iter().find(|param| param.name == key) {
                None => errors.add(value.place, &path, unknown_parameter(info, key)),
                Some(param) => match parameter(param, value) {
                    Ok(value) => {
                        spec.params.insert(key.clone(), value);
                    }
                    Err(message) => errors.add(value.place, &path, message),
                },
            }
        }
        Some(spec)
    }

    fn start(
        &self,
        errors: &mut Errors,
        path: &str,
        name: &Node,
        before: Option<&PolicySpec>,
    ) -> Option<(&'static PolicyInfo, PolicySpec)> {
        let info = match name.text() {
            Some(text) => self.find(text).ok_or_else(|| {
                let near = match (self.key, text) {
                    // What the literature compares separation policies with.
                    ("alloc.separation", "host+gc") => {
                        "; \"none\" with alloc.frontiers = \"host+gc\" is that".to_string()
                    }
                    _ => did_you_mean(text, self.names()),
                };
                let names = one_of(self.names());
                format!("there is no {} {}; expected {names}{near}", self.noun, name.describe())
            }),
            None => Err(format!("found {}; expected {}", name.describe(), one_of(self.names()))),
        };
        match info {
            Ok(info) => {
                let previous = before.filter(|spec| spec.policy == info.name).cloned();
                Some((info, previous.unwrap_or_else(|| PolicySpec::with_defaults(info))))
            }
            Err(message) => {
                errors.add(name.place, path, message);
                None
            }
        }
    }

    /// Parameters of `spec` that have no default and were not set.
    pub fn missing(&self, spec: &PolicySpec) -> Vec<&'static ParamInfo> {
        let params = self.find(&spec.policy).map_or(&[][..], |info| info.params);
        params.iter().filter(|param| !spec.params.contains_key(param.name)).collect()
    }
}

fn unknown_parameter(info: &PolicyInfo, key: &str) -> String {
    let names = info.params.iter().map(|param| param.name);
    if info.params.is_empty() {
        return format!("policy {:?} has no parameters", info.name);
    }
    let near = did_you_mean(key, names.clone());
    format!("policy {:?} has no such parameter; expected {}{near}", info.name, one_of(names))
}

/// One parameter value, checked against its kind.
fn parameter(param: &ParamInfo, node: &Node) -> Result<Value, String> {
    match param.kind {
        ParamKind::Int(min, max) => read::int(node, min, max).map(Value::Int),
        ParamKind::Ratio(min, max) => read::real(node, Span::closed(min, max)).map(Value::Real),
        ParamKind::Choice(words) => {
            read::word(node, words.iter().copied()).map(|word| Value::Word(word.to_string()))
        }
        ParamKind::Time => read::time(node, MAX_TIME).map(Value::Int),
        ParamKind::Bool => read::flag(node).map(Value::Bool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::text::error::SourcePos;
    use crate::config::text::parse::set_value;

    const INFO: PolicyInfo = PolicyInfo {
        name: "sample",
        summary: "one parameter of each kind",
        paper: "none",
        params: &[
            ParamInfo { name: "d", kind: ParamKind::Int(1, 9), default: None, doc: "how many" },
            ParamInfo {
                name: "r",
                kind: ParamKind::Ratio(0.0, 1.0),
                default: Some("0.5"),
                doc: "",
            },
            ParamInfo {
                name: "age",
                kind: ParamKind::Choice(&["seal", "invalidation"]),
                default: Some("seal"),
                doc: "",
            },
            ParamInfo { name: "t", kind: ParamKind::Time, default: Some("5"), doc: "" },
            ParamInfo { name: "b", kind: ParamKind::Bool, default: Some("false"), doc: "" },
        ],
    };
    const SAMPLES: Registry =
        Registry { key: "sample", noun: "sample", title: "Samples", policies: &[&INFO] };

    fn read(text: &str) -> Result<PolicySpec, Vec<String>> {
        let mut errors = Errors::default();
        let node = set_value(SourcePos::NOWHERE, "x", text, false, &mut errors);
        let spec = node.and_then(|node| SAMPLES.read(&mut errors, "x", &node, None));
        let messages = errors.into_sorted().iter().map(ToString::to_string).collect::<Vec<_>>();
        if messages.is_empty() { spec.ok_or(messages) } else { Err(messages) }
    }

    #[test]
    fn parameters_of_every_kind_are_read_and_printed() {
        let text =
            r#"{ policy = "sample", d = 3, r = 1, age = "invalidation", t = "1 ms", b = true }"#;
        let spec = read(text).expect("all parameters fit");
        assert_eq!((spec.int("d"), spec.int("t"), spec.flag("b")), (3, 1_000_000, true));
        assert_eq!((spec.real("r"), spec.word("age")), (1.0, "invalidation"));
        assert_eq!(read(&crate::config::keys::show::policy(SAMPLES, &spec)), Ok(spec));
    }

    #[test]
    fn parameters_without_default_are_missing_until_they_are_said() {
        let missing = |text: &str| {
            let spec = read(text).expect("a policy");
            SAMPLES.missing(&spec).iter().map(|param| param.name).collect::<Vec<_>>()
        };
        assert_eq!(missing("sample"), ["d"]);
        assert_eq!(missing(r#"{ policy = "sample", d = 1 }"#), [""; 0]);
    }

    #[test]
    fn parameters_that_do_not_fit_are_all_reported() {
        let text = r#"{ policy = "sample", d = 10, r = 2, age = "sael", t = 5, b = 1, e = 1 }"#;
        let errors = read(text).expect_err("no parameter fits");
        let expected = [
            "x.d: found 10; expected a whole number from 1 to 9",
            "x.r: found 2; expected a number from 0 to 1; did you mean \"2%\"?",
            "x.age: found \"sael\"; expected \"seal\" or \"invalidation\"; did you mean \"seal\"?",
            "x.t: found 5; expected a time with its unit, such as \"25 us\" \
             (units: ns, us, ms, s, min or h)",
            "x.b: found 1; expected true or false",
            "x.e: policy \"sample\" has no such parameter; expected \"d\", \"r\", \
             \"age\", \"t\" or \"b\"",
        ];
        assert_eq!(errors, expected);
    }
}
