//! Tables formatted for reading: in boxes, or with each value of a row on a separate line.

use super::pattern::{bytes_of, characters, pattern};
use super::{Rewriting, notation};

/// Lines between cells as UTF-8 bytes: light, heavy, dashed and double.
const BARS: &str = r"\xe2\x94[\x82\x83\x86]|\xe2\x95\x91";
/// Other lines of a box.
const RULE: &str = r"\xe2[\x94\x95]";
/// Start of a row that replaces omitted rows.
const LEFT_OUT: &str = r"^(\xc2\xb7|\xe2\x80\xa6)";

/// Extracts the rows of a table in a box. Of the lines before the second rule, only the first is used: it has the
/// names, and types may follow.
pub(super) fn boxed_table(bytes: &[u8]) -> Option<Rewriting> {
    let text = characters(bytes);
    let (bars, rule, left_out) = (pattern(BARS), pattern(RULE), pattern(LEFT_OUT));
    let (mut rules, mut width, mut rows, mut is_whole) = (0, 0, String::new(), true);
    for line in text.lines() {
        let line = bars.replace_all(line, "|");
        if rule.is_match(&line) {
            rules += 1;
            continue;
        }
        if !line.contains('|') || (rules < 2 && width > 0) {
            continue;
        }
        let row = line.trim();
        let row = row.strip_prefix('|').unwrap_or(row);
        let cells: Vec<&str> =
            row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim).collect();
        width = if width == 0 { cells.len() } else { width };
        if left_out.is_match(cells[0]) {
            is_whole = false;
        } else if cells.len() == width {
            rows += &(cells.join(",") + "\n");
        }
    }
    let message = if is_whole {
        "the file is a table in a box; convert it to CSV"
    } else {
        "the file is a table in a box, in which rows are left out: print all of them (.maxrows of duckdb, \
         Config.set_tbl_rows of polars); to convert what there is to CSV"
    };
    let filter = format!(
        concat!(
            r"perl -ne 's/{bars}/|/g; if (/{rule}/) {{ $r++; next }} next if !/[|]/ || ($r < 2 && $n); ",
            r"s/^\s*[|]\s*|\s*[|]\s*$//g; @c = split /\s*[|]\s*/, $_, -1; $n ||= @c; ",
            r#"print join(",", @c), "\n" if @c == $n && !/{left_out}/' < FILE"#
        ),
        bars = BARS,
        rule = RULE,
        left_out = LEFT_OUT
    );
    (rules > 1 && width > 1).then(|| notation(message, &filter, bytes, bytes_of(&rows)))?
}

/// Start of a row, and the end of the names in it: in the expanded output of psql (`\x`), and in the vertical output of
/// mysql (`\G`).
const ROWS: [(&str, &str); 2] = [(r"^-\[ RECORD \d", "[|]"), (r"^\*+ \d+[.] row", ":")];

/// Extracts the rows of a table with each value on a separate line.
pub(super) fn values_on_lines(bytes: &[u8]) -> Option<Rewriting> {
    let text = characters(bytes);
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let (start, end) = ROWS.into_iter().find(|(start, _)| pattern(start).is_match(first))?;
    let value = format!(r"^ *([^|:]*[^|: ]) *{end} ?(.*?)\s*$");
    let (is_start, is_value) = (pattern(start), pattern(&value));
    let mut rows: Vec<Vec<(&str, &str)>> = Vec::new();
    let mut is_in_row = false;
    for line in text.lines() {
        if is_start.is_match(line) {
            rows.push(Vec::new());
            is_in_row = true;
        } else if let Some(caught) = is_value.captures(line).filter(|_| is_in_row) {
            rows.last_mut()?.push((caught.get(1)?.as_str(), caught.get(2)?.as_str()));
        } else {
            is_in_row = false;
        }
    }
    let names_of =
        |row: &[(&str, &str)]| row.iter().map(|cell| cell.0.to_owned()).collect::<Vec<_>>();
    let names = names_of(&rows[0]);
    // The last row may be incomplete.
    if rows.last().is_some_and(|row| row.len() < names.len()) {
        rows.pop();
    }
    let is_whole = names.len() > 1 && rows.iter().all(|row| names_of(row) == names);
    let line = |row: &Vec<(&str, &str)>| {
        row.iter().map(|cell| cell.1).collect::<Vec<_>>().join("\t") + "\n"
    };
    let table = names.join("\t") + "\n" + &rows.iter().map(line).collect::<String>();
    let title = r"the file is a table in the expanded form of psql (\x) or mysql (\G); convert it to one row per line";
    let filter = format!(
        concat!(
            r#"perl -lne 'sub row {{ $n++ or print join "\t", @k if @k; print join "\t", @v if @k; @k = @v = () }} "#,
            "if (/{start}/) {{ row(); $r = 1 }} elsif ($r && /{value}/) {{ push @k, $1; push @v, $2 }} ",
            "else {{ $r = 0 }} END {{ row() }}' < FILE"
        ),
        start = start,
        value = value
    );
    (is_whole && !table.contains('"')).then(|| notation(title, &filter, bytes, bytes_of(&table)))?
}
