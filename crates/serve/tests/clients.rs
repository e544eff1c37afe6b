//! Clients and servers of others: what they make of our server, and whether theirs answer our client as ours does.

mod common;

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{
    Chance, Client, Ended, FLUSH, FUA, NO_HOLE, READ, Request, TRIM, WRITE, ZERO, installed, run, scratch, served, soon,
};
use serve::Blocks;
use serve::memory::Memory;

const SIZE: u64 = 8 << 20;

fn uri(path: &Path) -> String {
    format!("nbd+unix:///?socket={}", path.display())
}

#[test]
fn nbdinfo_reads_what_we_are() {
    if !installed(&["nbdinfo"]) {
        return;
    }
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let text = run(Command::new("nbdinfo").arg(uri(&path)));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        "protocol: newstyle-fixed without TLS, using structured packets",
        "export-size: 8388608",
        "is_read_only: false",
        "can_flush: true",
        "can_fua: true",
        "can_multi_conn: true",
        "can_trim: true",
        "can_zero: true",
        "block_size_minimum: 512",
        "block_size_preferred: 4096",
        "block_size_maximum: 33554432",
    ] {
        assert!(lines.iter().any(|found| found.starts_with(line)), "{line} is not in {text}");
    }
    assert!(run(Command::new("nbdinfo").arg("--list").arg(uri(&path))).contains("export=\"\""));
    assert_eq!(server.lines(), [""; 0]);
    server.stop().expect("a clean stop");
}

#[test]
fn nbdcopy_copies_there_and_back_over_several_connections() {
    if !installed(&["nbdcopy"]) {
        return;
    }
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let (from, back) = (scratch("image"), scratch("image"));
    let mut data = Chance(3).bytes(SIZE as usize);
    data[1 << 20..3 << 20].fill(0);
    std::fs::write(&from, &data).expect("a file");
    let copy =
        |from: &Path, to: &Path| run(Command::new("nbdcopy").args(["--connections=4", "--flush"]).arg(from).arg(to));
    copy(&from, Path::new(&uri(&path)));
    assert!(server.counts().connections > 1 && server.counts().flushes >= 1, "{:?}", server.counts());
    assert!(server.counts().zeroes + server.counts().trims > 0, "holes are not written");
    copy(Path::new(&uri(&path)), &back);
    assert!(std::fs::read(&back).expect("a file") == data);
    assert_eq!(server.lines(), [""; 0]);
    server.stop().expect("a clean stop");
    std::fs::remove_file(&from).and_then(|()| std::fs::remove_file(&back)).expect("removed");
}

#[test]
fn qemu_io_writes_through_and_discards() {
    if !installed(&["qemu-io"]) {
        return;
    }
    let memory = Arc::new(Memory::new(SIZE));
    let (server, path) = served(memory.clone());
    let command = |text: &str| {
        let done = run(Command::new("qemu-io").args(["-f", "raw", "-c", text]).arg(uri(&path)));
        assert!(!done.contains("failed"), "{text}: {done}");
    };
    command("write -f -P 7 4096 8192");
    assert!(memory.kept()[4096..12288].iter().all(|&byte| byte == 7), "FUA came through");
    command("read -P 7 4096 8192");
    command("write -P 9 1234 777");
    command("read -P 9 1234 777");
    command("write -z -u 4096 4096");
    command("read -P 0 4096 4096");
    command("discard 8192 4096");
    command("read -P 0 8192 4096");
    command("flush");
    assert!(server.counts().trims > 0 && server.counts().zeroes > 0 && server.counts().flushes > 0);
    server.stop().expect("a clean stop");
}

#[test]
fn fio_finds_its_data_again() {
    if !installed(&["fio"]) {
        return;
    }
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let options = "--name=verify --ioengine=nbd --rw=randwrite --bs=4k --iodepth=32 --verify=crc32c --verify_state_save=0 --verify_fatal=1 \
                   --fsync=20 --randseed=1 --size=2m";
    run(Command::new("fio")
        .current_dir(std::env::temp_dir())
        .args(options.split_whitespace())
        .arg(format!("--uri={}", uri(&path))));
    assert_eq!((server.counts().writes, server.counts().reads), (512, 512));
    assert!(server.counts().flushes > 20, "{:?}", server.counts());
    assert_eq!((server.counts().errors, server.lines()), (0, vec![]));
    server.stop().expect("a clean stop");
}

#[test]
fn libnbd_sees_codes_and_texts_of_errors() {
    if !installed(&["/usr/bin/python3", "nbdinfo"]) || !Path::new("/usr/lib/python3/dist-packages/nbd.py").exists() {
        return;
    }
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let script = "
import errno, nbd, sys
h = nbd.NBD()
h.set_strict_mode(0)
h.connect_uri(sys.argv[1])
def code(call):
    try:
        call()
        return None
    except nbd.Error as error:
        return error.errnum
assert h.get_structured_replies_negotiated()
h.pwrite(b'x' * 4096, 0, nbd.CMD_FLAG_FUA)
assert h.pread(8192, 0) == b'x' * 4096 + bytes(4096)
assert h.pread_structured(4096, 0, lambda data, offset, status, error: 0, nbd.CMD_FLAG_DF) == b'x' * 4096
h.trim(512, 512, nbd.CMD_FLAG_FUA)
h.zero(512, 1024, nbd.CMD_FLAG_NO_HOLE)
assert h.pread(2048, 0) == b'x' * 512 + bytes(1024) + b'x' * 512
h.flush()
size = h.get_size()
assert code(lambda: h.pread(512, size)) == errno.EINVAL
assert code(lambda: h.pread(512, 1)) == errno.EINVAL
assert code(lambda: h.pwrite(bytes(1024), size - 512)) == errno.ENOSPC
assert code(lambda: h.pwrite(bytes(40 << 20), 0)) in (errno.EINVAL, errno.ERANGE)
assert code(lambda: h.cache(512, 0)) in (errno.EINVAL, errno.ENOTSUP)
assert h.pread(512, 0) == b'x' * 512, 'the connection goes on'
h.shutdown()
print('done')
";
    assert_eq!(run(Command::new("/usr/bin/python3").args(["-c", script]).arg(uri(&path))), "done\n");
    assert_eq!(server.lines(), [""; 0]);
    server.stop().expect("a clean stop");
}

/// Requests that all servers have to answer alike.
fn plain(chance: &mut Chance) -> (Request, Vec<u8>) {
    let offset = chance.below(SIZE / 512) * 512;
    let length = ((1 + chance.below(64)) * 512).min(SIZE - offset) as u32;
    let fua = if chance.below(4) == 0 { FUA } else { 0 };
    let hole = if chance.below(2) == 0 { NO_HOLE } else { 0 };
    match chance.below(10) {
        0 => (Request::new(FLUSH, 0, 0), vec![]),
        1 => (Request::new(ZERO, offset, length).flags(fua | hole), vec![]),
        2..5 => (Request::new(READ, offset, length), vec![]),
        _ => (Request::new(WRITE, offset, length).flags(fua), chance.bytes(length as usize)),
    }
}

/// Requests that all servers have to refuse.
fn bad(chance: &mut Chance) -> (Request, Vec<u8>) {
    let sectors = (1 + chance.below(8)) as u32;
    let offset = match chance.below(3) {
        0 => SIZE,
        1 => SIZE - 512 + (u64::from(sectors) << 20),
        _ => 0_u64.wrapping_sub(512),
    };
    let length = sectors * 512;
    match chance.below(5) {
        0 => (Request::new(READ, offset, length), vec![]),
        1 => (Request::new(WRITE, offset, length), vec![1; length as usize]),
        2 => (Request::new(ZERO, offset, length), vec![]),
        3 => (Request::new(READ, 0, 512).flags(1 << 9), vec![]),
        _ => (Request::new(99, 0, 512), vec![]),
    }
}

/// The same requests, sent to our server and to another, have the same replies.
///
/// `no_room` is the other's code for writes over the end. The protocol wants ENOSPC there, but only as a SHOULD.
fn compare(other: &Path, no_room: u32, seed: u64) {
    const ENOSPC: u32 = 28;
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    for structured in [false, true] {
        let connect = |path: &Path| Client::over(UnixStream::connect(path).expect("it listens"), structured);
        let mut ours = connect(&path).expect("an export");
        let mut theirs = connect(other).expect("an export");
        assert_eq!(ours.size, theirs.size);
        assert_eq!(theirs.abilities & !ours.abilities & 0b1_1110_1111, 0, "nothing common is missing here");
        let mut chance = Chance(seed);
        for round in 0..400 {
            let (request, data) = if chance.below(8) == 0 { bad(&mut chance) } else { plain(&mut chance) };
            let (our_code, our_data) = ours.ask(request, &data).expect("a reply");
            let (their_code, their_data) = theirs.ask(request, &data).expect("a reply");
            let expected = if our_code == ENOSPC { no_room } else { our_code };
            assert_eq!(their_code, expected, "round {round}: {request:?}");
            assert!(our_data == their_data, "round {round}: {request:?}");
        }
        // A discard may leave other servers with anything, so that theirs come last, and are not read.
        for _ in 0..20 {
            let offset = chance.below(SIZE / 512) * 512;
            let trim = Request::new(TRIM, offset, 512);
            assert_eq!(ours.ask(trim, &[]).expect("a reply").0, theirs.ask(trim, &[]).expect("a reply").0);
            assert_eq!(ours.read(offset, 512), [0; 512]);
            assert_eq!(ours.write(offset, &[3; 512]), theirs.write(offset, &[3; 512]));
        }
    }
    server.stop().expect("a clean stop");
}

fn started(command: &mut Command, socket: &Path) -> Ended {
    let child = Ended(Some(command.spawn().expect("the program starts")));
    soon("the other server listens", || UnixStream::connect(socket).is_ok());
    child
}

#[test]
fn nbdkits_memory_answers_as_we_do() {
    if !installed(&["nbdkit"]) {
        return;
    }
    let socket = scratch("sock");
    let size = SIZE.to_string();
    let _other = started(
        Command::new("nbdkit").arg("-f").stderr(Stdio::null()).arg("-U").arg(&socket).args(["memory", &size]),
        &socket,
    );
    compare(&socket, 28, 4);
}

#[test]
fn qemu_nbd_answers_as_we_do() {
    if !installed(&["qemu-nbd"]) {
        return;
    }
    let (socket, image): (PathBuf, PathBuf) = (scratch("sock"), scratch("image"));
    std::fs::write(&image, vec![0; SIZE as usize]).expect("an image");
    let mut command = Command::new("qemu-nbd");
    command.args(["-t", "-f", "raw", "-e", "4", "--discard=unmap", "-k"]).arg(&socket).arg(&image);
    command.stderr(Stdio::null());
    let _other = started(&mut command, &socket);
    compare(&socket, 22, 5);
    std::fs::remove_file(&image).expect("removed");
}

#[test]
fn data_stay_when_clients_come_and_go() {
    let memory = Arc::new(Memory::new(SIZE));
    let (server, path) = served(memory.clone());
    for round in 1..=5 {
        let mut client = Client::unix(&path);
        assert_eq!(client.write(4096 * round, &[round as u8; 4096]), 0);
    }
    let mut seen = [0; 6 * 4096];
    memory.read(0, &mut seen).expect("memory");
    assert!(seen.iter().enumerate().all(|(i, &byte)| usize::from(byte) == i / 4096));
    server.stop().expect("a clean stop");
}
