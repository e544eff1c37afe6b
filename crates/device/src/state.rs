//! Device states on disk: what is where, how worn, and what pages store.
//!
//! A file is a magic word, then one zstd stream (with checksum): a JSON header that names what the state
//! fits, and the arrays as little-endian words. A state is read as untrusted input.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use base::{Geometry, Lpn};
use config::Config;
use ftl::Saved;
use nand::Block;
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::device::{Device, policies};
use crate::flash::Stamp;

const MAGIC: &[u8; 8] = b"ftlabst1";
const NONE: u32 = u32::MAX;

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
    let choice = |key: &str| (format!("ftl.{key}"), config.ftl.get(key).name.to_string());
    vec![
        number("channels", device.channels.into()),
        number("chips_per_channel", device.chips_per_channel.into()),
        number("dies_per_chip", device.dies_per_chip.into()),
        number("planes_per_die", device.planes_per_die.into()),
        number("blocks_per_plane", device.blocks_per_plane.into()),
        number("pages_per_block", device.pages_per_block.into()),
        number("page_size", device.page_size.into()),
        number("user_capacity", device.user_capacity),
        choice("mapping"),
        choice("allocation"),
        choice("reclaim_unit"),
        choice("separation"),
        ("run.payload".into(), format!("{:?}", config.run.payload).to_lowercase()),
    ]
}

/// Saves the state of a device with nothing in flight. The file appears whole or not at all.
pub(crate) fn save(device: &Device, config: &Config, path: &Path) -> Result<(), RunError> {
    let failed = |error: std::io::Error| {
        RunError::Failed(format!("the state file {} cannot be written: {error}", path.display()))
    };
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let result = write(device, config, Path::new(&partial)).and_then(|()| std::fs::rename(&partial, path));
    result.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        failed(error)
    })
}

fn write(device: &Device, config: &Config, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(MAGIC)?;
    let mut out = zstd::Encoder::new(file, 1)?;
    out.include_checksum(true)?;
    let saved = device.ftl.save();
    let header = Header { ftlab_version: env!("CARGO_PKG_VERSION").into(), fits: fits(config) };
    let header = serde_json::to_vec(&header)?;
    out.write_all(&(header.len() as u32).to_le_bytes())?;
    out.write_all(&header)?;
    let frontiers: Vec<u32> = saved.frontiers.iter().flat_map(|&(unit, slot)| [unit, slot]).collect();
    let blocks: Vec<u32> = device
        .flash
        .nand()
        .blocks()
        .iter()
        .flat_map(|block| [block.erases, block.reads, u32::from(block.next_page), u32::from(block.bad)])
        .collect();
    let stamps: Vec<u32> =
        device.flash.nand().stamps().iter().flat_map(|stamp| [(stamp >> 32) as u32, *stamp as u32]).collect();
    let (map, reverse) = device.ftl.maps();
    for array in [map, reverse, &saved.erases, &saved.closed_at, &frontiers, &blocks, &stamps] {
        out.write_all(&(array.len() as u64).to_le_bytes())?;
        write_words(&mut out, array)?;
    }
    out.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
}

fn write_words(out: &mut impl Write, words: &[u32]) -> std::io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(words));
    }
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Loads a state into a pristine device of the same shape.
pub(crate) fn load(device: &mut Device, config: &Config, path: &str) -> Result<(), RunError> {
    let refuse = |text: String| RunError::Input(format!("the state file {path} {text}"));
    let file = File::open(path).map_err(|error| refuse(format!("cannot be opened: {error}")))?;
    let mut file = BufReader::new(file);
    let mut magic = [0; 8];
    if file.read_exact(&mut magic).is_err() || &magic != MAGIC {
        return Err(refuse("is not a device state that `--save-state` wrote".into()));
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
    let memory = |error: ftl::OutOfMemory| RunError::Failed(error.to_string());
    let user_pages = device.ftl.user_pages() as usize;
    device.ftl.release_maps().map_err(memory)?;
    let (saved, blocks, stamps) = read_arrays(&mut input, device, user_pages).ok_or_else(|| damaged("arrays"))?;
    let mut rest = [0; 1];
    if !matches!(input.read(&mut rest), Ok(0)) {
        return Err(damaged("end"));
    }
    let streams = if config.ftl.get("separation").name == "host-gc" { 2 } else { 1 };
    if !plausible(&saved, &geometry, streams) {
        return Err(damaged("a page number that does not exist"));
    }
    if !filled_alike(&saved, &blocks, &geometry) {
        return Err(damaged("the array is not filled as the map says"));
    }
    device.ftl.restore(saved, &policies(config), config.run.seed).map_err(memory)?;
    device.flash.nand_mut().restore(blocks, stamps);
    device.ftl.check_invariants().map_err(|problem| damaged(&problem))?;
    if !in_place(device) {
        return Err(damaged("a page that is not its own"));
    }
    device.trust_array();
    Ok(())
}

fn read_header(input: &mut impl Read) -> Option<Header> {
    let mut length = [0; 4];
    input.read_exact(&mut length).ok()?;
    let mut bytes = Vec::new();
    input.take(u64::from(u32::from_le_bytes(length)).min(1 << 20)).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The arrays, each of exactly the length that the device wants.
fn read_arrays(input: &mut impl Read, device: &Device, user_pages: usize) -> Option<(Saved, Vec<Block>, Vec<u64>)> {
    let geometry = device.ftl.geometry();
    let units = geometry.units() as usize;
    let saved = Saved {
        map: read_words(input, user_pages)?,
        reverse: read_words(input, geometry.pages() as usize)?,
        erases: read_words(input, units)?,
        closed_at: read_words(input, units)?,
        frontiers: pairs(&read_words(input, geometry.domains() as usize * 4)?),
    };
    let blocks = read_words(input, geometry.blocks() as usize * 4)?
        .chunks_exact(4)
        .map(|words| {
            Some(Block {
                erases: words[0],
                reads: words[1],
                next_page: u16::try_from(words[2]).ok()?,
                bad: words[3] != 0,
                low_density: false,
            })
        })
        .collect::<Option<Vec<Block>>>()?;
    let stamps = read_words(input, device.flash.nand().stamps().len() * 2)?;
    let stamps = pairs(&stamps).iter().map(|&(high, low)| u64::from(high) << 32 | u64::from(low)).collect();
    Some((saved, blocks, stamps))
}

fn pairs(words: &[u32]) -> Vec<(u32, u32)> {
    words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn read_words(input: &mut impl Read, length: usize) -> Option<Vec<u32>> {
    let mut announced = [0; 8];
    input.read_exact(&mut announced).ok()?;
    if u64::from_le_bytes(announced) != length as u64 {
        return None;
    }
    let mut words = vec![0u32; length];
    input.read_exact(bytemuck::cast_slice_mut(&mut words)).ok()?;
    if cfg!(target_endian = "big") {
        words.iter_mut().for_each(|word| *word = u32::from_le(*word));
    }
    Some(words)
}

/// Whether every number names something that exists, so that the deeper checks can follow it.
fn plausible(saved: &Saved, geometry: &Geometry, streams: usize) -> bool {
    let below = |words: &[u32], limit: u64| words.iter().all(|&word| word == NONE || u64::from(word) < limit);
    let mut open = std::collections::BTreeSet::new();
    let frontiers = saved.frontiers.iter().enumerate().all(|(index, &(unit, slot))| {
        unit == NONE
            || unit < geometry.units()
                && geometry.domain_of_unit(unit) as usize == index / 2
                && index % 2 < streams
                && slot < geometry.unit_slots()
                && saved.closed_at[unit as usize] == 0
                && open.insert(unit)
    });
    below(&saved.map, geometry.pages()) && below(&saved.reverse, saved.map.len() as u64) && frontiers
}

/// Whether the array is filled as the FTL thinks, with counts that a device can reach, and free units where
/// the next frontier needs one.
fn filled_alike(saved: &Saved, blocks: &[Block], geometry: &Geometry) -> bool {
    let slots = geometry.unit_slots();
    let mut filled: Vec<u32> = saved.closed_at.iter().map(|&at| if at == 0 { 0 } else { slots }).collect();
    let mut spare = vec![0u32; geometry.domains() as usize];
    for unit in 0..geometry.units() {
        spare[geometry.domain_of_unit(unit) as usize] += u32::from(saved.closed_at[unit as usize] == 0);
    }
    for (index, &(unit, slot)) in saved.frontiers.iter().enumerate().filter(|(_, (unit, _))| *unit != NONE) {
        filled[unit as usize] = slot;
        // The host's frontier counts as one of the two; a collection's is no help to the host.
        spare[index / 2] -= u32::from(index % 2 == 1);
    }
    let alike = (0..geometry.units()).all(|unit| {
        (0..geometry.unit_width).all(|lane| {
            let block = blocks[geometry.block_of(unit, lane) as usize];
            let pages = (filled[unit as usize] + geometry.unit_width - 1 - lane) / geometry.unit_width;
            // Blocks do not go bad while a device is aged.
            !block.bad && u32::from(block.next_page) == pages && block.erases == saved.erases[unit as usize]
        })
    });
    let reached = |&count: &u32| count < u32::MAX / 2;
    let counts = saved.closed_at.iter().chain(&saved.erases).all(reached);
    alike && counts && blocks.iter().all(|block| reached(&block.reads)) && spare.iter().all(|&units| units >= 2)
}

/// Whether every page is where the allocation may have put it, and stores what the map says.
fn in_place(device: &Device) -> bool {
    let (ftl, nand) = (&device.ftl, device.flash.nand());
    let allocation = ftl.allocation();
    (0..ftl.user_pages()).map(Lpn).all(|lpn| {
        let Some(ppn) = ftl.lookup(lpn) else { return true };
        let queue = allocation.queue_of(lpn);
        let allowed = match allocation.dynamic() {
            None => ftl.geometry().domain_of_unit(ftl.geometry().unit_of(ppn)) == queue,
            Some(dynamic) => dynamic.dies(queue).contains(&ftl.geometry().die_of(ppn)),
        };
        let place = ftl.geometry().place(ppn);
        let stored = nand.has_stamps().then(|| Stamp::unpack(nand.stamp(place.block, place.page)));
        allowed && stored.is_none_or(|stamp| stamp.lpn == lpn && (1..u32::MAX / 2).contains(&stamp.version))
    })
}
