"""The words of the field and of this project, for `ftlab explain WAF`; docs/architecture.md has the papers'."""

from __future__ import annotations

GLOSSARY: dict[str, tuple[str, str]] = {
    "active block": (
        "The block that a stream of writes fills, page by page. Host writes and GC have one each under `host-gc`.",
        "ftl.separation",
    ),
    "block": (
        "The pages that are erased together, some 2 to 20 MB. Only an erased block can be programmed.",
        "",
    ),
    "buffer": (
        "DRAM of the drive that completes a write before it is programmed; some call it write cache.",
        "ftl.write_buffer",
    ),
    "channel": (
        "A bus between controller and chips. Chips on one channel share its rate.",
        "device.channels",
    ),
    "closed loop": (
        "So many requests are outstanding at all times; a request that completes makes place for the next.",
        "host.replay",
    ),
    "copyback": (
        "A page is moved inside its chip, without a transfer over the channel and without ECC.",
        "ftl.migration",
    ),
    "DFTL": (
        "A map that lies in flash, of which DRAM holds a part, the cached mapping table.",
        "ftl.mapping",
    ),
    "die": ("What works on one command at a time. Reads wait while their die programs or erases.", ""),
    "domain": (
        "Planes that share free space, in which a victim is chosen: a plane, or with twin blocks a die.",
        "ftl.reclaim_unit",
    ),
    "DWPD": (
        "Drive writes a day: TBW ÷ user capacity ÷ the days of the warranty, mostly five years. `ftlab life` tells it.",
        "",
    ),
    "ECC": ("Error correction, which takes a time for each page that is read.", "device.timing.ecc_latency"),
    "endurance": (
        "What can be written until a drive is worn out: TBW or DWPD of the drive, rated P/E cycles of its blocks.",
        "device.bad_blocks",
    ),
    "FDP": (
        "Flexible data placement of NVMe: the host says with each write which reclaim unit handle it goes to.",
        "ftl.separation",
    ),
    "foreground GC": ("Garbage collection that a host write waits for.", "ftl.gc_schedule"),
    "forward GC": (
        "Garbage collection ahead of need, in time that would be idle or a few pages after each write.",
        "ftl.gc_schedule",
    ),
    "FTL": (
        "Flash translation layer: where each logical page lies, where the next goes, and what is collected.",
        "ftl.mapping",
    ),
    "FUA": ("Force unit access: a write that is complete only when it is in flash, not in the buffer.", ""),
    "GC": (
        "Garbage collection: the valid pages of a victim are moved, and the block is erased. `gc` in the summary.",
        "ftl.gc_schedule",
    ),
    "IOPS": ("Requests completed in a second of simulated time; `host.iops` in the summary.", ""),
    "latency": (
        "From the arrival of a request, or in a closed loop from its admission, to its completion; "
        "`host.latency_us`, `host.read_latency_us` and `host.write_latency_us` in the summary.",
        "",
    ),
    "LPN": ("Logical page number: an address of the host, in pages of the device.", "device.page_size"),
    "multi-plane": ("One command on several planes of a die at once.", "device.multiplane"),
    "one-shot": ("All pages of a wordline are programmed with one operation.", "device.programming"),
    "OP": (
        "Over-provisioning, spare ÷ user capacity: what the host does not address. More of it means a lower WAF.",
        "device.over_provisioning",
    ),
    "open loop": ("Requests come at their own times, however long the device takes.", "host.replay"),
    "p99.9": (
        "The latency that 99.9 % of requests do not exceed, to 0.1 %; `p999` in the summary, p99.99 `p9999`.",
        "",
    ),
    "P/E cycle": (
        "A program and an erase of a block. It wears the block. `wear` in the summary.",
        "ftl.wear_leveling",
    ),
    "page": ("What is read and programmed at once. It cannot be overwritten.", "device.page_size"),
    "paired page": (
        "Pages that share a wordline: a failed program of the upper may lose the lower.",
        "ftl.paired_page",
    ),
    "percentage used": (
        "The part of the rated P/E cycles that blocks have had, in the SMART log; it may exceed 100.",
        "device.bad_blocks",
    ),
    "plane": ("A part of a die with blocks and a register of its own.", "device.planes_per_die"),
    "PLP": (
        "Power loss protection: capacitors save the write buffer, so a flush has nothing to wait for.",
        "ftl.write_buffer",
    ),
    "precondition": (
        "What ages the device before the run. It is not in the results. A new drive is faster than ever after.",
        "run.precondition",
    ),
    "pseudo-SLC cache": (
        "Blocks that store one bit a cell. Host writes go there first; folding moves the data on.",
        "ftl.slc_cache",
    ),
    "queue depth": ("Requests that the host has outstanding at most.", "host.queue_depth"),
    "read disturb": (
        "Reads of a block add errors to its pages, until they are refreshed.",
        "ftl.read_disturb",
    ),
    "reclaim unit": (
        "Blocks that are opened, filled, collected and erased together.",
        "ftl.reclaim_unit",
    ),
    "RUH": (
        "Reclaim unit handle: what a host names with a write (FDP). Each handle fills a reclaim unit of its own.",
        "ftl.separation",
    ),
    "refresh": ("The pages of a block move because it was read often, or its data are old.", "ftl.refresh"),
    "sample": (
        "A part of the device under the requests to a part of the places, in place of the whole; `sample` in the "
        "summary.",
        "run.sample",
    ),
    "SMART log": (
        "A drive's own counters, as `nvme smart-log` prints them; `ftlab smart` has a run in these names.",
        "",
    ),
    "steady state": (
        "The state in which the WAF no longer changes, however long the workload goes on; a new drive is not in it.",
        "run.precondition",
    ),
    "stream": ("Pages that share an active block, such as those of GC.", "ftl.separation"),
    "superblock": ("Blocks of several channels or planes that always do the same.", "ftl.reclaim_unit"),
    "suspend": (
        "The array of a die stops in the middle of a program or an erase, to take reads, and goes on later.",
        "device.erase_suspend",
    ),
    "TBW": (
        "Terabytes written: what the host can write until the rated P/E cycles are over, P/E cycles × raw bytes ÷ WAF. "
        "It goes by the workload; a datasheet has that of one workload (JESD219). `ftlab life` tells it.",
        "device.bad_blocks",
    ),
    "tBERS": ("The time of a block erase; `tErase` in some datasheets.", "device.timing.erase"),
    "tPROG": ("The time of a page program, without its transfer.", "device.timing.program"),
    "tR": (
        "The time from the read command until the page is in the register, without its transfer.",
        "device.timing.read",
    ),
    "TRIM": (
        "The host gives pages up: they need not be moved any more. Traces call it discard or unmap.",
        "",
    ),
    "twin blocks": (
        "Blocks of all planes of a die with equal numbers, filled and collected in step (TBM).",
        "ftl.reclaim_unit",
    ),
    "victim": ("The block, or reclaim unit, that GC empties next.", "ftl.victim"),
    "WAF": (
        "Write amplification factor: bytes programmed into flash ÷ bytes that the host wrote; `waf` in the summary, "
        "and in pages `waf_units`. Small random writes on a full drive raise it, and over-provisioning lowers it.",
        "device.over_provisioning",
    ),
    "wear leveling": ("Keeps erases of blocks alike, so that none wears out first.", "ftl.wear_leveling"),
    "wordline": (
        "Cells that are programmed together. They hold as many pages as cells have bits.",
        "device.cell",
    ),
}
"""The words' meanings, and the key of a configuration that goes with each."""

OTHERS = {
    "write amplification": "WAF", "write amplification factor": "WAF", "over-provisioning": "OP",
    "garbage collection": "GC", "mandatory GC": "foreground GC", "background GC": "forward GC",
    "discard": "TRIM", "unmap": "TRIM", "erase block": "block", "frontier": "active block",
    "write frontier": "active block", "tErase": "tBERS", "write buffer": "buffer", "write cache": "buffer",
    "unit": "reclaim unit", "percentile": "p99.9", "tail latency": "p99.9", "TBM": "twin blocks",
    "cycle": "P/E cycle", "rated cycle": "P/E cycle", "LSB": "paired page", "preconditioning": "precondition",
    "lifetime": "endurance", "drive writes per day": "DWPD", "terabytes written": "TBW", "spare": "OP",
    "RU": "reclaim unit", "reclaim unit handle": "RUH", "placement handle": "RUH", "flexible data placement": "FDP",
    "percent used": "percentage used", "SMART": "SMART log", "power loss protection": "PLP",
}  # fmt: skip
"""Other words for the same."""


def term(word: str) -> str | None:
    """The word of the glossary that is meant, however it is written."""
    plain = _plain(word)
    known = {_plain(name): name for name in GLOSSARY}
    return known.get(plain) or next((name for other, name in OTHERS.items() if _plain(other) == plain), None)


def _plain(word: str) -> str:
    return word.lower().replace("-", " ").replace("_", " ").removesuffix("s")
