//! The host's link, and reads that send parts of their pages: to the nanosecond.

use base::{ParamValue, Selection};

use super::split::{ARRAY, BUS, PROGRAM, READ, check, die};
use super::*;

/// Bytes per second; a page of 8 KiB takes no whole number of nanoseconds.
const RATE: u64 = 3_500_000_017;

fn passing(bytes: u64) -> u64 {
    (bytes * 1_000_000_000).div_ceil(RATE)
}

/// A page on the link.
const LINK: u64 = 2341;

fn linked(pages: u64, rate: u64) -> Config {
    let mut config = die(pages);
    config.host.link = Some(rate);
    config
}

#[test]
fn data_of_reads_and_of_writes_pass_the_link() {
    assert_eq!(passing(8192), LINK);
    let config = linked(12, RATE);
    check(&config, &[(0, "Read", 0, 8192)], &[&[("service", READ), ("link", LINK)]]);
    check(&config, &[(0, "Write", 0, 8192)], &[&[("service", PROGRAM), ("link", LINK)]]);
    // Of a page as much as was asked for; what was never written passes it too.
    check(&config, &[(0, "Read", 512, 1024)], &[&[("service", READ), ("link", passing(1024))]]);
    check(&config, &[(0, "Read", 40 * 8192, 1024)], &[&[("link", passing(1024))]]);
    let both = [("service", READ), ("link", passing(512))];
    check(&config, &[(0, "Read", 12 * 8192 - 512, 1024)], &[&both]);
}

#[test]
fn pages_of_a_read_pass_it_as_they_come() {
    let fast = [("host_read", 2 * READ), ("service", READ), ("link", LINK)];
    check(&linked(12, RATE), &[(0, "Read", 0, 3 * 8192)], &[&fast]);
    // Slower than the die: the second waits for the first one, and the third for both.
    let rate = 8192 * 1_000_000_000 / 200_000;
    let slow = [("host_read", 2 * READ), ("service", READ), ("link", 3 * 200_000 - 2 * READ)];
    check(&linked(12, rate), &[(0, "Read", 0, 3 * 8192)], &[&slow]);
}

#[test]
fn each_direction_is_one_line() {
    let config = linked(12, 8192 * 1_000_000_000 / 200_000);
    // The second write waits for the first one's data; the die is free again long before they have passed.
    let rows = [(0, "Write", 0, 8192), (0, "Write", 8192, 8192)];
    let second = [("link", 400_000), ("service", PROGRAM), ("host_program", PROGRAM - 200_000)];
    check(&config, &rows, &[&[("link", 200_000), ("service", PROGRAM)], &second]);
    // A read does not wait for data on their way to the device, nor a write for those on their way out.
    let rows = [(0, "Write", 20 * 8192, 8192), (0, "Read", 0, 8192), (200_000, "Write", 21 * 8192, 8192)];
    let read = [("service", READ), ("link", 200_000)];
    let first = [("link", 200_000), ("service", PROGRAM)];
    let second = [("link", 200_000), ("host_program", PROGRAM - 200_000), ("service", PROGRAM)];
    check(&config, &rows, &[&read, &first, &second]);
}

#[test]
fn a_write_into_the_buffer_takes_as_long_as_its_data_pass() {
    let mut config = linked(12, RATE);
    let size = ParamValue::Size(8 * 8192);
    choose(&mut config.ftl, "write_buffer", "fifo", &[("size", size)]);
    check(&config, &[(0, "Write", 0, 8192)], &[&[("link", LINK)]]);
    // A FLUSH keeps its place behind the write that it is to make safe.
    let rows = [(0, "Write", 20 * 8192, 8192), (0, "Flush", 0, 0)];
    let flush = replay(&config, &rows);
    assert_eq!(ns(&flush, "host.flush_latency_us.max"), LINK + PROGRAM);
    // A read that finds its page there goes back over the link alone.
    let rows = [(0, "Write", 20 * 8192, 8192), (50_000, "Read", 20 * 8192, 4096)];
    check(&config, &rows, &[&[("link", LINK)], &[("link", passing(4096))]]);
}

#[test]
fn the_link_is_the_bandwidth_of_what_is_faster() {
    for (reads, write_buffer) in [(1.0, "none"), (0.0, "fifo")] {
        let mut config = filled(&plain(4, 2, 1, 1, 64, 64), 4 * 2 * 40 * 64);
        choose(&mut config.ftl, "write_buffer", write_buffer, &[]);
        config.device.timing.program = vec![Duration(75_000)];
        config.host.link = Some(123_456_789);
        config.host.queue_depth = Some(32);
        config.workload.source = Source::Generator(generator("sequential", 65_536, reads, config.device.user_capacity));
        config.workload.end = End { requests: Some(2_000), ..End::default() };
        let found = figure(&run(&config), "host.throughput_mb_s");
        assert!((found / 123.456_789 - 1.0).abs() < 0.01, "{found} MB/s with {reads} of reads");
    }
}

/// Pages of 8 KiB in codewords of 2 KiB.
fn in_codewords(config: Config) -> Config {
    let mut config = config;
    let mut sectors = Selection::default_of(&base::transfer::READ_TRANSFER.choices[1]);
    sectors.set("codeword", ParamValue::Size(2048));
    *config.device.features.get_mut("read_transfer") = sectors;
    config
}

#[test]
fn a_read_sends_the_codewords_that_it_asks_for() {
    let config = in_codewords(die(12));
    for (offset, size, codewords) in
        [(0, 512, 1), (512, 1536, 1), (1536, 1024, 2), (6144, 2048, 1), (2048, 4608, 3), (0, 8192, 4)]
    {
        check(&config, &[(0, "Read", offset, size)], &[&[("service", ARRAY + BUS / 4 * codewords)]]);
    }
    // Of a read of two pages, a part of each.
    let both = [("host_read", ARRAY + BUS / 4), ("service", ARRAY + BUS / 4 * 2)];
    check(&config, &[(0, "Read", 8192 - 512, 512 + 4096)], &[&both]);
    // What a write needs of the old version comes as a whole page, also where a read had the place before.
    let rows = [(0, "Read", 0, 512), (1_000_000, "Write", 0, 512)];
    check(&config, &rows, &[&[("service", ARRAY + BUS / 4)], &[("old_version", READ), ("service", PROGRAM)]]);
}

#[test]
fn a_part_of_a_page_takes_a_part_of_dram_and_correction() {
    let mut config = in_codewords(die(12));
    config.device.timing.dram_bandwidth = Some(99_000_001);
    config.device.timing.ecc_bandwidth = Some(77_000_003);
    config.device.timing.ecc_latency = Duration(3001);
    let at = |bytes: u64, rate: u64| (bytes * 1_000_000_000).div_ceil(rate);
    let parts = [("service", ARRAY + at(2048, 99_000_001)), ("correction", at(2048, 77_000_003) + 3001)];
    check(&config, &[(0, "Read", 0, 512)], &[&parts]);
}

#[test]
fn codewords_that_no_page_has_are_refused() {
    let refusal = |config: &Config| device::check(config).expect_err("refused").to_string();
    let mut config = in_codewords(plain(2, 1, 1, 2, 16, 12));
    config.device.features.get_mut("read_transfer").set("codeword", ParamValue::Size(3072));
    let told = refusal(&config);
    assert!(told.contains("a page of 8KiB is not a whole number of them"), "{told}");
    let mut config = in_codewords(plain(2, 1, 1, 2, 16, 12));
    choose(&mut config.ftl, "reclaim_unit", "superblock", &[]);
    let told = refusal(&config);
    assert!(told.contains("channels in step, or map units on several planes, send their parts together"), "{told}");
}
