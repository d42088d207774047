//! awk filters that rewrite columns of a table.

/// A table that a filter rewrites.
pub(crate) struct Table<'a> {
    pub(crate) separator: u8,
    /// Lines that are not blank.
    pub(crate) lines: &'a [&'a [u8]],
    /// The line of the column names, counted from 1; 0 without names.
    pub(crate) names: usize,
}

impl Table<'_> {
    /// Returns the command that applies `title` to the names and `statement` to every line below, and writes calculated
    /// numbers with `decimals`. Returns `None` if awk would split quoted cells differently.
    pub(crate) fn filter(
        &self,
        title: &str,
        statement: &str,
        decimals: Option<usize>,
    ) -> Option<String> {
        let separator = char::from(self.separator);
        // A command cannot show control characters, and quotes and backslashes have another meaning in it.
        if separator != '\t' && (separator.is_control() || r"'\".contains(separator)) {
            return None;
        }
        let has = |byte: u8| self.lines.iter().any(|line| line.contains(&byte));
        // A carriage return would belong to the last cell, or be the only cell of a blank line.
        let has_returns = self.lines.iter().any(|line| line.ends_with(b"\r"));
        let first = if has_returns { r#"{ sub(/\r$/, "") } "# } else { "" };
        let mut before = String::new();
        if has(b'"') {
            if self.lines.iter().any(|line| cuts_quotes(line, self.separator)) {
                return None;
            }
            before += "gsub(/\"/, \"\"); ";
        }
        // Blanks around cells do not belong to them.
        let spaced = [[self.separator, b' '], [b' ', self.separator]];
        let is_spaced =
            |line: &&[u8]| line.windows(2).any(|pair| spaced.iter().any(|mark| pair == mark));
        if separator != ' ' && self.lines.iter().any(is_spaced) {
            let mark = separator.escape_default();
            before += &format!("gsub(/ *[{mark}] */, \"{mark}\"); sub(/^ +/, \"\"); ");
        }
        // Comments above remain comments if the names do not change.
        let names = self.names.checked_sub(1).and_then(|above| self.lines.get(above));
        if !title.is_empty() && names.is_some_and(|names| names.starts_with(b"#")) {
            before += "sub(/^# */, \"\"); ";
        }
        let option = match separator {
            ' ' => String::new(),
            '\t' => r"-F'\t' -v OFS='\t' ".to_owned(),
            ',' => "-F, -v OFS=, ".to_owned(),
            other => format!("-F'{other}' -v OFS='{other}' "),
        };
        let numbers =
            decimals.map_or(String::new(), |decimals| format!("-v CONVFMT=%.{decimals}f "));
        let rows = match (self.names, title) {
            (0, _) => String::new(),
            (names, "") => format!("n > {names} "),
            (names, title) => format!("n == {names} {{ {title} }} n > {names} "),
        };
        Some(format!(
            "awk {option}{numbers}'{first}!NF {{ next }} {{ {before}n++ }} {rows}{{ {statement} }} 1' FILE"
        ))
    }
}

/// Returns whether a quoted cell contains the separator.
pub(super) fn cuts_quotes(line: &[u8], separator: u8) -> bool {
    line.split(|&byte| byte == b'"').skip(1).step_by(2).any(|cell| cell.contains(&separator))
}
