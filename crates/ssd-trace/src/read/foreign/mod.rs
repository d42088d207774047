//! Recognises files that are not traces of requests, or are not readable without a filter: what they are, and how to
//! get the requests.

pub(crate) mod around;
pub(crate) mod awk;
mod binary;
mod boxes;
mod dates;
mod fio;
pub(crate) mod frames;
mod html;
pub(crate) mod joined;
mod json;
pub(crate) mod labelled;
pub(crate) mod logs;
pub(crate) mod marks;
pub(crate) mod notations;
pub(crate) mod pattern;
mod prefixes;
pub(crate) mod rewriting;
mod table;
mod texts;
mod times;

pub(crate) use binary::unmarked;
pub(crate) use fio::without_files;
pub(crate) use texts::named_text;

/// How to record the requests that a file lacks.
const RECORD: &str =
    "record the requests of the device: blktrace -d /dev/DEVICE -w 60 -o - | blkparse -i - > OUT";

/// A filter that converts FILE to a trace. Its effect on the head is not calculated.
pub(crate) struct Filter {
    /// Why it is needed.
    pub(crate) message: String,
    /// The command, which reads FILE and writes to standard output.
    pub(crate) filter: String,
    /// The options that read its output.
    pub(crate) options: &'static str,
}

/// A filter that makes text readable.
pub(crate) struct Rewriting {
    /// What must be rewritten.
    pub(crate) message: String,
    /// The command, which reads FILE and writes to standard output.
    pub(crate) filter: String,
    /// Output of the command for the bytes of the head.
    pub(crate) bytes: Vec<u8>,
    /// Possible columns of the output: a single one is certain; of several, all that fit are offered.
    pub(crate) columns: &'static [&'static str],
    /// The rewriting under the other reading of an ambiguous notation.
    pub(crate) alternative: Option<Box<Rewriting>>,
    /// The condition for this reading, such as "the day is first"; empty without another reading.
    pub(crate) case: String,
    /// How to edit this filter into the other one, as in "swap $1 and $2"; empty without another reading.
    pub(crate) otherwise: &'static str,
}

impl Rewriting {
    /// Returns this rewriting, and the other one if there is one.
    pub(crate) fn with_other(mut self) -> Vec<Rewriting> {
        let alternative = self.alternative.take().map(|rewriting| *rewriting);
        [Some(self), alternative].into_iter().flatten().collect()
    }

    /// Combines this reading and the `alternative` one, which are right under these two conditions; `otherwise` says
    /// how to edit the first filter into the other.
    fn or(self, cases: [&str; 2], alternative: Rewriting, otherwise: &'static str) -> Rewriting {
        let [case, other_case] = cases.map(str::to_owned);
        let boxed = Some(Box::new(Rewriting { case: other_case, ..alternative }));
        Rewriting { case, alternative: boxed, otherwise, ..self }
    }

    /// Returns the rewriting by a filter with this result.
    fn of(message: String, filter: String, bytes: Vec<u8>) -> Rewriting {
        let (columns, alternative, case, otherwise) = (&[], None, String::new(), "");
        Rewriting { message, filter, bytes, columns, alternative, case, otherwise }
    }
}

/// A function that returns the rewriting of bytes, if they need it.
pub(crate) type Rewrite = fn(&[u8]) -> Option<Rewriting>;

/// Returns the message about a file that begins with `bytes`, if it is known not to be a trace.
pub(crate) fn recognise(bytes: &[u8]) -> Option<String> {
    if let Some(text) = binary::marked(bytes).or_else(|| fio::other_iolog(bytes)) {
        return Some(text);
    }
    let first = bytes.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"TIME(ms)"))?;
    let has = |name: &[u8]| first.windows(name.len()).any(|word| word == name);
    (has(b"DISK") && !has(b"SECTOR")).then(|| {
        "output of bpftrace's biosnoop.bt, which prints neither sector nor size; record with bcc's biosnoop, \
         or with bpftrace -e 'tracepoint:block:block_rq_issue { printf(\"%llu %s %llu %u\\n\", nsecs, \
         args.rwbs, args.sector, args.bytes); }' and read it with --columns \
         time=1:ns,op=2,offset=3:512B,size=4"
            .to_owned()
    })
}

/// Returns the rewriting to `rewritten`, unless that equals `bytes`.
fn notation(message: &str, filter: &str, bytes: &[u8], rewritten: Vec<u8>) -> Option<Rewriting> {
    (rewritten != bytes).then(|| Rewriting::of(message.to_owned(), filter.to_owned(), rewritten))
}

/// Returns the lines of `bytes` that are not blank.
fn filled_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// Returns the lines of `bytes` after `change` has rewritten some of them.
fn by_line(bytes: &[u8], mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines.flat_map(|line| change(line).unwrap_or_else(|| line.to_vec())).collect()
}
