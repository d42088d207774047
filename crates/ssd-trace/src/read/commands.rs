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

/// The end of a message: the commands that settle a doubt, one on a line, each with what it gives.
pub(crate) fn one_of(file: &str, choices: &[(String, String)]) -> String {
    let line =
        |(options, gives): &(String, String)| format!("\n  {}  # {gives}", command(file, options));
    format!("say which with one of:{}", choices.iter().map(line).collect::<String>())
}
