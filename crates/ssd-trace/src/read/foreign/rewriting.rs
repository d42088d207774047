//! Text that is readable after a filter has rewritten it: the filter, and its output for the head.

use super::joined::{with_joined_addresses, with_joined_dates, with_joined_times};
use super::labelled::labelled;
use super::marks::{with_commas, with_devices, without_single_quotes};
use super::pattern::characters;
use super::prefixes::{with_kernel_times, without_log_prefix};
use super::table::Table;
use super::times::{is_rising, without_brackets};
use super::{Filter, Rewrite, Rewriting, awk, filled_lines, json, notation};
use crate::read::formats::mapping::{separated, separated_by};
use crate::read::guess::is_names;
use crate::read::guess::names::{
    is_address, is_field, is_length, is_operation, is_time, letters_of,
};

/// Forms that are never readable tables of requests.
pub(crate) const FORMS: [Rewrite; 16] = [
    without_single_quotes,
    with_commas,
    with_devices,
    without_log_prefix,
    with_newlines,
    without_column_numbers,
    json::table,
    with_one_based_lengths,
    with_lengths_plus_one,
    with_name_of_rows,
    with_units_in_names,
    with_operation_of_lengths,
    with_joined_times,
    with_joined_dates,
    with_joined_addresses,
    with_times_from_zero,
];

/// Logs with requests in their lines, with labels or without.
pub(crate) const LOGS: [Rewrite; 3] = [labelled, with_kernel_times, without_brackets];

/// Returns a template of the filter for JSON that [`FORMS`] do not make readable.
pub(crate) fn of_json(bytes: &[u8]) -> Option<Filter> {
    bytes.windows(2).any(|part| part == b"{\"").then(|| Filter {
        message: "the file is JSON; convert it to a table, with the names of its fields in place of TIME, OP, OFFSET \
                  and SIZE"
            .to_owned(),
        filter: "jq -r '[.TIME, .OP, .OFFSET, .SIZE] | @csv' FILE".to_owned(),
        options: "--columns time=1:us,op=2,offset=3,size=4",
    })
}

/// Returns the message about XML or a table with zero-based lengths that [`FORMS`] do not make readable.
pub(crate) fn of_form(bytes: &[u8]) -> Option<&'static str> {
    let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    if has(",nlb") || is_nlb_named(bytes) {
        Some(
            "the file is a table with the NLB field of NVMe, which is zero-based; add 1 to it, in decimal",
        )
    } else if Table::of(bytes).is_some_and(|table| zero_based(&table.rows[0]).is_some()) {
        Some("the name of a column says that its lengths are zero-based; add 1 to them, in decimal")
    } else if has("<?xml") {
        Some(
            "the file is XML; convert it to a CSV file, with the names of the columns in its first line",
        )
    } else {
        None
    }
}

/// Replaces carriage returns at the ends of lines.
fn with_newlines(bytes: &[u8]) -> Option<Rewriting> {
    let lines = bytes.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect();
    let message = "carriage returns end its lines; replace them with newlines";
    let has_newlines = bytes.contains(&b'\n');
    notation(message, r"tr '\r' '\n' < FILE", bytes, lines).filter(|_| !has_newlines)
}

/// Removes column numbers above the rows, which pandas writes for columns without names.
fn without_column_numbers(bytes: &[u8]) -> Option<Rewriting> {
    let end = bytes.iter().position(|&byte| byte == b'\n')? + 1;
    let (_, cells) = separated(&bytes[..end])?;
    let is_number = |(at, cell): (usize, &String)| *cell == at.to_string();
    let message = "its first line numbers the columns; remove it";
    let are_numbers = cells.len() > 3 && cells.iter().enumerate().all(is_number);
    are_numbers.then(|| notation(message, "sed 1d FILE", bytes, bytes[end..].to_vec()))?
}

/// Converts text with one byte per character, as written by older programs for Windows.
pub(crate) fn with_utf8(bytes: &[u8]) -> Option<Rewriting> {
    let message = "its text is not UTF-8; convert it (taken as Latin-1)";
    let text = characters(bytes).into_bytes();
    let rewritten = notation(message, "iconv -f ISO-8859-1 -t UTF-8 FILE", bytes, text);
    rewritten.filter(|_| is_of_other_encoding(bytes))
}

/// Returns whether `bytes` are text in an encoding other than UTF-8.
fn is_of_other_encoding(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | b'\r');
    // The last character may be incomplete.
    let is_other = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some());
    is_other && bytes.iter().all(is_text)
}

/// Returns the likeliest encoding of text with whole words that are not UTF-8; `None` for other bytes. Most letters of
/// Cyrillic text are above 0xbf in CP1251, and those of Japanese text in SHIFT_JIS have bytes below 0xa0.
pub(crate) fn likely_encoding(bytes: &[u8]) -> Option<&'static str> {
    let count = |from: u8| bytes.iter().filter(|&&byte| byte >= from).count();
    let has_words = bytes.windows(2).any(|pair| pair[0] > 0x7f && pair[1] > 0x7f);
    let is_japanese = || bytes.iter().any(|byte| matches!(byte, 0x80..=0x9f));
    (has_words && is_of_other_encoding(bytes)).then(|| {
        if 10 * count(0xc0) > 9 * count(0x80) {
            "CP1251"
        } else if is_japanese() {
            "SHIFT_JIS"
        } else {
            "GB18030"
        }
    })
}

/// Prefix of hexadecimal numbers.
const MARK: &str = "0x";
/// Sizes of a block of NVMe, as powers of 2.
const BLOCK_SIZES: std::ops::RangeInclusive<u32> = 9..=16;

/// Returns the last part of a column name in lower case: fields of Wireshark are paths, as in `nvme.cmd.nlb`.
fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// Returns whether the first line names a column NLB.
fn is_nlb_named(bytes: &[u8]) -> bool {
    let names = filled_lines(bytes).next().and_then(separated);
    let is_number = |name: &String| name.starts_with(|first: char| first.is_ascii_digit());
    names.is_some_and(|(_, names)| {
        names.iter().any(|name| last_part(name) == "nlb") && !names.iter().any(is_number)
    })
}

/// Converts the field NLB of NVMe, which counts from 0, to a number of sectors, or of blocks of 4 KiB.
fn with_one_based_lengths(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let column = |name: &str| table.rows[0].iter().position(|cell| last_part(cell) == name);
    let address = || table.rows[0].iter().position(|cell| is_address(cell));
    let (length, start) =
        (column("nlb")?, column("slba").or_else(|| column("lba")).or_else(address)?);
    // Commands without a range have no length.
    let is_number =
        |row: &Vec<String>| row[length].is_empty() || row[length].parse::<u32>().is_ok();
    if !table.has_names || !table.body().iter().all(is_number) {
        return None;
    }
    let lengths = || table.body().iter().filter_map(|row| row[length].parse::<u64>().ok());
    let exponent = column("lbads").filter(|&at| {
        let is_size =
            |row: &Vec<String>| row[at].parse().is_ok_and(|size| BLOCK_SIZES.contains(&size));
        let is_address = |row: &Vec<String>| row[start].parse::<u64>().is_ok();
        table.body().iter().all(|row| is_size(row) && is_address(row))
    });
    // Most requests have an even number of blocks, so zero-based lengths are mostly odd.
    let even = lengths().filter(|length| length.is_multiple_of(2)).count();
    let is_doubtful = lengths().all(|length| length > 0) && 2 * even > table.body().len();
    let as_table = |names: [&str; 2], more: u64, message: &str| {
        with_counted_blocks(bytes, [start, length], exponent, (names, more), message)
    };
    let blocks = match exponent {
        Some(_) => " (the column lbads says how large the blocks are)",
        None if is_doubtful => {
            " (blocks are taken as 512 B; for 4 KiB, write lpn and pages instead of lba and sectors)"
        }
        None => "",
    };
    let doubt = if is_doubtful {
        "; here most of its numbers are even, so it may count from 1"
    } else {
        ""
    };
    let message = format!(
        "the file is a table with the NLB field of NVMe, which is zero-based; add 1 to it{blocks}{doubt}"
    );
    let sectors = ["lba", "sectors"];
    let first = as_table(sectors, 1, &message)?;
    if is_doubtful {
        let cases = ["it counts from 0", "it counts from 1"];
        return Some(first.or(cases, as_table(sectors, 0, "")?, "write 0 instead of 1"));
    }
    if exponent.is_some() {
        return Some(first);
    }
    let cases = ["blocks are 512 B", "blocks are 4 KiB"];
    let otherwise = "write lpn and pages instead of lba and sectors";
    Some(first.or(cases, as_table(["lpn", "pages"], 1, "")?, otherwise))
}

/// Returns the table with these names of `[address, count]`, and with `more` added to each length in blocks. The column
/// `exponent` has the sizes of the blocks as powers of 2.
fn with_counted_blocks(
    bytes: &[u8],
    [start, length]: [usize; 2],
    exponent: Option<usize>,
    ([address, count], more): ([&str; 2], u64),
    message: &str,
) -> Option<Rewriting> {
    let (start_at, length_at) = (start + 1, length + 1);
    let scale = match exponent {
        Some(at) => format!(
            "b = 2 ^ (${} - 9); ${start_at} *= b; ${length_at} = (${length_at} + {more}) * b",
            at + 1
        ),
        None => format!("${length_at} += {more}"),
    };
    let title = format!("${start_at} = \"{address}\"; ${length_at} = \"{count}\"");
    Table::of(bytes)?.rewritten(message, [&title, &scale], Some(0), |at, row| {
        if at == 0 {
            (row[start], row[length]) = (address.to_owned(), count.to_owned());
            return;
        }
        let shift = exponent.map_or(0, |at| row[at].parse::<u32>().unwrap_or(9) - 9);
        let scaled = |cell: &str, more: u64| {
            let number = cell.parse::<u64>().unwrap_or(0).saturating_add(more);
            number.saturating_mul(1 << shift).to_string()
        };
        row[length] = scaled(&row[length], more);
        if shift > 0 {
            row[start] = scaled(&row[start], 0);
        }
    })
}

/// Endings of the names of zero-based lengths, reduced to letters and digits in lower case.
const ZERO_BASED: [&str; 4] = ["minus1", "minusone", "0based", "zerobased"];

/// Returns the column of lengths with a name for zero-based lengths, and a name for lengths that are not. Returns
/// `None` if another column has lengths.
fn zero_based(names: &[String]) -> Option<(usize, String)> {
    let stem = |cell: &String| {
        let letters = letters_of(cell);
        if letters == "nlb0" {
            return Some("blocks".to_owned());
        }
        let is_minus = cell.ends_with("-1").then_some("1");
        let mut ends = ZERO_BASED.iter().copied().chain(is_minus);
        match ends.find_map(|end| letters.strip_suffix(end))? {
            // Under its own name, the field of NVMe would be zero-based, too.
            "nlb" => Some("blocks".to_owned()),
            stem => is_length(stem).then(|| stem.to_owned()),
        }
    };
    let mut stems = names.iter().enumerate().filter_map(|(at, cell)| Some((at, stem(cell)?)));
    stems.next().filter(|_| !names.iter().any(|cell| is_length(cell)))
}

/// Adds 1 to the lengths in a table of [`zero_based`] lengths.
fn with_lengths_plus_one(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let (at, name) = zero_based(&table.rows[0])?;
    let lengths: Option<Vec<u64>> = table.body().iter().map(|row| row[at].parse().ok()).collect();
    let (lengths, column) = (lengths.filter(|_| table.has_names)?, at + 1);
    let message = format!(
        "the name of its column {column} says that its lengths are zero-based; add 1 to them"
    );
    let [title, statement] = [format!("${column} = \"{name}\""), format!("${column} += 1")];
    table.rewritten(&message, [&title, &statement], Some(0), |number, row| {
        row[at] = number.checked_sub(1).map_or(name.clone(), |row| (lengths[row] + 1).to_string());
    })
}

/// Shifts times to begin at 0, in a table whose first times are negative because they count from a later event.
fn with_times_from_zero(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let may_be_time = |at: &usize| !table.has_names || is_time(&table.rows[0][*at]);
    let rising = |at: usize| {
        let numbers = table.body().iter().map(|row| row[at].parse().ok());
        let numbers = numbers.collect::<Option<Vec<f64>>>()?;
        (numbers.iter().all(|number| number.is_finite()) && is_rising(&numbers))
            .then_some((at, numbers))
    };
    let mut columns = (0..table.rows[0].len()).filter(may_be_time).filter_map(rising);
    let (at, times) = columns.find(|(_, times)| times.first().is_some_and(|first| *first < 0.0))?;
    let column = at + 1;
    let message = format!(
        "its column {column} has negative times; subtract the first time, so that they begin at 0"
    );
    let statement = format!("if (!s++) z = ${column}; ${column} -= z");
    let header = usize::from(table.has_names);
    table.rewritten(&message, ["", &statement], Some(9), |number, row| {
        if number >= header {
            row[at] = format!("{:.9}", times[number - header] - times[0]);
        }
    })
}

/// Adds a name for the first column, which R's write.table omits.
fn with_name_of_rows(bytes: &[u8]) -> Option<Rewriting> {
    let mut lines = filled_lines(bytes).take(16);
    let first = lines.next()?;
    let (separator, names) = separated(first)?;
    let width = |line: &[u8]| separated_by(line, separator).len();
    let mut widths: Vec<usize> = lines.map(width).collect();
    // The last line may be incomplete.
    if widths.len() > 1 {
        widths.pop();
    }
    let is_wider = !widths.is_empty() && widths.iter().all(|&width| width == names.len() + 1);
    let separator = char::from(separator);
    let message = "its rows have a cell more than its header has names, as write.table in R writes them; name the \
                   first column";
    let filter = format!("sed '1s/^/row{}/' FILE", separator.escape_default());
    let with_name = [format!("row{separator}").as_bytes(), bytes].concat();
    (is_wider && is_names(first)).then(|| notation(message, &filter, bytes, with_name))?
}

/// Moves units from the second line of a table to the names above them.
fn with_units_in_names(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let [names, units, ..] = &table.rows[..] else { return None };
    let plain =
        |cell: &String| -> String { cell.chars().filter(char::is_ascii_alphanumeric).collect() };
    let units: Vec<String> = units.iter().map(plain).collect();
    let is_unit = |unit: &str| {
        !unit.is_empty() && is_field(&format!("time_{unit}")) || is_field(&format!("size_{unit}"))
    };
    let is_fit = |unit: &String| unit.is_empty() || is_unit(unit);
    if !table.has_names || !units.iter().all(is_fit) || units.iter().all(String::is_empty) {
        return None;
    }
    let has_quoted = |line: &&[u8]| awk::cuts_quotes(line, table.separator);
    if table.lines.iter().any(has_quoted) {
        return None;
    }
    let separator = char::from(table.separator);
    let join = |(name, unit): (&String, &String)| {
        if unit.is_empty() { name.clone() } else { format!("{name}_{unit}") }
    };
    let names: Vec<String> = names.iter().zip(&units).map(join).collect();
    let mut rewritten = (names.join(&separator.to_string()) + "\n").into_bytes();
    for line in &table.lines[2..] {
        rewritten.extend(line.iter().filter(|byte| !b"\"\r".contains(byte)).chain(b"\n"));
    }
    let mark = separator.escape_default();
    let option = if separator == ' ' { String::new() } else { format!("-F'{mark}' ") };
    let join = format!(
        concat!(
            r#"for (i = 1; i <= NF; i++) {{ u = $i; gsub(/[^A-Za-z0-9]/, "", u); "#,
            r#"printf "%s%s%s", t[i], u == "" ? "" : "_" u, i < NF ? "{mark}" : "\n" }}"#
        ),
        mark = mark
    );
    let filter = format!(
        concat!(
            r#"awk {option}'{{ gsub(/["\r]/, "") }} !NF {{ next }} ++n == 1 {{ split($0, t); next }} "#,
            "n == 2 {{ {join} next }} 1' FILE"
        ),
        option = option,
        join = join
    );
    let message = "its second line has the units; join them to the names";
    notation(message, &filter, bytes, rewritten)
}

/// Derives the operation from the lengths of reads and writes.
fn with_operation_of_lengths(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let letters = |cell: &String| -> String {
        let letters = cell.chars().filter(char::is_ascii_alphabetic);
        letters.collect::<String>().to_ascii_lowercase()
    };
    let column_of = |verb: &str| {
        let length = |cell: &String| {
            let letters = letters(cell);
            let length = letters.strip_prefix(verb).or(letters.strip_suffix(verb));
            length.filter(|length| is_length(length)).map(str::to_owned)
        };
        let mut cells = table.rows[0].iter().enumerate();
        cells.find_map(|(at, cell)| Some((at, length(cell)?)))
    };
    let (read, _) = column_of("read")?;
    let (write, length) = column_of("write").or_else(|| column_of("written"))?;
    let is_number = |cell: &String| cell.parse::<u64>().is_ok();
    let are_numbers = |row: &Vec<String>| is_number(&row[read]) && is_number(&row[write]);
    let has_operation = table.rows[0].iter().any(|cell| is_operation(cell));
    if !table.has_names || has_operation || !table.body().iter().all(are_numbers) {
        return None;
    }
    let (r, w) = (read + 1, write + 1);
    let title = format!("${r} = \"op\"; ${w} = \"{length}\"");
    let statement = format!(
        "r = ${r}; w = ${w}; if (r + w == 0) next; if (r > 0) {{ ${r} = \"read\"; ${w} = r; if (w > 0) print }} \
         if (w > 0) {{ ${r} = \"write\"; ${w} = w }}"
    );
    let message = "it has one column of lengths for reads and another for writes; convert them to an operation and a \
                length, without the rows in which both are 0";
    let mut rows = Vec::new();
    for (at, row) in table.rows.iter().enumerate() {
        let mut push = |operation: &str, length: &str| {
            let mut row = row.clone();
            (row[read], row[write]) = (operation.to_owned(), length.to_owned());
            rows.push(row);
        };
        if at == 0 {
            push("op", &length);
            continue;
        }
        if row[read] != "0" {
            push("read", &row[read]);
        }
        if row[write] != "0" {
            push("write", &row[write]);
        }
    }
    Table { rows, ..table }.rewritten(message, [&title, &statement], None, |_, _| ())
}

/// Adds 0x to hexadecimal numbers: in columns with the name hex, or else in a column with hexadecimal letters, and in
/// the next column if its numbers are whole sectors or pages only in hexadecimal.
pub(super) fn with_marked_hexadecimal(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let body = table.body();
    let is_number = |cell: &str| {
        (1..=16).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_hexadecimal = |cell: &str| cell.len() > 2 && is_number(cell);
    let has_letter = |cell: &str| cell.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = |cell: &str| cell.bytes().any(|byte| byte.is_ascii_digit());
    let column = |at: usize| body.iter().map(move |row| row[at].as_str());
    let is_multiple = |cell: &str, base: u32, factor: u64| {
        u64::from_str_radix(cell, base)
            .is_ok_and(|number| number.is_multiple_of(factor) && number > 0)
    };
    let is_named = |at: usize| {
        let name = letters_of(&table.rows[0][at]);
        let is_hex = name.starts_with("hex") || name.ends_with("hex");
        let are_numbers = || column(at).all(|cell| is_number(cell.trim_start_matches(MARK)));
        table.has_names && is_hex && column(at).any(is_number) && are_numbers()
    };
    // Devices of FreeBSD, such as da0 and ada12.
    let are_devices = |at: usize| {
        let stem =
            |cell: &'_ str| cell.trim_end_matches(|digit: char| digit.is_ascii_digit()).len();
        let first = body[0][at].get(..stem(&body[0][at])).unwrap_or_default();
        let is_device = |cell: &str| {
            cell.starts_with(first) && stem(cell) == first.len() && cell.len() <= first.len() + 2
        };
        first.len() > 1 && column(at).all(is_device)
    };
    let is_certain = |at: usize| {
        column(at).any(|cell| has_letter(cell) && has_digit(cell))
            && column(at).all(|cell| is_hexadecimal(cell) || cell == "0")
            && !are_devices(at)
    };
    let has_name = (0..table.rows[0].len()).any(is_named);
    let is_alike = |at: usize| {
        let fits = |base: u32, factor: u64| column(at).all(|cell| is_multiple(cell, base, factor));
        // Lengths are whole sectors in bytes, or whole pages in sectors.
        let is_so = [512, 8].into_iter().any(|factor| fits(16, factor) && !fits(10, factor));
        at > 0 && is_certain(at - 1) && is_so && !has_name
    };
    let places = 0..table.rows[0].len();
    let columns: Vec<usize> =
        places.filter(|&at| is_named(at) || is_certain(at) || is_alike(at)).collect();
    if body.len() < 2 || columns.len() > 3 || columns.is_empty() {
        return None;
    }
    let marks = columns.iter().map(|at| format!("sub(/^(0x)?/, \"{MARK}\", ${})", at + 1));
    let statement = marks.collect::<Vec<String>>().join("; ");
    let message = "it has hexadecimal numbers without 0x; put 0x before them";
    let has_names = table.has_names;
    table.rewritten(message, ["", &statement], None, |at, row| {
        if at > 0 || !has_names {
            let marked = |cell: &str| format!("{MARK}{}", cell.trim_start_matches(MARK));
            columns.iter().for_each(|&at| row[at] = marked(&row[at]));
        }
    })
}
