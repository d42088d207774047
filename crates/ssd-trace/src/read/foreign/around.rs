//! Text around requests, and forms in which other programs wrap them, with filters that extract the requests.

use super::boxes::{boxed_table, values_on_lines};
use super::html::{html_tables, preformatted_text};
use super::json::Cursor;
use super::pattern::{bytes_of, characters, pattern};
use super::prefixes::{without_colours, without_line_numbers};
use super::{Rewrite, Rewriting, by_line, notation};
use super::{dates, times};
use crate::read::formats::{self, Head, TraceFormat};
use crate::read::guess::{LINES, is_names};
use std::collections::BTreeSet;

/// Rewrites that are tried for any format.
pub(crate) const AROUND: [Rewrite; 21] = [
    without_colours,
    without_line_numbers,
    html_tables,
    preformatted_text,
    without_zeros,
    without_comments,
    first_of_several,
    times::with_24_hours,
    dates::with_month_numbers,
    dates::with_marks,
    without_status_lines,
    tuples,
    printed_lines,
    without_stacks,
    without_differences,
    ruled_table,
    boxed_table,
    inserted_rows,
    copied_rows,
    values_on_lines,
    value_pairs,
];

/// Most frequent columns of bpftrace scripts: first with times in nanoseconds, then in microseconds.
const BPFTRACE_COLUMNS: [&str; 8] = [
    "time=1:ns,op=2,offset=3:512B,size=4",
    "time=1:ns,op=2,offset=3:512B,size=4:512B",
    "time=1:ns,op=3,offset=4:512B,size=5",
    "time=1:ns,op=3,offset=4:512B,size=5:512B",
    "time=1:us,op=2,offset=3:512B,size=4",
    "time=1:us,op=2,offset=3:512B,size=4:512B",
    "time=1:us,op=3,offset=4:512B,size=5",
    "time=1:us,op=3,offset=4:512B,size=5:512B",
];
/// Like [`BPFTRACE_COLUMNS`], for lines with the device in the second column.
const DEVICE_COLUMNS: [&str; 4] = [
    "time=1:ns,op=3,offset=4:512B,size=5,volume=2",
    "time=1:ns,op=3,offset=4:512B,size=5:512B,volume=2",
    "time=1:us,op=3,offset=4:512B,size=5,volume=2",
    "time=1:us,op=3,offset=4:512B,size=5:512B,volume=2",
];
/// Intervals between requests are mostly shorter than this, seconds.
const LONG_S: f64 = 100.0;
/// From this value up, times since boot are nanoseconds: as microseconds they would exceed 30 years.
const FIRST_NANOSECONDS: u64 = 1_000_000_000_000_000;

/// Returns the possible columns of the lines of a bpftrace script.
fn bpftrace_columns(lines: &[u8]) -> &'static [&'static str] {
    let line = lines.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let time = std::str::from_utf8(&line[..digits]).ok().and_then(|time| time.parse::<u64>().ok());
    let second = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(1);
    // A device has a number in one or two parts; a name may be the name of a process.
    let is_device = |word: &[u8]| {
        word.len() > 2 && word.iter().all(|byte| byte.is_ascii_digit() || b":,".contains(byte))
    };
    let columns: &[&str] =
        if second.is_some_and(is_device) { &DEVICE_COLUMNS } else { &BPFTRACE_COLUMNS };
    let is_in_nanoseconds = time.is_some_and(|time| time >= FIRST_NANOSECONDS);
    if is_in_nanoseconds { &columns[..columns.len() / 2] } else { columns }
}

/// Removes zero bytes after the text, which a crash leaves.
fn without_zeros(bytes: &[u8]) -> Option<Rewriting> {
    let end = bytes.iter().rposition(|&byte| byte != 0)? + 1;
    let text = &bytes[..end];
    let message = "zero bytes follow its text, as after a crash; remove them";
    let is_text = !text.contains(&0) && text.contains(&b'\n');
    is_text.then(|| notation(message, r"tr -d '\000' < FILE", bytes, text.to_vec()))?
}

/// Removes zero bytes, which a crash leaves between two recordings, and the text before them in their lines.
pub(crate) fn behind_zeros(bytes: &[u8]) -> Option<Rewriting> {
    let first = bytes.split(|&byte| byte == b'\n').position(|line| line.contains(&0))? + 1;
    let remaining = bytes.split_inclusive(|&byte| byte == b'\n').filter_map(|line| {
        let tail = line.rsplit(|&byte| byte == 0).next()?;
        (!tail.trim_ascii().is_empty()).then_some(tail)
    });
    let rewritten = remaining.collect::<Vec<&[u8]>>().concat();
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\n\r\t".contains(byte);
    let is_text = rewritten.contains(&b'\n') && !rewritten.iter().any(is_control);
    let message = format!(
        "line {first} has zero bytes, as a crash leaves them; keep what follows them in their lines (a record that \
         they cut is lost)"
    );
    let filter = r"perl -ne 's/.*\0//; print if /\S/' < FILE";
    is_text.then(|| notation(&message, filter, bytes, rewritten))?
}

/// Removes comments above the requests of a known format without comments.
fn without_comments(bytes: &[u8]) -> Option<Rewriting> {
    if !bytes.starts_with(b"#") {
        return None;
    }
    let rewritten = lines_without(bytes, |line| line.starts_with(b"#"));
    let lines: Vec<&[u8]> = rewritten.split(|&byte| byte == b'\n').collect();
    // The last line may be incomplete.
    let lines = &lines[..lines.len().saturating_sub(1).min(LINES)];
    let shares = formats::detect(&Head { bytes: &rewritten, lines });
    let is_known =
        shares.iter().any(|&(format, share)| format != TraceFormat::Table && share == 100);
    let comments = bytes.split(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"#"));
    // A comment with column names may give another meaning to the columns.
    let is_named = comments.last().is_some_and(|line| is_names(&line[1..]));
    let message = "comment lines precede the requests; remove them";
    (is_known && !is_named).then(|| notation(message, "grep -av '^#' FILE", bytes, rewritten))?
}

/// Extracts the first of several files that head or tail has printed, each below its name.
fn first_of_several(bytes: &[u8]) -> Option<Rewriting> {
    let (text, name) = (characters(bytes), pattern(r"^==> ([\w./:@+-]+) <==\r?$"));
    let first = name.captures(text.lines().next()?)?[1].to_owned();
    let mut is_first = false;
    let lines = text.split_inclusive('\n').filter(|line| {
        match name.captures(line.trim_end_matches('\n')) {
            Some(heading) => {
                is_first = heading[1] == first;
                false
            }
            None => is_first,
        }
    });
    let lines: String = lines.collect();
    let message = format!(
        "the file is the output of head or tail for several files; this command reads {first} (for another, put its \
         name there)"
    );
    let filter = format!(
        r#"awk '/^==> .* <==\r?$/ {{ n = index($0, "==> {first} <==") == 1; next }} n' FILE"#
    );
    notation(&message, &filter, bytes, bytes_of(&lines))
}

/// Converts the rows of a table that Python has printed as tuples or lists.
fn tuples(bytes: &[u8]) -> Option<Rewriting> {
    let is_list = bytes.strip_prefix(b"[").is_some_and(|rest| !rest.trim_ascii().starts_with(b"{"));
    if !bytes.starts_with(b"(") && !is_list {
        return None;
    }
    // The brackets around a date with a decimal comma hold no row.
    if pattern(r"^\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d,\d+\]").is_match(&characters(bytes)) {
        return None;
    }
    let row = r"[(\[]\s*([^()\[\],]+,[^()\[\]]*?),?\s*[)\]]";
    let text = characters(bytes).replace(['\'', '"'], "");
    let rows = pattern(row);
    let rows: String = rows.captures_iter(&text).map(|row| row[1].to_owned() + "\n").collect();
    let message =
        "its rows are in brackets, as Python prints tuples and lists; write one row per line";
    let filter = format!(r#"perl -0777 -ne 's/[\x27"]//g; print "$1\n" while /{row}/g' < FILE"#);
    (!rows.is_empty()).then(|| notation(message, &filter, bytes, bytes_of(&rows)))?
}

/// Removes what bpftrace prints before and after the lines of a script.
fn without_status_lines(bytes: &[u8]) -> Option<Rewriting> {
    if !bytes.starts_with(b"Attaching ") {
        return None;
    }
    let is_status = |line: &[u8]| {
        let starts: [&[u8]; 6] = [b"Attaching ", b"Tracing ", b"Lost ", b"^C", b"@", b"["];
        line.is_empty() || starts.iter().any(|start| line.starts_with(start))
    };
    let message = "bpftrace has printed other lines around the requests; remove those lines";
    let filter = r"grep -avE '^(Attaching |Tracing |Lost |\^C|@|\[|$)' FILE";
    let rewritten = notation(message, filter, bytes, lines_without(bytes, is_status))?;
    Some(Rewriting { columns: bpftrace_columns(&rewritten.bytes), ..rewritten })
}

/// Extracts the lines that bpftrace has printed as JSON (`-f json`).
fn printed_lines(bytes: &[u8]) -> Option<Rewriting> {
    if !bytes.starts_with(b"{\"type\": \"") {
        return None;
    }
    let mut cursor = Cursor::of(bytes);
    let mut printed = Vec::new();
    while let Some(object) = cursor.object() {
        if let [(_, Some(kind)), (_, Some(data))] = &object[..]
            && kind == "printf"
        {
            printed.extend(data.replace("\\n", "\n").replace("\\t", "\t").bytes());
        }
    }
    let message = "the file is JSON of bpftrace (-f json); keep what its script has printed";
    let filter = r#"jq -rj 'select(.type == "printf").data' FILE"#;
    let rewritten =
        notation(message, filter, bytes, printed).filter(|text| !text.bytes.is_empty())?;
    Some(Rewriting { columns: bpftrace_columns(&rewritten.bytes), ..rewritten })
}

/// Removes the stacks below the events of perf script.
fn without_stacks(bytes: &[u8]) -> Option<Rewriting> {
    let is_frame = |line: &[u8]| {
        let text = line.trim_ascii_start();
        let address =
            text.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let is_address = address > 0 && text.get(address) == Some(&b' ');
        line.is_empty() || (text.len() < line.len() && is_address && text.ends_with(b")"))
    };
    let has_stacks = bytes.windows(5).any(|part| part == b"block")
        && bytes.split(|&byte| byte == b'\n').any(|line| !line.is_empty() && is_frame(line));
    let message = "stacks are printed below the events; remove them";
    let filter = r"grep -avE '^[[:space:]]+[0-9a-f]+ .*\)$|^$' FILE";
    has_stacks.then(|| notation(message, filter, bytes, lines_without(bytes, is_frame)))?
}

/// Removes the time since the previous event from the events of trace-cmd (`--ts-diff`).
fn without_differences(bytes: &[u8]) -> Option<Rewriting> {
    let rewritten = by_line(bytes, |line| {
        let start = line.windows(4).position(|part| part == b": (+")?;
        let digits = line[start + 4..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = line[start + 4 + digits..].strip_prefix(b")")?;
        (digits > 0).then(|| [&line[..=start], rest].concat())
    });
    let message =
        "each time is followed by the time since the previous event (--ts-diff); remove it";
    notation(message, r"sed -E 's/: \([+][0-9]+\)/:/' FILE", bytes, rewritten)
}

/// Times that may be the intervals of perf script --deltatime, but are readable without a filter.
pub(crate) struct Intervals {
    /// The command that adds up the intervals.
    pub(crate) filter: String,
    /// The sum of the times.
    pub(crate) sum_ns: f64,
    /// The difference between the smallest and the largest time.
    pub(crate) range_ns: f64,
    /// At least half of the times are smaller than an earlier one, or all are equal; both are rare for times.
    pub(crate) are_likely: bool,
}

/// Returns the times of tracepoint events if they may be intervals: at least a fifth is smaller than an earlier one, or
/// all are equal.
pub(crate) fn intervals(bytes: &[u8]) -> Option<Intervals> {
    let time = r"(\d+[.]\d+)(: +\w+:\w+: )";
    let (text, event) = (characters(bytes), pattern(time));
    let times = event.captures_iter(&text).filter_map(|parts| parts[1].parse().ok());
    let times: Vec<f64> = times.collect();
    let (mut least, mut most, mut late) = (f64::INFINITY, 0.0f64, 0);
    for &time in &times {
        late += usize::from(time < most);
        (least, most) = (least.min(time), most.max(time));
    }
    // Most intervals between the requests of a disk are short.
    let are_short = 2 * times.iter().filter(|time| **time < LONG_S).count() > times.len();
    let are_same = times.len() > 2 && least >= most && least > 0.0;
    (are_short && (5 * late >= times.len() || are_same)).then(|| Intervals {
        filter: format!(r#"perl -pe 's{{{time}}}{{$t += $1; sprintf("%.9f", $t) . $2}}e' < FILE"#),
        sum_ns: times.iter().sum::<f64>() * 1e9,
        range_ns: (most - least) * 1e9,
        are_likely: are_same || 2 * late >= times.len(),
    })
}

/// Returns the cells of a row between rules; `None` for other lines.
fn ruled_cells(line: &[u8]) -> Option<Vec<&str>> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let is_row = text.contains('|') && !text.bytes().all(|byte| b"-+|: ".contains(&byte));
    let text = text.strip_prefix('|').unwrap_or(text);
    let cells = text.strip_suffix('|').unwrap_or(text).split('|').map(str::trim);
    is_row.then(|| cells.collect())
}

/// Converts a table with rules between its cells, in the form of psql, mysql and Markdown.
fn ruled_table(bytes: &[u8]) -> Option<Rewriting> {
    let is_rule = |line: &[u8]| {
        line.windows(2).any(|part| part == b"--")
            && line.iter().all(|byte| b"-+|: \r".contains(byte))
    };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let has_rule =
        lines.iter().take(3).any(|line| is_rule(line.trim_ascii_end()) && line.len() > 4);
    let rows: Vec<Vec<&str>> = lines.iter().filter_map(|line| ruled_cells(line)).collect();
    let cells = || rows.iter().flatten();
    // A comma in a number separates thousands or decimals.
    let thousands = pattern(r"^\d{1,3}(,\d{3})+$");
    let has_decimal = cells().any(|cell| {
        let is_number = cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        is_number && cell.contains(',') && !thousands.is_match(cell)
    });
    let has_commas = !has_decimal && cells().any(|cell| cell.contains(','));
    let (without, command) =
        if has_commas { (" without the commas in its cells", "s/,//g; ") } else { ("", "") };
    let text = |cell: &&str| if has_commas { cell.replace(',', "") } else { (*cell).to_owned() };
    let line = |row: &Vec<&str>| row.iter().map(text).collect::<Vec<String>>().join(",") + "\n";
    let table: String = rows.iter().map(line).collect();
    let message = format!(
        "the file is a table with ruled lines (psql, mysql, Markdown); convert it to CSV{without}"
    );
    // Some versions of sed do not know the carriage return.
    let (before, file) =
        if bytes.contains(&b'\r') { (r"tr -d '\r' < FILE | ", "") } else { ("", " FILE") };
    let filter = format!(
        "{before}sed -nE '/^[-+|: ]*$/d; {command}s/^ *[|]? *//; s/ *[|]? *$//; s/ *[|] */,/gp'{file}"
    );
    (has_rule && !rows.is_empty())
        .then(|| notation(&message, &filter, bytes, table.into_bytes()))?
}

/// Extracts the rows of SQL INSERT statements, below the column names if the statements have them.
fn inserted_rows(bytes: &[u8]) -> Option<Rewriting> {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = String::new();
    let mut names = BTreeSet::new();
    let mut is_inserted = false;
    for line in text.lines() {
        is_inserted |= line.to_ascii_lowercase().contains("insert into");
        if !is_inserted {
            continue;
        }
        for part in line.split('(').skip(1) {
            let Some((cells, _)) = part.split_once(')').filter(|(cells, _)| cells.contains(','))
            else {
                continue;
            };
            let cells: Vec<&str> = cells.split(',').map(str::trim).collect();
            let cells: String =
                cells.join(",").chars().filter(|letter| !"'`\"".contains(*letter)).collect();
            // Each statement may repeat the names.
            if cells.contains(|letter: char| letter.is_ascii_digit()) || names.insert(cells.clone())
            {
                rows += &(cells + "\n");
            }
        }
        is_inserted = !line.trim_end().ends_with(';');
    }
    let message = "the file is SQL; keep the rows that it inserts";
    let filter = concat!(
        r"perl -lne 'next unless /insert into/i .. /;\s*$/; for (/\(([^()]*,[^()]*)\)/g) { s/^\s+|\s+$//g; ",
        r"s/\s*,\s*/,/g; s/[\x27\x22`]//g; print unless !/\d/ && $s{$_}++ }' < FILE"
    );
    (!rows.is_empty()).then(|| notation(message, filter, bytes, rows.into_bytes()))?
}

/// Extracts the rows of the first table in a dump of pg_dump that has the columns of requests, below their names. The
/// rows are between `COPY TABLE (NAMES) FROM stdin;` and `\.`.
fn copied_rows(bytes: &[u8]) -> Option<Rewriting> {
    let command = pattern(r#"(?i)^COPY ([\w."]+) \(([^()]*)\) FROM stdin;"#);
    let text = characters(bytes);
    let names_of = |names: &str| names.replace('"', "").replace(", ", "\t");
    let mut tables = text.split('\n').filter_map(|line| command.captures(line));
    let table = tables.find(|table| is_names(names_of(&table[2]).as_bytes()))?[1].to_owned();
    let (mut rows, mut is_row) = (String::new(), false);
    for line in text.split('\n') {
        match command.captures(line).filter(|copied| copied[1] == table) {
            Some(copied) => {
                rows += &(names_of(&copied[2]) + "\n");
                is_row = true;
            }
            None if line.trim_end_matches('\r') == r"\." => is_row = false,
            None if is_row => rows += &(line.to_owned() + "\n"),
            None => {}
        }
    }
    let message = format!("the file is a PostgreSQL dump; keep the rows of {table}");
    let filter = format!(
        concat!(
            r"perl -ne 'if (/^COPY \Q{table}\E \(([^()]*)\) FROM stdin;/i) {{ ($n = $1) =~ s/\x22//g; ",
            r#"$n =~ s/, /\t/g; print "$n\n"; $r = 1 }} elsif (/^\\[.]\r?$/) {{ $r = 0 }} "#,
            "elsif ($r) {{ print }}' < FILE"
        ),
        table = table
    );
    notation(&message, &filter, bytes, bytes_of(&rows))
}

/// Converts lines of `NAME=VALUE` pairs to a table of the values below the names. All lines may begin with the same
/// text, but not with a time, which would be lost.
fn value_pairs(bytes: &[u8]) -> Option<Rewriting> {
    let text = String::from_utf8_lossy(bytes);
    let before = text[..pattern(r"\b\w+=").find(&text)?.start()].to_owned();
    let pair = pattern(r#"^(\w+)=("[^"]*"|[^\s,;"]+)(?:[\s,;]+|$)"#);
    let pairs = |line: &str| -> Option<Vec<(String, String)>> {
        let (mut rest, mut list) = (line.strip_prefix(before.as_str())?.trim_start(), Vec::new());
        while !rest.is_empty() {
            let caught = pair.captures(rest)?;
            list.push((caught[1].to_owned(), caught[2].to_owned()));
            rest = &rest[caught[0].len()..];
        }
        Some(list)
    };
    let mut table = String::new();
    let mut names: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let pairs = pairs(line.trim_end()).unwrap_or_default();
        let (row_names, values): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        if row_names.is_empty() && names.is_empty() {
            return None;
        } else if names.is_empty() {
            table += &(row_names.join(",") + "\n");
            names = row_names;
        } else if names != row_names {
            // The last line may be incomplete.
            if line.ends_with('\n') {
                return None;
            }
            continue;
        }
        table += &(values.join(",") + "\n");
    }
    let message = "its lines are pairs of names and values; convert them to a table";
    let filter = if bytes.contains(&b'"') {
        concat!(
            r#"perl -lne '@p = /(\w+)=("[^"]*"|[^\s,;]+)/g; @i = grep !($_ & 1), 0..$#p; "#,
            r#"@k or print join ",", @k = @p[@i]; print join ",", @p[map $_ + 1, @i]' < FILE"#
        )
    } else {
        r#"perl -lne '@k or print join ",", @k = /(\w+)=/g; print join ",", /\w=([^\s,;]+)/g' < FILE"#
    };
    (names.len() > 2).then(|| notation(message, filter, bytes, table.into_bytes()))?
}

/// Returns the lines of `bytes` for which `is_other` is false.
fn lines_without(bytes: &[u8], is_other: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !is_other(line.strip_suffix(b"\n").unwrap_or(line)));
    lines.collect::<Vec<_>>().concat()
}
