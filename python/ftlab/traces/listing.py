"""The facts about traces, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ftlab.base import escape
from ftlab.results import text


def info_text(info: dict[str, Any]) -> str:
    """The figures of a trace on one screen."""
    packed = "" if info["compression"] in ("none", "plain", None) else f", {info['compression']}"
    head = f"{escape.terminal(info['path'])}: {info['format']}{packed}\n"
    kinds = [
        ["", "requests", "bytes", "mean size"],
        ["reads", text.count(info["reads"]), text.size(info["bytes_read"]), _kib(info["read_kib_mean"])],
        [
            "writes",
            text.count(info["writes"]),
            text.size(info["bytes_written"]),
            _kib(info["write_kib_mean"]),
        ],
    ]
    if info["discards"]:
        mean = info["bytes_discarded"] / info["discards"] / 1024
        kinds.append(
            ["discards", text.count(info["discards"]), text.size(info["bytes_discarded"]), _kib(mean)]
        )
    if info["flushes"]:
        kinds.append(["flushes", text.count(info["flushes"])])
    rows = [
        *([["columns", info["columns"].replace(",", ", ")]] if info.get("columns") else []),
        [
            "write share",
            f"{text.percent(info['write_fraction_requests'])} of requests, "
            f"{text.percent(info['write_fraction_bytes'])} of bytes",
        ],
        [
            "footprint",
            f"{_mib(info['footprint_mib'])}, of which written {_mib(info['footprint_written_mib'])} (4 KiB pages)",
        ],
        ["highest address", text.size(info["highest_offset_bytes"], binary=True)],
        [
            "duration",
            f"{text.figure(info['duration_s'], 4)} s, a request every {_ms(info['inter_arrival_ms_mean'])}",
        ],
        *([["", _doubt(info)]] if info["unit_doubtful"] else []),
        *([["a day", _day(info)]] if info.get("bytes_written_per_day") else []),
        ["devices", text.count(info["devices"])],
        ["needs", _needs(info["highest_offset_bytes"])],
        *([["overwrites", _overwrites(info)]] if info["bytes_written"] else []),
        *([label, text.count(info[key])] for key, label in NOTABLE if info[key]),
    ]
    return (
        head + text.columns(kinds, align="<>", indent="  ") + "\n\n" + text.columns(rows, indent="  ") + "\n"
    )


def split_text(found: dict[str, Any], directory: str) -> str:
    """A trace that was divided, and how large its volumes are, on one screen."""
    volumes = found["volumes"]
    written = sorted(volume["bytes_written"] for volume in volumes)
    rows = [
        ["volumes", text.count(len(volumes))],
        ["requests", text.count(sum(volume["requests"] for volume in volumes))],
        ["written", f"{text.size(sum(written))}; by volume {text.size(written[0])} to {text.size(written[-1])}, "
                    f"median {text.size(written[len(written) // 2])}"],
    ]  # fmt: skip
    head = f"{escape.terminal(directory)}: a trace of each volume, and their list, {LIST}\n"
    return head + text.columns(rows, indent="  ") + "\n"


LIST = "volumes.json"

NOTABLE = (
    ("fua_writes", "FUA writes"),
    ("flushes_postfua_dropped", "flushes after FUA, dropped"),
    ("bad_lines", "bad lines, skipped"),
    ("zero_length", "zero-length requests, dropped"),
    ("stray_times", "stray times, dropped"),
    ("requeued", "dispatches again, dropped"),
    ("other_devices", "requests of other devices, dropped"),
    ("out_of_order", "requests out of order"),
    ("backwards_times", "of these beyond the reordering window"),
)
"""Facts that a reader has to know of only where they occur."""


def _doubt(info: dict[str, Any]) -> str:
    """That the unit of time can hardly be right, and how to name another."""
    rate = 1e3 / info["inter_arrival_ms_mean"]
    columns = "time=1:us,…" if info.get("columns") is None and info["format"] != "columns" else "time=…:us"
    return (
        f"{text.count(rate)} requests a second over the whole trace: the unit of its times can hardly be right; "
        f"`--format` or `--columns {columns}` names another"
    )


PAGE = 4096
"""Bytes of the pages of a footprint."""


def _needs(end: int) -> str:
    """The smallest device that no request is past the end of."""
    size = max(1, -(-end // PAGE)) * PAGE
    units = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
    unit, step = next((unit for unit in units if size >= 10 * unit[1]), units[-1])
    return f'device.user_capacity = "{-(-size // step)}{unit}" or more'


DAY_S = 86_400
"""Seconds of a day."""


def of_day(info: dict[str, Any]) -> dict[str, float | None]:
    """The part of a day that a trace covers, and what is written a day at its mean rate; `None` without times."""
    covers = info["duration_s"] / DAY_S
    return {
        "day_fraction": covers,
        "bytes_written_per_day": info["bytes_written"] / covers if covers else None,
    }


def _day(info: dict[str, Any]) -> str:
    covers = info["day_fraction"]
    part = f"{text.figure(covers)} days" if covers > 1 else f"{text.figure(100 * covers)} % of a day"
    return f"covers {part}; a day at its mean rate has {text.size(info['bytes_written_per_day'])} of writes"


def _overwrites(info: dict[str, Any]) -> str:
    """How much of what is written takes the place of what the trace wrote before."""
    first = min(info["footprint_written_mib"] * (1 << 20), info["bytes_written"])
    return (
        f"{text.percent(1 - first / info['bytes_written'])} of the bytes written, what the trace wrote before"
    )


def head_text(records: Sequence[dict[str, Any]]) -> str:
    """Requests, one a line."""
    rows = [["line", "time (ms)", "device", "kind", "offset", "size", ""]]
    for record in records:
        data = record["kind"] != "flush"
        rows.append(
            [
                str(record["line"]),
                f"{record['time_ns'] / 1e6:,.4f}",
                str(record["device"]),
                record["kind"],
                text.count(record["offset"]) if data else "",
                text.count(record["size"]) if data else "",
                "FUA" if record["fua"] else "",
            ]
        )
    return text.columns(rows, align=">>><>><") + "\n"


def _kib(kib: float) -> str:
    return f"{text.figure(kib)} KiB"


def _mib(mib: float) -> str:
    return text.size(mib * (1 << 20), binary=True)


def _ms(ms: float) -> str:
    return text.duration(ms * 1e3)
