//! Device states on disk: what is where, how worn, and what pages store.
//!
//! A file is a magic word, then one zstd stream (with checksum) of three messages of `postcard`: a header that names what the
//! state fits, what the FTL says of itself, and what the array says. A state is read as untrusted input.

use std::collections::BTreeSet;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use base::{Geometry, Lpn, Page, PageLayout, ParamValue, Ppn, bulk};
use config::Config;
use files::{Input, Interrupt, Output};
use ftl::allocation::GroupedNamespace;
use ftl::{ArrayView, Keeping, Maps, Policies, Saved};
use nand::BlockState;
use postcard::{de_flavors, ser_flavors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::device::{Device, policies};
use crate::errors::RunError;
use crate::flash::{Flash, Stamp};

const MAGIC: &[u8; 8] = b"ftlabstE";

/// The bytes that states of all versions begin with.
pub(crate) const BEGINNING: &[u8] = b"ftlabst";
const NOT_ALIKE: &str = "the array is not filled as the map says";

/// Bytes that a save takes beside the device: a copy of what the array remembers.
pub(crate) fn bytes_to_save(geometry: &Geometry, payload: bool) -> u64 {
    let stored = if payload { geometry.pages() * (8 + 16) } else { 0 };
    u64::from(geometry.blocks()) * size_of::<BlockState>() as u64 + stored
}

/// Bytes that a load takes beside the device: a map twice, and what the array remembers once more.
pub(crate) fn bytes_to_load(geometry: &Geometry, payload: bool) -> u64 {
    geometry.pages() * 4 + bytes_to_save(geometry, payload)
}

/// The settings that a state fits: they decide where data may lie.
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
        bad_blocks(config),
        mapping(config),
        ("ftl.map_unit".into(), config.ftl.get("map_unit").name.into()),
        choice("allocation"),
        reclaim_unit(config),
        separation(config),
        paired_page(config),
        migration(config),
        choice("read_disturb"),
        wear_leveling(config),
        slc_cache(config),
        ("run.payload".into(), format!("{:?}", config.run.payload).to_lowercase()),
    ]
}

/// The separation, with the namespaces that lie in a reclaim group, where there are several.
fn separation(config: &Config) -> (String, String) {
    let Policies { separation, namespaces, .. } = policies(config);
    let in_words = |it: &GroupedNamespace| format!(", {} pages from {} on in group {}", it.pages, it.first.0, it.group);
    let of_groups: String = namespaces.iter().map(in_words).collect();
    ("ftl.separation".into(), separation.written().to_string() + &of_groups)
}

/// The lives of blocks, which follow from the parameters and the seed: others would be bad.
fn bad_blocks(config: &Config) -> (String, String) {
    let lives = config.device.features.get("bad_blocks");
    let told = |(name, value): &(&str, ParamValue)| format!("{name} = {}", config::parameter(*value));
    let value = match lives.params.is_empty() {
        true => lives.name.into(),
        false => format!(
            "{} with {}, seed {}",
            lives.name,
            lives.params.iter().map(told).collect::<Vec<_>>().join(", "),
            config.run.seed
        ),
    };
    ("device.bad_blocks".into(), value)
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

/// The pseudo-SLC cache, as far as it decides which active blocks there are and which blocks it has for itself.
fn slc_cache(config: &Config) -> (String, String) {
    let value = match ftl::slc::fixed_blocks(config.ftl.get("slc_cache")) {
        None => "no cache".into(),
        Some(blocks) => format!("a cache with {blocks} blocks set apart"),
    };
    ("ftl.slc_cache".into(), value)
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
    // At this level what repeats is found, and nothing else: maps are packed, and the codes of single bytes are most of what a load takes.
    let mut stream = zstd::Encoder::new(file, -1)?;
    stream.include_checksum(true)?;
    let pages = device.has.pages.ok_or_else(|| io::Error::other("this mapping has no states"))?;
    let saved = pages.save(&device.ftl);
    // Numbers are written a byte at a time.
    let mut out = BufWriter::with_capacity(bulk::CHUNK, stream);
    write(&mut out, &Header { ftlab_version: env!("CARGO_PKG_VERSION").into(), fits: fits(config) })?;
    write(&mut out, &saved)?;
    write(&mut out, &device.flash.nand().save())?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// Writes a message. An error of the file is kept for the caller, since `postcard` has no words for it.
pub(crate) fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut error = None;
    let written = postcard::serialize_with_flavor(message, MessageWriter { out, error: &mut error });
    written.map_err(|other| error.unwrap_or_else(|| io::Error::other(other.to_string())))
}

/// A file that a message is written to, and the first error of it.
struct MessageWriter<'a, W> {
    out: &'a mut W,
    error: &'a mut Option<io::Error>,
}

impl<W: Write> ser_flavors::Flavor for MessageWriter<'_, W> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.out.write_all(bytes).map_err(|error| {
            *self.error = Some(error);
            postcard::Error::SerializeBufferFull
        })
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
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
    let stream = zstd::Decoder::with_buffer(file).map_err(|_| damaged("compression"))?;
    let mut input = BufReader::with_capacity(bulk::CHUNK, stream);
    let header: Header = read_message(&mut input, 1 << 12, 1 << 20).ok_or_else(|| damaged("header"))?;
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
    let shape = StateShape::of(device, config);
    let mut of_array = None;
    let read = || -> Result<Saved<'static>, RunError> {
        let (saved, array) = read_parts(&mut input, &shape).ok_or_else(|| damaged("arrays"))?;
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
    device.ftl.check(&Filled(&device.flash)).map_err(|problem| damaged(&problem))?;
    if !in_place(device) || !translation_pages_in_place(device, &shape) {
        return Err(damaged("a page that is not its own"));
    }
    device.trust_array();
    device.fill_up_parts();
    Ok(())
}

/// The array of a state, of which it was checked before what is programmed.
struct Filled<'a>(&'a Flash);

impl ArrayView for Filled<'_> {
    fn is_programmed(&self, _: Ppn) -> bool {
        true
    }

    fn is_of_file(&self) -> bool {
        true
    }

    fn is_lsb_only(&self, at: Ppn) -> Option<bool> {
        self.0.is_lsb_only(at)
    }
}

/// The shape that the arrays of a state have to fit.
pub(crate) struct StateShape {
    geometry: Geometry,
    /// Logical pages of the host, and behind them those of a map in flash.
    logical_pages: usize,
    /// The most words that mechanisms have of their own.
    of_mechanisms: u64,
    /// Bytes that a page stores in the array.
    of_pages: u64,
    streams: usize,
    /// Units of a domain, at least, that are free or that the first stream fills.
    least_spare: u32,
    /// Of a block.
    pages: PageLayout,
}

impl StateShape {
    /// The shape of a device.
    pub(crate) fn of(device: &Device, config: &Config) -> StateShape {
        let geometry = *device.flash.geometry();
        let user_pages = u64::from(device.has.user_pages);
        let (policies, has_cache) = (policies(config), config.ftl.get("slc_cache").name != "off");
        StateShape {
            geometry,
            logical_pages: (user_pages + ftl::map_pages(&geometry, user_pages, &policies)) as usize,
            of_mechanisms: ftl::bytes_of_state(&geometry, user_pages, &policies) / 4,
            of_pages: device.flash.nand().stores().bytes_of_page(),
            streams: ftl::streams(&geometry, &policies),
            // Where counts follow the host's last page, room is made before its next one. Where the host writes to a pseudo-SLC cache, its
            // frontier at full density may be full while one unit is free: the next fold or collection makes room.
            least_spare: if ftl::migration::has_metadata(&policies) || has_cache { 1 } else { 2 },
            pages: PageLayout::new(
                config.device.cell,
                config.device.program_order,
                geometry.pages_per_block,
                geometry.parts,
            ),
        }
    }
}

/// Bytes that a number takes at most, of 32 bits.
const NUMBER: u64 = 5;

/// The parts of the FTL and of the array, if they are of the device's shape. The array compares its lengths itself.
pub(crate) fn read_parts(input: &mut impl Read, shape: &StateShape) -> Option<(Saved<'static>, nand::SavedArray)> {
    let geometry = &shape.geometry;
    let (pages, blocks, units) = (geometry.pages(), u64::from(geometry.blocks()), u64::from(geometry.units()));
    let active = geometry.domains() as usize * shape.streams;
    let (of_maps, chunks) = Maps::bytes(pages);
    // A unit has four numbers, and those of one that is kept; an active block has two and says whether there is one.
    let numbers = NUMBER * (units * 7 + active as u64 * 3 + shape.of_mechanisms) + 2 * NUMBER * chunks + lengths(0);
    let saved: Saved<'static> = read_message(input, numbers, of_maps)?;
    let is_of_shape = saved.maps.map.len() == shape.logical_pages
        && saved.maps.reverse.len() as u64 == pages
        && [&*saved.erases, &saved.closed_at, &saved.filled_by].iter().all(|array| array.len() as u64 == units)
        && [0, units].contains(&(saved.more_wear.len() as u64))
        && saved.frontiers.len() == active
        && saved.kept.len() as u64 <= units
        && saved.of_mechanisms.len() as u64 <= shape.of_mechanisms;
    if !is_of_shape {
        return None;
    }
    // Pages: whether they are reprogrammed, or lost; their errors, and the reads before them. A block has four numbers, and four
    // of its cycles, one of 64 bits.
    let arrays = pages * (8 + 8 + 4 + 4 + shape.of_pages);
    let array = read_message(input, 2 * NUMBER * blocks * 4 + lengths(arrays), arrays)?;
    Some((saved, array))
}

/// Bytes of the lengths of so many bytes of arrays, with those of the arrays themselves.
fn lengths(bytes: u64) -> u64 {
    (bytes / bulk::CHUNK as u64 + 64) * 2 * NUMBER
}

/// A message of so many bytes at most: of numbers one by one, and of long arrays and texts.
pub(crate) fn read_message<T: DeserializeOwned>(input: &mut impl Read, numbers: u64, arrays: u64) -> Option<T> {
    let limited = Limited { input, numbers, arrays, chunk: vec![0; bulk::CHUNK] };
    T::deserialize(&mut postcard::Deserializer::from_flavor(limited)).ok()
}

/// A reader of no more than a message of this device can have. A list of numbers takes up to twelve times its bytes in memory, and
/// an array no more than its own; so each has its limit.
struct Limited<'a, R> {
    input: &'a mut R,
    numbers: u64,
    arrays: u64,
    /// The bytes of a text or of a part of an array.
    chunk: Vec<u8>,
}

impl<'de, R: Read + 'de> de_flavors::Flavor<'de> for Limited<'de, R> {
    type Remainder = ();
    type Source = ();

    fn pop(&mut self) -> postcard::Result<u8> {
        let mut byte = [0];
        self.numbers = self.numbers.checked_sub(1).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.input.read_exact(&mut byte).map_err(|_| postcard::Error::DeserializeUnexpectedEnd)?;
        Ok(byte[0])
    }

    /// Refuses: no part of a state is borrowed from its file.
    fn try_take_n(&mut self, _: usize) -> postcard::Result<&'de [u8]> {
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, count: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        let end = postcard::Error::DeserializeUnexpectedEnd;
        self.arrays = self.arrays.checked_sub(count as u64).ok_or(end.clone())?;
        let chunk = self.chunk.get_mut(..count).ok_or(end.clone())?;
        self.input.read_exact(chunk).map_err(|_| end)?;
        Ok(chunk)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// True if every number names something that exists, so that the deeper checks can follow it.
fn plausible(saved: &Saved<'_>, shape: &StateShape) -> bool {
    let (geometry, streams) = (&shape.geometry, shape.streams);
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
    kept && frontiers && saved.filled_by.iter().all(|&stream| (stream as usize) < streams)
}

/// True if the array is filled as the FTL thinks, with counts that a device can reach, and free units where
/// the next frontier needs one.
fn filled_alike(saved: &Saved<'_>, blocks: &[BlockState], shape: &StateShape) -> bool {
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
    let mut retired = BTreeSet::new();
    for kept in &saved.kept {
        filled[kept.unit.index()] = kept.filled.number();
        if kept.how == Keeping::Retired {
            retired.insert(kept.unit);
            spare[geometry.domain_of_unit(kept.unit).index()] -= 1;
        }
    }
    let is_lsb = |page: u32| page == geometry.pages_per_block || shape.pages.page_type(page).0 == 0;
    let alike = geometry.all_units().all(|unit| {
        (0..geometry.unit_width).all(|lane| {
            let block = blocks[geometry.block_of(unit, lane).index()];
            let filled = filled[unit.index()];
            let mut pages = geometry.pages_before(filled, lane);
            if retired.contains(&unit) {
                return block.is_bad() && block.erases == saved.erases[unit.index()];
            }
            // Nothing but a cut of the power, or the end of its life, tears a block.
            let mut usable = !block.is_bad() && !block.is_torn();
            if block.is_lsb_only() {
                // Upper pages are skipped by both.
                usable &= is_lsb(filled / geometry.row_slots() * geometry.parts);
                pages = (pages..).find(|&page| is_lsb(page)).expect("the end, if no other");
            }
            usable && u32::from(block.next_page) == pages && block.erases == saved.erases[unit.index()]
        })
    });
    let reached = |&count: &u32| count < u32::MAX / 2;
    let counts = saved.closed_at.iter().chain(saved.erases.iter()).all(reached);
    let mut wears = saved.more_wear.iter().zip(saved.erases.iter());
    alike
        && counts
        && wears.all(|(&more, &erases)| i64::from(erases) * 1000 + i64::from(more) >= 0)
        && blocks.iter().all(|block| reached(&block.reads) && (block.next_page > 0 || !block.is_lsb_only()))
        && spare.iter().all(|&units| units >= shape.least_spare)
}

/// True if every page is where the allocation may have put it, and stores what the map says.
fn in_place(device: &Device) -> bool {
    let (geometry, nand) = (device.flash.geometry(), device.flash.nand());
    let allocation = &device.allocation;
    let is_anywhere_right = allocation.dynamic().is_some() && allocation.queues() == 1;
    if is_anywhere_right && device.oracle.is_none() && nand.all_programmed_hold_data() {
        return none_is_ahead(device);
    }
    (0..device.has.user_pages).map(Lpn).all(|lpn| {
        let Ok(ppn) = device.ftl.lookup(lpn) else { return true };
        let allowed = match allocation.dynamic() {
            None => allocation.domain_of(lpn) == Some(geometry.domain_of_unit(geometry.unit_of(ppn))),
            Some(dynamic) => dynamic.queue_of_die(geometry.die_of(ppn)) == allocation.queue_of(lpn),
        };
        let place = geometry.place(ppn);
        let stored = device.oracle.is_some().then(|| Stamp::unpack(nand.data(place.block, place.page)));
        allowed
            && nand.holds_data(place.block, place.page)
            && stored.is_none_or(|stamp| stamp.lpn == lpn && (1..u32::MAX / 2).contains(&stamp.version))
    })
}

/// True if no valid page lies where its block is not programmed. The FTL has checked that its maps mirror each other.
fn none_is_ahead(device: &Device) -> bool {
    let (geometry, nand) = (device.flash.geometry(), device.flash.nand());
    geometry.all_units().all(|unit| {
        (0..geometry.unit_width).all(|lane| {
            let next = u32::from(nand.blocks()[geometry.block_of(unit, lane).index()].next_page);
            let mut ahead = Page::all(next..geometry.pages_per_block);
            !ahead.any(|page| device.ftl.is_valid(geometry.ppn(unit, geometry.slot_at(page, lane))))
        })
    })
}

/// True if every page of a map in flash can be read.
fn translation_pages_in_place(device: &Device, shape: &StateShape) -> bool {
    (device.has.user_pages..shape.logical_pages as u32).flat_map(|lpn| device.ftl.lookup(Lpn(lpn))).all(|at| {
        let place = device.flash.geometry().place(at);
        device.flash.nand().holds_data(place.block, place.page)
    })
}

#[cfg(test)]
mod tests {
    use base::Block;
    use ftl::ANYWHERE;
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
        let pages = device.has.user_pages;
        for lpn in (0..pages).chain((0..500).map(|_| random.below_u32(pages))) {
            device.write_now(Lpn(lpn), device.parts.whole());
        }
        // Pages are programmed to blocks that were read before.
        (0..pages).for_each(|lpn| device.read_now(Lpn(lpn), 1));
        (0..20).for_each(|lpn| device.write_now(Lpn(lpn), device.parts.whole()));
        let geometry = *device.flash.geometry();
        for _ in 0..2 {
            let domain = device.domain_now(Lpn(7));
            let place = geometry.place(device.ftl.write(domain, Lpn(7).into(), ANYWHERE).unwrap().at);
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
            if !device.ftl.is_valid(ppn)
                && page.number() % 2 == 1
                && nand.is_programmed(block, page)
                && block.number() % 3 == 0
            {
                nand.reprogram(block, page).unwrap();
            } else if nand.holds_data(block, page) {
                nand.store(block, page, nand.data(block, page), u128::from(random.next()) << 64 | u128::from(ppn.0));
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

    /// Memory follows the device, whatever a file holds or says that it holds.
    #[test]
    fn no_more_is_read_than_a_device_can_have() {
        #[derive(Serialize, Deserialize)]
        struct Part {
            #[serde(with = "base::bulk")]
            array: Vec<u32>,
            numbers: Vec<u32>,
        }
        let part = Part { array: vec![1 << 30; 40_000], numbers: vec![7; 1_000] };
        let bytes = postcard::to_extend(&part, Vec::new()).unwrap();
        let read = |numbers, arrays| read_message::<Part>(&mut &bytes[..], numbers, arrays);
        let (numbers, arrays) = (1_000 + 2 + 1 + 3 * 3, 160_000);
        assert!(read(numbers, arrays).is_some_and(|read| (read.array, read.numbers) == (part.array, part.numbers)));
        assert!(read(numbers - 1, arrays).is_none(), "a number more");
        assert!(read(numbers, arrays - 1).is_none(), "a byte more");
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
        fn to_free_block(command: fn(&mut Nand, Block)) -> impl Fn(&mut Device) {
            move |device| {
                let nand = device.flash.nand_mut();
                let block = nand.all_blocks().find(|block| nand.blocks()[block.index()].next_page == 0);
                command(nand, block.expect("a free block"));
            }
        }
        let filled = "the array is not filled as the map says";
        refused(&to_free_block(|nand, block| nand.use_lsb_only(block).unwrap()), filled);
        refused(&to_free_block(|nand, block| nand.tear_erase(block).unwrap()), filled);
        refused(&to_free_block(Nand::mark_bad), filled);
        let reprogram = |device: &mut Device| {
            let ppns = (0..device.has.user_pages).flat_map(|lpn| device.ftl.lookup(Lpn(lpn)));
            let mut places = ppns.map(|ppn| device.flash.geometry().place(ppn));
            let place = places.find(|place| place.page.number() % 2 == 1).expect("a mapped MSB page");
            device.flash.nand_mut().reprogram(place.block, place.page).unwrap();
        };
        refused(&reprogram, "a page that is not its own");
        let lose = |device: &mut Device| {
            let domain = device.domain_now(Lpn(7));
            let ppn = device.ftl.write(domain, Lpn(7).into(), ANYWHERE).unwrap().at;
            let place = device.flash.geometry().place(ppn);
            device.flash.nand_mut().fail_program(place.block, place.page).unwrap();
        };
        refused(&lose, "a page that is not its own");
    }
}
