"""Does a policy of your own keep its word? A class in Python is held to what the engine's own policies are held to."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any

from ftlab import _core
from ftlab._core import ConfigError, Error, RunError
from ftlab.api import own_policies
from ftlab.api.simulation import run

LIVES = 5
"""Lives of units at random; of 3,000 steps each."""

DEVICES = 6
"""Small devices at random, under both executors each."""

SOURCES: tuple[dict[str, Any], ...] = (
    {"generator": "uniform"},
    {"generator": {"hot-cold": {}}},
    {"generator": "mixed"},
)

SURROUNDINGS: tuple[dict[str, Any], ...] = (
    {},
    {"separation": "host-gc"},
    {"reclaim_unit": "twin"},
    {"gc_schedule": "background"},
)


def check_policy(policy: Any, *, say: Callable[[str], object] = print) -> None:
    """Holds a policy to its word, and says what was checked.

    A victim policy first goes through units that are filled, lose pages and are collected at random. Then it runs on
    small devices at random, under both executors, with pages that carry stamps and with all checks of the whole state:
    no data may be lost, and the run has to come to its end. The same run twice has to give the same.

    Args:
        policy: the class, an object of it, or its name, such as `"my_policy.py:Greedy"`.
        say: what hears of each check.

    Raises:
        ConfigError: it is no policy.
        RunError: it failed a check.
    """
    name = policy if isinstance(policy, str) else _named(policy)
    key = _key_of(name)
    if key == "victim":
        found, _, _ = own_policies.find(key, name)
        choices = _core.conform_victim(name, found, LIVES)
        say(
            f"units at random: {choices:,} steps in {LIVES} lives, every choice one of the full blocks of its plane"
        )
    _check_devices(key, name, say)
    say(f"{name} keeps its word")


def _named(policy: Any) -> str:
    if not own_policies.is_policy(policy):
        raise ConfigError(
            f"error: {policy!r} is no policy\n"
            f"hint: expected {own_policies.EXAMPLES['victim']}, or {own_policies.EXAMPLES['allocation']}"
        )
    return own_policies.name_of(policy)


def _key_of(name: str) -> str:
    """The seam that a policy is for."""
    found = {key: own_policies.find(key, name) for key in own_policies.METHODS}
    for key, (policy, _, _) in found.items():
        if policy is not None:
            return key
    _, message, hint = found["victim"]
    raise ConfigError(f"error: {message}\nhint: {hint}")


def _check_devices(key: str, name: str, say: Callable[[str], object]) -> None:
    for number in range(DEVICES):
        config = _device(random.Random(number), key, name)
        shape = config["device"]
        planes = shape["channels"] * shape["planes_per_die"]
        words = f"{planes} planes of {shape['blocks_per_plane']} blocks of {shape['pages_per_block']} pages"
        told = []
        for executor in ("count", "timed"):
            summary = _run(_under(executor, config), words)
            told.append(f"{executor} WAF {summary['waf']:.3f}")
        say(
            f"device {number + 1} of {DEVICES}: {words}, {_surroundings(config, key)}: {', '.join(told)}; no data lost"
        )
    again = [_run(_under("count", config), words) for _ in range(2)]
    if any(again[0][figure] != again[1][figure] for figure in ("waf", "flash", "gc", "wear")):
        raise RunError(
            f"error: the policy `{name}` gives other results each time, with the same seed\n"
            "hint: take random numbers from `random.Random(device.seed)`, made in `start(self, device)`; do not go by "
            "the order of a set, by `id()` or by the clock"
        )
    say("the same run twice: the same results")


def _device(dice: random.Random, key: str, name: str) -> dict[str, Any]:
    surroundings = dice.choice(SURROUNDINGS)
    return {
        "device": {
            "channels": dice.choice((1, 2)),
            "chips_per_channel": 1,
            "dies_per_chip": 1,
            "planes_per_die": 2,
            "blocks_per_plane": dice.randrange(20, 33),
            "pages_per_block": dice.choice((8, 16)),
            "page_size": "4KiB",
            "over_provisioning": dice.choice((0.25, 0.4)),
        },
        "ftl": {"allocation": "CWDP", **surroundings, key: name},
        "workload": {**dice.choice(SOURCES), "request_size": "4KiB", "volume": "4x"},
        "run": {"seed": dice.randrange(1000), "checks": "full", "payload": "stamp", "precondition": "none"},
    }


def _under(executor: str, config: dict[str, Any]) -> dict[str, Any]:
    """The device under an executor; without time no collection fills idle time."""
    chosen = {
        key: choice for key, choice in config["ftl"].items() if executor == "timed" or key != "gc_schedule"
    }
    return {**config, "ftl": chosen, "run": {**config["run"], "executor": executor}}


def _surroundings(config: dict[str, Any], key: str) -> str:
    words = [
        f"{name} {_word(value)}" for name, value in config["ftl"].items() if name not in (key, "allocation")
    ]
    return ", ".join([_word(config["workload"]["generator"]), *words])


def _word(choice: Any) -> str:
    return choice if isinstance(choice, str) else str(next(iter(choice)))


def _run(config: dict[str, Any], words: str) -> dict[str, Any]:
    try:
        return run(config).summary
    except Error as error:
        raise type(error)(f"{error}\nnote: on a device of {words}, {config['run']['executor']}") from error


def main() -> int:
    """`python -m ftlab.testing my_policy.py:Greedy`."""
    parser = argparse.ArgumentParser(
        prog="python -m ftlab.testing", description="Does a policy of your own keep its word?"
    )
    parser.add_argument("policy", metavar="FILE.py:CLASS")
    try:
        check_policy(parser.parse_args().policy)
    except Error as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, RunError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
