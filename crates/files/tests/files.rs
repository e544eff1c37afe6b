//! What a user has stays, what is unfinished goes, and nothing waits for ever.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use files::{Input, Interrupt, Output, Staging};

/// An empty directory of a test's own.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ftlab-files-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn never() -> Interrupt {
    Interrupt::default()
}

/// Says "no" from 0.1 s on.
fn soon() -> Interrupt {
    let end = Instant::now() + Duration::from_millis(100);
    Interrupt::new(move || Instant::now() < end)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut output = Output::create(path, &never())?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

/// Runs what has to be stopped; the error, which came in time and is the interrupt's.
fn stopped<T>(work: impl FnOnce(&Interrupt) -> std::io::Result<T>) {
    let begun = Instant::now();
    let Err(error) = work(&soon()) else { panic!("it was not stopped") };
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(Interrupt::is_behind(&error), "{error}");
    assert_eq!(error.to_string(), "stopped before the end");
}

#[test]
fn an_output_appears_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let path = scratch.file("state", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut output = Output::create(&path, &never()).unwrap();
    output.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    drop(output);
    assert_eq!(scratch.names(), ["state"], "what was given up is gone");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    write(&path, "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "as the file before it");
    assert_eq!(scratch.names(), ["state"]);
}

#[test]
fn a_users_files_beside_it_are_not_touched() {
    let scratch = Scratch::new();
    let path = scratch.0.join("state");
    let own = [".ftlab-files.json", ".ftlab-notes.partial", ".ftlab-0123456789abcdeX.partial", "state.partial"];
    for name in own {
        scratch.file(name, "mine");
    }
    write(&path, "new").unwrap();
    for name in own {
        assert_eq!(fs::read_to_string(scratch.0.join(name)).unwrap(), "mine", "{name}");
    }
    assert_eq!(scratch.names().len(), own.len() + 1);
}

#[test]
fn links_stay_and_what_they_point_to_is_written() {
    let scratch = Scratch::new();
    let below = scratch.0.join("below");
    fs::create_dir(&below).unwrap();
    let target = below.join("target");
    let (link, chain) = (scratch.0.join("link"), scratch.0.join("chain"));
    symlink("below/target", &link).unwrap();
    symlink(&link, &chain).unwrap();
    // First the link points nowhere, then to a file.
    for text in ["first", "second"] {
        write(&chain, text).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), text);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&chain).unwrap().is_symlink());
    }
    assert_eq!(
        (scratch.names(), fs::read_dir(&below).unwrap().count()),
        (vec!["below".into(), "chain".into(), "link".into()], 1)
    );
    let circle = scratch.0.join("circle");
    symlink(&circle, &circle).unwrap();
    assert!(Output::create(&circle, &never()).is_err());
}

#[test]
fn devices_and_pipes_stay_what_they_are() {
    let scratch = Scratch::new();
    let link = scratch.0.join("null");
    symlink("/dev/null", &link).unwrap();
    write(&link, "nothing").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // By a link, so that no fault can take the device's place.
    let full = scratch.0.join("full");
    symlink("/dev/full", &full).unwrap();
    assert_eq!(write(&full, "nothing").unwrap_err().kind(), ErrorKind::StorageFull);
    let pipe = scratch.pipe("pipe");
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let text = "more than a pipe holds at once\n".repeat(10_000);
    write(&pipe, &text).unwrap();
    assert_eq!(reader.join().unwrap(), text);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(scratch.names(), ["full", "null", "pipe"]);
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_touched() {
    let scratch = Scratch::new();
    let refused = |path: &Path| {
        let error = Output::check(path).unwrap_err();
        assert_eq!(Output::create(path, &never()).err().unwrap().kind(), error.kind());
        error.kind()
    };
    assert_eq!(refused(&scratch.0), ErrorKind::IsADirectory);
    assert_eq!(refused(&scratch.0.join("no/such/directory")), ErrorKind::NotFound);
    assert_eq!(refused(&scratch.file("file", "").join("below")), ErrorKind::NotADirectory);
    assert_eq!(refused(Path::new("/proc/new")), ErrorKind::InvalidInput);
    Output::check(&scratch.0.join("new")).unwrap();
    Output::check(Path::new("/dev/null")).unwrap();
    // A pipe without a reader would be waited for.
    Output::check(&scratch.pipe("pipe")).unwrap();
    assert_eq!(scratch.names(), ["file", "pipe"]);
}

#[test]
fn what_waits_for_the_other_end_of_a_pipe_can_be_stopped() {
    let scratch = Scratch::new();
    let pipe = scratch.pipe("pipe");
    stopped(|interrupt| Input::open(&pipe, interrupt)?.read(&mut [0; 10]));
    stopped(|interrupt| Output::create(&pipe, interrupt));
    // With a writer that says nothing, and with a reader that does not read.
    let both = File::options().read(true).write(true).open(&pipe).unwrap();
    stopped(|interrupt| Input::open(&pipe, interrupt)?.read(&mut [0; 10]));
    stopped(|interrupt| Output::create(&pipe, interrupt)?.write_all(&[0; 1 << 20]));
    drop(both);
}

#[test]
fn what_has_no_end_can_be_stopped() {
    stopped(|interrupt| std::io::copy(&mut Input::open(Path::new("/dev/zero"), interrupt)?, &mut std::io::sink()));
    let scratch = Scratch::new();
    let path = scratch.file("file", "old");
    stopped(|interrupt| -> std::io::Result<()> {
        let mut output = Output::create(&path, interrupt)?;
        loop {
            output.write_all(b"new")?;
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!((fs::read_to_string(&path).unwrap(), scratch.names()), ("old".into(), vec!["file".into()]));
}

#[test]
fn an_output_may_go_on_regardless() {
    let scratch = Scratch::new();
    let path = scratch.0.join("file");
    let mut output = Output::create(&path, &soon()).unwrap();
    thread::sleep(Duration::from_millis(150));
    output.go_on_regardless();
    output.write_all(b"all").unwrap();
    output.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "all");
}

#[test]
fn after_one_no_everything_stops_and_nobody_is_asked_too_often() {
    let (asked, go_on) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(true)));
    let interrupt = Interrupt::new({
        let (asked, go_on) = (asked.clone(), go_on.clone());
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            go_on.load(Ordering::Relaxed)
        }
    });
    let copy = interrupt.clone();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(200) {
        copy.check().unwrap();
    }
    let questions = asked.load(Ordering::Relaxed);
    assert!((1..=5).contains(&questions), "{questions}");
    go_on.store(false, Ordering::Relaxed);
    thread::sleep(Duration::from_millis(60));
    assert!(copy.check().is_err());
    go_on.store(true, Ordering::Relaxed);
    thread::sleep(Duration::from_millis(60));
    assert!(interrupt.check().is_err());
    never().check().unwrap();
}

const DEAD_FILE: &str = ".ftlab-0123456789abcdef.partial";
const DEAD_STAGING: &str = ".ftlab-fedcba9876543210.staging";

#[test]
fn what_the_dead_left_is_cleared_away_and_what_the_living_have_is_not() {
    let scratch = Scratch::new();
    let path = scratch.0.join("state");
    let mut living = Output::create(&path, &never()).unwrap();
    let staging = Staging::create(&scratch.0).unwrap();
    fs::write(staging.path().join("kept"), "mine").unwrap();
    // Nobody holds a lock of these.
    let leave = || {
        scratch.file(DEAD_FILE, "half");
        let dead = scratch.0.join(DEAD_STAGING);
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(".owner"), "").unwrap();
        fs::write(dead.join("half"), "half").unwrap();
    };
    let has_dead = || scratch.names().iter().any(|name| name == DEAD_FILE || name == DEAD_STAGING);
    leave();
    write(&path, "new").unwrap();
    assert!(!has_dead(), "{:?}", scratch.names());
    leave();
    drop(Staging::create(&scratch.0).unwrap());
    assert!(!has_dead(), "{:?}", scratch.names());
    living.write_all(b"of the living").unwrap();
    living.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "of the living");
    assert_eq!(fs::read_to_string(staging.path().join("kept")).unwrap(), "mine");
    drop(staging);
    assert_eq!(scratch.names(), ["state"]);
}

#[test]
fn links_and_new_directories_under_such_names_are_not_cleared_away() {
    let scratch = Scratch::new();
    let elsewhere = Scratch::new();
    elsewhere.file(".owner", "");
    elsewhere.file("kept", "mine");
    symlink(elsewhere.0.join("kept"), scratch.0.join(DEAD_FILE)).unwrap();
    symlink(&elsewhere.0, scratch.0.join(DEAD_STAGING)).unwrap();
    // Its owner may be about to lock it.
    fs::create_dir(scratch.0.join(".ftlab-0000000000000000.staging")).unwrap();
    write(&scratch.0.join("state"), "new").unwrap();
    assert_eq!(scratch.names().len(), 4);
    assert_eq!(elsewhere.names(), [".owner", "kept"]);
}

#[test]
fn many_that_write_one_file_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    let path = scratch.0.join("state");
    thread::scope(|scope| {
        for letter in ["a", "b", "c", "d"] {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..200 {
                    write(path, &letter.repeat(100_000)).unwrap();
                    let found = fs::read_to_string(path).unwrap();
                    assert!(found.len() == 100_000 && found.bytes().all(|byte| byte == found.as_bytes()[0]));
                }
            });
        }
    });
    assert_eq!(scratch.names(), ["state"]);
}
