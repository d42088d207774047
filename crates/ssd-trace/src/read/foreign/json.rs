//! JSON whose objects are requests: the table that jq makes of it.

use super::Rewriting;
use crate::read::guess::is_field;

/// Fewest and most fields of an object that make a request.
const FIELDS: [usize; 2] = [3, 8];

/// Digits of numbers that are exact in floating point.
const EXACT: usize = 15;

/// Objects in objects in which fields are looked for.
const DEEPEST: usize = 4;

/// A position in JSON.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// The fields of an object: names, and values as text unless they are lists. The fields of an object within have its name
/// and a point before their own.
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

    /// A value; lists are passed over.
    fn value(&mut self) -> Option<Option<String>> {
        match self.peek()? {
            b'"' => self.string().map(Some),
            b'[' => {
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

    /// Goes to the first object of a list, if the text is one, or an object with one; where that is, as jq says it.
    fn list(&mut self) -> Option<String> {
        let start = self.at;
        if self.take(b'[') {
            return Some("[]".to_owned());
        }
        let mut is_next = self.take(b'{');
        while is_next {
            let name = self.string()?;
            if !self.take(b':') {
                break;
            }
            let value = self.at;
            if self.take(b'[') && self.peek() == Some(b'{') && is_plain(&name) {
                return Some(format!(".{name}[]"));
            }
            self.at = value;
            let is_object = self.peek() == Some(b'{');
            if is_object { self.object().map(|_| ()) } else { self.value().map(|_| ()) }?;
            is_next = self.take(b',');
        }
        self.at = start;
        Some(String::new())
    }

    pub(super) fn object(&mut self) -> Option<Object> {
        self.object_within(0)
    }

    /// An object in so many others.
    fn object_within(&mut self, depth: usize) -> Option<Object> {
        let mut fields = Vec::new();
        if depth > DEEPEST || !self.take(b'{') {
            return None;
        }
        if self.take(b'}') {
            return Some(fields);
        }
        loop {
            let name = self.string()?;
            if !self.take(b':') {
                return None;
            }
            if self.peek()? == b'{' {
                let within = self.object_within(depth + 1)?.into_iter();
                fields.extend(within.map(|(inner, value)| (format!("{name}.{inner}"), value)));
            } else {
                fields.push((name, self.value()?));
            }
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

/// Whether jq takes the name of a field as it is, with the points between names.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
}

/// The table of lines of objects, or of a list of them, perhaps in a field of an object: below their names, the fields of
/// requests in the first one.
pub(super) fn table(bytes: &[u8]) -> Option<Rewriting> {
    let mut cursor = Cursor::of(bytes);
    let list = cursor.list()?;
    let mut objects = Vec::new();
    while let Some(object) = cursor.object() {
        objects.push(object);
        cursor.take(b',');
    }
    let names = objects.first()?.iter().filter(|(name, value)| value.is_some() && is_plain(name));
    let is_used = |name: &&str| {
        let (outer, inner) = name.split_once('.').unwrap_or((name, name));
        [*name, inner, outer].into_iter().any(is_field) || inner == "nlb"
    };
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).filter(is_used).collect();
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
    let titles: Vec<String> = names.iter().map(|name| name.replace('.', "_")).collect();
    let strings: Vec<String> = titles.iter().map(|title| format!("\"{title}\"")).collect();
    let paths: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
    Some(Rewriting {
        what: if has_long_numbers {
            "the file is JSON with long numbers, which jq rounds before version 1.7; convert it to a table"
                .to_owned()
        } else {
            "the file is JSON; convert it to a table".to_owned()
        },
        filter: format!(
            "jq -rn '[{}], (inputs{list} | [{}]) | @csv' FILE",
            strings.join(","),
            paths.join(",")
        ),
        bytes: format!("{}\n{table}", titles.join(",")).into_bytes(),
        columns: &[],
    })
}
