"""The words of fio's job files, and what becomes of each: taken, ignored because no drive sees it, or refused.

A word that is in none of the tables is unknown. fio has some two hundred (`fio --cmdhelp=all`).
"""

from __future__ import annotations

ALIASES = {
    "readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned", "io_limit": "io_size", "timeout": "runtime", "iodepth_batch_submit":
    "iodepth_batch", "startdelay": "startdelay", "start_delay": "startdelay", "random_seed": "randseed",
    "wait_for_previous": "stonewall", "iomem": "mem", "ratemin": "rate_min", "ratecycle": "rate_cycle",
    "ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time",
    "hugepage_size": "hugepage-size", "thread": "thread", "sync_io": "sync",
}  # fmt: skip
"""Other names of words."""

TAKEN = {
    "rw", "bs", "iodepth", "numjobs", "rate", "rate_iops", "rate_process", "rwmixread", "rwmixwrite", "size", "io_size",
    "offset", "number_ios", "runtime", "ramp_time", "time_based", "random_distribution", "norandommap", "loops",
    "startdelay", "ioengine", "percentile_list", "stonewall", "offset_increment", "kb_base", "name", "thinktime",
    "group_reporting", "write_hint", "fdp", "fdp_pli", "dataplacement", "plids", "plid_select", "fdp_pli_select",
}  # fmt: skip
"""Words that say a workload."""

FLAGS = {"time_based", "norandommap", "stonewall", "group_reporting", "fdp"}
"""Words of those that are true where they have no value."""

IGNORED = dict.fromkeys(
    (
        "filename", "directory", "filename_format", "unique_filename", "opendir", "lockfile", "filesize", "file_append",
        "file_service_type", "openfiles", "fallocate", "fadvise_hint", "create_serialize", "create_fsync",
        "create_on_open", "allow_file_create", "allow_mounted_write", "pre_read", "unlink", "unlink_each_loop",
        "overwrite", "fsync_on_close", "invalidate",
    ),
    "which file it is; the drive is CONFIG",
) | dict.fromkeys(
    ("mem", "hugepage-size", "lockmem", "zero_buffers", "refill_buffers", "scramble_buffers", "buffer_pattern",
     "buffer_compress_percentage", "buffer_compress_chunk", "dedupe_percentage", "dedupe_mode",
     "dedupe_working_set_percentage", "dedupe_global"),
    "what is in the data; no byte of them is kept",
) | dict.fromkeys(
    ("thread", "cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "nice", "prio",
     "prioclass", "clocksource", "gtod_cpu", "cgroup", "cgroup_nodelete", "cgroup_weight", "uid", "gid", "ioscheduler",
     "hipri", "fixedbufs", "registerfiles", "sqthread_poll", "userspace_reap", "nonvectored", "uncached",
     "io_submit_mode", "new_group", "cmd_type", "disk_util", "description"),
    "how the host does it",
) | dict.fromkeys(
    ("randrepeat", "allrandrepeat", "randseed", "random_generator"),
    "which random numbers; `run.seed` says it here",
) | dict.fromkeys(
    ("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "bwavgtime", "iopsavgtime", "log_entries",
     "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_max_value", "log_offset", "log_prio",
     "log_compression", "log_compression_cpus", "log_store_compressed", "log_unix_epoch", "log_alternate_epoch",
     "log_alternate_epoch_clock_id",
     "per_job_logs", "write_iolog", "block_error_percentiles", "stats", "clat_percentiles", "lat_percentiles",
     "slat_percentiles", "significant_figures", "gtod_reduce", "disable_lat", "disable_clat", "disable_slat",
     "disable_bw_measurement", "unit_base", "eta", "exitall", "exit_what", "exitall_on_error", "ignore_error",
     "continue_on_error", "error_dump"),
    "what fio writes of it; tables come with `--out`",
)  # fmt: skip
"""Words without a say in what reaches a drive, with the kind of thing that they are."""

NEUTRAL = {
    "direct": {"1"}, "buffered": {"0"}, "sync": {"0", "none"}, "atomic": {"0"}, "verify": {"0", "none"},
    "do_verify": {"0"}, "thinktime_blocks": {"1"}, "thinktime_spin": {"0"}, "iodepth_batch": {"0", "1"},
    "iodepth_batch_complete_min": {"0", "1"},
    "iodepth_batch_complete_max": {"0", "1"}, "nrfiles": {"1"}, "fsync": {"0"}, "fdatasync": {"0"},
    "percentage_random": {"100"}, "bs_unaligned": {"0"}, "zonemode": {"none"}, "end_fsync": {"0"},
    "serialize_overlap": {"0"}, "rate_min": {"0"}, "rate_iops_min": {"0"}, "max_latency": {"0"},
    "latency_target": {"0"}, "trim_percentage": {"0"}, "unified_rw_reporting": {"0", "none"}, "fill_device": {"0"},
    "softrandommap": {"0", "1"}, "experimental_verify": {"0"}, "verify_only": {"0"}, "create_only": {"0"},
    "rw_sequencer": {"identical", "sequential"}, "zonesize": {"0"}, "zoneskip": {"0"},
    "zonerange": {"0"}, "flow": {"0"}, "rate_ignore_thinktime": {"0", "1"},
}  # fmt: skip
"""Values of other words that ask for nothing."""

_VERIFY = (
    "pages hold no data that could be verified after the run",
    "`--set run.payload=stamp` checks every read of the simulated drive against what was written",
)
_ZONES = ("zones are not simulated", "leave it out")
_TRIMS = ("no generator sends trims", "a trace may have them: `--trace FILE`")
_SYNC = ("no generator sends FLUSH or writes through", "a trace may have them: `--trace FILE`")
_BURSTS = ("requests are sent one by one as places become free", "leave it out, or set it to 1")
_THINKING = (
    "a job thinks after each request, and takes no time on a processor",
    "expected `thinktime` alone, or a pace (`rate_iops`)",
)
_REPLAY = ("a job of a recorded log is a trace", "`ftlab run CONFIG --trace FILE` reads fio's iologs")
_STEADY = (
    "fio would stop when its figures no longer change",
    "age the drive before the run: `--set run.precondition=steady`",
)
_TARGET = (
    "fio would change the queue depth as it goes",
    "run it with several `iodepth`, as `ftlab sweep` does",
)
_SCHEME = (
    "no file of ranges is read",
    "run a job for each range, with `offset`, `size` and `plids`",
)
_LIMIT = ("fio would stop the job on it", "look at the report instead")
_MIXED_SIZES = (
    "requests of a generator have one size",
    "run a job for each size, or a trace: `--trace FILE`",
)

REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("verify", "do_verify", "verify_interval", "verify_offset", "verify_pattern", "verify_fatal", "verify_dump",
         "verify_async", "verify_async_cpus", "verify_backlog", "verify_backlog_batch", "verify_only",
         "experimental_verify", "verify_state_load", "verify_state_save", "verify_write_sequence",
         "verify_header_seed"),
        _VERIFY,
    ),
    **dict.fromkeys(
        ("zonemode", "zonesize", "zonecapacity", "zonerange", "zoneskip", "read_beyond_wp", "max_open_zones",
         "job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold", "zone_reset_frequency"),
        _ZONES,
    ),
    **dict.fromkeys(("trim_percentage", "trim_verify_zero", "trim_backlog", "trim_backlog_batch"), _TRIMS),
    **dict.fromkeys(
        ("fsync", "fdatasync", "write_barrier", "sync_file_range", "end_fsync", "sync", "atomic"), _SYNC
    ),
    **dict.fromkeys(
        ("iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low",
         "serialize_overlap"),
        _BURSTS,
    ),
    **dict.fromkeys(
        ("thinktime_spin", "thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime",
         "rate_ignore_thinktime", "rate_cycle", "flow", "flow_id", "flow_sleep"),
        _THINKING,
    ),
    **dict.fromkeys(
        ("read_iolog", "read_iolog_chunked", "replay_no_stall", "replay_redirect", "replay_scale", "replay_align",
         "replay_time_scale", "replay_skip", "merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"),
        _REPLAY,
    ),
    **dict.fromkeys(("steadystate", "steadystate_duration", "steadystate_ramp_time"), _STEADY),
    **dict.fromkeys(("latency_target", "latency_window", "latency_percentile", "latency_run"), _TARGET),
    **dict.fromkeys(("rate_min", "rate_iops_min", "max_latency"), _LIMIT),
    "dp_scheme": _SCHEME,
    **dict.fromkeys(("bsrange", "bssplit", "bs_unaligned", "ba", "bs_is_seq_rand"), _MIXED_SIZES),
    "direct": ("the page cache of a host is not simulated", "expected `direct=1`"),
    "buffered": ("the page cache of a host is not simulated", "expected `direct=1`"),
    "nrfiles": ("a drive is one file", "expected one file, which is the drive"),
    "fill_device": ("a drive is never out of space", "expected `size=100%`"),
    "percentage_random": (
        "fio mixes random and sequential I/O by a map of its own",
        "the generator `mixed` is near: `--set workload.generator=mixed`",
    ),
    "rw_sequencer": ("blocks are asked for once each", "leave it out"),
    "unified_rw_reporting": ("reads and writes are reported each by itself", "leave it out"),
    "exec_prerun": ("no commands are run", "run it before"),
    "exec_postrun": ("no commands are run", "run it afterwards"),
    "wait_for": ("jobs are not run one after the other", "name one with `--section NAME`"),
    "create_only": ("nothing would be measured", "leave it out"),
    "profile": ("profiles are not known here", "write its jobs out: `fio --showcmd`"),
    "offset_align": ("offsets are multiples of 512 bytes as they are", "leave it out"),
    "softrandommap": ("a pass asks for each block once, without a map in memory", "leave it out"),
    "include": ("other files are not read in", "write its words into this file"),
}  # fmt: skip
"""Words that would change what reaches the drive, and are not carried out: why, and what to do instead."""
