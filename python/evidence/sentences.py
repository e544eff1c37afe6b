"""Every figure, table and checkable sentence of the papers, with the claims that judge it, or why none does.

A line names where it stands in the paper, what it says in our words, and either the claims by their ids, in which `*`
stands for anything, or the reason why it is not measured. :mod:`evidence.papers` makes tables of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ftlab_reproduce.command import PAPERS


class Line(NamedTuple):
    """A thing that a paper says."""

    place: str
    words: str
    claims: Sequence[str] = ()
    """Ids or patterns of ids."""
    because: str = ""
    """Why no claim judges it."""


DRAWN = "a figure whose bars are lost in the text that we have; its sentences are judged"
SETTING = "a setting of the study, not a result"
ELSEWHERE = "a result of other work"

LINES: Mapping[str, Sequence[Line]] = {
    "tbm": (
        Line(
            "abstract, 8", "up to 73 % more IOPS, 42 % shorter response times", ("b-f2-iops", "b-d-response")
        ),
        Line(
            "Table 1",
            "write ratios, sizes and arrivals of seven traces",
            (),
            "input: made traces meet it to 0.1 %",
        ),
        Line(
            "4, Figure 2",
            "response times rise from about one capacity written, D's more than F's",
            ("a-gc-begins", "a-f-rises", "a-d-rises", "a-d-rises-more"),
        ),
        Line("4, Figure 2", "D is ahead of F on a pristine drive, and later not", ("a-d-ahead-*",)),
        Line(
            "4, Figure 2",
            "D's multi-plane writes fall by 90 %; multi-plane reads fall",
            ("a-writes-base", "a-reads-base"),
        ),
        Line("4", "PAC in place of BAC changes D by less than 2 %", ("c-bac",)),
        Line(
            "4.1, Figure 3",
            "round-robin planes and first-fit blocks satisfy BAC on a pristine drive",
            ("a-first-fit",),
        ),
        Line(
            "4.1, 4.2",
            "victims of other addresses, and unequal numbers of valid pages, break BAC and PAC",
            ("a-effect-*",),
        ),
        Line(
            "4.2, 5",
            "collections plane by plane lower multi-plane erases; twins use them in full",
            ("e-erases-*", "e-time"),
        ),
        Line(
            "6, Figure 6",
            "TBM keeps multi-plane reads and writes nearly constant",
            ("a-writes-tbm", "a-reads-tbm"),
        ),
        Line(
            "6, Figure 6",
            "TBM greatly lowers the rate of collections and the response time",
            ("e-rate", "a-tbm-response", "d-gc-count"),
        ),
        Line("6", "the host's operations wait less", ("b-waits",)),
        Line("6, Figure 7", "F2's base results are those of F", ("d-f2-base",)),
        Line("6, Figure 7", "BAC or not changes results by 0 to 2 %", ("c-bac-all",)),
        Line(
            "6, Figure 7",
            "TBM always improves F, by at most 5 % in IOPS and 17 % in response time",
            ("b-f-always", "b-f-iops", "b-f-response"),
        ),
        Line(
            "6, Figure 7",
            "D and F2 gain up to 68 and 73 % in IOPS, 42 and 40 % in response time",
            ("b-d-iops", "b-d-response", "b-f2-iops", "b-f2-response"),
        ),
        Line("6, Figure 7", "D+TBM moves more pages", ("d-gc-cost",)),
        Line(
            "6",
            "prn-0 gains all the same; its arrivals make collections interfere less",
            ("b-d-prn-0", "b-waits-prn"),
        ),
        Line("6", "prn-1 and fin1 lose 1 to 10 %", ("b-loss-*",)),
        Line("5", "the tables fit into DRAM as far as they are in use", (), ELSEWHERE),
        Line("7", "TBM helps schedulers such as Sprinkler", (), "Sprinkler is not built"),
    ),
    "gcmix": (
        Line("abstract, 1, 5.3", "WAF is up to 17.5 % lower (the introduction has 17.3)", ("waf-dm-low",)),
        Line("3", "which protection survives which fault", ("s-*",)),
        Line("4.3", "the region of every page takes 0.003 % of the space", (), "arithmetic: 2 bits of 8 KiB"),
        Line("5.1", "SLC-mode buffering gives results similar to LSB backups'", ("slc-similar",)),
        Line("Table 1, 2, 3", "the chip, the FTLs, the traces", (), "input"),
        Line(
            "5.2, Figure 5",
            "medians of ω by z, of FTL-DM",
            ("omega-0.0", "omega-0.2", "omega-0.4", "omega-0.6", "omega-0.8", "omega-1.0", "omega-dm"),
        ),
        Line(
            "5.2, Figure 6",
            "how writes are spread over pages on the servers",
            (),
            "input of our models of the servers",
        ),
        Line(
            "5.2, Figure 7",
            "ω is largest on EXCHANGE, then on BEFS, and small elsewhere",
            ("omega-order", "omega-below"),
        ),
        Line("5.3, Figure 8", "backups cost up to 19.7 % of P's WAF and 26.7 % of D's", ("waf-px", "waf-dx")),
        Line(
            "5.3, Figure 8",
            "PM is below P at every z: up to 17.0 % at low, 8.09 % at high locality",
            ("waf-pm-*",),
        ),
        Line(
            "5.3, Figure 8", "DM gains at low locality, nothing at z = 0.8, and loses at z = 1", ("waf-dm-*",)
        ),
        Line("5.3, Figure 8", "DML follows the better of DM and D", ("waf-dml",)),
        Line(
            "5.4, Figure 9",
            "backups are 21.1 to 28.1 % of P's WAF, 23.7 to 34.5 % of D's",
            ("backup", "backup-*"),
        ),
        Line("5.4, Figure 9", "D is below P on all workloads, by 33.2 % on EXCHANGE", ("d-p-all", "d-p")),
        Line("5.4, Figure 9", "PM and DM are below P and D but on EXCHANGE, by up to 16.7 %", ("server-*",)),
        Line("5.4, Figure 9", "on EXCHANGE DM loses against D, and DML is level with it", ("exchange-*",)),
        Line(
            "5.4, Figure 10",
            "29.8 to 41.0 % of erases are of backup blocks; GCMix nearly ends them",
            ("erases-backup-*", "erases-mixed"),
        ),
        Line(
            "5.4, Figure 11",
            "PM, DM and DML pair 80.3 to 98.7 % of the host's pages, DML 33.6 % on EXCHANGE",
            ("paired-*",),
        ),
        Line(
            "5.5, Figure 12",
            "PM's writes take 10.5 % less at most and 8.4 % in the mean",
            ("write-pm", "write-pm-mean"),
        ),
        Line(
            "5.5, Figure 12",
            "DM's writes take 0.9 % more, DML's 2.71 % less in the mean",
            ("write-dm-mean", "write-dml-mean"),
        ),
        Line(
            "5.5, Figure 12",
            "DM's writes take less on the TPC servers, more on BEFS, BUILDSERVER and EXCHANGE",
            ("write-dm-larger", "write-dm-smaller", "write-dm-exchange"),
        ),
        Line("5.5, Figure 13", "reads take 1.8, 1.8 and 1.7 % more in the mean, 3.6 % at most", ("read-*",)),
        Line("5.6, Figure 14", "P's WAF grows linearly with utilisation", ("utilisation-linear",)),
        Line(
            "5.6, Figure 14",
            "backups stay the same; DML follows P when the drive is empty, and is below it when full",
            ("utilisation-backup", "utilisation-low", "utilisation-high"),
        ),
    ),
    "gcf": (
        Line(
            "1, 4.2",
            "channels spend half of their active time on collections on Desktop",
            ("f9-*-gc-desktop",),
        ),
        Line("2.2, Figure 2", "superpages double the traffic of six small writes", ("f2-traffic",)),
        Line(
            "2.3, Figure 3", "a channel that collects fills the buffer; others idle; roles change", ("f3-*",)
        ),
        Line("3.4", "filling cycles has a very limited side effect", ("f9-*-side-effect",)),
        Line("3.5", "four channels of two planes are as eight channels under CF", ("planes-*",)),
        Line("3.5", "N_s protects from skewed writes, where forwarding is little help", ("ns-*",)),
        Line(
            "Table 1",
            "when forwarding starts and stops",
            (),
            "lost in the text that we have; both readings of the start are run",
        ),
        Line("Table 2", "the three workloads", (), "input"),
        Line(
            "4.2, Figure 8",
            "GCF and CF gain much from channels on Desktop and Random, FI and SYNC little",
            ("f8-*-forwarding-*", "f8-*-fi-desktop", "f8-*-sync-random", "f8-*-advantage-random"),
        ),
        Line("4.2, Figure 8", "both mappings show similar trends", ("f8-trend-*",)),
        Line(
            "4.2, Figure 8",
            "all gain on Multimedia, and more with page mapping",
            ("f8-*-multimedia", "f8-multimedia-mapping"),
        ),
        Line(
            "4.2, Figure 9",
            "FI idles for nearly 70 % on Desktop, 80 % on Random; GCF and CF for about 20 %",
            ("f9-*-fi-desktop", "f9-*-fi-random", "f9-*-idle-desktop"),
        ),
        Line("4.2, Figure 9", "collections take nearly 90 % on Random", ("f9-*-gc-random",)),
        Line(
            "4.2, Figure 9",
            "on Multimedia collections take 10 to 40 % under FAST, and FI idles for 25 %; very little under DFTL",
            (
                "f9-fast-gc-multimedia-*",
                "f9-fast-fi-multimedia",
                "f9-fast-idle-multimedia",
                "f9-dftl-gc-multimedia",
            ),
        ),
        Line(
            "4.3, Figure 10", "CF is best, SYNC worst on Desktop and Random", ("f10-*-cf-*", "f10-*-sync-*")
        ),
        Line(
            "4.3, Figure 10",
            "GCF and CF are far above FI up to 8 MiB on Desktop; 32 MiB reduce the gap",
            ("f10-fast-desktop-*",),
        ),
        Line(
            "4.3, Figure 10",
            "GCF is above FI below 8 MiB on Random, FI above SYNC at 2 MiB",
            ("f10-*-gcf-random", "f10-*-fi-random-2"),
        ),
        Line("4.3, Figure 10", "all are comparable on Multimedia from 8 MiB on", ("f10-*-multimedia",)),
        Line("4.3, Figure 10", "a larger buffer helps page mapping more", ("f10-mapping",)),
        Line("4.4, Table 3", "IOPS of a simulator and of a drive", ("t3-*",)),
        Line("3.3, Figure 5", "collections can be suspended between pages or blocks", (), SETTING),
    ),
    "rcftl": (
        Line("abstract, V.B, Figure 6a", "up to 25 % over FastGC; 25 % at 5K", ("f6a-old-*",)),
        Line("V.B, Figure 6a", "better than FastGC on all workloads", ("f6a-rcftl-*",)),
        Line(
            "V.B, Figure 6a",
            "43 % over the base on fresh blocks, and less as they age",
            ("f6a-young-*", "f6a-fall-*"),
        ),
        Line(
            "I, V.B, Figure 7b",
            "the selector gains up to 12 %, most at Low intensity and small thresholds",
            ("late-f7b-*",),
        ),
        Line(
            "II.B, Figure 1",
            "thresholds of blocks of equal cycles range from 3 to 5",
            (),
            "input: the model has Table I",
        ),
        Line(
            "III.A, Figure 2a",
            "the worst block's BER is 1.8 times the best's at 6K",
            (),
            "measured on chips. `device.media.formula.blocks` = 0.1, assumed, has 3,840 blocks 2.0 times apart; 0.083 "
            "would have 1.8 (range of the normal law)",
        ),
        Line(
            "III.A, Figure 2b",
            "errors grow faster on worse blocks, about linearly",
            (),
            "input of the model of errors",
        ),
        Line("III.B, Table I", "thresholds by retention, quality and cycles", ("by-construction-retention",)),
        Line(
            "IV.A",
            "quotas never let errors pass the limit; copybacks without one do",
            ("by-construction-budget", "by-construction-unrestricted"),
        ),
        Line(
            "IV.A",
            "quotas by page take 2.5 GB on 16 TB, by block two orders less",
            ("by-construction-memory",),
        ),
        Line("IV.B", "wear leveling keeps to quotas", ("by-construction-leveling",)),
        Line(
            "IV.B",
            "the threshold of the selector is half a buffer",
            (),
            f"{SETTING}; 25 and 75 % are rows of the report",
        ),
        Line("Table II", "mix and WAF of the workloads", (), "input: spare space is fitted to it"),
        Line(
            "V.B, Figure 6b",
            "awareness of quality gains 14 % at 5K, more than on fresh blocks",
            ("f6b-aware-*", "f6b-grows-*"),
        ),
        Line("V.B, Figure 6b", "on fresh blocks most comes from management by block", ("f6b-block-*",)),
        Line(
            "V.B, Figure 7a",
            "WAF by block is below WAF by page, and falls with copybacks; that by page rises",
            ("f7a-block-*", "f7a-page-rises-*"),
        ),
        Line("V.B, Figure 7a", "no effect on Fileserver", ("f7a-fileserver-*",)),
        Line(
            "I",
            "the time of transfers is a large part of a copy",
            (),
            "the one constant of the study: the DRAM port",
        ),
    ),
    "ipr": (
        Line(
            "abstract, IV.B, Figure 9a",
            "85 % fewer erases for refreshes, 57 % fewer in all on SRC",
            ("f9a-src", "f9a-src-total", "f9a-most"),
        ),
        Line(
            "I, II.A, Figure 2",
            "refreshes are up to 99 % of erases, and over half on five of nine",
            ("f2-*",),
        ),
        Line("I", "refreshing makes the worst read 66 erases long", (), ELSEWHERE),
        Line(
            "III.C",
            "a refresh takes up to 3/2 new blocks, by reprogramming 1/3",
            (),
            "arithmetic of the geometry: 192 ÷ 128 and 64 ÷ 192 pages; the report has what a refresh programs",
        ),
        Line(
            "III.D, Figure 7",
            "a cycle with reprogramming wears 1.2 times as much from a rate of 0.2 on",
            (),
            "measured on chips; 1.2 is an input",
        ),
        Line("III.E", "counters take 1.37 MB for 128 GB", ("by-construction-memory",)),
        Line("IV.A", "IPR leaves erases for the host as they are", ("f9a-wgc",)),
        Line(
            "IV.B, Figure 9a",
            "IPR is below all other methods; HotLD is level with it on ADS",
            ("f9a-ipr", "f9a-ads"),
        ),
        Line("IV.B, Figure 9a", "HotLD has more erases for refreshes than IPR", ("f9a-hotld",)),
        Line(
            "IV.B, Figure 9a", "RedFTL is level with Baseline, RL moderately below", ("f9a-redftl", "f9a-rl")
        ),
        Line("IV.B", "RL uses a shadow block again five times", ("by-construction-reuse",)),
        Line(
            "IV.B, Figure 9b",
            "13 % of SRC's erased blocks of low density, and none of ADS's, had not used 89 % of their reads",
            ("f9b-*",),
        ),
        Line(
            "II.A",
            "a block is refreshed before its limit",
            ("by-construction-refreshes", "by-construction-limit"),
        ),
        Line(
            "IV.C, Figure 10",
            "IPR lowers reads of 250 to 350 ms by 52 %, the mean by 22 %, from 261 to 206 µs",
            ("f10-window", "f10-mean", "f10-baseline", "f10-ipr"),
        ),
        Line("IV.C, Figure 10", "RedFTL moves reads below 250 ms", ("f10-redftl", "f10-redftl-below")),
        Line("IV.C, Figure 11", "effective cycles are even", ("f11-even",)),
        Line("IV.C", "rates of reprogramming on six workloads, all above 0.2", ("rate-*",)),
        Line(
            "IV.C",
            "at most 6 % of read-hot blocks lie outside the pool, 60 % on Websearch",
            ("skipped", "skipped-websearch"),
        ),
        Line("Table I, II", "times, limits, quotas, workloads", (), "input"),
    ),
}


CAUSES_IN_WORDS = {
    "trace": "the original traces are missing",
    "ambiguous": "the paper leaves it open",
    "model": "our model differs",
    "paper": "the paper against itself",
}
"""Why a counted claim is not reproduced."""

CAUSES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "tbm": {},
    "gcmix": {
        "trace": ("d-p-all", "exchange-dm", "paired-*", "write-*", "read-*"),
        "ambiguous": ("waf-pm-high", "slc-similar"),
        "paper": ("omega-dm", "waf-dml", "utilisation-linear"),
    },
    "gcf": {
        "trace": ("f9-dftl-gc-desktop",),
        "ambiguous": ("f10-dftl-sync-desktop", "f10-dftl-gcf-random"),
    },
    "rcftl": {
        "trace": ("f7a-fileserver-*", "f7a-page-rises-*"),
        "ambiguous": ("f6a-old-*", "f6a-young-*", "f6a-fall-*", "f6b-*"),
        "model": ("f6a-rcftl-*", "f7a-block-*"),
    },
    "ipr": {
        "trace": ("rate-*", "skipped*", "f9a-rl", "f9b-src"),
        "ambiguous": ("f10-baseline", "f10-ipr"),
        "model": ("f9a-*", "f10-*", "f11-even"),
        "paper": ("f2-five",),
    },
}
"""By paper and cause the claims, as patterns; the first one that fits counts."""


def cause_of(paper: str, claim: str) -> str:
    """Why a claim is not reproduced.

    Raises:
        KeyError: no cause is named.
    """
    for cause, patterns in CAUSES[paper].items():
        if any(fnmatchcase(claim, pattern) for pattern in patterns):
            return cause
    raise KeyError(f"{paper}: {claim} has no cause")


def of(line: Line, paper: str) -> list[str]:
    """The ids of the claims that a line names."""
    ids = [statement.id for statement in PAPERS[paper].statements]
    return [name for name in ids if any(fnmatchcase(name, pattern) for pattern in line.claims)]


def table(paper: str) -> Iterator[str]:
    """All lines of a paper, as the lines of a Markdown table."""
    yield "| where | what it says | judged by |"
    yield "|---|---|---|"
    for line in LINES[paper]:
        names = ", ".join(f"`{pattern}`" for pattern in line.claims)
        yield f"| {line.place} | {line.words} | {names or f'not measured: {line.because}'} |"
