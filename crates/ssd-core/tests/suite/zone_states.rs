//! The states of zones: every command in every state by a table, and the limits of open and active zones.

use ssd_core::host::zones::{Limits, ZoneFailure, ZoneState, ZoneStatus, ZoneTable};
use ssd_core::rng::Stream;

/// Pages of a zone.
const PAGES: u32 = 8;
/// The zone that a case is about; others around it are empty.
const ZONE: u32 = 1;

const COMMANDS: [&str; 12] = [
    "read",
    "write",
    "write elsewhere",
    "write beyond",
    "write nothing",
    "append",
    "append beyond",
    "open",
    "close",
    "finish",
    "reset",
    "offline",
];

/// By state, for each command: its status code (0: success) and the state afterwards.
const TABLE: [(&str, [(u16, &str); 12]); 7] = [
    ("E", row("0E 0I BCE B8E 02E 0I B8E 0X BFE 0F 0E BFE")),
    ("I", row("0I 0I BCI B8I 02I 0I B8I 0X 0C 0F 0E BFI")),
    ("X", row("0X 0X BCX B8X 02X 0X B8X 0X 0C 0F 0E BFX")),
    ("C", row("0C 0I BCC B8C 02C 0I B8C 0X 0C 0F 0E BFC")),
    ("F", row("0F B9F B9F B9F B9F B9F B9F BFF BFF 0F 0E BFF")),
    ("R", row("0R BAR BAR BAR BAR BAR BAR BFR BFR BFR BFR 0O")),
    ("O", row("BBO BBO BBO BBO BBO BBO BBO BFO BFO BFO BFO 0O")),
];

/// The cells of `text`: a status code in hexadecimal digits, and the last letter is the state.
const fn row(text: &'static str) -> [(u16, &'static str); 12] {
    let bytes = text.as_bytes();
    let mut cells = [(0, ""); 12];
    let (mut at, mut cell) = (0, 0);
    while cell < 12 {
        let mut end = at;
        while end < bytes.len() && bytes[end] != b' ' {
            end += 1;
        }
        let (mut code, mut digit) = (0, at);
        while digit < end - 1 {
            let value = bytes[digit];
            code = code * 16 + (value - if value >= b'A' { b'A' - 10 } else { b'0' }) as u16;
            digit += 1;
        }
        // The codes from B8 on are those of zones: status code type 1.
        let code = if code >= 0xb8 { 0x100 + code } else { code };
        cells[cell] = (code, text.split_at(end - 1).1.split_at(1).0);
        (at, cell) = (end + 1, cell + 1);
    }
    cells
}

fn letter(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Empty => "E",
        ZoneState::ImplicitlyOpened => "I",
        ZoneState::ExplicitlyOpened => "X",
        ZoneState::Closed => "C",
        ZoneState::Full => "F",
        ZoneState::ReadOnly => "R",
        ZoneState::Offline => "O",
    }
}

/// Three zones, of which `ZONE` is in `state`, with three pages unless that is empty.
fn zones(state: &str) -> ZoneTable {
    let mut table = ZoneTable::new(3, PAGES, Limits { open: 2, active: 3 });
    if state != "E" {
        assert_eq!(table.append(ZONE, 3), Ok(ZONE * PAGES));
        assert!(!table.write_completes(ZONE, 3));
    }
    let arrived = match state {
        "X" => table.open(ZONE),
        "C" => table.close(ZONE),
        "F" => table.finish(ZONE),
        "R" => table.fail(ZONE, ZoneFailure::ReadOnly),
        "O" => table.fail(ZONE, ZoneFailure::Offline),
        _ => Ok(()),
    };
    assert_eq!(arrived, Ok(()));
    assert_eq!(letter(table.zones()[ZONE as usize].state), state);
    table
}

fn execute(table: &mut ZoneTable, command: &str) -> Result<(), ZoneStatus> {
    let written = table.zones()[ZONE as usize].written;
    let (first, pointer) = (ZONE * PAGES, ZONE * PAGES + written);
    match command {
        "read" => table.read(first - 1, PAGES + 2),
        "write" => table.write(pointer, 2).map(|zone| assert_eq!(zone, ZONE)),
        "write elsewhere" => table.write(pointer + 1, 1).map(drop),
        "write beyond" => table.write(pointer, PAGES - written + 1).map(drop),
        "write nothing" => table.write(pointer, 0).map(drop),
        "append" => table.append(ZONE, 2).map(|page| assert_eq!(page, pointer)),
        "append beyond" => table.append(ZONE, PAGES - written + 1).map(drop),
        "open" => table.open(ZONE),
        "close" => table.close(ZONE),
        "finish" => table.finish(ZONE),
        "reset" => table.reset(ZONE),
        _ => table.offline(ZONE),
    }
}

#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    for (state, row) in TABLE {
        for (command, (code, after)) in COMMANDS.into_iter().zip(row) {
            let mut table = zones(state);
            let before = table.zones()[ZONE as usize];
            let status = execute(&mut table, command).map_or_else(ZoneStatus::code, |()| 0);
            let zone = table.zones()[ZONE as usize];
            let found = (status, letter(zone.state));
            assert_eq!(found, (code, after), "{command} in {}", before.state.name());
            let written = match command {
                "write" | "append" if code == 0 => before.written + 2,
                "reset" if code == 0 => 0,
                _ => before.written,
            };
            assert_eq!(zone.written, written, "{command} in {}", before.state.name());
            table.audit().unwrap();
        }
    }
}

#[test]
fn a_zone_that_does_not_exist_is_out_of_range() {
    let mut table = ZoneTable::new(3, PAGES, Limits { open: 1, active: 1 });
    let refused = Err(ZoneStatus::LbaOutOfRange);
    let found = [table.open(3), table.close(3), table.finish(3), table.reset(3), table.offline(3)];
    assert_eq!(found, [refused; 5]);
    assert_eq!(table.append(3, 1), Err(ZoneStatus::LbaOutOfRange));
    assert_eq!(table.write(3 * PAGES, 1), Err(ZoneStatus::LbaOutOfRange));
    assert_eq!(table.read(3 * PAGES - 1, 2), refused);
    assert_eq!(table.read(u32::MAX, 2), refused);
    assert_eq!(table.read(0, 0), Err(ZoneStatus::InvalidField));
    assert_eq!(table.read(0, 3 * PAGES), Ok(()));
}

#[test]
fn a_zone_is_full_when_its_last_write_completes() {
    let mut table = zones("E");
    assert_eq!(table.append(ZONE, PAGES - 1), Ok(PAGES));
    assert_eq!(table.append(ZONE, 1), Ok(2 * PAGES - 1));
    assert_eq!(table.append(ZONE, 1), Err(ZoneStatus::ZoneBoundaryError));
    assert!(!table.write_completes(ZONE, 1), "a write is in flight");
    assert_eq!(table.active_zones(), 1);
    for refused in [table.finish(ZONE), table.reset(ZONE), table.fail(ZONE, ZoneFailure::Offline)] {
        assert_eq!(refused, Err(ZoneStatus::CommandSequenceError));
    }
    // A closed zone becomes full likewise.
    assert_eq!(table.close(ZONE), Ok(()));
    assert!(table.write_completes(ZONE, PAGES - 1));
    assert_eq!(table.zones()[ZONE as usize].state, ZoneState::Full);
    assert_eq!((table.open_zones(), table.active_zones()), (0, 0));
}

#[test]
fn the_zone_that_was_opened_implicitly_first_is_closed_for_another() {
    let mut table = ZoneTable::new(5, PAGES, Limits { open: 2, active: 4 });
    for zone in [3, 0] {
        table.append(zone, 1).unwrap();
    }
    table.append(1, 1).unwrap();
    let states =
        |table: &ZoneTable| table.zones().iter().map(|z| letter(z.state)).collect::<String>();
    assert_eq!(states(&table), "IIECE");
    // An open by command closes one, too.
    table.open(3).unwrap();
    assert_eq!(states(&table), "CIEXE");
    table.open(1).unwrap();
    assert_eq!(table.append(0, 1), Err(ZoneStatus::TooManyOpenZones));
    assert_eq!(table.open(0), Err(ZoneStatus::TooManyOpenZones));
    assert_eq!(table.open(4), Err(ZoneStatus::TooManyOpenZones));
    table.close(1).unwrap();
    table.append(4, 1).unwrap();
    assert_eq!(states(&table), "CCEXI");
    assert_eq!(table.append(2, 1), Err(ZoneStatus::TooManyActiveZones));
    assert_eq!(table.open(2), Err(ZoneStatus::TooManyActiveZones));
    // Finishing an empty zone needs no resource.
    table.finish(2).unwrap();
    assert_eq!(states(&table), "CCFXI");
    table.audit().unwrap();
}

/// The standard read literally: every count is taken anew.
struct Literal {
    zones: Vec<(char, u32, u32)>,
    /// Zones in the order in which they were opened implicitly last.
    opened: Vec<usize>,
    limits: Limits,
}

impl Literal {
    fn count(&self, states: &str) -> u32 {
        self.zones.iter().filter(|zone| states.contains(zone.0)).count() as u32
    }

    fn room(&mut self, zone: usize) -> u16 {
        if self.zones[zone].0 == 'E' && self.count("IXC") >= self.limits.active {
            return 0x1bd;
        }
        if self.count("IX") >= self.limits.open {
            let opened = self.opened.iter().copied().find(|&z| self.zones[z].0 == 'I');
            let Some(first) = opened else { return 0x1be };
            self.zones[first].0 = 'C';
        }
        0
    }

    fn append(&mut self, zone: usize, pages: u32) -> u16 {
        match self.zones[zone] {
            ('F', ..) => return 0x1b9,
            ('R', ..) => return 0x1ba,
            ('O', ..) => return 0x1bb,
            (_, written, _) if written + pages > PAGES => return 0x1b8,
            (state, ..) if "EC".contains(state) => {
                let code = self.room(zone);
                if code != 0 {
                    return code;
                }
                self.opened.retain(|&z| z != zone);
                self.opened.push(zone);
                self.zones[zone].0 = 'I';
            }
            _ => {}
        }
        self.zones[zone].1 += pages;
        self.zones[zone].2 += pages;
        0
    }

    fn manage(&mut self, zone: usize, command: &str) -> u16 {
        let (state, _, in_flight) = self.zones[zone];
        let waits = in_flight > 0 && "EIXCF".contains(state);
        let next = match (command, state) {
            ("open", 'E' | 'C') => match self.room(zone) {
                0 => 'X',
                code => return code,
            },
            ("open", 'I' | 'X') => 'X',
            ("close", 'I' | 'X' | 'C') => 'C',
            ("finish" | "reset", _) if waits => return 0x00c,
            ("finish", 'E' | 'I' | 'X' | 'C' | 'F') => 'F',
            ("reset", 'E' | 'I' | 'X' | 'C' | 'F') => 'E',
            ("offline", 'R' | 'O') => 'O',
            _ => return 0x1bf,
        };
        self.zones[zone].0 = next;
        if next == 'E' {
            self.zones[zone].1 = 0;
        }
        0
    }
}

#[test]
fn random_commands_equal_the_literal_version() {
    for seed in 0..200u64 {
        let mut random = Stream::new(seed, "zones");
        let mut draw = |n: u32| random.below(u64::from(n)) as u32;
        let open = 1 + draw(3);
        let limits = Limits { open, active: open + draw(3) };
        let mut table = ZoneTable::new(8, PAGES, limits);
        let mut literal = Literal { zones: vec![('E', 0, 0); 8], opened: Vec::new(), limits };
        let mut writes = Vec::new();
        for _ in 0..400 {
            let (zone, pages) = (draw(8), 1 + draw(4));
            let at = zone as usize;
            let command =
                ["append", "append", "end", "open", "close", "finish", "reset", "offline"]
                    [draw(8) as usize];
            let (found, expected) = match command {
                "append" => {
                    let found = table.append(zone, pages);
                    if found.is_ok() {
                        writes.push((zone, pages));
                    }
                    (found.map(drop), literal.append(at, pages))
                }
                "end" if writes.is_empty() => continue,
                "end" => {
                    let (zone, pages) = writes.swap_remove(draw(writes.len() as u32) as usize);
                    let entry = &mut literal.zones[zone as usize];
                    entry.2 -= pages;
                    if (entry.1, entry.2) == (PAGES, 0) {
                        entry.0 = 'F';
                    }
                    table.write_completes(zone, pages);
                    (Ok(()), 0)
                }
                "open" => (table.open(zone), literal.manage(at, command)),
                "close" => (table.close(zone), literal.manage(at, command)),
                "finish" => (table.finish(zone), literal.manage(at, command)),
                "reset" => (table.reset(zone), literal.manage(at, command)),
                _ => (table.offline(zone), literal.manage(at, command)),
            };
            let code = found.map_or_else(ZoneStatus::code, |()| 0);
            assert_eq!(code, expected, "seed {seed}: {command} of zone {zone}");
            let states = table.zones().iter().map(|z| (letter(z.state), z.written, z.in_flight));
            let literal = literal.zones.iter().map(|z| (z.0.to_string(), z.1, z.2));
            assert!(
                states.map(|z| (z.0.to_string(), z.1, z.2)).eq(literal),
                "seed {seed}: {command}"
            );
            table.audit().unwrap();
        }
    }
}

#[test]
fn each_status_has_a_code_and_a_name_of_its_own() {
    for (i, status) in ZoneStatus::ALL.into_iter().enumerate() {
        assert!(ZoneStatus::ALL[..i].iter().all(|other| other.code() < status.code()));
        assert!(ZoneStatus::ALL[..i].iter().all(|other| other.name() != status.name()));
    }
}
