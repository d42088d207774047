//! Tables as databases and other programs print them for people: in boxes, or with the values of a row below each
//! other.

use super::pattern::{bytes_of, characters, pattern};
use super::{Rewriting, notation};

/// The lines between cells, as bytes of UTF-8: light, heavy, dashed and double.
const BARS: &str = r"\xe2\x94[\x82\x83\x86]|\xe2\x95\x91";
/// Any other line of a box.
const RULE: &str = r"\xe2[\x94\x95]";
/// The start of a row that stands for those that were left out.
const LEFT_OUT: &str = r"^(\xc2\xb7|\xe2\x80\xa6)";

/// The rows of a table in a box. Of the lines before the second rule, only the first counts: it has the names, and
/// types may follow.
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
    let what = if is_whole {
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
    (rules > 1 && width > 1).then(|| notation(what, &filter, bytes, bytes_of(&rows)))?
}

/// The start of a row in the expanded output of psql (`\x`) and in the vertical one of mysql (`\G`).
const ROW: &str = r"^(?:-\[ RECORD \d|\*+ \d+[.] row)";
/// A name and a value in such a row.
const VALUE: &str = r"^ *(\w+) *[|:] ?(.*?)\s*$";

/// The rows of a table that has the values of each row below each other.
pub(super) fn values_below_each_other(bytes: &[u8]) -> Option<Rewriting> {
    let text = characters(bytes);
    let (row, value) = (pattern(ROW), pattern(VALUE));
    if !row.is_match(text.lines().find(|line| !line.trim().is_empty())?) {
        return None;
    }
    let mut rows: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if row.is_match(line) {
            rows.push(Default::default());
        } else if let (Some((names, values)), Some(caught)) =
            (rows.last_mut(), value.captures(line))
        {
            names.push(caught.get(1)?.as_str());
            values.push(caught.get(2)?.as_str());
        }
    }
    let names = rows[0].0.clone();
    // The last row may be cut.
    rows.retain(|row| row.0 == names);
    let line = |cells: &[&str]| cells.join(",") + "\n";
    let table: String = rows.iter().map(|(_, values)| line(values)).collect();
    let what = "the file is a table with the values of each row below each other (psql, mysql); convert it to CSV";
    let filter = format!(
        concat!(
            r#"perl -lne 'sub row {{ $n++ or print join ",", @k if @k; print join ",", @v if @k; @k = @v = () }} "#,
            r"if (/{row}/) {{ row() }} elsif (/{value}/) {{ push @k, $1; push @v, $2 }} ",
            "END {{ row() }}' < FILE"
        ),
        row = ROW,
        value = VALUE
    );
    let is_table = names.len() > 1 && !table.contains('"');
    is_table.then(|| notation(what, &filter, bytes, bytes_of(&(line(&names) + &table))))?
}
