//! Notations of dates that a filter rewrites, the year first.

use super::pattern::{bytes_of, characters, pattern, replaced};
use super::times::numbers_at;
use super::{Rewriting, by_line, notation};
use regex_lite::Captures;

/// Dates with the year last, and the number of the month, 1 or 2, as dates that are read.
pub(super) fn with_year_first(
    bytes: &[u8],
    what: &str,
    marks: &[u8],
    month: usize,
) -> Option<Rewriting> {
    let mut fits = true;
    let rewritten = by_line(bytes, |line| {
        let mut starts =
            (0..line.len()).filter(|&at| at == 0 || !line[at - 1].is_ascii_alphanumeric());
        let (at, numbers, end) = starts.find_map(|at| {
            let (numbers, end) = numbers_at(line, at, marks)?;
            let is_date = numbers[2] > 1969 && matches!(line.get(end), Some(b' ' | b'T'));
            is_date.then_some((at, numbers, end))
        })?;
        let (year, month, day) = (numbers[2], numbers[month - 1], numbers[2 - month]);
        fits &= (1..=12).contains(&month);
        Some(
            [&line[..at], format!("{year}-{month:02}-{day:02}T").as_bytes(), &line[end + 1..]]
                .concat(),
        )
    });
    let filter = format!(
        r#"perl -pe 's#(\d+)[{}](\d+)[{}](\d{{4}})[ T]#sprintf "%d-%02d-%02dT", $3, ${month}, ${}#e' < FILE"#,
        String::from_utf8_lossy(marks),
        String::from_utf8_lossy(marks),
        3 - month
    );
    notation(what, &filter, bytes, rewritten).filter(|_| fits)
}

/// The names of the months, three letters each.
const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// The number of a month.
fn number_of(month: &str) -> usize {
    MONTHS.find(month).map_or(0, |at| at / 3 + 1)
}

/// Dates such as 14/Nov/2023:13:59:59 +0000 and 14-Nov-2023 13:59:59, with the numbers of the months.
pub(super) fn with_numbers_of_months(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = r"(\d\d?)[/-]([A-Z][a-z][a-z])[/-](\d{4})[: ](\d\d:\d\d:\d\d(?:[.]\d+)?)(?: ([+-]\d\d)(\d\d))?";
    let rewritten = replaced(bytes, DATE, |part| {
        let zone =
            part.get(5).map_or(String::new(), |zone| format!("{}:{}", zone.as_str(), &part[6]));
        let day = part[1].parse::<u8>().unwrap_or(0);
        format!("{}-{:02}-{day:02}T{}{zone}", &part[3], number_of(&part[2]), &part[4])
    });
    let what = "its dates have month names; write the month as a number, and the year first";
    let filter = format!(
        concat!(
            r"perl -pe 's{{{date}}}",
            r#"{{sprintf "%s-%02d-%02dT%s%s", $3, index("{months}", $2) / 3 + 1, $1, $4, $5 && "$5:$6"}}ge' < FILE"#
        ),
        date = DATE,
        months = MONTHS
    );
    notation(what, &filter, bytes, rewritten)
}

/// Dates such as Tue Nov 14 13:59:59 2023 and Nov 14 13:59:59 in cells of their own, with the numbers of the months and
/// the year, if there is one, first.
pub(super) fn with_months_first(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = concat!(
        r#"(?m)(^|[,;\t|"])(?:[A-Z][a-z][a-z],? )?([A-Z][a-z][a-z]) +(\d\d?) "#,
        r#"(\d\d:\d\d:\d\d(?:[.]\d+)?)(?: (\d{4}))?([,;\t|"\r]|$)"#
    );
    let mut has_years = true;
    let rewritten = replaced(bytes, DATE, |part| {
        has_years &= part.get(5).is_some();
        let year = part.get(5).map_or("2000", |year| year.as_str());
        let (month, day) = (number_of(&part[2]), part[3].parse::<u8>().unwrap_or(0));
        format!("{}{year}-{month:02}-{day:02}T{}{}", &part[1], &part[4], &part[6])
    });
    let doubt = if has_years { "" } else { " (2000, where it is missing)" };
    let what = format!(
        "its dates have month names; write the month as a number, and the year first{doubt}"
    );
    let filter = format!(
        concat!(
            r"perl -pe 's{{{date}}}",
            r#"{{sprintf "%s%d-%02d-%02dT%s%s", $1, $5 // 2000, index("{months}", $2) / 3 + 1, $3, $4, $6}}ge' < FILE"#
        ),
        date = DATE,
        months = MONTHS
    );
    notation(&what, &filter, bytes, rewritten)
}

/// Dates with the year first, such as 2024/03/05 10:00:00 and 20240305T100000, with the separators that are read.
pub(super) fn with_hyphens(bytes: &[u8]) -> Option<Rewriting> {
    const SLASHES: &str = r"\b(\d{4})/(\d\d)/(\d\d)[ T]";
    const PLAIN: &str = r"\b(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)";
    let slashes =
        replaced(bytes, SLASHES, |part| format!("{}-{}-{}T", &part[1], &part[2], &part[3]));
    let rewritten = replaced(&slashes, PLAIN, |part| {
        format!("{}-{}-{}T{}:{}:{}", &part[1], &part[2], &part[3], &part[4], &part[5], &part[6])
    });
    let what = "its dates have slashes or no separators; write them with hyphens and colons";
    let filter =
        format!("perl -pe 's#{SLASHES}#$1-$2-$3T#g; s#{PLAIN}#$1-$2-$3T$4:$5:$6#g' < FILE");
    notation(what, &filter, bytes, rewritten)
}

/// Dates of digits only, such as 20231114135959995, with their marks. They have to begin the lines.
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
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    let what = "its times are dates of digits only; insert the separators";
    let filter = format!(r"perl -pe 's/{DATE}/$1-$2-$3T$4:$5:$6.$7/' < FILE");
    (count > 1 && count + 1 >= lines).then(|| notation(what, &filter, bytes, rewritten))?
}
