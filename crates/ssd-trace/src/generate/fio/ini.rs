//! Job files as text: sections, keys and values with their lines, as fio reads them.

use super::JobFileError;

/// A key of a section.
#[derive(Clone, Debug)]
pub(super) struct IniKey {
    pub(super) line: usize,
    pub(super) key: String,
    /// `None` for a key without a value, such as `stonewall`.
    pub(super) value: Option<String>,
}

/// A section: `[global]` or a job.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) settings: Vec<IniKey>,
}

/// Returns the sections of `text`, in order.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        // A comment ends a line wherever it begins, also within a value.
        let content = raw.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            // The name of a section may contain brackets.
            let Some((name, after)) = rest.rsplit_once(']') else {
                return Err(JobFileError::at(
                    line,
                    "the name of a section does not end: expected ]",
                ));
            };
            if !after.is_empty() {
                return Err(JobFileError::at(line, "expected nothing after the name of a section"));
            }
            sections.push(Section { line, name: name.trim().to_owned(), settings: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            return Err(JobFileError::at(
                line,
                "expected a section such as [global] before the first key",
            ));
        };
        section.settings.push(parse_setting(content, line)?);
    }
    if sections.iter().all(|section| section.name == "global") {
        return Err(JobFileError::at(
            text.lines().count().max(1),
            "no job: expected a section such as [job]",
        ));
    }
    Ok(sections)
}

/// Parses `KEY=VALUE`, or a key alone.
fn parse_setting(content: &str, line: usize) -> Result<IniKey, JobFileError> {
    let (key, value) = match content.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
        None => (content, None),
    };
    if key.split_whitespace().next() == Some("include") {
        let text = "include: other files are not read: insert the lines of that file here";
        return Err(JobFileError::at(line, text));
    }
    Ok(IniKey { line, key: key.to_owned(), value })
}
