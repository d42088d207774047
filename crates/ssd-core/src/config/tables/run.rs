//! `[run]`: the run as a whole.

use super::prelude::*;

crate::config_table! {
    "The run as a whole."
    Run: run in Config {
        seed: int(0, u64::MAX >> 1) => seed: u64 = 1,
            "Seed of every random stream.";
        mode: word() => mode: Mode = Mode::Timed,
            "Timed or functional simulation.";
        data: word() => data: DataMode = DataMode::None,
            "What pages contain. Contents are checked at every read.";
        name: special(NAME) => name: String = "run".to_string(),
            "Name of the run and of its folder; by default that of the config file or of the preset.";
        drive: special(DRIVE) => drive: String = String::new(),
            "The drive that is simulated, with its errors against measurements. ssdlab notes it from the \
            file of the drive.";
    }
}

static NAME: Special<Config> = Special {
    form: "string",
    default: Some("name of the file or of the preset, otherwise \"run\""),
    read: |draft, errors, path, node| {
        let result = read::text(node).and_then(|name| {
            if !is_folder_name(name) {
                let expected = "1 to 100 letters, digits, spaces and .-_+, not starting with a dot";
                return Err(format!("found {}; expected {expected}", node.describe()));
            }
            draft.config.run.name = name.to_string();
            Ok(())
        });
        report(errors, path, node, result);
    },
    show: |config| Some(quoted(&config.run.name)),
    text: true,
    types: TEXT,
};

static DRIVE: Special<Config> = Special {
    form: "string",
    default: Some("noted by ssdlab if the preset or the file is a drive"),
    read: |draft, errors, path, node| {
        let result = read::text(node).map(|drive| draft.config.run.drive = drive.to_string());
        report(errors, path, node, result);
    },
    show: |config| {
        let drive = &config.run.drive;
        (!drive.is_empty()).then(|| quoted(drive))
    },
    text: true,
    types: TEXT,
};

/// Whether `name` is a valid folder name on every system and contains no path.
pub(crate) fn is_folder_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '+');
    (1..=100).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with(['.', ' '])
        && !name.ends_with(['.', ' '])
}
