//! JSON whose objects are requests: the table that jq makes of it.

use super::Rewriting;
use crate::read::guess::is_field;

/// Fewest and most fields of an object that make a request.
const FIELDS: [usize; 2] = [3, 8];

/// Digits of numbers that are exact in floating point.
const EXACT: usize = 15;

/// A position in JSON.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// The fields of an object: names, and values as text unless they are nested.
pub(super) type Object = Vec<(String, Option<String>)>;

impl Cursor<'_> {
    pub(super) fn of(text: &[u8]) -> Cursor<'_> {
        Cursor { text, at: 0 }
    }

    fn peek(&mut self) -> Option<u8> {
        let blanks = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blanks.count();
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// A string, with its escapes.
    fn string(&mut self) -> Option<String> {
        if !self.take(b'"') {
            return None;
        }
        let (start, mut is_escaped) = (self.at, false);
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            if byte == b'"' && !is_escaped {
                return String::from_utf8(self.text[start..self.at - 1].to_vec()).ok();
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
        None
    }

    /// A value; nested ones are passed over.
    fn value(&mut self) -> Option<Option<String>> {
        match self.peek()? {
            b'"' => self.string().map(Some),
            b'{' | b'[' => {
                let mut depth = 0;
                loop {
                    match self.peek()? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Some(None);
                    }
                }
            }
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'))?;
                self.at += end;
                String::from_utf8(rest[..end].trim_ascii_end().to_vec()).ok().map(Some)
            }
        }
    }

    pub(super) fn object(&mut self) -> Option<Object> {
        let mut fields = Vec::new();
        if !self.take(b'{') {
            return None;
        }
        loop {
            let name = self.string()?;
            if !self.take(b':') {
                return None;
            }
            fields.push((name, self.value()?));
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(fields);
                }
                _ => return None,
            }
        }
    }
}

/// The table of lines of objects, or of a list of them: below their names, the fields of requests in the first one.
pub(super) fn table(bytes: &[u8]) -> Option<Rewriting> {
    let mut cursor = Cursor::of(bytes);
    let is_list = cursor.take(b'[');
    let mut objects = Vec::new();
    while let Some(object) = cursor.object() {
        objects.push(object);
        cursor.take(b',');
    }
    let is_plain =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let names = objects.first()?.iter().filter(|(name, value)| value.is_some() && is_plain(name));
    let names: Vec<&str> =
        names.map(|(name, _)| name.as_str()).filter(|name| is_field(name)).collect();
    if !(FIELDS[0]..=FIELDS[1]).contains(&names.len()) {
        return None;
    }
    let row = |object: &Object| {
        let value = |name: &&str| object.iter().find(|(other, _)| other == name)?.1.as_deref();
        let cells = names.iter().map(|name| format!("\"{}\"", value(name).unwrap_or_default()));
        cells.collect::<Vec<String>>().join(",")
    };
    let table: String = objects.iter().map(|object| row(object) + "\n").collect();
    let has_long_numbers = table
        .split('"')
        .any(|cell| cell.len() > EXACT && cell.bytes().all(|byte| byte.is_ascii_digit()));
    let strings: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let paths: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
    Some(Rewriting {
        what: if has_long_numbers {
            "the file is JSON with long numbers, which jq rounds before version 1.7; convert it to a table"
                .to_owned()
        } else {
            "the file is JSON; convert it to a table".to_owned()
        },
        filter: format!(
            "jq -rn '[{}], (inputs{} | [{}]) | @csv' FILE",
            strings.join(","),
            if is_list { "[]" } else { "" },
            paths.join(",")
        ),
        bytes: format!("{}\n{table}", names.join(",")).into_bytes(),
        columns: &[],
    })
}
