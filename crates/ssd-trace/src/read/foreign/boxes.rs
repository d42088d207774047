//! Tables in boxes, as duckdb, polars and others print them.

use super::pattern::{bytes_of, characters, pattern};
use super::{Rewriting, notation};

/// The lines between cells, as bytes of UTF-8: light, heavy, dashed and double.
const BARS: &str = r"\xe2\x94[\x82\x83\x86]|\xe2\x95\x91";
/// Any other line of a box.
const RULE: &str = r"\xe2[\x94\x95]";
/// A row in place of those that were left out.
const LEFT_OUT: &str = r"^(\xc2\xb7|\xe2\x80\xa6)";

/// The rows of a table in a box: of the lines above the rule below the names, the first one, since types may follow it.
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
