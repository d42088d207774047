//! A note of a field of the report: its column in comparisons.

/// How far a column goes: each role includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Names what its section is about, for the names of the columns below it: no column itself.
    Subject,
    /// In the rows.
    Fact,
    /// What is simulated: repetitions have means, intervals and ratios.
    Measure,
    /// In the tables of pages, with its title.
    Paged,
    /// In the tables of text, too.
    Shown,
    /// Configurations are ranked by it: lower is better.
    Ranked,
}

/// A note of a field: its column in comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// How far it goes.
    pub role: Role,
    /// Name in `compare.json`; `{}` stands for the subject.
    pub name: &'static str,
    /// Title in tables.
    pub title: &'static str,
    /// Title where there is little room.
    pub short: &'static str,
    /// The column is the share of this field of the section that the field makes up.
    pub of: Option<&'static str>,
    /// It comes after the other columns of its section.
    pub last: bool,
}

const fn column(role: Role, name: &'static str, title: &'static str) -> Column {
    Column { role, name, title, short: title, of: None, last: false }
}

/// A field whose section describes `name`: only such ones have the columns with `{}`.
#[must_use]
pub const fn subject(name: &'static str) -> Column {
    column(Role::Subject, name, "")
}

/// A column of the rows only.
#[must_use]
pub const fn fact(name: &'static str) -> Column {
    column(Role::Fact, name, "")
}

/// A column with means and ratios.
#[must_use]
pub const fn measure(name: &'static str) -> Column {
    column(Role::Measure, name, "")
}

/// A column that is also in the tables of pages.
#[must_use]
pub const fn paged(name: &'static str, title: &'static str) -> Column {
    column(Role::Paged, name, title)
}

/// A column that is also in the tables of pages and text.
#[must_use]
pub const fn shown(name: &'static str, title: &'static str) -> Column {
    column(Role::Shown, name, title)
}

/// A column by which configurations are also ranked, the lowest first.
#[must_use]
pub const fn ranked(name: &'static str, title: &'static str) -> Column {
    column(Role::Ranked, name, title)
}

impl Column {
    /// With another title where there is little room.
    #[must_use]
    pub const fn short(self, short: &'static str) -> Column {
        Column { short, ..self }
    }
    /// After the other columns of its section.
    #[must_use]
    pub const fn last(self) -> Column {
        Column { last: true, ..self }
    }
    /// Not the field but its share of `field` of the same section.
    #[must_use]
    pub const fn share_of(self, field: &'static str) -> Column {
        Column { of: Some(field), ..self }
    }
}
