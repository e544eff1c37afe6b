//! The plugin in nbdkit answers as the server of this project does, and as nbdkit's plain memory; and what one front wrote the other reads.

#[path = "../../serve/tests/common/mod.rs"]
mod common;

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{
    Chance, Client, Ended, FLUSH, FUA, NO_HOLE, READ, REQ_ONE, Request, STATUS, TRIM, WRITE, ZERO, installed, run,
    scratch, served, soon,
};
use config::Base;
use device::drive::Drive;
use served::ServedDrive;

/// Four planes of 64 blocks of 8 pages of 4 KiB, which map 4 KiB.
const SETS: [&str; 9] = [
    "device.channels=1",
    "device.chips_per_channel=1",
    "device.dies_per_chip=2",
    "device.planes_per_die=2",
    "device.blocks_per_plane=64",
    "device.pages_per_block=8",
    "device.page_size=\"4KiB\"",
    "device.user_capacity=\"6MiB\"",
    "device.cell=\"slc\"",
];
const SIZE: u64 = 6 << 20;

/// The plugin: the one that `FTLAB_NBDKIT_PLUGIN` names, or one that is built as this test was.
fn plugin() -> PathBuf {
    if let Some(built) = std::env::var_os("FTLAB_NBDKIT_PLUGIN") {
        return built.into();
    }
    let mut build = Command::new(env!("CARGO"));
    // With the features that the crates have beside tests, so that none is built anew.
    let plugin = ["build", "--quiet", "--offline", "-p", "ftlab-nbdkit", "--lib", "--tests"];
    build.current_dir(env!("CARGO_MANIFEST_DIR")).args(plugin);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo runs").success(), "the plugin is built");
    let own = std::env::current_exe().expect("a test has a path");
    own.parent().and_then(Path::parent).expect("it lies in `deps`").join("libftlab_nbdkit.so")
}

/// nbdkit with this plugin and parameters. It ends cleanly with [`end`].
fn nbdkit(plugin: &Path, socket: &Path, parameters: &[&str]) -> Ended {
    let mut command = Command::new("nbdkit");
    command.args(["-f", "-U"]).arg(socket).arg(plugin).args(parameters).stderr(Stdio::null());
    let child = Ended(Some(command.spawn().expect("nbdkit starts")));
    soon("nbdkit listens", || UnixStream::connect(socket).is_ok());
    child
}

fn drive(image: &Path) -> Vec<String> {
    let sets = SETS.iter().map(|set| format!("set={set}"));
    ["config=tbm-small".into(), format!("image={}", image.display())].into_iter().chain(sets).collect()
}

fn words(parameters: &[String]) -> Vec<&str> {
    parameters.iter().map(String::as_str).collect()
}

fn end(mut nbdkit: Ended) {
    let mut child = nbdkit.0.take().expect("it runs");
    run(Command::new("kill").arg(child.id().to_string()));
    assert!(child.wait().expect("it ends").success(), "nbdkit ends in good order");
}

fn ours(image: &Path) -> (serve::Server, PathBuf) {
    let loaded =
        device::load_drive(&Base::Preset("tbm-small".into()), &SETS.map(String::from)).expect("a configuration");
    served(Arc::new(ServedDrive::new(Drive::open(&loaded.config, image, false).expect("a drive"))))
}

fn any(chance: &mut Chance) -> (Request, Vec<u8>) {
    let offset = chance.below(SIZE / 512) * 512;
    let length = ((1 + chance.below(64)) * 512).min(SIZE - offset) as u32;
    let fua = if chance.below(4) == 0 { FUA } else { 0 };
    let hole = if chance.below(2) == 0 { NO_HOLE } else { 0 };
    match chance.below(12) {
        0 => (Request::new(FLUSH, 0, 0), vec![]),
        1 => (Request::new(ZERO, offset, length).flags(fua | hole), vec![]),
        2..5 => (Request::new(READ, offset, length), vec![]),
        5 => (Request::new(READ, SIZE, length), vec![]),
        _ => (Request::new(WRITE, offset, length).flags(fua), chance.bytes(length as usize)),
    }
}

#[test]
fn the_plugin_answers_as_the_server_does() {
    if !installed(&["nbdkit"]) {
        return;
    }
    let plugin = plugin();
    let (image, own_image, socket, memory_socket) =
        (scratch("image"), scratch("image"), scratch("sock"), scratch("sock"));
    let parameters = drive(&image);
    let front = nbdkit(&plugin, &socket, &words(&parameters));
    let _memory = nbdkit(Path::new("memory"), &memory_socket, &[&SIZE.to_string()]);
    let (server, path) = ours(&own_image);
    let connect = |path: &Path| Client::over(UnixStream::connect(path).expect("it listens"), true).expect("an export");
    let mut clients = [&path, &socket, &memory_socket].map(|path| connect(path));
    assert_eq!(clients.each_ref().map(|client| client.size), [SIZE; 3]);
    let mut chance = Chance(7);
    for round in 0..1500 {
        let (request, data) = any(&mut chance);
        let [own, front, memory] = clients.each_mut().map(|client| client.ask(request, &data).expect("a reply"));
        assert!(
            own == front && own == memory,
            "round {round}: {request:?}: codes {}, {}, {}",
            own.0,
            front.0,
            memory.0
        );
    }
    // After a discard plain memory may hold anything.
    for _ in 0..50 {
        let offset = chance.below(SIZE / 512 - 8) * 512;
        let trim = Request::new(TRIM, offset, 4096).flags(if chance.below(2) == 0 { FUA } else { 0 });
        for client in &mut clients[..2] {
            assert_eq!(client.ask(trim, &[]).expect("a reply").0, 0);
            assert_eq!(client.read(offset, 4096), [0; 4096]);
        }
    }
    let mut asking = [&path, &socket].map(|path| Client::with_allocation(path));
    let mut parts = 0;
    for round in 0..50 {
        let offset = chance.below(SIZE / 512) * 512;
        let length = (1 + chance.below((SIZE - offset) / 512)) as u32 * 512;
        let status = Request::new(STATUS, offset, length).flags(if round % 3 == 0 { REQ_ONE } else { 0 });
        let [own, front] = asking.each_mut().map(|client| client.ask(status, &[]).expect("a reply"));
        assert_eq!(front, own, "round {round}: {status:?}");
        parts += own.1.len() / 8;
    }
    assert!(parts > 200, "{parts} parts are told");
    drop(asking);
    let whole: Vec<u8> = (0..SIZE).step_by(1 << 20).flat_map(|offset| clients[0].read(offset, 1 << 20)).collect();
    drop(clients);
    server.stop().expect("a clean stop");
    end(front);
    // The drive of one front is that of the other.
    let (server, path) = ours(&image);
    let mut client = connect(&path);
    let found: Vec<u8> = (0..SIZE).step_by(1 << 20).flat_map(|offset| client.read(offset, 1 << 20)).collect();
    assert!(found == whole, "what nbdkit's clients wrote is in the image");
    assert_eq!(client.write(4096, &[0x5a; 4096]), 0);
    drop(client);
    server.stop().expect("a clean stop");
    let socket = scratch("sock");
    let front = nbdkit(&plugin, &socket, &words(&parameters));
    assert_eq!(connect(&socket).read(4096, 4096), [0x5a; 4096]);
    end(front);
    for file in [image, own_image] {
        std::fs::remove_file(file).expect("an image");
    }
}

#[test]
fn the_plugin_paces_and_refuses() {
    if !installed(&["nbdkit"]) {
        return;
    }
    let plugin = plugin();
    let (image, socket) = (scratch("image"), scratch("sock"));
    let mut parameters = drive(&image);
    parameters.extend(["set=device.timing.program=\"30ms\"", "pace=true"].map(String::from));
    let front = nbdkit(&plugin, &socket, &words(&parameters));
    let mut client = Client::<UnixStream>::unix(&socket);
    let began = Instant::now();
    assert_eq!(client.write(0, &[1; 4096]), 0);
    let one = began.elapsed();
    assert!(one >= Duration::from_millis(30), "a write took {one:?}");
    // Whole sectors only, as the drive has them.
    assert_eq!(client.ask(Request::new(READ, 1, 512), &[]).expect("a reply").0, 22);
    assert_eq!(client.read(0, 4096), [1; 4096]);
    drop(client);
    end(front);
    let refused = |parameters: &[&str]| {
        let mut command = Command::new("nbdkit");
        command.args(["-f", "-U"]).arg(scratch("sock")).arg(&plugin).args(parameters);
        let output = command.output().expect("nbdkit runs");
        assert!(!output.status.success(), "{parameters:?} are taken");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let image_parameter = format!("image={}", image.display());
    assert!(refused(&[&image_parameter]).contains("the parameter `config` is missing"));
    assert!(refused(&["config=tbm-small"]).contains("the parameter `image` is missing"));
    assert!(refused(&["config=tbm-small", "speed=1"]).contains("there is no parameter `speed`"));
    let other = refused(&["config=tbm-small", &image_parameter]);
    assert!(other.contains("another configuration") || other.contains("device."), "{other}");
    std::fs::remove_file(image).expect("an image");
}
