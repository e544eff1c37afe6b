//! Device states on disk: what is where, how worn, and what pages store.
//!
//! A file is a magic word, then one zstd stream (with checksum): a JSON header that names what the state
//! fits, and the arrays as little-endian words. A state is read as untrusted input.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use base::{Geometry, Lpn, PageLayout, Slot, Unit};
use config::Config;
use files::{Input, Interrupt, Output};
use ftl::{Keeping, Kept, PageMapping, Saved};
use nand::{Block, Cycles};
use serde::{Deserialize, Serialize};

use crate::device::{Device, policies};
use crate::errors::RunError;
use crate::flash::Stamp;

const MAGIC: &[u8; 8] = b"ftlabst9";

/// What states of all versions begin with.
pub(crate) const BEGINNING: &[u8] = b"ftlabst";
const NONE: u32 = u32::MAX;
const NOT_ALIKE: &str = "the array is not filled as the map says";

/// Bytes that a save takes beside the device: what the array remembers, as words.
pub(crate) fn bytes_to_save(geometry: &Geometry, payload: bool) -> u64 {
    let stored = if payload { geometry.pages() * (8 + 16) } else { 0 };
    u64::from(geometry.blocks()) * 16 + stored
}

/// Bytes that a load takes beside the device: a map twice, and what the array remembers as words and once more.
pub(crate) fn bytes_to_load(geometry: &Geometry, payload: bool) -> u64 {
    let blocks = u64::from(geometry.blocks()) * (16 + size_of::<Block>() as u64);
    geometry.pages() * 4 + blocks + 2 * (bytes_to_save(geometry, payload) - u64::from(geometry.blocks()) * 16)
}

/// What a state fits: settings that decide where data may lie.
#[derive(Serialize, Deserialize)]
struct Header {
    ftlab_version: String,
    /// (key, value) pairs that a configuration has to share.
    fits: Vec<(String, String)>,
}

fn fits(config: &Config) -> Vec<(String, String)> {
    let device = &config.device;
    let number = |key: &str, value: u64| (format!("device.{key}"), value.to_string());
    let choice = |key: &str| (format!("ftl.{key}"), config.ftl.get(key).written().to_string());
    vec![
        number("channels", device.channels.into()),
        number("chips_per_channel", device.chips_per_channel.into()),
        number("dies_per_chip", device.dies_per_chip.into()),
        number("planes_per_die", device.planes_per_die.into()),
        number("blocks_per_plane", device.blocks_per_plane.into()),
        number("pages_per_block", device.pages_per_block.into()),
        number("page_size", device.page_size.into()),
        number("user_capacity", device.user_capacity),
        ("device.cell".into(), format!("{:?}", device.cell).to_lowercase()),
        ("device.program_order".into(), format!("{:?}", device.program_order).to_lowercase()),
        mapping(config),
        choice("allocation"),
        reclaim_unit(config),
        choice("separation"),
        paired_page(config),
        migration(config),
        choice("read_disturb"),
        wear_leveling(config),
        ("run.payload".into(), format!("{:?}", config.run.payload).to_lowercase()),
    ]
}

/// The mapping, with the size of what a map in flash has in DRAM.
fn mapping(config: &Config) -> (String, String) {
    let mapping = config.ftl.get("mapping");
    let value = match mapping.name {
        "dftl" => format!("dftl with a cache of {}", config::print_size(mapping.size("cache"))),
        name => name.into(),
    };
    ("ftl.mapping".into(), value)
}

/// The protection of paired pages, with what decides which units it keeps and for how long.
fn paired_page(config: &Config) -> (String, String) {
    let paired_page = config.ftl.get("paired_page");
    let value = match paired_page.name {
        name if !ftl::paired::keeps_track(name) => "a protection without blocks of its own".into(),
        "slc-buffer" => format!("slc-buffer with blocks = {}", paired_page.integer("blocks")),
        name @ ("gcmix" | "gcmix-adaptive") => format!("{name} with hold = {}", paired_page.flag("hold")),
        name => name.into(),
    };
    ("ftl.paired_page".into(), value)
}

/// The migration, as far as it decides how blocks are filled: quotas by block have one active block each, and counts are kept
/// in the blocks.
fn migration(config: &Config) -> (String, String) {
    let policies = policies(config);
    let value = match ftl::migration::quota_classes(&policies) {
        _ if ftl::migration::has_metadata(&policies) => "counts in flash".into(),
        0 => "no quotas by block".into(),
        quotas => format!("{quotas} quotas by block"),
    };
    ("ftl.migration".into(), value)
}

/// The wear leveling, as far as it decides which active blocks there are.
fn wear_leveling(config: &Config) -> (String, String) {
    let is_apart = ftl::wear::separates(config.ftl.get("wear_leveling"));
    let value = if is_apart { "active blocks for cold data" } else { "no active blocks for cold data" };
    ("ftl.wear_leveling".into(), value.into())
}

/// The reclaim unit, with what is in step: that decides what a page is.
fn reclaim_unit(config: &Config) -> (String, String) {
    let unit = config.ftl.get("reclaim_unit");
    let value = match unit.name {
        "superblock" => format!("superblock over {}", unit.word("over")),
        name => name.into(),
    };
    ("ftl.reclaim_unit".into(), value)
}

/// Saves the state of a device with nothing in flight. The file appears whole or not at all.
pub(crate) fn save(device: &Device, config: &Config, path: &Path, interrupt: &Interrupt) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 18, Output::create(path, interrupt)?);
    file.write_all(MAGIC)?;
    let mut out = zstd::Encoder::new(file, 1)?;
    out.include_checksum(true)?;
    let pages = device.has.pages.ok_or_else(|| io::Error::other("this mapping has no states"))?;
    let saved = pages.save(&device.ftl);
    let header = Header { ftlab_version: env!("CARGO_PKG_VERSION").into(), fits: fits(config) };
    let header = serde_json::to_vec(&header)?;
    out.write_all(&(header.len() as u32).to_le_bytes())?;
    out.write_all(&header)?;
    let frontiers: Vec<u32> = saved
        .frontiers
        .iter()
        .flat_map(|open| open.map_or([Unit::to_word(None), 0], |(unit, slot)| [unit.number(), slot.number()]))
        .collect();
    let kept: Vec<u32> =
        saved.kept.iter().flat_map(|kept| [kept.unit.number(), kept.how.word(), kept.filled.number()]).collect();
    let nand = device.flash.nand();
    let blocks: Vec<u32> = nand
        .blocks()
        .iter()
        .flat_map(|block| [block.erases, block.reads, u32::from(block.next_page), u32::from(block.marks())])
        .collect();
    let reprogrammed: Vec<u32> = nand.reprogrammed().flat_map(<[u32; 2]>::from).collect();
    let reads_before = nand.reads_before();
    let cycles: Vec<u32> = nand
        .cycles()
        .iter()
        .flat_map(|of| [of.reprogrammed, u32::from(of.is_reprogrammed), (of.extra >> 32) as u32, of.extra as u32])
        .collect();
    let lost: Vec<u32> = nand.lost().flat_map(<[u32; 2]>::from).collect();
    let stamps: Vec<u32> = nand.stamps().iter().flat_map(|stamp| [(stamp >> 32) as u32, *stamp as u32]).collect();
    let spares: Vec<u32> =
        nand.spares().iter().flat_map(|spare| [96, 64, 32, 0].map(|shift| (spare >> shift) as u32)).collect();
    let of_ftl = [
        &*saved.map,
        &*saved.reverse,
        &*saved.erases,
        &*saved.closed_at,
        &saved.filled_by,
        &*frontiers,
        &kept,
        &saved.of_mechanisms,
    ];
    let of_array = [&*blocks, &reprogrammed, &lost, nand.errors(), &reads_before, &cycles, &stamps, &spares];
    for array in of_ftl.into_iter().chain(of_array) {
        out.write_all(&(array.len() as u64).to_le_bytes())?;
        write_words(&mut out, array)?;
    }
    out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

fn write_words(out: &mut impl Write, words: &[u32]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(words));
    }
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Loads a state into a pristine device of the same shape.
pub(crate) fn load(device: &mut Device, config: &Config, path: &str, interrupt: &Interrupt) -> Result<(), RunError> {
    let result = read(device, config, path, interrupt);
    // Whatever was read until then, it is not the file's fault.
    if result.is_err() && interrupt.check().is_err() { Err(RunError::Stopped) } else { result }
}

fn read(device: &mut Device, config: &Config, path: &str, interrupt: &Interrupt) -> Result<(), RunError> {
    let refuse = |text: String| RunError::Input(format!("the state file {path} {text}"));
    let file = Input::open(Path::new(path), interrupt).map_err(|error| refuse(format!("cannot be opened: {error}")))?;
    let mut file = BufReader::new(file);
    let mut magic = [0; 8];
    let complete = file.read_exact(&mut magic).is_ok();
    if complete && &magic != MAGIC && magic.starts_with(BEGINNING) {
        return Err(refuse("was saved by another version of ftlab; save the state again with this one".into()));
    }
    if !complete || &magic != MAGIC {
        return Err(refuse(
            "is not a device state\nhint: save one with `ftlab run CONFIG --save-state FILE`, and name it in \
             `run.precondition.state`"
                .into(),
        ));
    }
    let damaged = |what: &str| refuse(format!("is damaged ({what}); save the state again"));
    let mut input = zstd::Decoder::with_buffer(file).map_err(|_| damaged("compression"))?;
    let header = read_header(&mut input).ok_or_else(|| damaged("header"))?;
    let wanted = fits(config);
    if wanted.len() != header.fits.len() || wanted.iter().zip(&header.fits).any(|(a, b)| a.0 != b.0) {
        return Err(damaged("what it fits"));
    }
    for (wanted, found) in wanted.iter().zip(&header.fits) {
        if wanted != found {
            return Err(refuse(format!(
                "was saved with `{}` = {}, and this configuration has {}; use the configuration it was saved with, or \
                 save a state for this one",
                found.0, found.1, wanted.1
            )));
        }
    }
    let geometry = *device.ftl.geometry();
    let user_pages = u64::from(device.ftl.user_pages());
    let shape = Shape {
        geometry,
        logical_pages: (user_pages + ftl::map_pages(&geometry, user_pages, &policies(config))) as usize,
        of_mechanisms: ftl::bytes_of_state(&geometry, user_pages, &policies(config)) / 4,
        streams: ftl::streams(&geometry, &policies(config)),
        // Where counts follow the host's last page, room is made before its next one.
        least_spare: if ftl::migration::has_metadata(&policies(config)) { 1 } else { 2 },
        pages: PageLayout::new(config.device.cell, config.device.program_order, geometry.pages_per_block),
        stamps: device.flash.nand().stamps().len(),
        spares: device.flash.nand().spares().len(),
    };
    let mut of_array = None;
    let read = || -> Result<Saved<'static>, RunError> {
        let (saved, array) = read_arrays(&mut input, &shape).ok_or_else(|| damaged("arrays"))?;
        let mut rest = [0; 1];
        if !matches!(input.read(&mut rest), Ok(0)) {
            return Err(damaged("end"));
        }
        if !plausible(&saved, &shape) {
            return Err(damaged("a page number that does not exist"));
        }
        if !filled_alike(&saved, &array.blocks, &shape) {
            return Err(damaged(NOT_ALIKE));
        }
        of_array = Some(array);
        Ok(saved)
    };
    let pages = device.has.pages.ok_or_else(|| damaged("hybrid mapping, which has no states"))?;
    let restored = pages.restore(&mut device.ftl, read, &policies(config), config.run.seed)?;
    restored.map_err(|problem| damaged(&problem))?;
    device.flash.nand_mut().restore(of_array.expect("read with the rest")).map_err(damaged)?;
    device.flash.begin_passes();
    if !marked_alike(device, pages) {
        return Err(damaged(NOT_ALIKE));
    }
    // What is programmed was compared above.
    device.ftl.check(&|_| true).map_err(|problem| damaged(&problem))?;
    if !in_place(device) || !translation_pages_in_place(device, &shape) {
        return Err(damaged("a page that is not its own"));
    }
    device.trust_array();
    device.fill_up_parts();
    Ok(())
}

/// What the arrays of a state have to fit.
struct Shape {
    geometry: Geometry,
    /// Those of the host, and behind them those of a map in flash.
    logical_pages: usize,
    /// The most words that mechanisms have of their own.
    of_mechanisms: u64,
    streams: usize,
    /// Units of a domain, at least, that are free or that the first stream fills.
    least_spare: u32,
    /// Of a block.
    pages: PageLayout,
    stamps: usize,
    spares: usize,
}

fn read_header(input: &mut impl Read) -> Option<Header> {
    let mut length = [0; 4];
    input.read_exact(&mut length).ok()?;
    let mut bytes = Vec::new();
    input.take(u64::from(u32::from_le_bytes(length)).min(1 << 20)).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The arrays, each of exactly the length that the device wants.
fn read_arrays(input: &mut impl Read, shape: &Shape) -> Option<(Saved<'static>, nand::SavedArray)> {
    let geometry = &shape.geometry;
    let units = geometry.units() as usize;
    let saved = Saved {
        map: read_words(input, shape.logical_pages)?.into(),
        reverse: read_words(input, geometry.pages() as usize)?.into(),
        erases: read_words(input, units)?.into(),
        closed_at: read_words(input, units)?.into(),
        filled_by: read_words(input, units)?,
        frontiers: frontiers(&read_words(input, geometry.domains() as usize * shape.streams * 2)?),
        kept: kept(&read_words_up_to(input, units as u64 * 3)?)?,
        of_mechanisms: read_words_up_to(input, shape.of_mechanisms)?,
    };
    let blocks = read_words(input, geometry.blocks() as usize * 4)?
        .chunks_exact(4)
        .map(|words| Block::from_saved(words[0], words[1], u16::try_from(words[2]).ok()?, u8::try_from(words[3]).ok()?))
        .collect::<Option<Vec<Block>>>()?;
    let pages = geometry.pages();
    let reprogrammed = pairs_up_to(input, pages * 2)?;
    let lost = pairs_up_to(input, pages * 2)?;
    let errors = read_words_up_to(input, pages)?;
    let reads_before = read_words_up_to(input, pages)?;
    let cycles = cycles(&read_words_up_to(input, u64::from(geometry.blocks()) * 4)?)?;
    let stamps = read_words(input, shape.stamps * 2)?;
    let stamps = pairs(&stamps).iter().map(|&(high, low)| u64::from(high) << 32 | u64::from(low)).collect();
    let spares = read_words(input, shape.spares * 4)?;
    let spare = |words: &[u32]| words.iter().fold(0, |spare, &word| spare << 32 | u128::from(word));
    let spares = spares.chunks_exact(4).map(spare).collect();
    Some((saved, nand::SavedArray { blocks, reprogrammed, lost, errors, reads_before, cycles, stamps, spares }))
}

/// Cycles with reprogramming of blocks; nothing if the words mean nothing.
fn cycles(words: &[u32]) -> Option<Vec<Cycles>> {
    let cycles = |words: &[u32]| match *words {
        [reprogrammed, is_reprogrammed @ (0 | 1), high, low] => Some(Cycles {
            reprogrammed,
            is_reprogrammed: is_reprogrammed == 1,
            extra: u64::from(high) << 32 | u64::from(low),
        }),
        _ => None,
    };
    words.chunks(4).map(cycles).collect()
}

/// Active blocks, each a unit and a slot.
fn frontiers(words: &[u32]) -> Vec<Option<(Unit, Slot)>> {
    pairs(words).into_iter().map(|(unit, slot)| Some((Unit::from_word(unit)?, Slot::new(slot)))).collect()
}

fn pairs(words: &[u32]) -> Vec<(u32, u32)> {
    words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The units that mechanisms keep; nothing if the words mean nothing.
fn kept(words: &[u32]) -> Option<Vec<Kept>> {
    let kept = |words: &[u32]| match *words {
        [unit, how, filled] => {
            Some(Kept { unit: Unit::from_word(unit)?, how: Keeping::from_word(how)?, filled: Slot::new(filled) })
        }
        _ => None,
    };
    words.chunks(3).map(kept).collect()
}

/// An array of exactly that length.
fn read_words(input: &mut impl Read, length: usize) -> Option<Vec<u32>> {
    if read_length(input)? != length as u64 {
        return None;
    }
    let mut words = vec![0u32; length];
    input.read_exact(bytemuck::cast_slice_mut(&mut words)).ok()?;
    if cfg!(target_endian = "big") {
        words.iter_mut().for_each(|word| *word = u32::from_le(*word));
    }
    Some(words)
}

/// An array of pairs, as [`read_words_up_to`] reads one of words.
fn pairs_up_to(input: &mut impl Read, most: u64) -> Option<Vec<(u32, u32)>> {
    let words = read_words_up_to(input, most)?;
    words.len().is_multiple_of(2).then(|| pairs(&words))
}

/// An array of whatever length is announced; memory is taken for what is there, not for what is announced.
fn read_words_up_to(input: &mut impl Read, most: u64) -> Option<Vec<u32>> {
    let length = read_length(input)?;
    if length > most {
        return None;
    }
    let mut bytes = Vec::new();
    input.take(length * 4).read_to_end(&mut bytes).ok()?;
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect();
    (words.len() as u64 == length).then_some(words)
}

fn read_length(input: &mut impl Read) -> Option<u64> {
    let mut announced = [0; 8];
    input.read_exact(&mut announced).ok()?;
    Some(u64::from_le_bytes(announced))
}

/// Whether every number names something that exists, so that the deeper checks can follow it.
fn plausible(saved: &Saved<'_>, shape: &Shape) -> bool {
    let (geometry, streams) = (&shape.geometry, shape.streams);
    let below = |words: &[u32], limit: u64| words.iter().all(|&word| word == NONE || u64::from(word) < limit);
    let mut open = std::collections::BTreeSet::new();
    let frontiers = saved.frontiers.iter().enumerate().all(|(index, frontier)| {
        frontier.is_none_or(|(unit, slot)| {
            unit.number() < geometry.units()
                && geometry.domain_of_unit(unit).index() == index / streams
                && slot < geometry.end_slot()
                && saved.closed_at[unit.index()] == 0
                && open.insert(unit)
        })
    });
    let kept = saved.kept.iter().all(|kept| {
        kept.unit.number() < geometry.units() && kept.filled <= geometry.end_slot() && open.insert(kept.unit)
    });
    kept && below(&saved.map, geometry.pages())
        && below(&saved.reverse, saved.map.len() as u64)
        && frontiers
        && saved.filled_by.iter().all(|&stream| (stream as usize) < streams)
}

/// Whether the array is filled as the FTL thinks, with counts that a device can reach, and free units where
/// the next frontier needs one.
fn filled_alike(saved: &Saved<'_>, blocks: &[Block], shape: &Shape) -> bool {
    let geometry = &shape.geometry;
    let slots = geometry.unit_slots();
    let mut filled: Vec<u32> = saved.closed_at.iter().map(|&at| if at == 0 { 0 } else { slots }).collect();
    let mut spare = vec![0u32; geometry.domains() as usize];
    for unit in geometry.all_units() {
        spare[geometry.domain_of_unit(unit).index()] += u32::from(saved.closed_at[unit.index()] == 0);
    }
    for (index, &frontier) in saved.frontiers.iter().enumerate() {
        let Some((unit, slot)) = frontier else { continue };
        filled[unit.index()] = slot.number();
        // The first stream's frontier counts as one of the two; others are no help to every page of the host.
        spare[index / shape.streams] -= u32::from(index % shape.streams > 0);
    }
    for kept in &saved.kept {
        filled[kept.unit.index()] = kept.filled.number();
    }
    let is_lsb = |page: u32| page == geometry.pages_per_block || shape.pages.page_type(page).0 == 0;
    let alike = geometry.all_units().all(|unit| {
        (0..geometry.unit_width).all(|lane| {
            let block = blocks[geometry.block_of(unit, lane) as usize];
            let filled = filled[unit.index()];
            let mut pages = (filled + geometry.unit_width - 1 - lane) / geometry.unit_width;
            // Blocks do not go bad while a device is aged, and nothing but a cut of the power tears them.
            let mut usable = !block.is_bad() && !block.is_torn();
            if block.is_lsb_only() {
                // Upper pages are skipped by both.
                usable &= is_lsb(filled / geometry.unit_width);
                pages = (pages..).find(|&page| is_lsb(page)).expect("the end, if no other");
            }
            usable && u32::from(block.next_page) == pages && block.erases == saved.erases[unit.index()]
        })
    });
    let reached = |&count: &u32| count < u32::MAX / 2;
    let counts = saved.closed_at.iter().chain(saved.erases.iter()).all(reached);
    alike
        && counts
        && blocks.iter().all(|block| reached(&block.reads))
        && spare.iter().all(|&units| units >= shape.least_spare)
}

/// Whether just the blocks of units that use their LSB pages only are marked as such, from their first page on.
fn marked_alike(device: &Device, pages: PageMapping) -> bool {
    let (ftl, nand) = (&device.ftl, device.flash.nand());
    let geometry = ftl.geometry();
    geometry.all_units().all(|unit| {
        (0..geometry.unit_width).all(|lane| {
            let block = nand.blocks()[geometry.block_of(unit, lane) as usize];
            block.is_lsb_only() == (pages.is_lsb_only(ftl, unit) && block.next_page > 0)
        })
    })
}

/// Whether every page is where the allocation may have put it, and stores what the map says.
fn in_place(device: &Device) -> bool {
    let (ftl, nand) = (&device.ftl, device.flash.nand());
    let allocation = ftl.allocation();
    (0..ftl.user_pages()).map(Lpn).all(|lpn| {
        let Some(ppn) = ftl.lookup(lpn) else { return true };
        let allowed = match allocation.dynamic() {
            None => allocation.domain_of(lpn) == Some(ftl.geometry().domain_of_unit(ftl.geometry().unit_of(ppn))),
            Some(dynamic) => dynamic.dies(allocation.queue_of(lpn)).contains(&ftl.geometry().die_of(ppn)),
        };
        let place = ftl.geometry().place(ppn);
        let stored = nand.has_payload().then(|| Stamp::unpack(nand.stamp(place.block, place.page)));
        allowed
            && nand.holds_data(place.block, place.page)
            && stored.is_none_or(|stamp| stamp.lpn == lpn && (1..u32::MAX / 2).contains(&stamp.version))
    })
}

/// Whether every page of a map in flash can be read.
fn translation_pages_in_place(device: &Device, shape: &Shape) -> bool {
    let (ftl, nand) = (&device.ftl, device.flash.nand());
    (ftl.user_pages()..shape.logical_pages as u32).filter_map(|lpn| ftl.lookup(Lpn(lpn))).all(|at| {
        let place = ftl.geometry().place(at);
        nand.holds_data(place.block, place.page)
    })
}

#[cfg(test)]
mod tests {
    use base::Ppn;
    use nand::Nand;

    use super::*;

    fn configuration() -> Config {
        let sets = [
            "device.channels=1",
            "device.chips_per_channel=1",
            "device.blocks_per_plane=16",
            "device.pages_per_block=8",
            "device.user_capacity=\"2MiB\"",
            "device.cell=\"mlc\"",
            "device.wear.read_limit=\"cell\"",
            "ftl.allocation=\"CWDP\"",
            "run.payload=\"stamp\"",
        ];
        crate::preset("tbm-small", &sets)
    }

    /// An aged device with lost pages, reprogrammed ones, and something in every spare area.
    fn aged(config: &Config) -> Device {
        let mut device = Device::new(config, false).unwrap();
        let mut random = engine::Chance::new(1, "state");
        let pages = device.ftl.user_pages();
        for lpn in (0..pages).chain((0..500).map(|_| random.below_u32(pages))) {
            device.write_now(Lpn(lpn), device.parts.whole());
        }
        // Pages are programmed to blocks that were read before.
        (0..pages).for_each(|lpn| device.read_now(Lpn(lpn), 1));
        (0..20).for_each(|lpn| device.write_now(Lpn(lpn), device.parts.whole()));
        let geometry = *device.ftl.geometry();
        for _ in 0..2 {
            let domain = device.ftl.domain_without_time(Lpn(7));
            let place = geometry.place(device.ftl.write(domain, Lpn(7)).at);
            device.flash.nand_mut().fail_program(place.block, place.page).unwrap();
        }
        for lpn in (0..pages).map(Lpn) {
            let place = geometry.place(device.ftl.lookup(lpn).unwrap());
            if device.flash.nand().is_lost(place.block, place.page) {
                device.ftl.trim(lpn);
            }
        }
        for ppn in (0..geometry.pages() as u32).map(Ppn) {
            let (place, nand) = (geometry.place(ppn), device.flash.nand_mut());
            let (block, page) = (place.block, place.page);
            if !device.ftl.is_valid(ppn) && page % 2 == 1 && nand.is_programmed(block, page) && block % 3 == 0 {
                nand.reprogram(block, page).unwrap();
            } else if nand.holds_data(block, page) {
                nand.store(block, page, nand.stamp(block, page), u128::from(random.next()) << 64 | u128::from(ppn.0));
            }
        }
        assert!(device.flash.nand().lost().len() > 1 && device.flash.nand().reprogrammed().count() > 1);
        device
    }

    fn path() -> std::path::PathBuf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        std::env::temp_dir().join(format!("ftlab-unit-{}-{number}.state", std::process::id()))
    }

    /// The device that is made from a saved state of this one.
    fn saved_and_loaded(device: &Device, config: &Config) -> Result<Device, RunError> {
        let path = path();
        save(device, config, &path, &Interrupt::default()).unwrap();
        let mut loaded = Device::new(config, false).unwrap();
        let result = load(&mut loaded, config, path.to_str().unwrap(), &Interrupt::default());
        std::fs::remove_file(path).unwrap();
        result.map(|()| loaded)
    }

    #[test]
    fn a_state_holds_all_that_the_array_remembers() {
        let config = configuration();
        let device = aged(&config);
        let of_reads = device.flash.nand().save();
        assert!(of_reads.reads_before.iter().any(|&reads| reads > 0), "pages programmed after reads");
        assert!(of_reads.cycles.iter().any(|cycles| cycles.is_reprogrammed), "reprogrammed blocks");
        let loaded = saved_and_loaded(&device, &config).unwrap();
        assert_eq!(loaded.flash.nand().save(), device.flash.nand().save());
    }

    #[test]
    fn an_array_that_the_ftl_could_not_use_is_refused() {
        let config = configuration();
        let refused = |change: &dyn Fn(&mut Device), expected: &str| {
            let mut device = aged(&config);
            change(&mut device);
            match saved_and_loaded(&device, &config) {
                Err(RunError::Input(text)) => assert!(text.contains(expected), "{text}"),
                Err(error) => panic!("{error:?}"),
                Ok(_) => panic!("accepted, where `{expected}` was expected"),
            }
        };
        /// A command to a free block.
        fn to_free_block(command: fn(&mut Nand, u32)) -> impl Fn(&mut Device) {
            move |device| {
                let block = device.flash.nand().blocks().iter().position(|block| block.next_page == 0);
                command(device.flash.nand_mut(), block.expect("a free block") as u32);
            }
        }
        let filled = "the array is not filled as the map says";
        refused(&to_free_block(|nand, block| nand.use_lsb_only(block).unwrap()), filled);
        refused(&to_free_block(|nand, block| nand.tear_erase(block).unwrap()), filled);
        refused(&to_free_block(Nand::mark_bad), filled);
        let reprogram = |device: &mut Device| {
            let ppns = (0..device.ftl.user_pages()).filter_map(|lpn| device.ftl.lookup(Lpn(lpn)));
            let mut places = ppns.map(|ppn| device.ftl.geometry().place(ppn));
            let place = places.find(|place| place.page % 2 == 1).expect("a mapped MSB page");
            device.flash.nand_mut().reprogram(place.block, place.page).unwrap();
        };
        refused(&reprogram, "a page that is not its own");
        let lose = |device: &mut Device| {
            let domain = device.ftl.domain_without_time(Lpn(7));
            let ppn = device.ftl.write(domain, Lpn(7)).at;
            let place = device.ftl.geometry().place(ppn);
            device.flash.nand_mut().fail_program(place.block, place.page).unwrap();
        };
        refused(&lose, "a page that is not its own");
    }
}
