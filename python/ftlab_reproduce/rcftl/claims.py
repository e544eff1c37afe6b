"""What the rcFTL paper claims, and how each claim is measured and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean

from ftlab_reproduce import claims as verdicts
from ftlab_reproduce.claims import About, Finding, Pick, Statement, decided
from ftlab_reproduce.rcftl.axes import AGES, COUNTERS, LEVELED, MIDDLE, MONTHS, OLD, YOUNG, Evidence, Point
from ftlab_reproduce.rcftl.hosts import CAPTURED_NAMES, GENERATED_NAMES, INTENSITIES, SHORT

Values = Callable[[Evidence], Mapping[str, float]]

GROUPS = {
    "captured": (CAPTURED_NAMES, "captures, on 8 chips at every scale"),
    "generated": (GENERATED_NAMES, "generators"),
}


def group_of(statement: Statement) -> str:
    """Which claims a claim is counted with: of those stated before the runs, captures and generators apart."""
    return statement.id.rpartition("-")[2] if statement.basis == "stated" else verdicts.BASES[statement.basis]


def counts(evidence: Evidence) -> dict[str, Counter[str]]:
    """Verdicts by group."""
    found: dict[str, Counter[str]] = {}
    kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
    for statement in statements():
        found.setdefault(group_of(statement), Counter())[statement.judged(evidence, kinds).verdict] += 1
    return found


def _one(values: Values, pick: Pick) -> Callable[[Evidence], Finding]:
    """One of several values by `workload age` decides."""

    def measure(evidence: Evidence) -> Finding:
        found = decided(values(evidence), pick, "{:+.1f}".format)
        return found._replace(workload=_host(found.workload))

    return measure


def _host(name: str) -> str:
    """The workload of a `workload age`."""
    host, _, age = name.rpartition(" ")
    return host if age in AGES.values() else name


def _mean(values: Values) -> Callable[[Evidence], Finding]:
    """The mean of all; named is the workload of the greatest."""

    def measure(evidence: Evidence) -> Finding:
        found = values(evidence)
        note = ", ".join(f"{name} {value:+.1f}" for name, value in found.items())
        return Finding(mean(found.values()), _host(max(found, key=found.__getitem__)), note)

    return measure


def _gains(names: Sequence[str], system: str, over: str, *ages: int) -> Values:
    """By workload and age, by how much throughput is above another system's, in %."""
    return lambda evidence: {
        f"{name} {AGES[age]}": evidence.gain(name, system, over, age) for name in names for age in ages
    }


def _difference(one: Values, other: Values) -> Values:
    """By workload, the difference of two figures."""

    def of(evidence: Evidence) -> dict[str, float]:
        pairs = zip(one(evidence).items(), other(evidence).values(), strict=True)
        return {_host(name): value - less for (name, value), less in pairs}

    return of


def _wafs(names: Sequence[str], measure: Callable[[Evidence, str, int], float], *ages: int) -> Values:
    """By workload and age, a change of WAF in %."""
    return lambda evidence: {
        f"{name} {AGES[age]}": 100 * (measure(evidence, name, age) - 1) for name in names for age in ages
    }


def _block_over_page(evidence: Evidence, name: str, age: int) -> float:
    return evidence.waf(name, "rcFTL", age) / evidence.waf(name, "FastGC", age, COUNTERS)


def statements() -> Iterator[Statement]:
    for group, (names, words) in GROUPS.items():
        yield from _throughput(group, names, words)
        yield from _steps(group, names, words)
        yield from _wafs_of(group, names, words)
    yield from _selector()
    yield from _errors()
    yield from _aside()
    yield from _memory()


CONSTANT = "a DRAM port of half of what the channels carry"
"""The paper gives none, and the gains depend on it."""


def _throughput(group: str, names: Sequence[str], words: str) -> Iterator[Statement]:
    about = About("fig6a", names[0], id=f"f6a-{{}}-{group}", claim=f"{{}}; {words}", reading=CONSTANT)
    young, old = (_gains(names, "rcFTL", "base", age) for age in (YOUNG, OLD))
    yield about("rcftl", "rcFTL is faster than FastGC on every workload and at every age: the least gain", "above 0",
                verdicts.at_least(verdicts.NOISE), _one(_gains(names, "rcFTL", "FastGC", *AGES), min))  # fmt: skip
    yield about(
        "young", "rcFTL is above the base on fresh blocks: the mean", 43, verdicts.up_to(43), _mean(young)
    )
    yield about("old-most", "rcFTL is above FastGC at 5K: the greatest", 25, verdicts.up_to(25),
                _one(_gains(names, "rcFTL", "FastGC", OLD), max))  # fmt: skip
    yield about("old-mean", "rcFTL is above FastGC at 5K: the mean", 25, verdicts.up_to(25),
                _mean(_gains(names, "rcFTL", "FastGC", OLD)))  # fmt: skip
    yield about("fall", "What rcFTL gains over the base falls from fresh blocks to 5K: by how much at least, points",
                "falls", verdicts.above(0), _one(_difference(young, old), min))  # fmt: skip


ORDERS = {
    "first": (("aware, by page", "FastGC"), ("rcFTL-", "aware, by page")),
    "last": (("rcFTL-", "worst, by block"), ("worst, by block", "FastGC")),
}
"""The steps from FastGC to rcFTL in both orders: awareness of quality, and quotas by block, each as a system and the
one before it. What both gain together is known, so the one order follows from the other."""


def _steps(group: str, names: Sequence[str], words: str) -> Iterator[Statement]:
    about = About("fig6b", names[0], id=f"f6b-{{}}-{group}", claim=f"{{}}; {words}", reading=CONSTANT)

    def orders(figure: Callable[[Evidence, str], float], pick: Pick) -> Callable[[Evidence], Finding]:
        """A figure with awareness taken first and last; one decides."""

        def measure(evidence: Evidence) -> Finding:
            found = {f"taken {order}": figure(evidence, order) for order in ORDERS}
            return decided(found, pick, "{:+.1f}".format, names[0])

        return measure

    def aware(evidence: Evidence, order: str, age: int = OLD) -> float:
        return mean(_gains(names, *ORDERS[order][0], age)(evidence).values())

    def grown(evidence: Evidence, order: str) -> float:
        return aware(evidence, order) - aware(evidence, order, YOUNG)

    def more(evidence: Evidence, order: str) -> float:
        return mean(_gains(names, *ORDERS[order][1], YOUNG)(evidence).values()) - aware(
            evidence, order, YOUNG
        )

    yield about("aware", "Awareness of quality gains at 5K: the mean, in the order of the steps that is further off",
                14, verdicts.up_to(14), orders(aware, partial(max, key=lambda value: abs(value - 14))))  # fmt: skip
    yield about("grows", "What awareness gains grows from fresh blocks to 5K: the mean, points, in either order",
                "grows", verdicts.above(0), orders(grown, min))  # fmt: skip
    yield about("block", "On fresh blocks quotas by block gain more than awareness: the mean difference, points, in "
                "either order", "most", verdicts.above(0), orders(more, min))  # fmt: skip


def _wafs_of(group: str, names: Sequence[str], words: str) -> Iterator[Statement]:
    about = About("fig7a", names[0], id=f"f7a-{{}}-{group}", claim=f"{{}}; {words}")
    hot, even = [names[0], names[2]], names[3:]

    def drop(system: str, setting: str = "") -> Values:
        return lambda evidence: {
            name: 100
            * (evidence.waf(name, system, YOUNG, setting) / evidence.waf(name, system, OLD, setting) - 1)
            for name in hot
        }

    yield about("block", "WAF by block is not above WAF by page with its counters, anywhere: the greatest excess",
                "not above 0", verdicts.at_most(verdicts.NOISE),
                _one(_wafs(names, _block_over_page, YOUNG, MIDDLE, OLD), max))  # fmt: skip
    yield about("block-falls", "With more copybacks WAF by block falls on OLTP and Varmail: fresh over 5K, at most",
                "below 0", verdicts.at_most(-verdicts.NOISE), _one(drop("rcFTL"), max))  # fmt: skip
    yield about("page-rises", "and WAF by page rises: fresh over 5K, at least", "above 0",
                verdicts.at_least(verdicts.NOISE), _one(drop("FastGC", COUNTERS), min))  # fmt: skip
    yield about("fileserver", "On Fileserver quotas by block do not lower WAF: against the base, at least", "0",
                verdicts.at_least(-2),
                _one(_wafs(even, lambda e, n, a: e.waf(n, "rcFTL", a), YOUNG, MIDDLE, OLD), min))  # fmt: skip


def selector_gain(evidence: Evidence, name: str, age: int, setting: str = "") -> float:
    """By how much shorter the mean response time is with the selector, in % of the shorter one."""
    points = (Point(name, "rcFTL", age, setting), Point(name, "rcFTL-", age))
    with_it, without = (evidence.late(point).latency_us for point in points)
    return 100 * (without / with_it - 1)


def _selector() -> Iterator[Statement]:
    about = About(
        "fig7b", "Low", id="late-f7b-{}", basis="late", reading="the length of the bursts, chosen of three"
    )

    def gains(*ages: int) -> Values:
        return lambda evidence: {
            f"{name} {AGES[age]}": selector_gain(evidence, name, age) for name in INTENSITIES for age in ages
        }

    def lead(evidence: Evidence) -> dict[str, float]:
        low, *others = (selector_gain(evidence, name, OLD) for name in ("Low", "Mid", "High"))
        return {"Low": low - max(others)}

    def ageing(evidence: Evidence) -> dict[str, float]:
        return {
            name: selector_gain(evidence, name, OLD) - selector_gain(evidence, name, YOUNG)
            for name in INTENSITIES
        }

    yield about("most", "The selector gains: the greatest; on 8 chips, as all of Figure 7b", 12, verdicts.up_to(12),
                _one(gains(YOUNG, MIDDLE, OLD), max))  # fmt: skip
    yield about("low", "The selector gains most at Low intensity: over the others at 5K, points", "most",
                verdicts.above(0), _one(lead, min))  # fmt: skip
    yield about("old", "The selector gains more where thresholds are small: 5K over fresh blocks, points, at least",
                "more", verdicts.above(0), _one(ageing, min))  # fmt: skip
    yield about("short", "and with bursts of a quarter of the length: the gain at 5K, Low", "above 0",
                verdicts.at_least(verdicts.NOISE), _one(lambda e: {SHORT: selector_gain(e, SHORT, OLD)}, min),
                workload=SHORT)  # fmt: skip


RESTRICTED = ("FastGC", "aware, by page", "worst, by block", "rcFTL-", "rcFTL")


def errors(evidence: Evidence, system: str) -> dict[str, float]:
    """By workload, the greatest error that a page had in any run of a system, of what ECC corrects."""
    found: dict[str, float] = {}
    for point in evidence.results:
        if point.system == system:
            found[point.workload] = max(found.get(point.workload, 0.0), evidence.figure(point, "max_error"))
    return found


def _errors() -> Iterator[Statement]:
    about = About("errors", "OLTP", id="by-construction-{}", basis="construction")

    def greatest(evidence: Evidence) -> Finding:
        every = [(e, name) for system in RESTRICTED for name, e in errors(evidence, system).items()]
        if not every:
            raise KeyError("runs")
        runs = sum(point.system in RESTRICTED for point in evidence.results)
        return Finding(*max(every), f"{runs} runs")

    yield about("budget", "No page has more errors than ECC corrects under FastGC or rCPB, in any run: the greatest",
                1, verdicts.at_most(1, 1, ""), greatest, unit="of the limit")  # fmt: skip

    def ends(evidence: Evidence) -> Finding:
        found: Mapping[str, float] = evidence.beside["errors"]
        return decided(found, max, "{:.3f}".format, "OLTP")._replace(
            note=", ".join(f"{age} {value:.3f}" for age, value in found.items())
        )

    yield about("unrestricted", "Copybacks without a limit end in an uncorrectable error: after what volume, at most",
                "ends", verdicts.at_least(0, 0, ""), ends, unit="user capacities")  # fmt: skip


def _aside() -> Iterator[Statement]:
    """Statements of Table I and section IV.B beside the figures."""
    about = About("aside", "OLTP", id="by-construction-{}", basis="construction")

    def longer(evidence: Evidence) -> Finding:
        found = {
            f"{AGES[age]}": evidence.figure(Point("OLTP", "rcFTL", age, MONTHS), "copyback_fraction")
            / evidence.figure(Point("OLTP", "rcFTL", age), "copyback_fraction")
            for age in (YOUNG, MIDDLE, OLD)
        }
        return decided(found, min, "{:.3f}".format, "OLTP")

    def leveled(evidence: Evidence) -> Finding:
        point = Point("OLTP", "rcFTL", OLD, LEVELED)
        moved = evidence.figure(point, "leveled")
        return Finding(evidence.figure(point, "max_error"), "OLTP", f"{moved:,.0f} pages moved by leveling")

    fewer = verdicts.at_least(1 - verdicts.RATIO_NOISE, unit="x")
    yield about("retention", "A retention of three months allows no fewer copybacks than one year: their part of the "
                "moves, of that with one year, at least", "no fewer", fewer, longer, unit="x")  # fmt: skip
    yield about("leveling", "Wear leveling keeps to quotas too: the greatest error of a page with it", 1,
                verdicts.at_most(1, 1, ""), leveled, unit="of the limit")  # fmt: skip


def _memory() -> Iterator[Statement]:
    about = About("model", "OLTP", id="by-construction-{}", basis="construction")

    def bytes_(evidence: Evidence) -> Finding:
        return Finding(evidence.beside["model"] / 1e9, "OLTP", "5 bits for each of 4 × 10⁹ pages")

    yield about("memory", "Quotas by page of a 16-TB SSD with pages of 4 KB and Q_init = 30 take", 2.5,
                verdicts.near(2.5, 1), bytes_, unit="GB")  # fmt: skip
