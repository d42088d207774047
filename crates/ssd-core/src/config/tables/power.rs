//! `[power]`: power cuts, and what the device does to survive them.

use super::prelude::*;

/// When power is cut.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerCut {
    /// Never, and the device is not prepared for it.
    #[default]
    Never,
    /// When the client of a device says so.
    OnRequest,
    /// At these times, ascending, nanoseconds.
    At(Vec<u64>),
    /// After so many nanoseconds with power, again and again.
    Every(u64),
    /// The same with random times, uniform up to twice this mean.
    Random(u64),
}

crate::config_table! {
    "Power cuts, and what the device does to survive them."
    Power: power in Config {
        cut: special(CUT) => cut: PowerCut = PowerCut::Never,
            "When power is cut: { at = \"1 s\" } (or a list of times), { every = \"1 s\" } with power, or \
            { random = \"1 s\" }, uniform up to twice that. The device mounts at once, and the host repeats what \
            had not completed. \"on-request\": only by `Device.power_cut()`. \"never\": the device is not \
            prepared for it.";
        nvram: special(NVRAM) => nvram_bytes: u64 = 2 << 20,
            "Memory that survives a cut; it holds the records of TRIMs, 16 bytes each, and of copies, 32 bytes for \
            each page; it refuses a copy with more.";
        nvram_time: time(MILLISECOND) => nvram_ns: u64 = 500,
            "Time to write or read 64 bytes of it.";
        checkpoint: special(CHECKPOINT) => checkpoint_bytes: u64 = 0,
            "Bytes that the host writes or copies from the beginning of a checkpoint of the map to that of the next; \
            \"0 B\": only when three quarters of the NVRAM are used.";
        buffer: word() => buffer: BufferPower = BufferPower::Volatile,
            "What a cut leaves of the write buffer.";
    }
}

impl Power {
    /// Power is never cut; then no key of the table has an effect.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.cut == PowerCut::Never
    }
}

/// The times of a list, or of the only one.
fn times(node: &crate::config::text::parse::Node) -> Result<Vec<u64>, String> {
    let parsed = match &node.literal {
        RawValue::List(items) => items.iter().map(|item| read::time(item, YEAR)).collect(),
        _ => read::time(node, YEAR).map(|ns| vec![ns]),
    };
    let times: Vec<u64> = parsed?;
    if times.is_empty() || times[0] == 0 {
        return Err(
            "power cannot be cut before the run begins: give times after \"0 s\"".to_string()
        );
    }
    match times.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => {
            let (early, late) = (show_time(pair[1]), show_time(pair[0]));
            Err(format!(
                "the cut at {early} comes after that at {late}, in the past: sort the times"
            ))
        }
        None => Ok(times),
    }
}

fn interval(node: &crate::config::text::parse::Node) -> Result<u64, String> {
    match read::time(node, YEAR)? {
        0 => Err("a cut needs some time with power before it: give more than \"0 s\"".to_string()),
        ns => Ok(ns),
    }
}

static CUT: Special<Config> = Special {
    form: "\"never\", \"on-request\", or one of { at }, { every }, { random }",
    default: None,
    read: |draft, errors, path, node| {
        let cut = &mut draft.config.power.cut;
        if node.text().is_some() {
            let set = read::word(node, ["never", "on-request"].into_iter()).map(|word| {
                *cut = if word == "never" { PowerCut::Never } else { PowerCut::OnRequest };
            });
            let set =
                set.map_err(|reason| format!("{reason}, or a table such as {{ every = \"1 s\" }}"));
            return report(errors, path, node, set);
        }
        let fields = entries(errors, path, node, &["at", "every", "random"]);
        if fields.len() > 1 {
            errors.add(node.place, path, "give one of at, every and random, not several");
            return;
        }
        for (key, value) in fields {
            let set = match key.as_str() {
                "at" => times(value).map(PowerCut::At),
                "every" => interval(value).map(PowerCut::Every),
                _ => interval(value).map(PowerCut::Random),
            };
            report(errors, &format!("{path}.{key}"), value, set.map(|set| *cut = set));
        }
    },
    show: |config| {
        let time = |ns: &u64| quoted(&show_time(*ns));
        Some(match &config.power.cut {
            PowerCut::Never => quoted("never"),
            PowerCut::OnRequest => quoted("on-request"),
            PowerCut::At(times) => {
                let texts: Vec<String> = times.iter().map(time).collect();
                format!("{{ at = [{}] }}", texts.join(", "))
            }
            PowerCut::Every(ns) => format!("{{ every = {} }}", time(ns)),
            PowerCut::Random(ns) => format!("{{ random = {} }}", time(ns)),
        })
    },
    text: false,
    types: &["string", "object"],
};

static NVRAM: Special<Config> = Special {
    form: "size",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::size(node, 0, 1 << 40).and_then(|bytes| {
            draft.config.power.nvram_bytes = bytes;
            if bytes < 64 {
                let size = show_size(bytes);
                return Err(format!(
                    "{size} hold no line of records, which is 64 B: use \"64 B\" or more"
                ));
            }
            Ok(())
        });
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_size(config.power.nvram_bytes))),
    text: false,
    types: SIZE_TYPES,
};

static CHECKPOINT: Special<Config> = Special {
    form: "size",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::size(node, 0, 1 << 60);
        report(errors, path, node, set.map(|bytes| draft.config.power.checkpoint_bytes = bytes));
    },
    show: |config| Some(quoted(&show_size(config.power.checkpoint_bytes))),
    text: false,
    types: SIZE_TYPES,
};
