//! Text that can be read once a filter has rewritten it: the filter, and what it makes of the first lines.

use super::dates::with_year_first;
use super::times::{with_a_date, with_padded_nanoseconds, with_seconds, without_colons};
use super::{Filter, Rewrite, Rewriting, awk, json, notation};
use crate::read::formats::mapping::{separated, separated_by};
use crate::read::guess::{is_field, is_length, is_names, is_operation};

/// Forms that are never tables of requests as they stand.
pub(crate) const FORMS: [Rewrite; 6] = [
    with_newlines,
    json::table,
    with_one_based_lengths,
    with_name_of_rows,
    with_units_in_names,
    with_operation_of_lengths,
];

/// Notations of numbers and times that are never read as they are: 1,024 is one number with a thousands separator and
/// another with a decimal comma.
pub(crate) const NOTATIONS: [Rewrite; 16] = [
    with_marked_hexadecimal,
    with_padded_nanoseconds,
    with_digits,
    |bytes| {
        let what = "its quoted numbers have a decimal comma; replace it with a point";
        let filter = r#"perl -pe 's/"(\d+),(\d+)"/$1.$2/g' < FILE"#;
        notation(what, filter, bytes, with_quoted_points(bytes))
    },
    |bytes| {
        let what = "its dates have the month first (if the day is first, swap $1 and $2); write the year first";
        with_year_first(bytes, what, b"/", 1)
    },
    |bytes| {
        let what = "its dates have the day first; write the year first";
        with_year_first(bytes, what, b"/.", 2)
    },
    with_seconds,
    with_a_date,
    |bytes| {
        let what = "colons follow its times; remove them";
        let filter = r"sed -E 's/([0-9][.][0-9]+):( |$)/\1\2/' FILE";
        notation(what, filter, bytes, without_colons(bytes))
    },
    |bytes| {
        let what = "its sizes are in KB, MB or GB, taken here as KiB, MiB or GiB; write them with those units";
        let filter = r"perl -pe 's/(?<![\w.])(\d+) ?([KMG])B\b/$1\u$2iB/gi' < FILE";
        notation(what, filter, bytes, with_binary_units(bytes))
    },
    |bytes| {
        let what = "its numbers have thousands separators; remove them";
        notation(
            what,
            r#"perl -pe 's/"\d[\d,]*"/$&=~tr|,||dr/ge' < FILE"#,
            bytes,
            without_thousands(bytes),
        )
    },
    |bytes| {
        let what = "its numbers have a decimal comma; replace it with a point";
        notation(what, "sed s/,/./g FILE", bytes, with_points(bytes))
    },
    |bytes| {
        let what =
            "its numbers have points as thousands separators and a decimal comma; replace both";
        let filter =
            r"perl -pe 's/(?<![\w.])\d{1,3}([.]\d{3})+(?![\w.])/$&=~tr|.||dr/ge; tr/,/./' < FILE";
        let plain = without_groups(bytes, b'.');
        plain.contains(&b',').then(|| notation(what, filter, bytes, with_points(&plain)))?
    },
    |bytes| {
        let what = "its numbers have points as thousands separators; remove them";
        let filter = r"perl -pe 's/(?<![\w.])\d{1,3}([.]\d{3})+(?![\w.])/$&=~tr|.||dr/ge' < FILE";
        notation(what, filter, bytes, without_groups(bytes, b'.'))
    },
    |bytes| {
        let what = "its numbers have apostrophes as thousands separators; remove them";
        let filter =
            r"perl -pe 's/(?<![\w.])\d{1,3}(\x27\d{3})+(?![\w.])/$&=~tr|\x27||dr/ge' < FILE";
        notation(what, filter, bytes, without_groups(bytes, b'\''))
    },
    |bytes| {
        let what = "its numbers have commas as thousands separators; remove them";
        let filter = r"perl -pe 's/(?<![\w,])\d{1,3}([,]\d{3})+(?![\w,])/$&=~tr|,||dr/ge' < FILE";
        notation(what, filter, bytes, without_groups(bytes, b','))
    },
];

/// A template of the filter for JSON that [`FORMS`] do not make readable.
pub(crate) fn of_json(bytes: &[u8]) -> Option<Filter> {
    bytes.windows(2).any(|part| part == b"{\"").then(|| Filter {
        what: "the file is JSON; convert it to a table, with the names of its fields in place of TIME, OP, OFFSET and \
               SIZE"
            .to_owned(),
        filter: "jq -r '[.TIME, .OP, .OFFSET, .SIZE] | @csv' FILE".to_owned(),
        options: "--columns time=1:us,op=2,offset=3,size=4",
    })
}

/// The message about XML and tables with lengths of NVMe that [`FORMS`] do not make readable.
pub(crate) fn of_form(bytes: &[u8]) -> Option<&'static str> {
    let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    if has(",nlb") {
        Some(
            "the file is a table with the NLB field of NVMe, which is zero-based; add 1 to it, in decimal",
        )
    } else if has("<?xml") {
        Some(
            "the file is XML; convert it to a CSV file, with the names of the columns in its first line",
        )
    } else {
        None
    }
}

/// The digits of numbers with exponents, such as R and spreadsheets write.
pub(crate) fn with_digits(bytes: &[u8]) -> Option<Rewriting> {
    let what = "its numbers have exponents; write their digits out";
    let written = r#"my $n = sprintf "%.9f", $&; $n =~ s{[.]?0+$}{}; $n"#;
    let filter = format!(r"perl -pe 's/(?<![\w.])\d+([.]\d+)?e[-+]\d+/{written}/gie' < FILE");
    notation(what, &filter, bytes, without_exponents(bytes))
}

/// The text with the digits of numbers such as 1.5e+03 written out.
fn without_exponents(bytes: &[u8]) -> Vec<u8> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    let mut done = Vec::with_capacity(bytes.len());
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let text = std::str::from_utf8(word).unwrap_or_default();
        let has_exponent = ["e+", "e-", "E+", "E-"].iter().any(|mark| text.contains(mark));
        match text.parse::<f64>() {
            Ok(number) if has_exponent && word[0].is_ascii_digit() && number < 1e20 => {
                let digits = format!("{number:.9}");
                done.extend(digits.trim_end_matches('0').trim_end_matches('.').bytes());
            }
            _ => done.extend(word),
        }
    }
    done
}

/// The text with a point for the comma of quoted numbers, if the commas of some cannot separate thousands.
fn with_quoted_points(bytes: &[u8]) -> Vec<u8> {
    let (mut done, mut is_decimal) = (Vec::with_capacity(bytes.len()), false);
    let mut rest = bytes;
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    while let Some(start) = rest.iter().position(|&byte| byte == b'"') {
        done.extend(&rest[..start]);
        rest = &rest[start + 1..];
        let end = rest.iter().position(|&byte| byte == b'"').unwrap_or(rest.len());
        let parts: Vec<&[u8]> = rest[..end].split(|&byte| byte == b',').collect();
        match parts[..] {
            [whole, decimals] if is_number(whole) && is_number(decimals) => {
                is_decimal |= decimals.len() != 3 || whole == b"0";
                done.extend([whole, b".", decimals].concat());
            }
            _ => done.extend([b"\"", &rest[..end], b"\""].concat()),
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    done.extend(rest);
    if is_decimal { done } else { bytes.to_vec() }
}

/// Lines that a carriage return ends.
fn with_newlines(bytes: &[u8]) -> Option<Rewriting> {
    let lines = bytes.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect();
    let what = "carriage returns end its lines; replace them with newlines";
    let has_newlines = bytes.contains(&b'\n');
    notation(what, r"tr '\r' '\n' < FILE", bytes, lines).filter(|_| !has_newlines)
}

/// A table of text: lines of cells between the same separators.
struct Table<'a> {
    separator: u8,
    lines: Vec<&'a [u8]>,
    /// Without the blanks and quotes around cells.
    rows: Vec<Vec<String>>,
    /// Its first row names the columns.
    has_names: bool,
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8]) -> Option<Table<'a>> {
        let lines = bytes.split(|&byte| byte == b'\n');
        let mut lines: Vec<&[u8]> = lines.filter(|line| !line.trim_ascii().is_empty()).collect();
        let (separator, first) = separated(lines.first()?)?;
        let mut rows: Vec<Vec<String>> =
            lines.iter().map(|line| separated_by(line, separator)).collect();
        // The last line may be cut.
        if rows.last()?.len() != first.len() {
            lines.pop();
            rows.pop();
        }
        if rows.iter().any(|row| row.len() != first.len()) {
            return None;
        }
        let is_name = |cell: &String| !cell.starts_with(|first: char| first.is_ascii_digit());
        let has_names = rows.first()?.iter().all(is_name);
        Some(Table { separator, lines, rows, has_names })
    }

    /// The table as awk rewrites it: `title` changes the names, `statement` the rows below, and `change` does the same
    /// to the cells of the row with this number.
    fn rewritten(
        self,
        what: &str,
        [title, statement]: [&str; 2],
        change: impl Fn(usize, &mut [String]),
    ) -> Option<Rewriting> {
        let Table { separator, lines, mut rows, has_names } = self;
        let table = awk::Table { separator, lines: &lines, names: usize::from(has_names) };
        let filter = table.filter(title, statement, None)?;
        let mut bytes = String::new();
        for (at, row) in rows.iter_mut().enumerate() {
            change(at, row);
            bytes += &(row.join(&char::from(separator).to_string()) + "\n");
        }
        let (what, bytes, columns) = (what.to_owned(), bytes.into_bytes(), &[][..]);
        Some(Rewriting { what, filter, bytes, columns })
    }

    /// The rows below the names.
    fn body(&self) -> &[Vec<String>] {
        &self.rows[usize::from(self.has_names)..]
    }
}

/// The field NLB of NVMe, which counts from 0, as a number of sectors.
fn with_one_based_lengths(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let named = |name: &str| table.rows[0].iter().position(|cell| cell.eq_ignore_ascii_case(name));
    let (length, start) = (named("nlb")?, named("slba").or_else(|| named("lba"))?);
    let is_number = |row: &Vec<String>| row[length].parse::<u32>().is_ok();
    if !table.has_names || !table.body().iter().all(is_number) {
        return None;
    }
    let title = format!("${} = \"lba\"; ${} = \"sectors\"", start + 1, length + 1);
    let statement = format!("${} += 1", length + 1);
    let what = "the file is a table with the NLB field of NVMe, which is zero-based; add 1 to it (blocks are taken \
                as 512 B)";
    table.rewritten(what, [&title, &statement], |at, row| {
        if at == 0 {
            (row[start], row[length]) = ("lba".to_owned(), "sectors".to_owned());
        } else if let Ok(number) = row[length].parse::<u64>() {
            row[length] = (number + 1).to_string();
        }
    })
}

/// A name for the first column, which R's write.table leaves without one.
fn with_name_of_rows(bytes: &[u8]) -> Option<Rewriting> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut lines = lines.take(16);
    let first = lines.next()?;
    let (separator, names) = separated(first)?;
    let width = |line: &[u8]| separated_by(line, separator).len();
    let mut widths: Vec<usize> = lines.map(width).collect();
    // The last line may be cut.
    if widths.len() > 1 {
        widths.pop();
    }
    let is_wider = !widths.is_empty() && widths.iter().all(|&width| width == names.len() + 1);
    let separator = char::from(separator);
    let what = "its first column has no name (write.table in R); give it one";
    let filter = format!("sed '1s/^/row{}/' FILE", separator.escape_default());
    let named = [format!("row{separator}").as_bytes(), bytes].concat();
    (is_wider && is_names(first)).then(|| notation(what, &filter, bytes, named))?
}

/// Units from the second line of a table in the names above them.
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
    let what = "its second line has the units; join them to the names";
    notation(what, &filter, bytes, rewritten)
}

/// The operation from the lengths of what is read and written.
fn with_operation_of_lengths(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let letters = |cell: &String| -> String {
        let letters = cell.chars().filter(char::is_ascii_alphabetic);
        letters.collect::<String>().to_ascii_lowercase()
    };
    let named = |verb: &str| {
        let length = |cell: &String| {
            let letters = letters(cell);
            let length = letters.strip_prefix(verb).or(letters.strip_suffix(verb));
            length.filter(|length| is_length(length)).map(str::to_owned)
        };
        let mut all = table.rows[0].iter().enumerate();
        all.find_map(|(at, cell)| Some((at, length(cell)?)))
    };
    let (read, _) = named("read")?;
    let (write, length) = named("write").or_else(|| named("written"))?;
    let is_number = |cell: &String| cell.parse::<u64>().is_ok();
    let are_numbers = |row: &Vec<String>| is_number(&row[read]) && is_number(&row[write]);
    let has_operation = table.rows[0].iter().any(|cell| is_operation(cell));
    if !table.has_names || has_operation || !table.body().iter().all(are_numbers) {
        return None;
    }
    let (r, w) = (read + 1, write + 1);
    let title = format!("${r} = \"op\"; ${w} = \"{length}\"");
    let statement = format!(
        "r = ${r}; w = ${w}; if (r > 0) {{ ${r} = \"read\"; ${w} = r; if (w > 0) print }} if (w > 0) {{ ${r} = \
         \"write\"; ${w} = w }}"
    );
    let what = "it has one column of lengths for reads and another for writes; convert them to an operation and a \
                length";
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
    Table { rows, ..table }.rewritten(what, [&title, &statement], |_, _| ())
}

/// Hexadecimal numbers with 0x before them: in a column with letters, and in the next one if its numbers are whole
/// sectors or pages only so.
fn with_marked_hexadecimal(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let body = table.body();
    let is_hexadecimal = |cell: &str| {
        (3..=16).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let has_letter = |cell: &str| cell.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = |cell: &str| cell.bytes().any(|byte| byte.is_ascii_digit());
    let column = |at: usize| body.iter().map(move |row| row[at].as_str());
    let is_multiple = |cell: &str, base: u32, of: u64| {
        u64::from_str_radix(cell, base).is_ok_and(|number| number.is_multiple_of(of) && number > 0)
    };
    let is_certain = |at: usize| {
        column(at).any(|cell| has_letter(cell) && has_digit(cell))
            && column(at).all(|cell| is_hexadecimal(cell) || cell == "0")
    };
    let is_alike = |at: usize| {
        let fits = |base: u32, of: u64| column(at).all(|cell| is_multiple(cell, base, of));
        // Lengths are whole sectors in bytes, or whole pages in sectors.
        let is_so = [512, 8].into_iter().any(|of| fits(16, of) && !fits(10, of));
        at > 0 && is_certain(at - 1) && is_so
    };
    let all = 0..table.rows[0].len();
    let columns: Vec<usize> = all.filter(|&at| is_certain(at) || is_alike(at)).collect();
    if body.len() < 2 || columns.len() > 3 || !columns.iter().any(|&at| is_certain(at)) {
        return None;
    }
    let marks = columns.iter().map(|at| format!("${0} = \"0x\" ${0}", at + 1));
    let statement = marks.collect::<Vec<String>>().join("; ");
    let what = "it has hexadecimal numbers without 0x; put 0x before them";
    let has_names = table.has_names;
    table.rewritten(what, ["", &statement], |at, row| {
        if at > 0 || !has_names {
            columns.iter().for_each(|&at| row[at].insert_str(0, "0x"));
        }
    })
}

/// The text with `16KiB` for `16KB`, `16kb` and `16 KB`.
fn with_binary_units(bytes: &[u8]) -> Vec<u8> {
    let mut done: Vec<u8> = Vec::with_capacity(bytes.len());
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let (number, unit) = word.split_at(word.len().saturating_sub(2));
        let unit = unit.to_ascii_uppercase();
        let before = done.strip_suffix(b" ").unwrap_or_default();
        let digits = before.iter().rev().take_while(|&&byte| is_part(byte)).count();
        let is_behind = number.is_empty() && is_number(&before[before.len() - digits..]);
        if matches!(&unit[..], b"KB" | b"MB" | b"GB") && (is_behind || is_number(number)) {
            done.truncate(done.len() - usize::from(is_behind));
            done.extend([number, &unit[..1], b"iB"].concat());
        } else {
            done.extend(word);
        }
    }
    done
}

/// `bytes` without the `mark` between groups of three digits, if a number there has two of them: one may be a decimal
/// point.
fn without_groups(bytes: &[u8], mark: u8) -> Vec<u8> {
    let is_part = |byte: u8| byte == mark || byte == b'_' || byte.is_ascii_alphanumeric();
    let is_grouped = |word: &[u8]| {
        let mut groups = word.split(|&byte| byte == mark);
        let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
        groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first))
            && groups.all(|group| group.len() == 3 && digits(group))
    };
    let (mut all, mut is_certain) = (Vec::with_capacity(bytes.len()), false);
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let marks = word.iter().filter(|&&byte| byte == mark).count();
        if marks > 0 && is_grouped(word) {
            is_certain |= marks > 1;
            all.extend(word.iter().filter(|&&byte| byte != mark));
        } else {
            all.extend(word);
        }
    }
    // A comma may separate cells unless something else does.
    let has_other = mark != b',' || bytes.iter().any(|byte| matches!(byte, b';' | b'\t' | b' '));
    if is_certain && has_other { all } else { bytes.to_vec() }
}

fn without_thousands(bytes: &[u8]) -> Vec<u8> {
    let mut parts = bytes.split(|&byte| byte == b'"');
    let mut done = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        done.push(b'"');
        let number =
            !part.is_empty() && part.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        // After a closing quote, a comma separates cells.
        let number = number && part[0] != b',' && part[part.len() - 1] != b',';
        let groups: Vec<&[u8]> = part.split(|&byte| byte == b',').collect();
        let is_grouped = groups[1..].iter().all(|group| group.len() == 3) && groups[0] != b"0";
        if number && groups.len() > 1 && !is_grouped {
            // The comma of this number is a decimal one.
            return bytes.to_vec();
        }
        done.extend(part.iter().filter(|&&byte| !(number && byte == b',')));
    }
    done
}

fn with_points(bytes: &[u8]) -> Vec<u8> {
    // A comma may separate cells unless something else does.
    if !bytes.iter().any(|byte| matches!(byte, b';' | b'\t')) {
        return bytes.to_vec();
    }
    bytes.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect()
}
