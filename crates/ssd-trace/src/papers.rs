//! Published tables in `papers/*.toml`: a list of names, and lists of numbers in the same order.

use std::sync::LazyLock;
use toml::{Table, Value};

/// The file of a paper, parsed on first use.
pub(crate) type Paper = LazyLock<Table>;

macro_rules! papers {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: Paper = LazyLock::new(|| {
            let text = include_str!(concat!("../../../papers/", $file));
            text.parse().expect("the file of a paper's numbers is TOML")
        });)*
    };
}

papers! {
    ADAPTIVE_CHANNEL = "adaptive-channel.toml";
    DEFERRED_GC_RAID = "deferred-gc-raid.toml";
    INVALIDATION_RATE = "invalidation-rate.toml";
    MSR_FIRST_MILLION = "msr-first-million.toml";
    NOC_COPYBACK = "noc-copyback.toml";
}

/// The numbers of one name in a table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    paper: &'static Table,
    table: &'static Value,
    index: usize,
}

impl Column {
    /// Returns the column of `name` in `table`; the list `names` has the position of the name, in any case.
    pub(crate) fn of(
        paper: &'static Paper,
        table: &str,
        names: &str,
        name: &str,
    ) -> Option<Column> {
        let table = &paper[table];
        let is_it =
            |cell: &Value| cell.as_str().is_some_and(|text| text.eq_ignore_ascii_case(name));
        let index = list(table, names).iter().position(is_it)?;
        Some(Column { paper, table, index })
    }

    /// Returns the same column of another table of the paper.
    pub(crate) fn beside(self, table: &str) -> Column {
        Column { table: &self.paper[table], ..self }
    }

    /// Returns the number called `key`; "n/a" counts as 0.
    pub(crate) fn number(self, key: &str) -> f64 {
        number(&list(self.table, key)[self.index])
    }
}

/// Returns the mean of the numbers called `key` over all names.
pub(crate) fn mean(paper: &'static Paper, table: &str, key: &str) -> f64 {
    let values = list(&paper[table], key);
    values.iter().map(number).sum::<f64>() / values.len() as f64
}

fn list<'a>(table: &'a Value, key: &str) -> &'a [Value] {
    table[key].as_array().expect("a list")
}

fn number(value: &Value) -> f64 {
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    number.filter(|number| !number.is_nan()).unwrap_or(0.0)
}
