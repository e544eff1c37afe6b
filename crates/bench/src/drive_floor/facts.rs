//! The facts of the drive: what its configuration says.

use base::SuspendLimits;
use config::Config;

use super::{CHANNELS, DIES, MOST_DEPTH, ROWS, UNITS, UNITS_OF_PLANE};
use crate::Failure;

/// Times in nanoseconds, and limits.
pub(super) struct DriveTimes {
    pub(super) read: u64,
    pub(super) program: u64,
    pub(super) erase: u64,
    /// Cycles of a command for a plane.
    pub(super) command: u64,
    /// Cycles and data of a row.
    pub(super) row_in: u64,
    pub(super) unit_out: u64,
    pub(super) dram: u64,
    pub(super) correction: u64,
    pub(super) controller: u64,
    pub(super) interval: u64,
    pub(super) link: u64,
    pub(super) max_wait: u64,
    /// Of programs and of erases.
    pub(super) suspends: [SuspendLimits; 2],
}

/// The facts of the drive that come from its configuration.
pub(super) struct DriveFacts {
    pub(super) times: DriveTimes,
    pub(super) user_units: u32,
    pub(super) superblocks: u32,
    pub(super) buffer: u32,
    pub(super) depth: u32,
    /// Superblocks of a die that are held free, and so many above them at which collections begin.
    pub(super) reserve: u32,
    pub(super) low: u32,
}

impl DriveFacts {
    /// The facts of a configuration.
    ///
    /// # Errors
    /// It is none of a drive like `client-tlc-small`.
    pub(super) fn of(config: &Config) -> Result<DriveFacts, Failure> {
        let (device, host, ftl) = (&config.device, &config.host, &config.ftl);
        let timing = &device.timing;
        let shape = [
            (device.channels, CHANNELS),
            (device.chips_per_channel * device.dies_per_chip, DIES / CHANNELS),
            (device.planes_per_die * UNITS_OF_PLANE, UNITS),
            (device.pages_per_block, ROWS),
        ];
        let unit = u64::from(device.page_size / UNITS_OF_PLANE);
        let passing = |rate: u64| (unit * 1_000_000_000).div_ceil(rate);
        let command = timing.command_overhead.0;
        let unit_out = passing(timing.channel_rate);
        let (Some(dram), Some(link), Some(depth)) = (timing.dram_bandwidth, host.link, host.queue_depth) else {
            return Err(Failure("the floor of a drive needs DRAM, a link and a closed loop".into()));
        };
        let [Some(programs), Some(erases)] = SuspendLimits::of(&device.features) else {
            return Err(Failure("the floor of a drive needs suspends of programs and erases".into()));
        };
        let facts = DriveFacts {
            times: DriveTimes {
                read: timing.read[0].0,
                program: timing.program[0].0,
                erase: timing.erase.0,
                command,
                row_in: u64::from(UNITS) * (command / u64::from(UNITS_OF_PLANE) + unit_out),
                unit_out,
                dram: passing(dram),
                correction: timing.ecc_latency.0,
                controller: host.command_time.0,
                interval: host.command_interval.0,
                link: passing(link),
                max_wait: ftl.get("scheduler").time("max_wait").0,
                suspends: [programs, erases],
            },
            user_units: (device.user_capacity / unit) as u32,
            superblocks: device.blocks_per_plane,
            buffer: (ftl.get("write_buffer").size("size") / unit) as u32,
            depth,
            // Where rows are filled up, three are held free at least, so that what a victim leaves behind has room.
            reserve: ftl.get("gc_schedule").integer("free_blocks").max(3),
            low: ftl.get("gc_schedule").integer("low"),
        };
        // Requests come to the device in the order in which the controller deals with them.
        let is_in_order = facts.times.link <= facts.times.interval;
        let has_one_time =
            [&timing.read, &timing.program].iter().all(|times| times.iter().all(|time| *time == times[0]));
        let is_known = shape.iter().all(|(found, expected)| found == expected) && facts.buffer.is_power_of_two();
        if !is_known || !is_in_order || !has_one_time || depth as usize > MOST_DEPTH {
            return Err(Failure("the floor of a drive is that of `client-tlc-small`".into()));
        }
        Ok(facts)
    }
}
