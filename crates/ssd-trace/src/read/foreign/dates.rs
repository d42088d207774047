//! Notations of dates that a filter rewrites with the year first.

use super::pattern::{bytes_of, characters, pattern, replaced};
use super::times::numbers_at;
use super::{Rewriting, by_line, filled_lines, notation};
use crate::read::formats::mapping::Words;
use regex_lite::Captures;

/// Rewrites dates that have the year last. If both day and month may be first, both are tried.
pub(super) fn with_year_first(bytes: &[u8]) -> Option<Rewriting> {
    let candidates =
        [(1, "month"), (2, "day")].map(|(place, first)| with_month_at(place, first, bytes));
    let mut candidates: Vec<(Disorder, Rewriting)> = candidates.into_iter().flatten().collect();
    candidates.sort_by_key(|(disorder, _)| *disorder);
    // If one notation puts the dates in order and the other does not, only that is used.
    if candidates.iter().any(|(disorder, _)| !disorder.is_unsorted) {
        candidates.retain(|(disorder, _)| !disorder.is_unsorted);
    }
    let mut rewritings = candidates.into_iter().map(|(_, rewriting)| rewriting);
    let (first, second) = (rewritings.next()?, rewritings.next());
    let Some(second) = second else { return Some(Rewriting { case: String::new(), ..first }) };
    let message = "its dates may have the month or the day first; write the year first";
    let second = Box::new(Rewriting { message: message.to_owned(), ..second });
    let otherwise = "exchange $1 and $2 behind $3";
    Some(Rewriting { message: message.to_owned(), alternative: Some(second), otherwise, ..first })
}

/// Unlikelihood of a notation of dates: whether the dates are out of order, then how many days they cover.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Disorder {
    is_unsorted: bool,
    days: u32,
}

impl Disorder {
    /// Returns the disorder of years, months and days.
    fn of(dates: &[[u32; 3]]) -> Disorder {
        let day_numbers = || dates.iter().map(|[year, month, day]| (year * 12 + month) * 31 + day);
        let days = day_numbers().max().unwrap_or(0) - day_numbers().min().unwrap_or(0);
        Disorder { is_unsorted: !dates.is_sorted(), days }
    }
}

/// Like [`with_year_first`], if the number at `place`, the first or second, of all dates may be the month. `first`
/// names the first number.
fn with_month_at(place: usize, first: &str, bytes: &[u8]) -> Option<(Disorder, Rewriting)> {
    let marks = if place == 1 { "/" } else { "/." };
    let mut dates = Vec::new();
    let rewritten = by_line(bytes, |line| {
        let mut starts =
            (0..line.len()).filter(|&at| at == 0 || !line[at - 1].is_ascii_alphanumeric());
        let (at, numbers, end) = starts.find_map(|at| {
            let (numbers, end) = numbers_at(line, at, marks.as_bytes())?;
            let is_date = numbers[2] > 1969 && matches!(line.get(end), Some(b' ' | b'T'));
            is_date.then_some((at, numbers, end))
        })?;
        let (year, month, day) = (numbers[2], numbers[place - 1], numbers[2 - place]);
        dates.push([year, month, day]);
        Some(
            [&line[..at], format!("{year}-{month:02}-{day:02}T").as_bytes(), &line[end + 1..]]
                .concat(),
        )
    });
    let filter = format!(
        r#"perl -pe 's#(\d+)[{marks}](\d+)[{marks}](\d{{4}})[ T]#sprintf "%d-%02d-%02dT", $3, ${place}, ${}#e' < FILE"#,
        3 - place
    );
    let message = format!("its dates have the {first} first; write the year first");
    let is_month = |date: &[u32; 3]| (1..=12).contains(&date[1]);
    let fits = dates.iter().all(is_month);
    let rewriting = notation(&message, &filter, bytes, rewritten).filter(|_| fits)?;
    let case = format!("the {first} is first");
    Some((Disorder::of(&dates), Rewriting { case, ..rewriting }))
}

/// Names of the months, three letters each.
const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// What a filter does to dates with names of months.
const WITHOUT_NAMES: &str =
    "its dates have month names; write the month as a number, and the year first";

/// Returns the number of a month.
fn month_number(name: &str) -> usize {
    MONTHS.find(name).map_or(0, |at| at / 3 + 1)
}

/// Replaces month names in dates such as 14/Nov/2023:13:59:59 +0000 and 14-Nov-2023 13:59:59.
pub(super) fn with_month_numbers(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = r"(\d\d?)[/-]([A-Z][a-z][a-z])[/-](\d{4})[: ](\d\d:\d\d:\d\d(?:[.]\d+)?)(?: ([+-]\d\d)(\d\d))?";
    let rewritten = replaced(bytes, DATE, |part| {
        let zone =
            part.get(5).map_or(String::new(), |zone| format!("{}:{}", zone.as_str(), &part[6]));
        let day = part[1].parse::<u8>().unwrap_or(0);
        format!("{}-{:02}-{day:02}T{}{zone}", &part[3], month_number(&part[2]), &part[4])
    });
    let filter = format!(
        concat!(
            r"perl -pe 's{{{date}}}",
            r#"{{sprintf "%s-%02d-%02dT%s%s", $3, index("{months}", $2) / 3 + 1, $1, $4, $5 && "$5:$6"}}ge' < FILE"#
        ),
        date = DATE,
        months = MONTHS
    );
    notation(WITHOUT_NAMES, &filter, bytes, rewritten)
}

/// Rewrites dates in separate cells, such as Tue Nov 14 13:59:59 2023 and Nov 14 13:59:59, with the year first and the
/// month as a number. Dates without a year begin in 2000, and the year changes when January follows December.
pub(super) fn with_months_first(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = concat!(
        r#"(?m)(^|[\[,;\t|"])(?:[A-Z][a-z][a-z],? )?([A-Z][a-z][a-z]) +(\d\d?) "#,
        r#"(\d\d:\d\d:\d\d(?:[.]\d+)?)(?: (\d{4}))?([\],;\t|"\r]|$)"#
    );
    let date = pattern(DATE);
    let (mut has_years, mut missing, mut latest) = (true, 2000, None);
    let mut numbered = |part: &Captures<'_>| {
        let (month, day) = (month_number(&part[2]), part[3].parse::<u8>().unwrap_or(0));
        // A request may be slightly late, before or after the new year.
        let before = latest.replace(month).unwrap_or(month);
        missing += i32::from(month + 6 < before) - i32::from(month > before + 6);
        has_years &= part.get(5).is_some();
        let year = part.get(5).map_or(missing.to_string(), |year| year.as_str().to_owned());
        format!("{}{year}-{month:02}-{day:02}T{}", &part[1], &part[4])
    };
    let rewritten = by_line(bytes, |line| {
        let line = characters(line);
        let (mut done, mut at) = (String::new(), 0);
        while let Some(part) = date.captures_at(&line, at) {
            let (start, end) =
                part.get(0).map_or((at, at), |matched| (matched.start(), matched.end()));
            done += &line[at..start];
            done += &numbered(&part);
            // The separator after it also belongs to the next date.
            at = end - part[6].len();
        }
        Some(bytes_of(&(done + &line[at..])))
    });
    let doubt = if has_years { "" } else { " (where it is missing: 2000 and the years after)" };
    let message = format!("{WITHOUT_NAMES}{doubt}");
    let filter = format!(
        concat!(
            r"perl -pe '1 while s{{{date}}}",
            r#"{{$m = index("{months}", $2) / 3 + 1; $l //= $m; $y += ($m + 6 < $l) - ($m > $l + 6); $l = $m; "#,
            r#"sprintf "%s%d-%02d-%02dT%s%s", $1, $5 // 2000 + $y, $m, $3, $4, $6}}e' < FILE"#
        ),
        date = DATE,
        months = MONTHS
    );
    notation(&message, &filter, bytes, rewritten)
}

/// Rewrites the separators of dates that have the year first, such as 2024/03/05 10:00:00 and 20240305T100000.
pub(super) fn with_hyphens(bytes: &[u8]) -> Option<Rewriting> {
    const SLASHES: &str = r"\b(\d{4})/(\d\d)/(\d\d)[ T]";
    const PLAIN: &str = r"\b(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)";
    let slashes =
        replaced(bytes, SLASHES, |part| format!("{}-{}-{}T", &part[1], &part[2], &part[3]));
    let rewritten = replaced(&slashes, PLAIN, |part| {
        format!("{}-{}-{}T{}:{}:{}", &part[1], &part[2], &part[3], &part[4], &part[5], &part[6])
    });
    let message = "its dates have slashes or no separators; write them with hyphens and colons";
    let filter =
        format!("perl -pe 's#{SLASHES}#$1-$2-$3T#g; s#{PLAIN}#$1-$2-$3T$4:$5:$6#g' < FILE");
    notation(message, &filter, bytes, rewritten)
}

/// Removes the abbreviation of the time zone from dates such as 2024-03-05 10:00:00 CET. A later date with another zone
/// is unchanged, and is refused there.
pub(super) fn without_zone(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = r"\b(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.]\d+)?) ?";
    let text = characters(bytes);
    let first = pattern(&format!(r"{DATE}([A-Z]{{2,5}})\b"));
    let zone = first.captures(&text)?[2].to_owned();
    // A word such as WS is an operation.
    if Words::default().meaning(zone.as_bytes()).is_some() {
        return None;
    }
    let (date, mut count) = (format!(r"{DATE}{zone}\b"), 0);
    let rewritten = replaced(bytes, &date, |part| {
        count += 1;
        part[1].to_owned()
    });
    // The first line may contain names.
    let is_in_all = count > 0 && count + 1 >= filled_lines(bytes).count();
    let message = format!("all dates of its first lines have the time zone {zone}; remove it");
    let filter = format!("perl -pe 's/{date}/$1/g' < FILE");
    is_in_all.then(|| notation(&message, &filter, bytes, rewritten))?
}

/// Adds separators to dates of digits only, such as 20231114135959995, at the start of lines.
pub(super) fn with_marks(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str =
        r"^((?:19|20)\d\d)(0\d|1[0-2])([0-2]\d|3[01])([01]\d|2[0-3])([0-5]\d)([0-5]\d)(\d{1,9})\b";
    let date = pattern(DATE);
    let mut count = 0;
    let rewritten = by_line(bytes, |line| {
        let line = characters(line);
        let line = date.replace(&line, |part: &Captures<'_>| {
            count += 1;
            let [year, month, day, hour, minute, second, rest] =
                [1, 2, 3, 4, 5, 6, 7].map(|at| &part[at]);
            format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{rest}")
        });
        Some(bytes_of(&line))
    });
    let lines = filled_lines(bytes).count();
    let message = "its times are dates of digits only; insert the separators";
    let filter = format!(r"perl -pe 's/{DATE}/$1-$2-$3T$4:$5:$6.$7/' < FILE");
    (count > 1 && count + 1 >= lines).then(|| notation(message, &filter, bytes, rewritten))?
}
