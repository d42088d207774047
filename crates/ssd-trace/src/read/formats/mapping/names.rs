//! Column names in a header.

/// Returns the columns named `target`: exactly, or else in another case, or else with a type after a dot, as in
/// `LBA.I`.
pub(super) fn columns_named(names: &[impl AsRef<[u8]>], target: &str) -> Vec<usize> {
    let ranks: Vec<Option<u8>> =
        names.iter().map(|name| rank_of_name(name.as_ref(), target)).collect();
    let best = ranks.iter().flatten().min();
    let is_best = |at: &usize| best.is_some() && ranks[*at].as_ref() == best;
    (0..names.len()).filter(is_best).collect()
}

/// Returns how well a cell of a header matches the name `target`, lower is better; `None` if it does not match.
fn rank_of_name(cell: &[u8], target: &str) -> Option<u8> {
    let is_alike = |name: &[u8]| name.eq_ignore_ascii_case(target.as_bytes());
    match cell {
        name if name == target.as_bytes() => Some(0),
        name if is_alike(name) => Some(1),
        [stem @ .., b'.', kind] if kind.is_ascii_alphabetic() && is_alike(stem) => Some(2),
        _ => None,
    }
}

/// Returns whether a cell of a header is the name `target`.
pub(super) fn is_name(cell: &[u8], target: &str) -> bool {
    rank_of_name(cell, target).is_some()
}
