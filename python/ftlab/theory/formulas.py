"""Write amplification of a page-mapped FTL under uniform random single-page writes, from theory.

The results here come from published models and are independent of the simulator, so that the simulator can be
checked against them. ``docs/theory.md`` derives every formula and says how one domain of the simulator
(a plane, by default) is translated into the one number the models need.

Symbols, the same in every function:

``pages_per_block`` (b)
    Pages of a block, at least 2. The models keep it finite wherever it matters. Where the map has several units in a
    flash page, these are the pages: units of a block.
``parts`` (k)
    Units of a flash page. A victim is erased when its copies are programmed, so the flash page of the last ones is
    filled up with dummy units: ``-j mod k`` of them for a victim with j valid units.
``utilisation`` (rho)
    Valid pages divided by the pages of the blocks a victim is chosen from, 0 < rho < 1, at the moment a
    victim is chosen. :func:`effective_utilisation` computes it from a real geometry;
    :func:`utilisation_from_op` and :func:`utilisation_from_spare_factor` from the two usual ratios, with no
    allowance for free blocks.
write amplification (WAF)
    Pages programmed for any cause divided by pages programmed for the host; at least 1, no unit.

All models assume: every logical page is written and never trimmed; the host overwrites logical pages
independently and uniformly; host writes and copies of the garbage collector share one frontier; one block is
reclaimed at a time; the number of blocks is large. Against simulation, with N blocks, the error left is of
the order of 1 / N.

Sources
-------
- B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
  drives", ACM SIGMETRICS 2013 (extended in Queueing Systems 77(2), 2014): :func:`d_choices`, :func:`random`.
- Y. Li, P. P. C. Lee, J. C. S. Lui, "Stochastic modeling of large-scale solid-state storage systems", ACM
  SIGMETRICS 2013: the same family under the name *randomized greedy algorithm* (RGA).
- W. Bux, I. Iliadis, "Performance of greedy garbage collection in flash-based solid-state drives",
  Performance Evaluation 67(11), 2010: :func:`greedy` for finite blocks.
- P. Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012: :func:`fifo` (there: LRU cleaning)
  and :func:`greedy_desnoyers`.
- L. Xiang, B. M. Kurkoski, "An improved analytic expression for write amplification in NAND flash", ICNC
  2012: the Lambert W form of :func:`fifo` as the large-block limit of greedy.
- J. Menon, "A performance comparison of RAID-5 and log-structured arrays", HPDC 1995, and J. T. Robinson,
  "Analysis of steady-state segment storage utilizations in a log-structured file system with least-utilized
  segment cleaning", ACM SIGOPS Operating Systems Review 30(4), 1996: the same transcendental equation, before
  flash.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "d_choices",
    "d_choices_valid_distribution",
    "effective_utilisation",
    "fifo",
    "greedy",
    "greedy_desnoyers",
    "greedy_valid_distribution",
    "predict",
    "random",
    "utilisation_from_op",
    "utilisation_from_spare_factor",
    "valid_pages_per_victim",
]


def utilisation_from_op(over_provisioning: float) -> float:
    """Utilisation rho for an over-provisioning given as spare / **user** capacity (the project's OP).

    Raises ``ValueError`` unless 0 < ``over_provisioning`` and it is finite.
    """
    if not 0.0 < over_provisioning < math.inf:
        raise ValueError(f"over_provisioning is {over_provisioning}; it must be above 0 and finite")
    return 1.0 / (1.0 + over_provisioning)


def utilisation_from_spare_factor(spare_factor: float) -> float:
    """Utilisation rho for a spare factor given as spare / **raw** capacity (Desnoyers, Van Houdt).

    Raises ``ValueError`` unless 0 < ``spare_factor`` < 1.
    """
    if not 0.0 < spare_factor < 1.0:
        raise ValueError(f"spare_factor is {spare_factor}; it must be above 0 and below 1")
    return 1.0 - spare_factor


def effective_utilisation(
    *,
    user_pages: int,
    blocks: int,
    pages_per_block: int,
    free_blocks: int,
    open_blocks: int = 0,
    open_valid_pages: float = 0.0,
) -> float:
    """Utilisation rho of the closed blocks of one domain at the moment a victim is chosen.

    ``rho = (user_pages - open_valid_pages) / ((blocks - free_blocks - open_blocks) * pages_per_block)``.

    With one shared frontier and eager collection (the simulator's default) a victim is chosen when the
    frontier has just been filled and the next one is not opened yet: no block is open, ``free_blocks`` are
    erased, every other block is full, and every valid page lies in a full block. The formula is then exact,
    with the defaults of the last two parameters. Those are for designs that hold a partly written block at
    that moment, such as a second frontier.

    Parameters
    ----------
    user_pages
        Logical pages of the domain, all of them written.
    blocks
        Physical blocks of the domain.
    pages_per_block
        Pages of a block.
    free_blocks
        Erased blocks at the moment a victim is chosen, a block that is open but still empty included.
    open_blocks
        Partly written blocks at that moment; they cannot be victims.
    open_valid_pages
        Valid pages in them, all together (a mean).

    Returns
    -------
    float
        rho, between 0 and 1 exclusive.

    Raises
    ------
    ValueError
        If no block is closed, or if the valid pages do not fit into the closed blocks with room to spare.
    """
    closed = blocks - free_blocks - open_blocks
    if min(free_blocks, open_blocks, open_valid_pages) < 0 or closed < 1:
        raise ValueError(
            f"{blocks} blocks with {free_blocks} free and {open_blocks} open leave none to reclaim"
        )
    rho = (user_pages - open_valid_pages) / (closed * _checked_block(pages_per_block))
    if not 0.0 < rho < 1.0:
        raise ValueError(
            f"{user_pages} user pages, {open_valid_pages} of them in open blocks, do not fit {closed} closed "
            f"blocks of {pages_per_block} pages with room to spare (utilisation {rho:.4f}, must be above 0 "
            "and below 1)"
        )
    return rho


def random(utilisation: float) -> float:
    """WAF when the victim is a uniformly random closed block: ``1 / (1 - rho)``.

    A random block holds rho * b valid pages in the mean, whatever the distribution, so this is exact for
    every block size and number of blocks. Van Houdt (2013), *Random*; also :func:`d_choices` with d = 1.
    Fully valid blocks are victims too; where they are skipped use ``d_choices(1, ..., skip_full=True)``.
    """
    return 1.0 / (1.0 - _checked_utilisation(utilisation))


def fifo(utilisation: float, *, dummies: float = 0.0) -> float:
    """WAF when the victim is the block that was closed first: ``a / (a + W0(-a exp(-a)))``, ``a = 1 / rho``.

    With a fraction of ``dummies`` in every block the rest is a smaller block: ``fifo(rho / used) / used``, where
    ``used`` is ``1 - dummies``.

    W0 is the principal branch of the Lambert W function. Equivalently ``1 / (1 - x)``, where the fraction x
    of a victim's pages still valid solves ``x = exp(-(1 - x) / rho)``. The block size drops out: all blocks
    reach the end of the queue at the same age. Menon (1995); Desnoyers (2012), LRU cleaning. It is also the
    limit of :func:`greedy` for large blocks (Robinson 1996; Xiang and Kurkoski 2012).
    """
    used = 1.0 - dummies
    a = used / _checked_utilisation(utilisation)
    return a / (a + _lambert_w0(-a * math.exp(-a))) / used


def greedy(utilisation: float, pages_per_block: int, *, parts: int = 1) -> float:
    """WAF when the victim is a closed block with the fewest valid pages.

    Bux and Iliadis (2010); Van Houdt (2013). The limit of :func:`d_choices` for infinite d, taken
    analytically: ``(rho b - j) / (rho (b - j - j H))``, with ``H = 1/(j+1) + ... + 1/b`` and j the smallest
    valid count that closed blocks have in steady state. ``parts``: see the module's description.
    """
    rho, b = _checked_utilisation(utilisation), _checked_block(pages_per_block)

    def victims(entering: Sequence[float]) -> tuple[float, dict[int, float]]:
        floor, rate = _greedy_floor(rho, b, entering)
        rest = 1.0 - sum(entering[i] / (rate * i) for i in range(floor + 1, b + 1))
        # Blocks that fall below the floor are victims at once.
        fall = min(1.0, rate * floor * rest)
        return rate, {floor: 1.0 - fall, floor - 1: fall}

    return 1.0 / (_with_dummies(victims, b, parts) * rho)


def greedy_desnoyers(utilisation: float, pages_per_block: int) -> float:
    """WAF of greedy by Desnoyers' (2012) approximation: ``fifo(rho / k) / k``, ``k = 1 + 1/(2 b)``.

    Kept as an independent check of :func:`greedy`, which is the one to compare measurements with.
    """
    k = 1.0 + 0.5 / _checked_block(pages_per_block)
    return fifo(_checked_utilisation(utilisation) / k) / k


def d_choices(
    d: int, utilisation: float, pages_per_block: int, *, skip_full: bool = False, parts: int = 1
) -> float:
    """WAF when the victim has the fewest valid pages of ``d`` uniformly random closed blocks.

    The fixed point of the mean field of Van Houdt (2013), *d-Choices*; RGA of Li, Lee and Lui (2013).

    Parameters
    ----------
    d
        Blocks drawn for each victim, at least 1. Drawing with or without replacement is the same in the
        limit.
    utilisation, pages_per_block
        See the module's description.
    skip_full
        Draw only among blocks with at least one invalid page. It changes the result where d is small and many
        blocks are fully valid (high utilisation, small blocks).

    parts
        See there. With ``skip_full`` it has to be 1.

    Raises
    ------
    ValueError
        If ``d`` < 1, ``pages_per_block`` < 2, ``utilisation`` is not between 0 and 1, or ``parts`` does not divide
        ``pages_per_block``.
    """
    b = _checked_block(pages_per_block)
    if skip_full and parts > 1:
        raise ValueError(f"parts is {parts}; with skip_full it must be 1")

    def victims(entering: Sequence[float]) -> tuple[float, dict[int, float]]:
        rate, fractions = _solve_d_choices(d, utilisation, b, skip_full, entering)
        chosen: dict[int, float] = {}
        above = 0.0
        for i in range(b, -1, -1):
            chosen[i] = (above + fractions[i]) ** d - above**d
            above += fractions[i]
        return rate, chosen

    return 1.0 / (_with_dummies(victims, b, parts) * utilisation)


def greedy_valid_distribution(utilisation: float, pages_per_block: int) -> NDArray[np.float64]:
    """Fraction of closed blocks with i valid pages under greedy, shape ``(b + 1,)``, summing to 1."""
    ones = _without_dummies(_checked_block(pages_per_block))
    floor, rate = _greedy_floor(_checked_utilisation(utilisation), pages_per_block, ones)
    fractions = np.zeros(pages_per_block + 1)
    fractions[floor + 1 :] = 1.0 / (rate * np.arange(floor + 1, pages_per_block + 1))
    fractions[floor] = 1.0 - fractions.sum()
    return fractions


def d_choices_valid_distribution(
    d: int, utilisation: float, pages_per_block: int, *, skip_full: bool = False
) -> NDArray[np.float64]:
    """Fraction of closed blocks with i valid pages under d choices, shape ``(b + 1,)``, summing to 1.

    Parameters and errors as in :func:`d_choices`.
    """
    ones = _without_dummies(_checked_block(pages_per_block))
    _, fractions = _solve_d_choices(d, utilisation, pages_per_block, skip_full, ones)
    return np.asarray(fractions, dtype=np.float64)


def predict(
    victim: str, utilisation: float, pages_per_block: int, *, d: int | None = None, parts: int = 1
) -> float:
    """WAF by the name of the victim policy: ``greedy``, ``rga`` (which needs ``d``), ``fifo`` or ``random``.

    ``parts``: units of a flash page, where ``pages_per_block`` are units. Victims of ``fifo`` differ by so much that as
    many of them are of each number modulo ``parts``: they have ``(parts - 1) / 2`` dummy units on average.

    Raises ``ValueError`` for any other name, and for ``rga`` without ``d``.
    """
    match victim:
        case "greedy":
            return greedy(utilisation, pages_per_block, parts=parts)
        case "fifo":
            return fifo(utilisation, dummies=0.5 * (parts - 1) / pages_per_block)
        case "random":
            return (
                random(utilisation) if parts == 1 else d_choices(1, utilisation, pages_per_block, parts=parts)
            )
        case "rga" if d is not None:
            return d_choices(d, utilisation, pages_per_block, parts=parts)
        case "rga":
            raise ValueError("`rga` needs its number of choices, d")
    raise ValueError(
        f"no theory for victim policy `{victim}`; expected one of `greedy`, `rga`, `fifo`, `random`"
    )


def valid_pages_per_victim(waf: float, pages_per_block: int) -> float:
    """Mean number of valid pages that a victim holds, in pages: ``b (1 - 1 / WAF)``.

    Each block is filled with the victim's valid pages and host writes, so the two say the same. Raises
    ``ValueError`` if ``waf`` < 1.
    """
    if not waf >= 1.0:
        raise ValueError(f"waf is {waf}; it cannot be below 1")
    return _checked_block(pages_per_block) * (1.0 - 1.0 / waf)


def _checked_utilisation(utilisation: float) -> float:
    if not 0.0 < utilisation < 1.0:
        raise ValueError(f"utilisation is {utilisation}; it must be above 0 and below 1")
    return utilisation


def _checked_block(pages_per_block: int) -> int:
    if pages_per_block < 2:
        raise ValueError(f"pages_per_block is {pages_per_block}; it must be at least 2")
    return pages_per_block


def _without_dummies(b: int) -> list[float]:
    """By number of pages, the probability that a block is filled with at least so many: all of them."""
    return [1.0] * (b + 1)


def _with_dummies(
    victims: Callable[[Sequence[float]], tuple[float, Mapping[int, float]]], b: int, parts: int
) -> float:
    """The rate of a model in which a block has the dummy units that the copies of the victim before it left.

    A victim with j valid units leaves ``-j mod parts``, so the probability that a block is filled with at least i
    units is that of a victim which leaves ``b - i`` of them at most. What the model says of its victims is put in again
    until it stays; half of each step is taken, for a greedy model has victims of two numbers alone.
    """
    if parts < 1 or b % parts:
        raise ValueError(f"parts is {parts}; it must divide pages_per_block, which is {b}")
    left = [1.0 / parts] * parts
    rate = 0.0
    for _ in range(200):
        entering = _without_dummies(b)
        for i in range(b - parts + 2, b + 1):
            entering[i] = sum(left[: b - i + 1])
        before, (rate, chosen) = rate, victims(entering)
        found = [0.0] * parts
        for j, chance in chosen.items():
            found[-j % parts] += chance
        left = [0.5 * (old + new) for old, new in zip(left, found, strict=True)]
        if abs(rate - before) <= 1e-12 * rate:
            break
    return rate


def _greedy_floor(rho: float, b: int, entering: Sequence[float]) -> tuple[int, float]:
    """The smallest valid count j of closed blocks under greedy, and the rate of `_solve_d_choices`.

    In the limit of many choices no block stays below j, and the balance gives ``m_i = e_i / (rate * i)`` above
    j, with e_i the fraction of blocks that were filled with i pages or more. What is left of the blocks is at j,
    and the valid pages must add up to ``rho * b``; both are linear in 1 / rate, which is thus known for each j. Only
    one j leaves a fraction at j that is neither negative nor above ``1 / (rate * j)``.
    """
    harmonic = filled = 0.0
    for j in range(b - 1, 0, -1):
        harmonic += entering[j + 1] / (j + 1)
        filled += entering[j + 1]
        inverse_rate = (rho * b - j) / (filled - j * harmonic)
        if 0.0 <= 1.0 - harmonic * inverse_rate <= inverse_rate / j:
            return j, 1.0 / inverse_rate
    return 0, 1.0 / rho


def _solve_d_choices(
    d: int, rho: float, b: int, skip_full: bool, entering: Sequence[float]
) -> tuple[float, list[float]]:
    """The steady state of d choices: the invalidation rate, and the fraction of blocks for each valid count.

    The rate is the mean number of invalidations per valid page between two victims, times the number of
    closed blocks: ``(b - mean valid pages of a victim) / (rho b)``, so that ``WAF = 1 / (rate * rho)``. The
    mean number of valid pages falls as the rate rises; bisection finds where it is ``rho * b``. The rate of
    random victims is the smallest possible and that of empty victims (WAF 1) the largest.
    """
    if d < 1:
        raise ValueError(f"d is {d}; it must be at least 1")
    # Blocks are filled with dummies in part, so less is freed; how much less the mean of `entering` says.
    low, high = (sum(entering[1:]) / b - _checked_utilisation(rho)) / rho, 1.0 / rho
    target = rho * _checked_block(b)
    while high - low > 1e-13 * high:
        rate = 0.5 * (low + high)
        mean = sum(i * fraction for i, fraction in enumerate(_balance(d, rate, b, skip_full, entering)))
        low, high = (rate, high) if mean > target else (low, rate)
    rate = 0.5 * (low + high)
    return rate, _balance(d, rate, b, skip_full, entering)


def _balance(d: int, rate: float, b: int, skip_full: bool, entering: Sequence[float]) -> list[float]:
    """Fractions m_0..m_b of blocks by valid count that balance at a given invalidation rate.

    Summing the balance of all states from i up gives, with S_i the fraction of blocks with i or more valid
    pages, ``rate * i * m_i = e_i - S_i ** d``: what falls below i by invalidation is one block per victim, if it was
    filled with as many, less the victims that were taken at i or above. From b downwards this is one equation in one
    unknown after the other. With `skip_full` the draw is among the blocks below b, so S is counted and normalised
    without m_b.
    """
    fractions = [0.0] * (b + 1)
    above, eligible, top = 0.0, 1.0, b
    if skip_full:
        fractions[b] = 1.0 / (rate * b)
        eligible, top = 1.0 - fractions[b], b - 1
        if eligible <= 0.0:
            fractions[b] = 1.0
            return fractions
    for i in range(top, 0, -1):
        fractions[i] = _fraction_at(d, rate * i * eligible, above / eligible, entering[i]) * eligible
        above += fractions[i]
    fractions[0] = max(0.0, eligible - above)
    return fractions


def _fraction_at(d: int, slope: float, above: float, entering: float) -> float:
    """The root m of ``slope * m + (above + m) ** d = entering`` in [0, 1 - above].

    The left side is increasing and convex in m, so Newton's steps from an upper bound descend onto the root.
    """
    m = max(0.0, min(1.0 - above, (entering - above**d) / slope))
    for _ in range(100):
        power = (above + m) ** (d - 1)
        step = (slope * m + power * (above + m) - entering) / (slope + d * power)
        m -= step
        if step <= 1e-15:
            break
    return max(0.0, m)


def _lambert_w0(z: float) -> float:
    """The principal branch of Lambert's W for -1/e <= z <= 0, by Halley's iteration.

    Started from the series around the branch point (Corless et al., "On the Lambert W function", 1996), which
    has the right side of the root over the whole range.
    """
    p = math.sqrt(max(0.0, 2.0 * (math.e * z + 1.0)))
    w = -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p**3
    for _ in range(50):
        exponential = math.exp(w)
        residual = w * exponential - z
        if w <= -1.0 or abs(residual) <= 1e-17:
            break
        step = residual / (exponential * (w + 1.0) - (w + 2.0) * residual / (2.0 * w + 2.0))
        w -= step
        if abs(step) <= 1e-15 * abs(w):
            break
    return w
