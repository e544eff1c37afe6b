//! Small drives of real bytes.

/// Two dies of two planes of 12 blocks of 8 pages of 2 KiB.
const SMALL: [&str; 9] = [
    "device.channels=1",
    "device.chips_per_channel=1",
    "device.dies_per_chip=2",
    "device.planes_per_die=2",
    "device.blocks_per_plane=12",
    "device.pages_per_block=8",
    "device.page_size=\"2KiB\"",
    "device.user_capacity=\"400KiB\"",
    "device.cell=\"slc\"",
];

/// A write buffer that the power takes along.
pub const BUFFER: &str = "ftl.write_buffer.lru.size=\"16KiB\"";
/// One that outlives it.
pub const PROTECTED: &str = "ftl.write_buffer.lru.power_loss=\"protected\"";

/// A small drive with these settings.
pub fn config(sets: &[&str]) -> config::Config {
    let sets: Vec<String> = SMALL.iter().chain(sets).map(|set| set.to_string()).collect();
    match device::load(&config::Base::Preset("tbm-small".into()), &sets, None) {
        Ok(loaded) => loaded.config,
        Err(errors) => panic!("{}", errors),
    }
}
