//! Job files as text: sections, keys and values with their lines, as fio reads them.

use super::Trouble;

/// A key of a section.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) line: usize,
    pub(super) key: String,
    /// None for a key without a value, such as `stonewall`.
    pub(super) value: Option<String>,
}

/// A section: `[global]` or a job.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) said: Vec<Said>,
}

/// The sections of `text`, in order.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, Trouble> {
    let mut found: Vec<Section> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let line = index + 1;
        let content = whole.trim();
        if content.is_empty() || content.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let Some((name, after)) = rest.split_once(']') else {
                return Err(Trouble::at(line, "the name of a section does not end: expected ]"));
            };
            if !after.trim().is_empty() && !after.trim_start().starts_with([';', '#']) {
                return Err(Trouble::at(line, "expected nothing after the name of a section"));
            }
            found.push(Section { line, name: name.trim().to_owned(), said: Vec::new() });
            continue;
        }
        let Some(section) = found.last_mut() else {
            return Err(Trouble::at(
                line,
                "expected a section such as [global] before the first key",
            ));
        };
        // A comment needs a blank before it: values may hold # and ;.
        let content = [" ;", " #", "\t;", "\t#"]
            .iter()
            .filter_map(|mark| content.find(mark))
            .min()
            .map_or(content, |end| content[..end].trim_end());
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
            None => (content, None),
        };
        section.said.push(Said { line, key: key.to_owned(), value });
    }
    if found.iter().all(|section| section.name == "global") {
        return Err(Trouble::at(
            text.lines().count().max(1),
            "no job: expected a section such as [job]",
        ));
    }
    Ok(found)
}
