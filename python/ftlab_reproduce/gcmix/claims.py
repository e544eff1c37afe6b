"""What the GCMix paper claims, and how each claim is measured and judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ftlab_reproduce import claims as verdicts
from ftlab_reproduce.claims import About, Finding, Pick, Rule, Statement, Verdict, decided
from ftlab_reproduce.gcmix.axes import (
    LOW_LOCALITY,
    MEDIANS,
    OMEGA_AGE,
    OMEGA_FTL,
    SERVER_NAMES,
    TAU,
    UNIFORMS,
    UTILISATIONS,
    ZIPFS,
    Evidence,
    Point,
    below_threshold,
    ratio,
    uniform,
    zipf,
)
from ftlab_reproduce.gcmix.servers import RATE
from ftlab_reproduce.survival import EXPECTED, TROUBLES, Trouble

Change = Callable[[Evidence, str], float]


def _of(names: Sequence[str], change: Change, pick: Pick) -> Callable[[Evidence], Finding]:
    """A figure of every workload, of which one decides."""
    return lambda evidence: decided({name: change(evidence, name) for name in names}, pick, "{:.1f}".format)


def _of_pairs(values: Mapping[tuple[str, str], float], pick: Pick) -> Finding:
    """A figure of every workload and FTL, of which one decides."""
    found = decided({" ".join(pair): value for pair, value in values.items()}, pick, "{:.1f}".format)
    return found._replace(workload=found.workload.split()[0])


def _saved(ftl: str, base: str, figure: str = "waf", setting: str = "") -> Change:
    return lambda evidence, name: evidence.saved(name, ftl, base, figure, setting)


def _backups(ftl: str) -> Change:
    """Backups ÷ the rest of WAF, in %. Section 5.4 has 21.1 to 34.5 % of WAF, and Figure 10 gives 29.8 to 41.0 % of the
    erases to backup blocks, which hold half as many pages: the figures agree where the part is one of the rest.
    """
    return lambda evidence, name: 100 * (evidence.waf(name, ftl) / evidence.waf(name, f"{ftl}X") - 1)


def _all(change: Change) -> Callable[[Evidence], Finding]:
    """The change over all servers: one less the geometric mean of the ratios."""

    def measure(evidence: Evidence) -> Finding:
        ratios = {name: 1 - change(evidence, name) / 100 for name in SERVER_NAMES}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        note = ", ".join(f"{name} {100 * (1 - ratio):+.1f}" for name, ratio in ratios.items())
        return Finding(100 * (1 - mean), "all servers", note)

    return measure


AT_LOW, AT_HIGH = ZIPFS[:3], ZIPFS[4:]


def statements() -> Iterator[Statement]:
    yield from _omega_statements()
    yield from _waf_statements()
    yield from _server_statements()
    yield from _time_statements()
    yield from _utilisation_statements()
    yield from _similar_statements()
    yield from _promises()


def _median(z: float, ftl: str) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        point = Point(zipf(z), ftl, OMEGA_AGE)
        found = evidence.figure(point, "omega_p50")
        low, high = (evidence.figure(point, key) for key in ("omega_p10", "omega_p90"))
        apart = 100 * (found / MEDIANS[z] - 1)
        return Finding(found, zipf(z), f"{apart:+.1f} %; 10 % to 90 %: {low:.3g} to {high:.3g}")

    return measure


def _worst_median(ftl: str) -> Callable[[Evidence], Finding]:
    def apart(evidence: Evidence, name: str) -> float:
        z = float(name.split()[1])
        return 100 * (evidence.figure(Point(name, ftl), "omega_p50") / MEDIANS[z] - 1)

    return _of(ZIPFS, apart, lambda values: max(values, key=abs))


def _omega_statements() -> Iterator[Statement]:
    published, servers = About("fig5", unit=""), About("fig7", "EXCHANGE", unit="")
    for z, median in MEDIANS.items():
        yield published(
            f"omega-{z:.1f}", f"The median of ω at z = {z:.1f} (unmixed placement, {RATE:g} writes per second, "
            "a block's age since it was filled)",
            median, verdicts.near(median, 15), _median(z, OMEGA_FTL), workload=zipf(z), basis="late",
            reading="FTL-D in place of FTL-DM, 100 writes a second, a block's age since it was filled",
        )  # fmt: skip
    yield About("readings", zipf(1.0))(
        "omega-dm", "These medians are those of FTL-DM, as the text says: the one furthest from its published value",
        0, _around_zero(15, 100), _worst_median("DM"),
    )  # fmt: skip

    def order(evidence: Evidence) -> Finding:
        of = {name: evidence.figure(Point(name, OMEGA_FTL), "omega_p50") for name in SERVER_NAMES}
        others = max(value for name, value in of.items() if name not in ("EXCHANGE", "BEFS"))
        least = min(of["EXCHANGE"] / of["BEFS"], of["BEFS"] / others)
        return Finding(least, "EXCHANGE", ", ".join(f"{name} {value:.3g}" for name, value in of.items()))

    yield servers(
        "omega-order", "On the servers ω is largest on EXCHANGE, then on BEFS: the least ratio of a median to the next",
        "above 1", verdicts.above(1.0, verdicts.RATIO_NOISE), order,
    )  # fmt: skip

    def below(evidence: Evidence) -> Finding:
        of = {name: 100 * below_threshold(evidence.results[Point(name, OMEGA_FTL)]) for name in LOW_LOCALITY}
        return decided(of, min, "{:.1f}".format)

    yield servers(
        "omega-below", f"On all servers but EXCHANGE ω mostly stays below τ = {TAU:g}: the least part of the samples",
        "mostly", verdicts.at_least(75, 50), below, workload="BEFS", unit="%", basis="late",
    )  # fmt: skip


def _around_zero(reproduced: float, direction: float) -> Rule:
    def judge(measured: float) -> verdicts.Verdict:
        if abs(measured) <= reproduced:
            return "reproduced"
        return "direction" if abs(measured) <= direction else "not-reproduced"

    return Rule(f"reproduced up to {reproduced:g} either way; direction up to {direction:g}", judge)


def _excess(evidence: Evidence, name: str) -> float:
    """By how much DML's WAF is above the lower of DM's and D's, in %."""
    better = min(evidence.waf(name, "DM"), evidence.waf(name, "D"))
    return 100 * (evidence.waf(name, "DML") / better - 1)


def _waf_statements() -> Iterator[Statement]:
    statement = About("fig8", zipf(0), id="waf-{}")
    yield statement("px", "PX's WAF is below P's: by how much at most", 19.7, verdicts.up_to(19.7),
                    _of(ZIPFS, _saved("PX", "P"), max))  # fmt: skip
    yield statement("dx", "DX's WAF is below D's: by how much at most", 26.7, verdicts.up_to(26.7),
                    _of(ZIPFS, _saved("DX", "D"), max))  # fmt: skip
    yield statement("pm-low", "PM's WAF is below P's at low locality: by how much at most", 17.0,
                    verdicts.up_to(17.0), _of(AT_LOW, _saved("PM", "P"), max))  # fmt: skip
    yield statement("pm-high", "PM's WAF is below P's at high locality (z = 0.8 and 1): by how much at most", 8.09,
                    verdicts.up_to(8.09), _of(AT_HIGH, _saved("PM", "P"), max))  # fmt: skip
    yield statement("pm-always", "PM's WAF is below P's at every z: by how much at least", "above 0",
                    verdicts.at_least(verdicts.NOISE), _of(ZIPFS, _saved("PM", "P"), min))  # fmt: skip
    yield statement("dm-low", "DM's WAF is below D's at low locality: by how much at most", 17.5,
                    verdicts.up_to(17.5), _of(AT_LOW, _saved("DM", "D"), max))  # fmt: skip
    yield statement("dm-0.8", "At z = 0.8 the benefit of GCMix is almost offset: DM's WAF below D's", "near 0",
                    _around_zero(4, 8), _of(ZIPFS[4:5], _saved("DM", "D"), max))  # fmt: skip
    yield statement("dm-1.0", "At z = 1 DM's WAF is above D's: DM's WAF below D's", "below 0",
                    verdicts.at_most(-verdicts.NOISE), _of(ZIPFS[5:], _saved("DM", "D"), max))  # fmt: skip
    yield statement("dml", "DML follows the better of DM and D: by how much its WAF is above that at most", "near 0",
                    verdicts.at_most(2, 5), _of(ZIPFS, _excess, max))  # fmt: skip


MODELLED = "the servers are our models"

PICKS: Mapping[str, Pick] = {"least": min, "most": max}

BACKUP_ENDS = {("P", "least"): 21.1, ("P", "most"): 28.1, ("D", "least"): 23.7, ("D", "most"): 34.5}
"""Section 5.4, in %."""


def _furthest_end(evidence: Evidence) -> Finding:
    found = {
        f"{ftl} {word}": 100
        * (PICKS[word](_backups(ftl)(evidence, name) for name in SERVER_NAMES) / paper - 1)
        for (ftl, word), paper in BACKUP_ENDS.items()
    }
    worst = max(found.values(), key=abs)
    return Finding(
        abs(worst), "all servers", ", ".join(f"{end} {value:+.1f}" for end, value in found.items())
    )


def _server_statements() -> Iterator[Statement]:
    statement, erases, paired = (
        About(figure, "EXCHANGE", reading=MODELLED) for figure in ("fig9", "fig10", "fig11")
    )
    # A backup is half a page of the host's, so all that backups are a part of follows from WAF without them.
    yield statement(
        "backup", "Backups ÷ the rest of WAF are 21.1 to 28.1 % of P's and 23.7 to 34.5 % of D's over the servers: the "
        "end that is furthest off, of the paper's", "the four ends", verdicts.at_most(25), _furthest_end,
        basis="corrected",
    )  # fmt: skip
    for (ftl, word), paper in BACKUP_ENDS.items():
        yield statement(
            f"backup-{ftl.lower()}-{word}", f"Backups ÷ the rest of {ftl}'s WAF, at {word} over the servers",
            paper, verdicts.near(paper, 25), _of(SERVER_NAMES, _backups(ftl), PICKS[word]), basis="follows",
        )  # fmt: skip
    yield statement("d-p-all", "D's WAF is below P's on every server: by how much at least", "above 0",
                    verdicts.at_least(verdicts.NOISE), _of(SERVER_NAMES, _saved("D", "P"), min))  # fmt: skip
    yield statement("d-p", "D's WAF is below P's on EXCHANGE", 33.2, verdicts.up_to(33.2),
                    _of(["EXCHANGE"], _saved("D", "P"), max))  # fmt: skip
    for ftl, base in (("PM", "P"), ("DM", "D")):
        yield statement(
            f"server-{ftl.lower()}", f"{ftl}'s WAF is below {base}'s on servers but EXCHANGE: by how much at most",
            16.7, verdicts.up_to(16.7), _of(LOW_LOCALITY, _saved(ftl, base), max),
        )  # fmt: skip
    yield statement("exchange-dm", "On EXCHANGE DM's WAF is above D's: DM's WAF below D's", "below 0",
                    verdicts.at_most(-verdicts.NOISE), _of(["EXCHANGE"], _saved("DM", "D"), max))  # fmt: skip
    yield statement("exchange-dml", "On EXCHANGE DML's WAF is comparable to D's: the difference", "near 0",
                    _around_zero(2, 5), _of(["EXCHANGE"], _saved("DML", "D"), max))  # fmt: skip
    for word, paper, pick in (("least", 29.8, min), ("most", 41.0, max)):
        yield erases(f"erases-backup-{word}", f"Of P's and D's erases, the part of backup blocks, at {word}",
                     paper, verdicts.near(paper, 25), _backup_share(pick), basis="follows")  # fmt: skip
    yield erases("erases-mixed", "GCMix almost eliminates erases of backup blocks: of those of P and D what is "
                    "left to PM and DM at most", "near 0", verdicts.at_most(20, 50), _backups_left,
                    )  # fmt: skip
    for ftl, low, high in (("PM", 80.3, 98.3), ("DM", 80.3, 98.7)):
        for word, paper, pick in (("least", low, min), ("most", high, max)):
            yield paired(f"paired-{ftl.lower()}-{word}", f"Host pages that {ftl} pairs, at {word} over the servers",
                            paper, verdicts.around(paper, 5), _of(SERVER_NAMES, _paired(ftl), pick),
                            )  # fmt: skip
    yield paired("paired-dml-least", "Host pages that DML pairs on servers but EXCHANGE, at least", 80.4,
                    verdicts.around(80.4, 5), _of(LOW_LOCALITY, _paired("DML"), min))  # fmt: skip
    yield paired("paired-dml-exchange", "Host pages that DML pairs on EXCHANGE", 33.6, verdicts.around(33.6, 8),
                    _of(["EXCHANGE"], _paired("DML"), max))  # fmt: skip


def _paired(ftl: str) -> Change:
    return lambda evidence, name: evidence.paired(name, ftl)


def _backup_share(pick: Pick) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        shares = {}
        for name in SERVER_NAMES:
            for ftl in ("P", "D"):
                backup, whole = (
                    evidence.figure(Point(name, ftl), key) for key in ("backup_erases", "erases")
                )
                shares[name, ftl] = 100 * ratio(backup, whole)
        return _of_pairs(shares, pick)

    return measure


def _backups_left(evidence: Evidence) -> Finding:
    left = {}
    for name in SERVER_NAMES:
        for ftl, base in (("PM", "P"), ("DM", "D")):
            ours, theirs = (evidence.figure(Point(name, f), "backup_erases") for f in (ftl, base))
            left[name, ftl] = 100 * ratio(ours, theirs)
    return _of_pairs(left, max)


def _time_statements() -> Iterator[Statement]:
    def saved(ftl: str, base: str, kind: str) -> Change:
        return _saved(ftl, base, f"{kind}_ms", "serial")

    def rise(ftl: str, base: str) -> Change:
        return lambda evidence, name: -saved(ftl, base, "read")(evidence, name)

    statement, read = (About(figure, "all servers", reading=MODELLED) for figure in ("fig12", "fig13"))
    yield statement("write-pm", "PM's write time is below P's: by how much at most", 10.5, verdicts.up_to(10.5),
                    _of(SERVER_NAMES, saved("PM", "P", "write"), max))  # fmt: skip
    yield statement("write-pm-mean", "PM's write time is below P's: the mean over the servers", 8.4,
                    verdicts.up_to(8.4), _all(saved("PM", "P", "write")))  # fmt: skip
    yield statement("write-dm-mean", "DM's write time is 0.9 % above D's: the mean of what is saved", -0.9,
                    verdicts.up_to(-0.9), _all(saved("DM", "D", "write")))  # fmt: skip
    yield statement("write-dml-mean", "DML's write time is below D's: the mean over the servers", 2.71,
                    verdicts.up_to(2.71), _all(saved("DML", "D", "write")))  # fmt: skip
    yield statement("write-dm-exchange", "DM's write time is above D's on EXCHANGE: what is saved", "below 0",
                    verdicts.at_most(-verdicts.NOISE), _of(["EXCHANGE"], saved("DM", "D", "write"), max)
                    )  # fmt: skip
    yield statement(
        "write-dm-larger", "DM's write time is above D's on BEFS, BUILDSERVER and EXCHANGE: what is saved, at most",
        "below 0", verdicts.at_most(-verdicts.NOISE),
        _of(["BEFS", "BUILDSERVER", "EXCHANGE"], saved("DM", "D", "write"), max),
    )  # fmt: skip
    yield statement(
        "write-dm-smaller", "and below D's on TPCC2007, TPCC2008 and TPCE: what is saved, at least", "above 0",
        verdicts.at_least(verdicts.NOISE),
        _of(["TPCC2007", "TPCC2008", "TPCE"], saved("DM", "D", "write"), min),
    )  # fmt: skip
    for ftl, base, paper in (("PM", "P", 1.8), ("DM", "D", 1.8), ("DML", "D", 1.7)):
        yield read(f"read-{ftl.lower()}-mean", f"{ftl}'s read time is above {base}'s: the mean over the servers",
                        paper, verdicts.up_to(paper), _all_rise(rise(ftl, base)))  # fmt: skip
    yield read("read-most", "GCMix lengthens read time by at most", 3.6, verdicts.up_to(3.6),
                    _of(SERVER_NAMES, rise("PM", "P"), max))  # fmt: skip


def _all_rise(change: Change) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        found = _all(lambda e, name: -change(e, name))(evidence)
        values = {name: change(evidence, name) for name in SERVER_NAMES}
        return Finding(-found.measured, found.workload, ", ".join(f"{n} {v:+.1f}" for n, v in values.items()))

    return measure


def _similar_statements() -> Iterator[Statement]:
    def apart(evidence: Evidence, name: str) -> float:
        return 100 * abs(evidence.waf(name, "PS") / evidence.waf(name, "P") - 1)

    yield About("slc", zipf(0))(
        "slc-similar", "SLC-mode buffering gives results that are similar to LSB backups': WAF apart, at most",
        "similar", verdicts.at_most(5, 15), _of(ZIPFS, apart, max),
    )  # fmt: skip


def _utilisation_statements() -> Iterator[Statement]:
    statement = About("fig14", uniform(0.7), id="utilisation-{}")

    def backups(evidence: Evidence) -> Finding:
        of = {name: evidence.figure(Point(name, "P"), "backup_erases") for name in UNIFORMS}
        spread = 100 * (max(of.values()) / min(of.values()) - 1)
        return Finding(spread, UNIFORMS[-1], ", ".join(f"{name} {value:.0f}" for name, value in of.items()))

    def bent(evidence: Evidence) -> Finding:
        found = np.array([evidence.waf(name, "P") for name in UNIFORMS])
        line = np.polyval(np.polyfit(UTILISATIONS, found, 1), UTILISATIONS)
        apart = 100 * np.abs(found / line - 1)
        return Finding(
            float(apart.max()), UNIFORMS[int(apart.argmax())], ", ".join(f"{value:.2f}" for value in found)
        )

    yield statement("linear", "P's WAF grows linearly with utilisation: the WAF that is furthest from the best line",
                    "linearly", verdicts.at_most(5, 10), bent)  # fmt: skip
    yield statement("low", "At low utilisation (0.1) DML's WAF follows P's: the difference", "near 0",
                    _around_zero(2, 5), _of(UNIFORMS[:1], _saved("DML", "P"), max))  # fmt: skip
    yield statement("high", "At high utilisation (from 0.6) DML's WAF is below P's: by how much at least", "above 0",
                    verdicts.at_least(5, verdicts.NOISE), _of(UNIFORMS[5:], _saved("DML", "P"), min))  # fmt: skip
    yield statement("backup", "P erases as many backup blocks at every utilisation: the spread", "near 0",
                    verdicts.at_most(5, 15), backups)  # fmt: skip


def _promises() -> Iterator[Statement]:
    """What sections 3 and 4 argue of every protection and fault."""
    statement = About(
        "survival", "lives of a small device", "% of lives lose", id="s-{}", basis="construction"
    )
    for (protection, trouble), survives in EXPECTED.items():
        fault = TROUBLES[trouble] if trouble == "second-cut" else f"a {TROUBLES[trouble]}"
        words = f"{protection}: acknowledged data {'survive' if survives else 'are lost by'} {fault}"
        yield statement(
            f"{protection.lower().replace(' ', '-')}-{trouble}", words, "survives" if survives else "loses",
            _promise(survives), _losing(protection, trouble),
        )  # fmt: skip


def _promise(survives: bool) -> Rule:
    """A single lost page breaks a promise to survive; without one, some life has to lose data."""

    def judge(losing: float) -> Verdict:
        return "reproduced" if (losing == 0) == survives else "not-reproduced"

    return Rule("no life may lose data" if survives else "some life has to lose data", judge)


def _losing(protection: str, trouble: Trouble) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        chosen = [t for t in evidence.trials if (t.protection, t.trouble) == (protection, trouble)]
        if not chosen:
            raise KeyError(protection)
        runs, losing = sum(t.runs for t in chosen), sum(t.losing for t in chosen)
        cells = ", ".join(f"{t.cell} {t.losing:,} of {t.runs:,}" for t in chosen)
        return Finding(100 * losing / runs, "lives of a small device", cells)

    return measure
