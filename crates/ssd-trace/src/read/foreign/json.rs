//! JSON with requests as objects, and the table that jq makes of it.

use super::Rewriting;
use crate::read::guess::names::{
    is_address, is_field, is_length, is_needed_field, is_operation, is_time,
};

/// Minimum and maximum number of fields of an object that is a request.
const FIELDS: [usize; 2] = [3, 8];

/// NVMe's name of the length.
const NLB: &str = "nlb";

/// Digits of numbers that are exact in floating point.
const EXACT: usize = 15;

/// Maximum depth of nested objects that are searched for fields.
const DEEPEST: usize = 4;

/// A position in JSON text.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// Lists of objects: their paths, and the positions of the first objects.
    lists: Vec<(String, usize)>,
}

/// The fields of an object: names, and values as text unless they are lists or too deep. The name of a field in a
/// nested object starts with the name of that object and a point.
pub(super) type Object = Vec<(String, Option<String>)>;

impl Cursor<'_> {
    pub(super) fn of(text: &[u8]) -> Cursor<'_> {
        Cursor { text, at: 0, lists: Vec::new() }
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

    /// Reads a string with its escapes.
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

    /// Reads a value; nested values are skipped.
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
        self.object_within("", 0)
    }

    /// Reads an object at `depth`, within the objects named in `path`.
    fn object_within(&mut self, path: &str, depth: usize) -> Option<Object> {
        let mut fields = Vec::new();
        if !self.take(b'{') {
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
            let is_within = self.peek()? == b'{' && depth < DEEPEST;
            if is_within {
                let within = self.object_within(&format!("{path}{name}."), depth + 1)?.into_iter();
                let fields_within = within.map(|(inner, value)| (format!("{name}.{inner}"), value));
                fields.extend(fields_within.filter(|_| is_plain(&name)));
            } else {
                if is_plain(&name) {
                    self.note_list(&format!("{path}{name}"));
                }
                let value = self.value()?;
                fields.extend(is_plain(&name).then_some((name, value)));
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

    /// Records a list of objects that begins here.
    fn note_list(&mut self, path: &str) {
        let start = self.at;
        if self.take(b'[') && self.peek() == Some(b'{') && path.split('.').all(is_plain) {
            self.lists.push((path.to_owned(), self.at));
        }
        self.at = start;
    }

    /// Moves to the first object of a list: the whole text, or the only list in the object that is the whole text, if
    /// this object has no fields of requests. Returns the path of the list for jq; `None` if there is no such list.
    fn enter_list(&mut self) -> Option<String> {
        if self.take(b'[') {
            return Some("[]".to_owned());
        }
        let start = self.at;
        let object = self.object();
        let is_whole = object.is_none() || self.peek().is_none();
        let has_request = object.is_some_and(|object| {
            object.iter().any(|(name, value)| value.is_some() && is_needed_field(name))
        });
        self.at = start;
        let [(path, first)] = &std::mem::take(&mut self.lists)[..] else { return None };
        if !is_whole || has_request {
            return None;
        }
        self.at = *first;
        Some(format!(".{path}[]?"))
    }
}

/// Returns whether the name of a field can be a column name. Logstash's `@timestamp` can, too.
fn is_plain(name: &str) -> bool {
    let name = name.strip_prefix('@').unwrap_or(name);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the path of a field for jq, which requires quotes around names with an `@`.
fn path_of(name: &str) -> String {
    let quoted = |part: &str| {
        if part.starts_with('@') { format!(".\"{part}\"") } else { format!(".{part}") }
    };
    name.split('.').map(quoted).collect()
}

/// Returns the last part of a path, without the `@` of Logstash.
fn name_of(path: &str) -> &str {
    let name = path.rsplit('.').next().unwrap_or_default();
    name.trim_start_matches('@')
}

/// Returns the column names for the fields at these paths: the field names, after the name of their object if the field
/// is a part of a time or the name is not unique.
fn titles(paths: &[&str]) -> Vec<String> {
    let is_alone = |name: &str| paths.iter().filter(|path| name_of(path) == name).count() == 1;
    let title = |path: &&str| {
        let name = name_of(path);
        let is_title = is_alone(name) && (is_field(name) || name == NLB);
        if is_title { name.to_owned() } else { path.replace(['.', '@'], "_") }
    };
    paths.iter().map(title).collect()
}

/// Converts lines of objects, or a list of objects, perhaps in a field of an object, to a table. Its columns are the
/// fields of requests in the first object.
pub(super) fn table(bytes: &[u8]) -> Option<Rewriting> {
    let mut cursor = Cursor::of(bytes);
    let list = cursor.enter_list().unwrap_or_default();
    let mut objects = Vec::new();
    while let Some(object) = cursor.object() {
        objects.push(object);
        cursor.take(b',');
    }
    let is_used = |path: &&str| {
        let (object, _) = path.rsplit_once('.').unwrap_or(("", path));
        let name = name_of(path);
        // Properties of a device are not properties of its requests.
        let is_of_device = is_field(object) && !is_needed_field(object);
        let is_part = is_needed_field(&format!("{object}_{name}"));
        !is_of_device && (is_field(name) || name == NLB || is_part)
    };
    let fields = objects.first()?.iter().filter(|(_, value)| value.is_some());
    let scalars: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
    let mut names: Vec<&str> = scalars.iter().copied().filter(is_used).collect();
    // A field that no name states may be in another column, whose position or values identify it.
    let is_stated = |is: fn(&str) -> bool| {
        let is_field = |path: &&str| is(name_of(path)) || is(&path.replace('.', "_"));
        names.iter().any(is_field)
    };
    let has_length = is_stated(is_length) || is_stated(|name| name == NLB);
    let are_all = has_length && [is_time, is_operation].into_iter().all(is_stated);
    if !is_stated(is_address) || (!are_all && scalars.len() <= FIELDS[1]) {
        names = scalars;
    }
    if !(FIELDS[0]..=FIELDS[1]).contains(&names.len()) {
        return None;
    }
    let row = |object: &Object| {
        let value = |name: &&str| object.iter().find(|(field, _)| field == name)?.1.as_deref();
        let cells = names.iter().map(|name| format!("\"{}\"", value(name).unwrap_or_default()));
        cells.collect::<Vec<String>>().join(",")
    };
    let table: String = objects.iter().map(|object| row(object) + "\n").collect();
    let has_long_numbers = table
        .split('"')
        .any(|cell| cell.len() > EXACT && cell.bytes().all(|byte| byte.is_ascii_digit()));
    let titles = titles(&names);
    let strings: Vec<String> = titles.iter().map(|title| format!("\"{title}\"")).collect();
    let paths: Vec<String> = names.iter().map(|name| path_of(name)).collect();
    let message = if has_long_numbers {
        "the file is JSON with long numbers, which jq rounds before version 1.7; convert it to a table"
    } else {
        "the file is JSON; convert it to a table"
    };
    let filter = format!(
        "jq -rn '[{}], (inputs{list} | [{}]) | @csv' FILE",
        strings.join(","),
        paths.join(",")
    );
    let table = format!("{}\n{table}", titles.join(","));
    Some(Rewriting::of(message.to_owned(), filter, table.into_bytes()))
}
