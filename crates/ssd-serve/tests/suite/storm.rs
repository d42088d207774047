//! Random clients: handshakes, requests and garbage, in pieces of any size.

use crate::nbd::{named, option};
use crate::resident::resident_bytes;
use crate::rig::{Temporary, config, export};
use ssd_core::host::device::Device as _;
use ssd_core::rng::Stream;
use ssd_run::Unattended;
use ssd_serve::connection::{Connection, Next, Ticket};
use ssd_serve::engine::Engine;
use ssd_serve::nbd::MAX_DATA;
use ssd_serve::nbd::handshake::Export;
use ssd_serve::state::{new_drive, without_state};
use std::collections::BTreeMap;

const STRUCTURED_REPLY: u32 = 8;
const READ: u16 = 0;
const WRITE: u16 = 1;
/// Most bytes of a request that is not refused for its length.
const LONGEST: u64 = 40_000;

/// What one client sends.
#[derive(Default)]
struct Script {
    bytes: Vec<u8>,
    /// Bytes of the handshake.
    handshake: usize,
    /// Requests by cookie, with the length of those that read.
    requests: BTreeMap<u64, Option<u32>>,
    is_structured: bool,
    /// Whether every byte follows the protocol.
    is_sound: bool,
}

impl Script {
    /// A handshake and at most `most` requests to a drive of so many bytes.
    fn draw(random: &mut Stream, most: u64, drive: u64) -> Script {
        let mut script = Script { is_sound: !random.chance(0.05), ..Script::default() };
        script.bytes.extend(3u32.to_be_bytes());
        for _ in 0..random.below(3) {
            let number = random.below(12) as u32;
            // These end the handshake.
            if !matches!(number, 1 | 2 | 7) {
                script.bytes.extend(option(number, &[]));
                script.is_structured |= number == STRUCTURED_REPLY;
            }
        }
        script.bytes.extend(option(1, b"tiny"));
        script.handshake = script.bytes.len();
        for cookie in 0..random.below(most) {
            script.request(random, cookie, drive);
        }
        if !script.is_sound {
            let at = random.below(script.bytes.len() as u64) as usize;
            script.bytes[at] ^= 1 + random.below(255) as u8;
        }
        script
    }

    fn request(&mut self, random: &mut Stream, cookie: u64, drive: u64) {
        let command = if random.chance(0.01) { 77 } else { random.below(8) as u16 };
        // It ends the connection.
        if command == 2 {
            return;
        }
        let flags = if random.chance(0.02) { random.below(1 << 16) } else { random.below(2) };
        let unit = [1, 512, 4096][random.below(3) as usize];
        let (mut offset, mut length) =
            (random.below(drive / unit) * unit, 1 + random.below(LONGEST));
        match random.below(100) {
            0 => offset = random.below(u64::MAX),
            1 => length = 0,
            2 if command != WRITE => length = u64::from(MAX_DATA) + random.below(1 << 31),
            _ => length = length.min(drive - offset),
        }
        self.bytes.extend(0x2560_9513_u32.to_be_bytes());
        self.bytes.extend((flags as u16).to_be_bytes());
        self.bytes.extend(command.to_be_bytes());
        self.bytes.extend(cookie.to_be_bytes());
        self.bytes.extend(offset.to_be_bytes());
        self.bytes.extend((length as u32).to_be_bytes());
        if command == WRITE {
            self.bytes.resize(self.bytes.len() + length as usize, cookie as u8);
        }
        self.requests.insert(cookie, (command == READ).then_some(length as u32));
    }

    /// The cookies that `output`, what the server sent after the handshake, answers. Every reply is whole.
    fn answered(&self, mut output: &[u8]) -> Vec<u64> {
        let mut cookies = Vec::new();
        while !output.is_empty() {
            let word = |at: usize| u32::from_be_bytes(output[at..at + 4].try_into().expect("4"));
            let cookie = u64::from(word(8)) << 32 | u64::from(word(12));
            cookies.push(cookie);
            let bytes = if self.is_structured {
                assert_eq!(word(0), 0x668e_33ef);
                20 + word(16) as usize
            } else {
                assert_eq!(word(0), 0x6744_6698);
                let read = self.requests.get(&cookie).copied().flatten().unwrap_or(0);
                16 + if word(4) == 0 { read as usize } else { 0 }
            };
            output = &output[bytes..];
        }
        cookies
    }
}

/// A request under way: its numbers in the drive, and how many of them have not completed.
struct Pending {
    first: u64,
    end: u64,
    left: u64,
    ticket: Ticket,
}

/// A client of a drive.
struct Session<'a> {
    export: &'a Export,
    engine: &'a mut Engine,
    connection: Connection,
    pending: Vec<Pending>,
    output: Vec<u8>,
}

impl Session<'_> {
    /// Send `bytes` in pieces. Returns whether the server still understands the client.
    fn send(&mut self, bytes: &[u8], random: &mut Stream) -> bool {
        let mut left = bytes;
        while !left.is_empty() {
            let most = if random.chance(0.5) { 50 } else { 50_000 };
            let (piece, rest) = left.split_at(left.len().min(1 + random.below(most) as usize));
            left = rest;
            self.connection.receive(piece);
            if !self.serve(random) {
                return false;
            }
        }
        true
    }

    /// Serve what has been received, as far as it is whole. Returns whether the server understands it.
    fn serve(&mut self, random: &mut Stream) -> bool {
        loop {
            let at = self.engine.ssd().now().0 + random.below(1000);
            match self.connection.next(self.export, self.engine, at) {
                Err(_) => return false,
                Ok(Next::Answered) => {}
                Ok(Next::Submitted(numbers, ticket)) => {
                    let (first, left) = (numbers.first, numbers.count);
                    self.pending.push(Pending { first, end: first + left, left, ticket });
                }
                Ok(Next::None) if self.connection.wants_input() || self.pending.is_empty() => break,
                Ok(Next::None) => self.step(),
            }
            self.take_output();
        }
        self.take_output();
        true
    }

    /// Run to the next event, and answer what has completed.
    fn step(&mut self) {
        match self.engine.next_event() {
            Some(at) => self.engine.run(at),
            // What is left waits for the disk.
            None => self.engine.settle().expect("the disk works"),
        }
        for completion in self.engine.completions().expect("the disk works") {
            let id = completion.id.0;
            let is_own = |pending: &Pending| (pending.first..pending.end).contains(&id);
            // Those of clients before this one have nobody who waits for them.
            let Some(place) = self.pending.iter().position(is_own) else { continue };
            self.pending[place].left -= 1;
            if self.pending[place].left == 0 {
                let ticket = self.pending.swap_remove(place).ticket;
                self.connection.complete(ticket, self.engine, None);
            }
        }
        assert_eq!(self.engine.failure(), None);
    }

    fn take_output(&mut self) {
        let bytes = self.connection.output().len();
        self.output.extend(self.connection.output());
        self.connection.sent(bytes);
    }
}

/// Let clients send at least so many requests in all, one client after the other.
fn storm(requests: u64, seed: u64) {
    let (folder, config) = (Temporary::new(), config(&[]));
    let snapshot = new_drive(&config, &mut Unattended).expect("a new drive");
    let mut engine = without_state(&config, &snapshot, &folder.0).expect("a drive");
    let export = export(engine.bytes());
    let mut random = Stream::new(seed, "storm");
    let mut sent = 0;
    while sent < requests {
        let script = Script::draw(&mut random, 200, export.bytes);
        sent += 1 + script.requests.len() as u64;
        let mut session = Session {
            export: &export,
            engine: &mut engine,
            connection: Connection::default(),
            pending: Vec::new(),
            output: Vec::new(),
        };
        session.take_output();
        let (handshake, transmission) = script.bytes.split_at(script.handshake);
        let is_open = session.send(handshake, &mut random);
        assert!(is_open && session.connection.has_chosen() || !script.is_sound);
        let begin = session.output.len();
        let is_open = is_open && session.send(transmission, &mut random);
        if script.is_sound {
            assert!(is_open, "a sound client is not understood");
            while !session.pending.is_empty() {
                session.step();
            }
            session.take_output();
            let mut cookies = script.answered(&session.output[begin..]);
            cookies.sort_unstable();
            assert!(cookies.iter().eq(script.requests.keys()), "each request has one answer");
        }
    }
}

#[test]
fn the_drive_is_described_in_parts_so_that_others_are_served_meanwhile() {
    let config =
        config(&[("device.blocks_per_plane", "1024"), ("device.user_capacity", "100 MiB")]);
    let folder = Temporary::new();
    let snapshot = new_drive(&config, &mut Unattended).expect("a drive");
    let mut engine = without_state(&config, &snapshot, &folder.0).expect("a drive");
    let export = export(engine.bytes());
    let mut connection = Connection::default();
    let context = [&named("")[..], &1u32.to_be_bytes(), &named("base:allocation")].concat();
    let go = [&named("tiny")[..], &[0, 0]].concat();
    let options = [option(8, &[]), option(10, &context), option(7, &go)].concat();
    connection.receive(&[&1u32.to_be_bytes()[..], &options].concat());
    let request = |connection: &mut Connection, engine: &mut Engine| {
        connection.next(&export, engine, 0).expect("a sound client")
    };
    assert!(matches!(request(&mut connection, &mut engine), Next::None));
    let greeting = connection.output().len();
    for cookie in 0..3u64 {
        let head =
            [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0, 0, 7], &cookie.to_be_bytes()].concat();
        connection.receive(&[&head[..], &[0; 8], &(100u32 << 20).to_be_bytes()].concat());
    }
    for _ in 0..3 {
        assert!(matches!(request(&mut connection, &mut engine), Next::Answered));
    }
    assert!(matches!(request(&mut connection, &mut engine), Next::None));
    // Each reply ends with one extent, whose length and status are the last 8 bytes.
    let replies = connection.output()[greeting..].to_vec();
    assert_eq!(replies.len() % 3, 0);
    let extent = &replies[replies.len() / 3 - 8..replies.len() / 3];
    assert_eq!(extent, [&(64u32 << 20).to_be_bytes()[..], &3u32.to_be_bytes()].concat());
}

#[test]
fn any_client_is_answered_or_disconnected() {
    storm(20_000, 1);
}

/// Bytes that the process may grow by, once what stays has been filled.
const GROWTH: u64 = 64 << 20;

#[test]
#[ignore = "ten million requests, minutes: part of `make test-all`"]
fn ten_million_requests_are_answered_or_refused_in_constant_memory() {
    storm(100_000, 2);
    let before = resident_bytes();
    storm(10_000_000, 3);
    let (Some(before), Some(after)) = (before, resident_bytes()) else { return };
    assert!(after < before + GROWTH, "{before} bytes in memory have become {after}");
}
