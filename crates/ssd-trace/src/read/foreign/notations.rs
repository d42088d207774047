//! Notations of numbers and times that a filter rewrites.

use super::dates::{with_hyphens, with_months_first, with_year_first, without_zone};
use super::pattern::replaced;
use super::rewriting::with_marked_hexadecimal;
use super::table::Table;
use super::times::{
    with_a_date, with_adjacent_unit, with_hours, with_padded_fractions, with_seconds,
    without_colons,
};
use super::{Rewrite, Rewriting, notation};

/// Notations of times that need a filter.
pub(crate) const TIMES: [Rewrite; 10] = [
    with_padded_fractions,
    with_year_first,
    without_zone,
    with_hyphens,
    with_months_first,
    with_seconds,
    with_adjacent_unit,
    with_a_date,
    with_hours,
    |bytes| {
        let message = "colons follow its times; remove them";
        let filter = r"sed -E 's/([0-9][.][0-9]+):( |$)/\1\2/' FILE";
        notation(message, filter, bytes, without_colons(bytes))
    },
];

/// Notations of numbers that need a filter because they are ambiguous: 1,024 is 1024 with a thousands separator, and
/// 1.024 with a decimal comma.
pub(crate) const NUMBERS: [Rewrite; 13] = [
    with_marked_hexadecimal,
    with_digits,
    |bytes| {
        let message = "its quoted numbers have a decimal comma; replace it with a point";
        let filter = r#"perl -pe 's/"(\d+),(\d+)"/$1.$2/g' < FILE"#;
        notation(message, filter, bytes, with_quoted_points(bytes))
    },
    |bytes| {
        let message = "its sizes are in KB, MB or GB, taken here as KiB, MiB or GiB; write them with those units";
        let filter = r"perl -pe 's/(?<![\w.])(\d+) ?([KMG])B\b/$1\u$2iB/gi' < FILE";
        notation(message, filter, bytes, with_binary_units(bytes))
    },
    |bytes| {
        let message = "its numbers have thousands separators; remove them";
        notation(
            message,
            r#"perl -pe 's/"\d[\d,]*([.]\d+)?"/$&=~tr|,||dr/ge' < FILE"#,
            bytes,
            without_thousands(bytes),
        )
    },
    |bytes| {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut decimals = bytes.split(|&byte| byte == b',').skip(1).map(digits);
        let may_be_thousands = decimals.all(|digits| digits == 3);
        let doubt = if may_be_thousands {
            " (if it separates thousands, remove it instead: s/,//g)"
        } else {
            ""
        };
        let message = format!("its numbers have a decimal comma; replace it with a point{doubt}");
        notation(&message, "sed s/,/./g FILE", bytes, with_points(bytes))
    },
    |bytes| {
        let message =
            "its numbers have points as thousands separators and a decimal comma; replace both";
        let filter = filter_of_groups(".", "; tr/,/./");
        let plain = without_groups(bytes, b'.');
        plain.contains(&b',').then(|| notation(message, &filter, bytes, with_points(&plain)))?
    },
    |bytes| {
        let message = "its numbers have points as thousands separators; remove them";
        notation(message, &filter_of_groups(".", ""), bytes, without_groups(bytes, b'.'))
    },
    |bytes| {
        let message =
            "its numbers have blanks as thousands separators and a decimal comma; replace both";
        let filter =
            r"perl -pe 's/(?<=\d)(\xe2\x80\xaf|\xc2\xa0| )(?=\d{3}(?!\d))//g; tr/,/./' < FILE";
        let plain = without_blanks(bytes)?;
        plain.contains(&b',').then(|| notation(message, filter, bytes, with_points(&plain)))?
    },
    |bytes| {
        let message = "its numbers have blanks as thousands separators; remove them";
        let filter = r"perl -pe 's/(?<=\d)(\xe2\x80\xaf|\xc2\xa0| )(?=\d{3}(?!\d))//g' < FILE";
        notation(message, filter, bytes, without_blanks(bytes)?)
    },
    |bytes| {
        let message = "its addresses and lengths are joined with +; separate them with a blank";
        let filter = r"perl -pe 's/([ \t]\d+)[+](\d)/$1 $2/g' < FILE";
        let rewritten =
            replaced(bytes, r"([ \t]\d+)[+](\d)", |range| format!("{} {}", &range[1], &range[2]));
        notation(message, filter, bytes, rewritten)
    },
    |bytes| {
        let message = "its numbers have apostrophes as thousands separators; remove them";
        notation(message, &filter_of_groups(r"\x27", ""), bytes, without_groups(bytes, b'\''))
    },
    |bytes| {
        let message = "its numbers have commas as thousands separators; remove them";
        notation(message, &filter_of_groups(",", ""), bytes, without_groups(bytes, b','))
    },
];

/// Writes out numbers with exponents, as printed by R and spreadsheets.
pub(crate) fn with_digits(bytes: &[u8]) -> Option<Rewriting> {
    let message = "its numbers have exponents; write their digits out";
    let written = r#"my $n = sprintf "%.9f", $&; $n =~ s{[.]?0+$}{}; $n"#;
    let filter = format!(r"perl -pe 's/(?<![\w.])\d+([.]\d+e[-+]?|e[-+])\d+/{written}/gie' < FILE");
    notation(message, &filter, bytes, without_exponents(bytes))
}

/// Returns the text with numbers such as 1.5e+03 written out.
fn without_exponents(bytes: &[u8]) -> Vec<u8> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    let mut done = Vec::with_capacity(bytes.len());
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let text = std::str::from_utf8(word).unwrap_or_default();
        // Without a sign or a point, it may be a hexadecimal number.
        let has_exponent = ["e+", "e-", "E+", "E-"].iter().any(|mark| text.contains(mark))
            || (text.contains('.') && text.contains(['e', 'E']));
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

/// Replaces the comma of quoted numbers by a point, if some of the commas cannot separate thousands.
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
            [integer, decimals] if is_number(integer) && is_number(decimals) => {
                is_decimal |= decimals.len() != 3 || integer == b"0";
                done.extend([integer, b".", decimals].concat());
            }
            _ => done.extend([b"\"", &rest[..end], b"\""].concat()),
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    done.extend(rest);
    if is_decimal { done } else { bytes.to_vec() }
}

/// Replaces `16KB`, `16kb` and `16 KB` by `16KiB`.
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

/// Removes blanks, perhaps no-break spaces, between a digit and three more digits, if cells have another separator.
fn without_blanks(bytes: &[u8]) -> Option<Vec<u8>> {
    const BLANKS: [&[u8]; 3] = [b"\xe2\x80\xaf", b"\xc2\xa0", b" "];
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_group = |at: usize| (at..at + 3).all(is_digit) && !is_digit(at + 3);
    let (mut done, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let blank = BLANKS.iter().find(|blank| bytes[at..].starts_with(blank));
        let length = blank.map_or(0, |blank| blank.len());
        if length > 0 && at > 0 && is_digit(at - 1) && is_group(at + length) {
            at += length;
        } else {
            done.push(bytes[at]);
            at += 1;
        }
    }
    bytes.iter().any(|byte| matches!(byte, b';' | b'\t')).then_some(done)
}

/// Returns the command that does what [`without_groups`] does; `then` is Perl code that follows it.
fn filter_of_groups(mark: &str, then: &str) -> String {
    let number = format!(r"(?<![\w{mark}])(?<!\d:)[1-9]\d{{0,2}}([{mark}]\d{{3}})+(?![\w{mark}])");
    format!("perl -pe 's/{number}/$&=~tr|{mark}||dr/ge{then}' < FILE")
}

/// Removes the `mark` between groups of three digits, if a number has two of them, because a single one may be a
/// decimal point.
fn without_groups(bytes: &[u8], mark: u8) -> Vec<u8> {
    let is_part = |byte: u8| byte == mark || byte == b'_' || byte.is_ascii_alphanumeric();
    let is_grouped = |word: &[u8]| {
        let mut groups = word.split(|&byte| byte == mark);
        let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
        groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first))
            && groups.all(|group| group.len() == 3 && digits(group))
    };
    let (mut bytes_without, mut is_certain) = (Vec::with_capacity(bytes.len()), false);
    for word in bytes.chunk_by(|&a, &b| is_part(a) == is_part(b)) {
        let marks = word.iter().filter(|&&byte| byte == mark).count();
        // The seconds of a time of day follow a colon, and only fractions begin with 0.
        let is_clock = matches!(bytes_without[..], [.., b'0'..=b'9', b':']);
        if marks > 0 && !is_clock && word[0] != b'0' && is_grouped(word) {
            is_certain |= marks > 1;
            bytes_without.extend(word.iter().filter(|&&byte| byte != mark));
        } else {
            bytes_without.extend(word);
        }
    }
    // A comma may separate cells unless there is another separator.
    let has_other = mark != b',' || bytes.iter().any(|byte| matches!(byte, b';' | b'\t' | b' '));
    if is_certain && has_other { bytes_without } else { bytes.to_vec() }
}

fn without_thousands(bytes: &[u8]) -> Vec<u8> {
    let mut parts = bytes.split(|&byte| byte == b'"');
    let mut done = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        done.push(b'"');
        let (integer, decimals) = match part.iter().position(|&byte| byte == b'.') {
            Some(at) => (&part[..at], &part[at + 1..]),
            None => (part, &b"0"[..]),
        };
        let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let number = integer.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        // After a closing quote, a comma separates cells.
        let number = number
            && integer.first().is_some_and(u8::is_ascii_digit)
            && integer.last().is_some_and(u8::is_ascii_digit)
            && are_digits(decimals);
        let groups: Vec<&[u8]> = integer.split(|&byte| byte == b',').collect();
        let is_grouped = groups[1..].iter().all(|group| group.len() == 3) && groups[0] != b"0";
        if number && groups.len() > 1 && !is_grouped {
            // This number has a decimal comma.
            return bytes.to_vec();
        }
        done.extend(part.iter().filter(|&&byte| !(number && byte == b',')));
    }
    done
}

fn with_points(bytes: &[u8]) -> Vec<u8> {
    // A comma may separate cells unless there is another separator.
    if !bytes.iter().any(|byte| matches!(byte, b';' | b'\t')) {
        return bytes.to_vec();
    }
    bytes.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect()
}

/// Removes the points between groups of three digits from columns of whole numbers, if a number of the table has two
/// points, or else from columns in which all numbers are then multiples of 512.
pub(crate) fn without_points(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let digits = |cell: &str| {
        let mut groups = cell.split('.');
        let is_number =
            |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
        let first = groups.next().is_some_and(is_number);
        let are_groups = groups.all(|group| group.len() == 3 && is_number(group));
        (first && are_groups && !cell.starts_with("0.")).then(|| cell.replace('.', ""))
    };
    // Decimal commas are replaced together with the points.
    let is_decimal = |cell: &String| {
        cell.contains(',') && cell.starts_with(|first: char| first.is_ascii_digit())
    };
    if table.body().iter().flatten().any(is_decimal) {
        return None;
    }
    let has_two = |cell: &String| cell.matches('.').count() > 1 && digits(cell).is_some();
    let is_certain = table.body().iter().flatten().any(has_two);
    let is_grouped = |at: usize| {
        let as_integer = |row: &Vec<String>| digits(&row[at])?.parse::<u64>().ok();
        let is_whole =
            |row| as_integer(row).is_some_and(|number| is_certain || number.is_multiple_of(512));
        let grouped = table.body().iter().filter(|row| row[at].contains('.')).count();
        grouped > if is_certain { 0 } else { 2 } && table.body().iter().all(is_whole)
    };
    let columns: Vec<usize> = (0..table.rows[0].len()).filter(|&at| is_grouped(at)).collect();
    if columns.is_empty() {
        return None;
    }
    let statements: Vec<String> =
        columns.iter().map(|at| format!("gsub(/[.]/, \"\", ${})", at + 1)).collect();
    let message = "its numbers have points as thousands separators; remove them";
    let header = usize::from(table.has_names);
    table.rewritten(message, ["", &statements.join("; ")], None, |number, row| {
        if number >= header {
            columns.iter().for_each(|&at| row[at] = row[at].replace('.', ""));
        }
    })
}
