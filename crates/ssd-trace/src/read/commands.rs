//! Commands to paste, in messages.

/// `text` as one word of a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command that reads `file` with `options`.
pub(crate) fn command(file: &str, options: &str) -> String {
    let file = if file == "standard input" { "-" } else { file };
    format!("ssdlab trace info {} {options}", word(file))
}
