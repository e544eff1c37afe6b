//! Arrays over images: what they store is what was stored, an image that is opened again has all of it, and one whose process was
//! killed at any of its writes is as before or after the operation, or as a power cut during it leaves it.

use base::{Cell, Multiplane, ProgramOrder, ReadLimits, ReprogramWear};
use engine::Chance;
use nand::{Image, Nand, SavedArray, Shape, StoreKind};

/// A block by its number.
fn b(number: u32) -> base::Block {
    base::Block::new(number)
}

/// A page of a block by its number.
fn p(number: u32) -> base::Page {
    base::Page::new(number)
}

const PAGE: usize = 64;

fn shape() -> Shape {
    Shape {
        planes: 2,
        planes_per_die: 1,
        blocks_per_plane: 3,
        pages_per_block: 12,
        parts: 1,
        multiplane: Multiplane::Off,
        cell: Cell::Tlc,
        program_order: ProgramOrder::Shadow,
    }
}

fn over(image: Image, keeps_reads: bool) -> Nand {
    let mut nand = Nand::new(shape(), StoreKind::Bytes);
    if keeps_reads {
        let wear = ReprogramWear { rates: vec![0.5], wear: vec![1.5] };
        nand.keep_reads(ReadLimits { full: 1000, low: 5000, restarts: true, wear });
    }
    nand.attach(image).unwrap();
    nand
}

fn bytes_of(seed: u64) -> Vec<u8> {
    let mut random = Chance::new(seed, "bytes");
    (0..PAGE).map(|_| random.next() as u8).collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Program(u32, u64),
    Copy(u32, u32),
    Erase(u32),
    TearErase(u32),
    Fail(u32),
    Reprogram(u32, u32),
    FailReprogram(u32, u32),
    LsbOnly(u32),
    Read(u32, u32),
    Bad(u32),
}

/// Carries out a step, if the array takes it. What is refused changes nothing.
fn carry_out(nand: &mut Nand, step: Step) {
    let next = |nand: &Nand, block: u32| u32::from(nand.blocks()[block as usize].next_page);
    match step {
        Step::Program(block, seed) => {
            let page = next(nand, block);
            if nand.program(b(block), p(page)).is_ok() {
                let data = if seed.is_multiple_of(7) { 0 } else { nand.take(&bytes_of(seed)) };
                nand.store(b(block), p(page), data, u128::from(seed) << 60 | 5);
            }
        }
        Step::Copy(from, to) => {
            let (page, target) = (next(nand, from).saturating_sub(1), next(nand, to));
            let _ = nand.copyback((b(from), p(page)), (b(to), p(target)));
        }
        Step::Erase(block) => drop(nand.erase(b(block))),
        Step::TearErase(block) => drop(nand.tear_erase(b(block))),
        Step::Fail(block) => drop(nand.fail_program(b(block), p(next(nand, block)))),
        Step::Reprogram(block, page) => drop(nand.reprogram(b(block), p(page))),
        Step::FailReprogram(block, page) => drop(nand.fail_reprogram(b(block), p(page))),
        Step::LsbOnly(block) => drop(nand.use_lsb_only(b(block))),
        Step::Read(block, page) => {
            if nand.read(b(block), p(page)).is_ok() {
                nand.fetch(b(block), p(page));
            }
        }
        Step::Bad(block) => nand.mark_bad(b(block)),
    }
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = Chance::new(seed, "steps");
    (0..160)
        .map(|_| {
            let (block, page) = (random.below_u32(6), random.below_u32(12));
            match random.below(40) {
                0 => Step::Erase(block),
                1 => Step::TearErase(block),
                2 | 3 => Step::Fail(block),
                4..6 => Step::Reprogram(block, page),
                6 => Step::FailReprogram(block, page),
                7 => Step::LsbOnly(block),
                8..13 => Step::Read(block, page),
                13..16 => Step::Copy(block, block / 3 * 3 + random.below_u32(3)),
                16 if random.below(8) == 0 => Step::Bad(block),
                _ => Step::Program(block, random.next()),
            }
        })
        .collect()
}

/// All that pages hold: spare areas and data, nothing for those that cannot be read.
fn contents(nand: &Nand) -> Vec<Option<(u128, Vec<u8>)>> {
    let mut all = Vec::new();
    for block in 0..6 {
        for page in 0..12 {
            all.push(nand.holds_data(b(block), p(page)).then(|| {
                let mut bytes = vec![0xaa; PAGE];
                assert!(
                    nand.copy_out(nand.data(b(block), p(page)), &mut bytes),
                    "page {page} of block {block} is whole"
                );
                (nand.spare(b(block), p(page)), bytes)
            }));
        }
    }
    all
}

/// State beside the contents that outlives a loss of power.
fn remembered(nand: &Nand) -> SavedArray {
    let mut after = nand.clone();
    after.cycle_power();
    after.save()
}

#[test]
fn an_image_has_all_of_the_array() {
    for seed in 0..60 {
        let keeps_reads = seed % 2 == 0;
        let mut nand = over(Image::in_memory(&shape(), PAGE as u32, nand::Extras::default()), keeps_reads);
        for step in steps(seed) {
            carry_out(&mut nand, step);
            let again = over(nand.image().unwrap().clone(), keeps_reads);
            assert_eq!(contents(&again), contents(&nand), "{step:?}");
            assert_eq!(again.save(), remembered(&nand), "seed {seed}, {step:?}");
        }
    }
}

#[test]
fn a_process_killed_at_any_write_leaves_what_a_power_cut_leaves() {
    let mut kills = 0;
    for seed in 0..8 {
        let keeps_reads = seed % 2 == 0;
        let mut nand = over(Image::in_memory(&shape(), PAGE as u32, nand::Extras::default()), keeps_reads);
        for step in steps(seed) {
            let before = nand.clone();
            carry_out(&mut nand, step);
            for writes in 0.. {
                let mut killed = before.clone();
                killed.image_mut().unwrap().live_for(writes);
                carry_out(&mut killed, step);
                if killed.image().unwrap().writes_left() > 0 {
                    break;
                }
                kills += 1;
                let mut image = killed.image().unwrap().clone();
                image.live_for(u64::MAX);
                let left = over(image, keeps_reads);
                let found = contents(&left);
                for (at, found) in found.iter().enumerate() {
                    let (old, new) = (&contents(&before)[at], &contents(&nand)[at]);
                    assert!(found == old || found == new || found.is_none(), "seed {seed}, {step:?}, {writes} writes");
                    // What has nothing to do with the step stays; a failed program may take lower pages along.
                    let block = at as u32 / 12;
                    if old == new {
                        assert_eq!(
                            found,
                            old,
                            "page {} of block {block}, seed {seed}, {step:?}, {writes} writes",
                            at % 12
                        );
                    }
                }
            }
        }
    }
    assert!(kills > 3000, "{kills} kills");
}

#[test]
fn a_changed_byte_is_found() {
    let dir = std::env::temp_dir().join(format!("ftlab-image-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("disk");
    let open = |identity: &str| Image::open(&path, &shape(), PAGE as u32, nand::Extras::default(), identity, true);
    {
        let mut nand = over(open("one\ntwo").unwrap(), false);
        nand.program(b(0), p(0)).unwrap();
        let data = nand.take(&bytes_of(1));
        nand.store(b(0), p(0), data, 9);
        assert!(open("one\ntwo").unwrap_err().to_string().contains("is in use by another process"));
    }
    let whole = std::fs::read(&path).unwrap();
    {
        let nand = over(open("one\ntwo").unwrap(), false);
        let mut bytes = vec![0; PAGE];
        assert!(nand.copy_out(nand.data(b(0), p(0)), &mut bytes));
        assert_eq!((bytes, nand.spare(b(0), p(0))), (bytes_of(1), 9));
    }
    let other = open("one\nthree").unwrap_err().to_string();
    assert!(other.contains("it has `two`, and this one `three`"), "{other}");
    let records = 64 << 10;
    // By byte, what is said of it: the header, the state of a block, the record of its first page, and the data of that.
    let data = whole.len() - 72 * PAGE;
    let cases = [
        (3, "is no image"),
        (40, "checksum of its header"),
        (records + 4, "the record of block 0"),
        (records + 6 * 32, "page 0 of block 0"),
    ];
    for (at, expected) in cases {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        std::fs::write(&path, &changed).unwrap();
        let said = match open("one\ntwo") {
            Err(error) => error.to_string(),
            Ok(image) => Nand::new(shape(), StoreKind::Bytes).attach(image).unwrap_err(),
        };
        assert!(said.contains(expected), "byte {at}: {said}");
    }
    let mut changed = whole.clone();
    changed[data + 5] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    let nand = over(open("one\ntwo").unwrap(), false);
    assert!(!nand.copy_out(nand.data(b(0), p(0)), &mut [0; PAGE]), "data that were not written cannot be read");
    drop(nand);
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(open("one\ntwo").unwrap_err().to_string().contains("bytes, and"));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_exclusive_or_of_two_pages_gives_one_back_with_the_other() {
    let mut nand = over(Image::in_memory(&shape(), PAGE as u32, nand::Extras::default()), false);
    let (one, other) = (nand.take(&bytes_of(1)), nand.take(&bytes_of(2)));
    let both = nand.xor(one, other);
    let second = nand.take(&bytes_of(2));
    let again = nand.xor(both, second);
    let mut bytes = vec![0; PAGE];
    assert!(nand.copy_out(again, &mut bytes));
    assert_eq!(bytes, bytes_of(1));
    assert_eq!(nand.xor(0, again), again, "zeros change nothing");
}

/// A pipe and an empty file are refused at once: nobody waits for them, and they are not made an image.
#[test]
fn what_cannot_be_an_image_is_refused() {
    let path = std::env::temp_dir().join(format!("ftlab-no-image-{}", std::process::id()));
    let open = |writes| Image::open(&path, &shape(), PAGE as u32, nand::Extras::default(), "one", writes);
    let text = |writes| open(writes).expect_err("a refusal").to_string();
    std::fs::write(&path, b"").expect("an empty file");
    for writes in [true, false] {
        assert!(text(writes).contains("it is empty"), "{}", text(writes));
    }
    assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 0);
    std::fs::remove_file(&path).expect("it is there");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("a pipe");
    assert!(made.success());
    for writes in [true, false] {
        assert!(text(writes).contains("it is no file"), "{}", text(writes));
    }
    std::fs::remove_file(&path).expect("it is there");
}

/// A new image of a large array takes room for what was written, and not for what may be.
#[test]
fn an_empty_image_takes_little_room() {
    use std::os::unix::fs::MetadataExt;
    let path = std::env::temp_dir().join(format!("ftlab-empty-image-{}", std::process::id()));
    let large = Shape { blocks_per_plane: 4000, pages_per_block: 1152, ..shape() };
    let image = Image::open(&path, &large, 4096, nand::Extras::default(), "one", true).expect("an image");
    let taken = || std::fs::metadata(&path).expect("it is there").blocks() * 512;
    assert!(taken() < 2 << 20, "{}", taken());
    let mut nand = Nand::new(large, StoreKind::Bytes);
    nand.attach(image).expect("an empty image");
    for page in 0..3 {
        nand.program(b(7), p(page)).expect("in order");
        let data = nand.take(&vec![1; 4096]);
        nand.store(b(7), p(page), data, 5);
    }
    assert!(taken() < 3 << 20, "{}", taken());
    drop(nand);
    std::fs::remove_file(&path).expect("it is there");
}
