"""A run in the names of drives' own logs: NVMe's SMART log, and C0h, the extended one of OCP.

Before them stands what a drive promises: Identify Controller and Identify Namespace, and where it has deterministic
windows the log of them (Predictable Latency Per NVM Set).

Drives with flexible data placement have the statistics and the counts of events of its logs too (NVM Express TP4146).

The names are those that `nvme smart-log` and `nvme ocp smart-add-log` print (NVM Express Base Specification 2.0; OCP
Datacenter NVMe SSD Specification 2.0), as we recall them. A field that the model has nothing for is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ftlab.base.quantities import in_bytes
from ftlab.results import text
from ftlab.results.result import Result

Summary = Mapping[str, Any]

READ_ONLY = 1 << 3
"""The bit of the critical warning for media that take no more writes."""

DATA_UNIT = 512_000
"""Bytes of a data unit: thousands of 512 bytes."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a log."""

    log: str
    name: str
    ours: str
    """Where the summary has it: its fields, in words that `docs/results.md` has too."""
    value: Callable[[Summary], int | float | None]
    """The value; `None` where the run has none."""
    json: str = ""
    """Its key in the JSON of nvme-cli, where that is not its name."""

    @property
    def key(self) -> str:
        """Its key in JSON."""
        return self.json or self.name


def _bad(summary: Summary, name: str) -> Any:
    return summary["policy"].get("bad_blocks", {}).get(name)


def _warning(s: Summary) -> int:
    return READ_ONLY if s.get("end_of_life", {}).get("reached") else 0


def _spare(s: Summary) -> int | None:
    if "bad_blocks" not in s["policy"]:
        return 100
    spare = _bad(s, "spare")
    return None if spare is None else math.floor(100 * spare)


def _data_units(size: int) -> int:
    return math.ceil(size / DATA_UNIT)


def _uncorrectable(s: Summary) -> int:
    return int(s["host"]["failed_reads"]) + (s["flash"]["retried"]["lost"] or 0)


def rated_cycles(device: Mapping[str, Any]) -> float | None:
    """The P/E cycles that blocks of a resolved device are rated for; `None` where no block fails."""
    model = device["bad_blocks"]
    if not isinstance(model, Mapping):
        return None
    parameters = model["weibull"]
    rated = parameters.get("rated_cycles") or parameters["life"] * RATED_HAZARD ** (1 / parameters["shape"])
    return float(rated)


RATED_HAZARD = 1 / 729
"""Hazard of blocks whose rated cycles are over, as the engine has it."""


def _used(s: Summary) -> int | None:
    rated = rated_cycles(s["config"]["device"])
    if rated is None:
        return None
    had: float = s["wear"]["effective_erases"]["mean"] * s.get("end_of_life", {}).get("cycles_per_erase", 1)
    return min(255, int(100 * (had + s["config"]["device"]["wear"]["pe_cycles"]) / rated))


def _endurance(s: Summary) -> int | None:
    rated = rated_cycles(s["config"]["device"])
    return None if rated is None else round(rated * raw_bytes(s["config"]["device"]))


def raw_bytes(device: Mapping[str, Any]) -> int:
    """Bytes of all blocks of a resolved device."""
    counts = (
        "channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block",
    )  # fmt: skip
    pages: int = math.prod(device[name] for name in counts)
    return pages * int(in_bytes(device["page_size"]))


def _hours(s: Summary) -> int | None:
    simulated = s["host"]["simulated_s"]
    return None if simulated is None else math.floor(simulated / 3600)


def _media_written(s: Summary) -> int | None:
    return None if s["waf"] is None else round(s["waf"] * s["host"]["bytes_written"])


def _media_read(s: Summary) -> int:
    page: int = in_bytes(s["config"]["device"]["page_size"])
    return int(s["flash"]["page_reads"]) * page


def _bad_units(s: Summary) -> int | None:
    found = [_bad(s, name) for name in ("factory_units", "grown_units")]
    return None if None in found else sum(found)


def _at(*path: str) -> Callable[[Summary], int | float | None]:
    """A field of the summary; `None` where the run has none."""

    def value(summary: Summary) -> int | float | None:
        found: Any = summary
        for key in path:
            found = None if found is None else found.get(key)
        return None if found is None else cast("int | float", found)

    return value


def _is_fdp(s: Summary) -> bool:
    separation = s["config"]["ftl"]["separation"]
    return isinstance(separation, Mapping) and "fdp" in separation


def _erased(s: Summary) -> int:
    device = s["config"]["device"]
    pages: int = device["pages_per_block"]
    return int(s["flash"]["block_erases"]) * pages * int(in_bytes(device["page_size"]))


def _in_step(config: Mapping[str, Any]) -> int:
    """Flash pages that the FTL has as one."""
    unit, device = config["ftl"]["reclaim_unit"], config["device"]
    over = unit["superblock"]["over"] if "superblock" in unit else ""
    channels = device["channels"] if "channels" in over else 1
    return int(channels * (device["planes_per_die"] if "planes" in over else 1))


def _groups(s: Summary) -> int:
    """Reclaim groups."""
    return int(s["config"]["ftl"]["separation"]["fdp"]["reclaim_groups"])


def _unit_size(s: Summary) -> int:
    """Bytes of a reclaim unit."""
    config, device, ftl = s["config"], s["config"]["device"], s["config"]["ftl"]
    blocks = _in_step(config)
    if ftl["reclaim_across"] == "dies":
        dies = device["channels"] * device["chips_per_channel"] * device["dies_per_chip"]
        blocks = dies // _groups(s) * device["planes_per_die"]
    elif "twin" in ftl["reclaim_unit"]:
        blocks = device["planes_per_die"]
    return int(blocks * device["pages_per_block"] * in_bytes(device["page_size"]))


def _available(handle: int) -> Callable[[Summary], int | float | None]:
    """Bytes that the active blocks of a handle still take."""

    def value(s: Summary) -> int | float | None:
        pages: int = s["policy"]["separation"]["available_pages"][handle]
        unit = text.map_unit(s["config"])
        if unit is not None:
            return int(pages * in_bytes(unit))
        return int(pages * _in_step(s["config"]) * in_bytes(s["config"]["device"]["page_size"]))

    return value


def _of_fdp(value: Callable[[Summary], int | float | None]) -> Callable[[Summary], int | float | None]:
    """A field of drives with flexible data placement; `None` of others."""
    return lambda summary: value(summary) if _is_fdp(summary) else None


def _blocks(name: str) -> Callable[[Summary], int | float | None]:
    """A size of the promises in logical blocks, from 0 on as NVMe has it."""

    def value(summary: Summary) -> int | float | None:
        promises = summary.get("promises", {})
        size = promises.get(name)
        return None if size is None else int(size // promises["logical_block_bytes"]) - 1

    return value


def _dlfeat(s: Summary) -> int | None:
    """The three bits of what deallocated blocks read as."""
    return {"zeros": 1, "ones": 2}.get(s.get("promises", {}).get("dlfeat"))


def _has_windows(s: Summary) -> bool:
    return "windows" in s


IDENTIFY, PLM, SMART, C0H, FDP = "Identify", "PLM", "SMART", "C0h", "FDP"

FIELDS = (
    Field(IDENTIFY, "AWUN", "`promises.awun_bytes`, in blocks from 0 on", _blocks("awun_bytes")),
    Field(IDENTIFY, "AWUPF", "`promises.awupf_bytes`, likewise", _blocks("awupf_bytes")),
    Field(IDENTIFY, "NAWUPF", "`promises.nawupf_bytes`, likewise", _blocks("nawupf_bytes")),
    Field(IDENTIFY, "NABSPF", "`promises.nabspf_bytes`, likewise", _blocks("nabspf_bytes")),
    Field(IDENTIFY, "DLFEAT", "`promises.dlfeat`: 1, zeros; 2, bytes of FFh", _dlfeat),
    Field(
        PLM,
        "DTWIN Time Maximum",
        "`promises.predictable_latency.dtwin_s`, in ms",
        lambda s: 1000 * s["promises"]["predictable_latency"]["dtwin_s"],
    ),
    Field(
        PLM,
        "NDWIN Time Minimum",
        "`promises.predictable_latency.ndwin_s`, in ms",
        lambda s: 1000 * s["promises"]["predictable_latency"]["ndwin_s"],
    ),
    Field(
        PLM,
        "DTWIN Writes Typical",
        "`promises.predictable_latency.dtwin_writes_bytes`, in bytes",
        _at("promises", "predictable_latency", "dtwin_writes_bytes"),
    ),
    Field(PLM, "Deterministic Excursions", "`windows.excursions`", _at("windows", "excursions")),
    Field(SMART, "critical_warning", "`end_of_life.reached`: 8, media are read-only", _warning),
    Field(
        SMART,
        "available_spare",
        "`policy.bad_blocks.spare`, in %; 100 where no block fails",
        _spare,
        "avail_spare",
    ),
    Field(
        SMART,
        "percentage_used",
        "(`wear.effective_erases.mean` × `cycles_per_erase` + `device.wear.pe_cycles`) ÷ rated P/E cycles, in %",
        _used,
        "percent_used",
    ),
    Field(
        SMART,
        "data_units_read",
        "`host.bytes_read` ÷ 512,000",
        lambda s: _data_units(s["host"]["bytes_read"]),
    ),
    Field(
        SMART,
        "data_units_written",
        "`host.bytes_written` ÷ 512,000",
        lambda s: _data_units(s["host"]["bytes_written"]),
    ),
    Field(SMART, "host_read_commands", "`host.reads`", _at("host", "reads")),
    Field(SMART, "host_write_commands", "`host.writes`", _at("host", "writes")),
    Field(SMART, "power_on_hours", "`host.simulated_s` ÷ 3,600", _hours),
    Field(
        SMART,
        "media_errors",
        "`host.failed_reads` + `flash.retried.lost`",
        _uncorrectable,
    ),
    Field(C0H, "Physical media units written", "`waf` × `host.bytes_written`, in bytes", _media_written),
    Field(C0H, "Physical media units read", "`flash.page_reads` × the page size, in bytes", _media_read),
    Field(C0H, "Bad user nand blocks - Raw", "`policy.bad_blocks.factory_units` + `grown_units`", _bad_units),
    Field(
        C0H,
        "Bad user nand blocks - Normalized",
        "`policy.bad_blocks.spare`, in %; 100 where no block fails",
        _spare,
    ),
    Field(C0H, "Uncorrectable read error count", "as `media_errors`", _uncorrectable),
    Field(C0H, "Soft ecc error count", "`flash.retried.soft`", _at("flash", "retried", "soft")),
    Field(
        C0H,
        "Refresh counts",
        "`flash.by_cause.refresh.erases`",
        _at("flash", "by_cause", "refresh", "erases"),
    ),
    Field(C0H, "Max User data erase counts", "`wear.erases.max`", _at("wear", "erases", "max")),
    Field(C0H, "Min User data erase counts", "`wear.erases.min`", _at("wear", "erases", "min")),
    Field(C0H, "Endurance estimate", "rated P/E cycles × the bytes of all blocks", _endurance),
    Field(FDP, "NRG", "`config.ftl.separation.fdp.reclaim_groups`", _of_fdp(_groups)),
    Field(FDP, "RUNS", "the bytes of a reclaim unit", _of_fdp(_unit_size)),
    Field(FDP, "HBMW", "`host.bytes_written`", _of_fdp(_at("host", "bytes_written"))),
    Field(FDP, "MBMW", "as `Physical media units written`", _of_fdp(_media_written)),
    Field(FDP, "MBE", "`flash.block_erases` × the bytes of a block", _of_fdp(_erased)),
    Field(
        FDP,
        "Media Reallocated",
        "`policy.separation.reallocations`",
        _of_fdp(_at("policy", "separation", "reallocations")),
    ),
    Field(
        FDP,
        "Reclaim Unit Not Fully Written To",
        "`policy.separation.unfinished_units`",
        _of_fdp(_at("policy", "separation", "unfinished_units")),
    ),
    Field(
        FDP,
        "Invalid Placement Identifier",
        "`policy.separation.invalid_hints`, in pages",
        _of_fdp(_at("policy", "separation", "invalid_hints")),
    ),
)
"""The fields, in the order of the logs."""


def _fields(result: Result) -> list[Field]:
    """The fields of the logs that the drive has."""
    absent = {FDP: not _is_fdp(result.summary), PLM: not _has_windows(result.summary)}
    fields = [field for field in FIELDS if not absent.get(field.log, False)]
    if not absent[FDP]:
        of = "`policy.separation.available_pages` × the bytes of a page"
        handles = range(len(result.summary["policy"]["separation"]["available_pages"]))
        fields += [Field(FDP, f"RUAMW, handle {n}", of, _available(n)) for n in handles]
    return fields


def values(result: Result) -> dict[str, dict[str, int | float | None]]:
    """By log, the value of each field, under the keys of nvme-cli's JSON."""
    logs: dict[str, dict[str, int | float | None]] = {}
    for field in _fields(result):
        logs.setdefault(field.log, {})[field.key] = field.value(result.summary)
    return logs


def table(result: Result) -> str:
    """The fields beside ours, for a terminal."""
    rows = [["log", "field", "value", "ours"]]
    for field in _fields(result):
        rows.append([field.log, field.name, shown(field.value(result.summary)), field.ours.replace("`", "")])
    return text.columns(rows, align="<<><") + "\n" + _steps(result.summary)


def shown(value: int | float | None) -> str:
    """A value of a log."""
    return text.ABSENT if value is None else text.count(value)


def _steps(summary: Summary) -> str:
    cycles = summary.get("end_of_life", {}).get("cycles_per_erase", 1)
    return f"\neach erase stood for {cycles} P/E cycles: counts are of the run\n" if cycles > 1 else ""


def page() -> str:
    """The table of `docs/results.md`."""
    lines = ["| log | field | of ours |", "|---|---|---|"]
    lines += [f"| {field.log} | {field.name} | {field.ours} |" for field in FIELDS]
    return "\n".join(lines) + "\n"
