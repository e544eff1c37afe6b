//! The log of writes, read back by a reader of our own and by xfstests' `replay-log` where it is installed.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::{Chance, installed, run, scratch};
use serve::memory::Memory;
use serve::{Blocks, Error, LogWrites};

const SIZE: u64 = 1 << 20;
const SECTOR: usize = 512;

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Entry {
    offset: usize,
    length: usize,
    flags: u64,
    /// Where its data begin in the file.
    data: usize,
}

fn number(log: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(log[at..at + 8].try_into().expect("8 bytes"))
}

/// All entries of a log, which must be whole.
fn entries(log: &[u8]) -> Vec<Entry> {
    assert_eq!((number(log, 0), number(log, 8), number(log, 24)), (0x006a_7366_7773_6872, 1, 512));
    let mut at = SECTOR;
    let entries = (0..number(log, 16)).map(|_| {
        let [sector, sectors, flags, data_length] = [0, 8, 16, 24].map(|field| number(log, at + field));
        assert!(log[at + 32..at + SECTOR].iter().all(|&byte| byte == 0) && data_length == 0);
        let length = sectors as usize * SECTOR;
        let data = at + SECTOR;
        at = data + if flags & 4 == 0 { length } else { 0 };
        Entry { offset: sector as usize * SECTOR, length, flags, data }
    });
    let entries = entries.collect();
    assert_eq!(at, log.len(), "the file ends with its last entry");
    entries
}

fn replay(log: &[u8], entries: &[Entry]) -> Vec<u8> {
    let mut bytes = vec![0; SIZE as usize];
    for entry in entries {
        let part = &mut bytes[entry.offset..entry.offset + entry.length];
        if entry.flags & 4 == 0 {
            part.copy_from_slice(&log[entry.data..entry.data + entry.length]);
        } else {
            part.fill(0);
        }
    }
    bytes
}

/// Random requests; at each flush, what the device keeps from then on.
fn recorded(path: &Path, seed: u64) -> Vec<Vec<u8>> {
    let memory = Arc::new(Memory::new(SIZE));
    let logged = LogWrites::create(memory.clone(), path).expect("a log");
    let mut chance = Chance(seed);
    let mut flushed = Vec::new();
    for _ in 0..300 {
        let offset = chance.below(SIZE / 512 - 64) * 512;
        let length = (1 + chance.below(64)) * 512;
        let fua = chance.below(4) == 0;
        match chance.below(8) {
            0 => {
                logged.flush().expect("a flush");
                flushed.push(memory.kept());
            }
            1 => logged.trim(offset, length).expect("a discard"),
            2 => logged.zero(offset, length, true, fua).expect("zeros"),
            _ => logged.write(offset, &chance.bytes(length as usize), fua).expect("a write"),
        }
    }
    logged.close().expect("closed");
    flushed.push(memory.kept());
    flushed
}

#[test]
fn replayed_up_to_a_flush_it_is_what_the_device_kept() {
    let path = scratch("log");
    let flushed = recorded(&path, 1);
    let log = std::fs::read(&path).expect("the log");
    let entries = entries(&log);
    let ends: Vec<usize> = (1..=entries.len()).filter(|&end| entries[end - 1].flags & 1 != 0).collect();
    assert_eq!(ends.len(), flushed.len());
    assert!(ends.len() > 20 && entries.iter().any(|entry| entry.flags == 2) && entries.iter().any(|e| e.flags == 4));
    for (end, kept) in ends.iter().zip(&flushed) {
        assert!(replay(&log, &entries[..*end]) == *kept, "after entry {end}");
    }
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn replay_log_reads_it_to_each_flush() {
    if !installed(&["replay-log"]) {
        return;
    }
    let (path, target) = (scratch("log"), scratch("image"));
    let flushed = recorded(&path, 2);
    std::fs::write(&target, vec![0; SIZE as usize]).expect("a target");
    let tool = |arguments: &[&str]| {
        let mut command = Command::new("replay-log");
        command.arg("--log").arg(&path).args(arguments);
        command
    };
    let count: usize = run(&mut tool(&["--num-entries"])).trim().parse().expect("a number");
    assert_eq!(count, entries(&std::fs::read(&path).expect("the log")).len());
    let mut from = 0;
    for kept in &flushed {
        // From the entry behind the last flush to the next flush, which is the end of that search.
        let found = run(&mut tool(&["--find", "--next-flush", "--start-entry", &from.to_string()]));
        let entry: usize = found.split('@').next().and_then(|text| text.trim().parse().ok()).expect("an entry");
        let limit = (entry + 1 - from).to_string();
        let replayed =
            tool(&["--start-entry", &from.to_string(), "--limit", &limit]).arg("--replay").arg(&target).output();
        let replayed = replayed.expect("it runs");
        assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
        assert!(std::fs::read(&target).expect("the target") == *kept, "up to entry {entry}");
        from = entry + 1;
    }
    assert_eq!(from, count);
    std::fs::remove_file(&path).and_then(|()| std::fs::remove_file(&target)).expect("removed");
}

#[test]
fn long_requests_take_no_room_and_come_in_pieces() {
    let path = scratch("log");
    let large = Arc::new(Large);
    let logged = LogWrites::create(large, &path).expect("a log");
    logged.zero(0, 40 << 20, true, true).expect("zeros");
    logged.trim(4096, 300 << 20).expect("a discard");
    logged.write(512, &[1; 512], false).expect("a write");
    let log = std::fs::read(&path).expect("the log");
    let found: Vec<_> = entries(&log).iter().map(|entry| (entry.offset, entry.length, entry.flags)).collect();
    const M: usize = 1 << 20;
    let expected = [
        (0, 16 * M, 2),
        (16 * M, 16 * M, 2),
        (32 * M, 8 * M, 2),
        (4096, 128 * M, 4),
        (4096 + 128 * M, 128 * M, 4),
        (4096 + 256 * M, 44 * M, 4),
        (512, 512, 0),
    ];
    assert_eq!(found, expected);
    let on_disk = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).expect("the log")) * 512;
    assert!(on_disk < 1 << 20, "{on_disk} bytes for zeros");
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn what_failed_is_not_in_the_log_and_an_old_log_is_kept() {
    let path = scratch("log");
    let memory = Arc::new(Memory::new(SIZE));
    let logged = LogWrites::create(memory.clone(), &path).expect("a log");
    logged.write(0, &[1; 512], false).expect("a write");
    memory.cut_after(0);
    assert_eq!(logged.write(0, &[2; 512], false), Err(Error::PowerCut));
    assert_eq!(logged.flush(), Err(Error::PowerCut));
    assert_eq!(entries(&std::fs::read(&path).expect("the log")).len(), 1);
    let text = LogWrites::create(memory, &path).err().expect("it exists");
    assert_eq!(text, format!("{}: this file exists; give the log of writes a new name", path.display()));
    std::fs::remove_file(&path).expect("removed");
}

/// A device of a gigabyte that keeps nothing.
struct Large;

impl Blocks for Large {
    fn size(&self) -> u64 {
        1 << 30
    }

    fn block_sizes(&self) -> serve::BlockSizes {
        serve::BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 }
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn write(&self, _: u64, _: &[u8], _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn flush(&self) -> Result<(), Error> {
        Ok(())
    }

    fn trim(&self, _: u64, _: u64) -> Result<(), Error> {
        Ok(())
    }

    fn zero(&self, _: u64, _: u64, _: bool, _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn cut_after(&self, _: u64) {}
}
