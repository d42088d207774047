//! Times and addresses that are split into two columns, and the filters that join them.

use super::Rewriting;
use super::pattern::pattern;
use super::table::Table;
use super::times::is_rising;
use crate::read::formats::mapping;
use crate::read::guess::names::{is_address, is_time};
use regex_lite::Regex;

/// Joins whole seconds and their decimals in neighbouring columns of a table without names.
pub(super) fn with_joined_times(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes)?;
    let numbers = |at: usize| -> Option<Vec<u64>> {
        table.body().iter().map(|row| row[at].parse().ok()).collect()
    };
    let columns: Vec<Option<Vec<u64>>> = (0..table.rows[0].len()).map(numbers).collect();
    // The table also needs an address and a length.
    if table.has_names || columns.iter().flatten().count() < 4 {
        return None;
    }
    let digits = |at: usize| {
        let (seconds, rest) = (columns[at].as_ref()?, columns.get(at + 1)?.as_ref()?);
        let pairs: Vec<(u64, u64)> = seconds.iter().copied().zip(rest.iter().copied()).collect();
        let is_common = |pair: &&[(u64, u64)]| pair[0].0 == pair[1].0 && pair[0].1 < pair[1].1;
        let is_one_time = pairs.is_sorted()
            && !rest.is_sorted()
            && pairs.windows(2).filter(is_common).count() > 1;
        // Other numbers, such as process IDs, milliseconds and addresses, rarely have their maximum in the second half
        // of a second.
        let largest = *rest.iter().max()?;
        let is_near =
            |digits: &u32| (5 * 10u64.pow(*digits - 1)..10u64.pow(*digits)).contains(&largest);
        [6, 9].into_iter().find(is_near).filter(|_| is_one_time)
    };
    let (at, digits) = (0..columns.len()).find_map(|at| Some((at, digits(at)?)))?;
    let (first, second) = (at + 1, at + 2);
    let unit = if digits == 6 { "microseconds" } else { "nanoseconds" };
    let message = format!(
        "its columns {first} and {second} seem to be seconds and {unit} of one time; join them"
    );
    let statement =
        format!("${first} = sprintf(\"%d.%0{digits}d\", ${first}, ${second}); ${second} = \"-\"");
    table.rewritten(&message, ["", &statement], None, |_, row| {
        row[at] = format!("{}.{:0>2$}", row[at], row[at + 1], digits as usize);
        row[at + 1] = "-".to_owned();
    })
}

/// Joins dates and times of day in neighbouring columns, in the first of them.
pub(crate) fn with_joined_dates(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes).filter(|table| table.body().len() > 1)?;
    let is_column_of = |at: usize, is_kind: &Regex| {
        table.body().iter().all(|row| row.get(at).is_some_and(|cell| is_kind.is_match(cell)))
    };
    // In a table separated by blanks, the filters for other dates join date and time themselves.
    let is_blank = table.separator == b' ';
    let date = if is_blank { r"^\d{4}-\d\d-\d\d$" } else { r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$" };
    let date = pattern(date);
    let clock = pattern(r"^\d\d?:\d\d:\d\d([.,]\d+)?$");
    let are_joined = |at: &usize| is_column_of(*at, &date) && is_column_of(at + 1, &clock);
    let are_swapped = |at: &usize| is_column_of(*at, &clock) && is_column_of(at + 1, &date);
    let width = table.rows[0].len();
    let at = (0..width).find(|at| are_joined(at) || are_swapped(at))?;
    let has_time = |(at_other, name): (usize, &String)| {
        let is_number = |row: &Vec<String>| row[at_other].parse::<f64>().is_ok();
        is_time(name) && table.body().iter().all(is_number)
    };
    if table.has_names && table.rows[0].iter().enumerate().any(has_time) {
        return None;
    }
    let (day, time) = if are_joined(&at) { (at, at + 1) } else { (at + 1, at) };
    // Numbers beside them may be the same times, but exact.
    let at_ns = |row: &Vec<String>| mapping::date(format!("{}T{}", row[day], row[time]).as_bytes());
    let clock: Option<Vec<u64>> = table.body().iter().map(at_ns).collect();
    let is_exact = |at_other: usize| {
        let numbers = table.body().iter().map(|row| row[at_other].parse().ok());
        let numbers = numbers.collect::<Option<Vec<f64>>>().filter(|values| is_rising(values));
        let span = |values: &[f64]| values[values.len() - 1] - values[0];
        let seconds =
            |values: &[u64]| (values[values.len() - 1].saturating_sub(values[0])) as f64 / 1e9;
        table.body()[0][at_other].contains('.')
            && numbers
                .zip(clock.as_ref())
                .is_some_and(|(numbers, clock)| (span(&numbers) - seconds(clock)).abs() <= 1.0)
    };
    if is_blank && !table.has_names && (0..width).any(is_exact) {
        return None;
    }
    let message = format!(
        "its columns {} and {} are the date and the time of day; join them",
        day + 1,
        time + 1
    );
    let statement =
        format!("${0} = ${1} \"T\" ${2}; ${3} = \"-\"", at + 1, day + 1, time + 1, at + 2);
    let names = usize::from(table.has_names);
    table.rewritten(&message, ["", &statement], None, |line, row| {
        if line >= names {
            row[at] = format!("{}T{}", row[day], row[time]);
            row[at + 1] = "-".to_owned();
        }
    })
}

/// Joins the upper and lower halves of 64-bit addresses in two columns.
pub(super) fn with_joined_addresses(bytes: &[u8]) -> Option<Rewriting> {
    const HALVES: [(&str, &str); 4] =
        [("hi", "lo"), ("high", "low"), ("upper", "lower"), ("msb", "lsb")];
    let table = Table::of(bytes)?;
    let stem = |name: &str, end: &str| {
        let stem = name.to_ascii_lowercase().strip_suffix(end)?.to_owned();
        Some(stem).filter(|stem| is_address(stem))
    };
    let find_column = |end: &str, prefix: Option<&str>| {
        let mut header = table.rows[0].iter().enumerate();
        header.find_map(|(at, name)| {
            let stem = stem(name, end).filter(|stem| prefix.is_none_or(|prefix| prefix == stem))?;
            Some((at, stem))
        })
    };
    let (high, low, name) = HALVES.into_iter().find_map(|(high, low)| {
        let (high, stem) = find_column(high, None)?;
        let (low, _) = find_column(low, Some(&stem))?;
        Some((
            high,
            low,
            stem.trim_end_matches(|letter: char| !letter.is_alphanumeric()).to_owned(),
        ))
    })?;
    let half = |cell: &str| cell.parse::<u32>().ok().map(u64::from);
    let are_halves = |row: &Vec<String>| half(&row[high]).is_some() && half(&row[low]).is_some();
    if !table.has_names || !table.body().iter().all(are_halves) {
        return None;
    }
    let message = format!(
        "its columns {} and {} are the halves of one address; join them",
        high + 1,
        low + 1
    );
    let title = format!("${} = \"upper\"; ${} = \"{name}\"", high + 1, low + 1);
    let statement = format!("${0} += ${1} * 4294967296", low + 1, high + 1);
    table.rewritten(&message, [&title, &statement], Some(0), |at, row| {
        if at == 0 {
            (row[high], row[low]) = ("upper".to_owned(), name.clone());
        } else if let (Some(upper), Some(lower)) = (half(&row[high]), half(&row[low])) {
            row[low] = ((upper << 32) + lower).to_string();
        }
    })
}
