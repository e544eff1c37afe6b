"""The commands about configurations: what they say is what the engine takes."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Ftlab

import ftlab as package
from ftlab.api.keys import known
from ftlab.base.quantities import in_bytes
from ftlab.cli import config_commands, init
from ftlab.cli.glossary import GLOSSARY, OTHERS, term
from ftlab.results import text


def test_explain_finds_keys_choices_and_parameters(ftlab: Ftlab) -> None:
    victim = ftlab("explain", "victim").stdout
    assert victim.startswith("ftl.victim\n") and "cost-benefit" in victim and 'default "greedy"' in victim
    assert "default 10" in ftlab("explain", "ftl.victim.rga.d").stdout
    parameters = " ".join(ftlab("explain", "victim.rga").stdout.split())
    assert "Takes a whole number from 1 to 65536; default 10." in parameters
    assert ftlab("explain", "op").stdout.startswith("device.over_provisioning\n")
    assert ftlab("explain", "rga").stdout == ftlab("explain", "ftl.victim.rga").stdout
    everything = ftlab("explain").stdout
    assert max(map(len, everything.splitlines())) <= 80
    assert all(key["key"] in everything for key in json.loads(ftlab("explain", "--json").stdout)["keys"])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("victm", "did you mean `victim`?"),
        ("ftl.victim.rg", "ftl.victim.rga"),
        ("ftl.victim.rga.e", "ftl.victim.rga.d"),
    ],
)
def test_explain_of_what_is_none(word: str, hint: str, ftlab: Ftlab) -> None:
    error = ftlab("explain", word, code=2).stderr
    assert f"`{word}` is no key of a configuration" in error and hint in error


def test_explain_says_what_a_part_of_the_model_leaves_out(ftlab: Ftlab) -> None:
    parts = json.loads(ftlab("explain", "model", "--json").stdout)["parts"]
    everything = " ".join(ftlab("explain", "model").stdout.split())
    for part in parts:
        assert f"+ {part['modelled']}" in everything
        assert all(f"- {sentence}" in everything for sentence in part["not_modelled"])
    cache = next(part for part in parts if part["keys"] == ["ftl.slc_cache"])
    of_key = " ".join(ftlab("explain", "slc_cache").stdout.partition("not modelled")[2].split())
    assert of_key == " ".join(f"- {sentence}" for sentence in cache["not_modelled"])


def test_explain_of_a_choice_of_several_keys_names_them(ftlab: Ftlab) -> None:
    error = ftlab("explain", "fifo", code=2).stderr
    assert "`fifo` is a choice of several keys" in error
    assert "`ftl.victim.fifo`" in error and "`ftl.write_buffer.fifo`" in error


def test_check_says_whether_a_configuration_can_be_used(ftlab: Ftlab, tiny: Path) -> None:
    assert "64 MiB for the user, over-provisioning 25.0 %" in ftlab("config", "check", tiny, "tbm").stdout
    error = ftlab("config", "check", tiny, "--set", "ftl.victim=gredy", code=2).stderr
    assert "did you mean `greedy`?" in error


def test_check_goes_on_behind_a_configuration_that_cannot_be_used(ftlab: Ftlab, tiny: Path) -> None:
    checked = ftlab("config", "check", "none.toml", tiny, "nowhere.toml", code=2)
    assert "64 MiB for the user" in checked.stdout
    assert "none.toml" in checked.stderr and "nowhere.toml" in checked.stderr


def test_what_show_prints_is_the_same_configuration(ftlab: Ftlab, tiny: Path) -> None:
    shown = ftlab("config", "show", tiny, "--set", "ftl.victim=fifo").stdout
    assert package.resolve(shown) == package.resolve(tiny, sets={"ftl.victim": "fifo"})
    assert json.loads(ftlab("config", "show", tiny, "--json").stdout) == package.resolve(tiny)


def test_diff_tells_what_differs_and_nothing_else(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(tiny.read_text(encoding="utf-8") + "\n[ftl]\nvictim.rga.d = 4\n", encoding="utf-8")
    *_, row = ftlab("config", "diff", tiny, other).stdout.splitlines()
    assert row.split() == ["ftl.victim", "greedy", "rga(d=4)"]
    lines = ftlab("config", "diff", "tbm", "client-tlc").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "power_loss=volatile" in "".join(line[40:].strip() for line in lines)
    found = json.loads(ftlab("config", "diff", tiny, other, "--json").stdout)["differences"]
    assert found == {"ftl.victim": ["greedy", {"rga": {"d": 4}}]}
    assert ftlab("config", "diff", tiny, tiny).stdout == "no difference\n"


TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": int | float,
}  # fmt: skip


def accepted(schema: dict[str, Any], value: Any) -> bool:
    """The part of JSON schema that is in use."""
    if "anyOf" in schema:
        return any(accepted(option, value) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[kind]) for kind in kinds) or (
        isinstance(value, bool) and "boolean" not in kinds
    ):
        return False
    if isinstance(value, str) and "pattern" in schema:
        return re.search(schema["pattern"], value) is not None
    if isinstance(value, dict):
        inner = schema["properties"]
        return all(name in inner and accepted(inner[name], part) for name, part in value.items())
    if isinstance(value, list):
        return all(accepted(schema["items"], part) for part in value)
    if isinstance(value, int | float):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def test_the_schema_takes_every_preset_and_refuses_other_keys(tiny: Path) -> None:
    schema = config_commands.schema()
    for name, toml in package.presets().items():
        assert accepted(schema, tomllib.loads(toml)), name
        assert accepted(schema, package.resolve(name)), name
    own = tomllib.loads(tiny.read_text(encoding="utf-8"))
    assert accepted(schema, {**own, "preset": "tbm", "ftl": {"victim": {"rga": {"d": 4}}}})
    assert accepted(schema, {"ftl": {"victim": "mine.py:Greedy"}})
    refused: list[dict[str, Any]] = [
        {"ftl": {"mapping": "mine.py:Greedy"}},
        {"devise": {}}, {"device": {"chanels": 4}}, {"ftl": {"victim": "gredy"}}, {"preset": "tmb"},
        {"ftl": {"victim": {"rga": {"e": 4}}}}, {"device": {"channels": 0}}, {"run": {"seed": "x"}},
    ]  # fmt: skip
    for wrong in refused:
        assert not accepted(schema, wrong), wrong


def completed(script: str, *words: str) -> list[str]:
    asked = " ".join(f'"{word}"' for word in words)
    shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
    command = f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _ftlab; {shown}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_presets_and_keys(ftlab: Ftlab) -> None:
    script = ftlab("completion", "bash").stdout
    assert completed(script, "ftlab", "sw") == ["sweep"]
    assert completed(script, "ftlab", "config", "sh") == ["show"]
    assert completed(script, "ftlab", "run", "tbm-s") == ["tbm-small"]
    assert completed(script, "ftlab", "compare", "tbm", "--va") == ["--vary"]
    assert completed(script, "ftlab", "trace", "info", "--sk") == ["--skip-bad"]
    assert completed(script, "ftlab", "run", "tbm", "--set", "ftl.vi") == ["ftl.victim="]
    assert completed(script, "ftlab", "explain", "run.ex") == ["run.executor"]
    assert completed(script, "ftlab", "reproduce", "gcm") == ["gcmix"]


SMALL = ("--capacity", "1GiB", "--channels", "1", "--chips", "1", "--planes", "2", "--pages-per-block", "96")


def test_explain_knows_the_words_of_the_field(ftlab: Ftlab) -> None:
    shown = ftlab("explain", "WAF").stdout
    assert (
        shown.startswith("WAF\n  Write amplification factor")
        and "see `ftlab explain device.over_prov" in shown
    )
    assert ftlab("explain", "write-amplification").stdout == shown
    assert json.loads(ftlab("explain", "tPROG", "--json").stdout)["key"] == "device.timing.program"
    # Keys, their last parts and choices come first.
    assert ftlab("explain", "victim").stdout == ftlab("explain", "ftl.victim").stdout
    assert "a word such as `WAF`" in ftlab("explain", "WAV", code=2).stderr
    assert "words of the field" in ftlab("explain").stdout
    assert all(key in known() for _, key in GLOSSARY.values() if key)
    assert all(term(word.upper()) == name for word, name in OTHERS.items())
    assert all(term(word) == word for word in GLOSSARY)


def test_explain_finds_a_parameter_by_its_choice(ftlab: Ftlab) -> None:
    assert ftlab("explain", "rga.d").stdout == ftlab("explain", "ftl.victim.rga.d").stdout
    assert "`rga.e` is no key" in ftlab("explain", "rga.e", code=2).stderr


def test_a_capacity_is_said_in_the_unit_that_it_was_given_in() -> None:
    def said(capacity: str) -> str:
        return text.capacity({"device": {"user_capacity": capacity}})

    assert said("512GiB") == "512 GiB" and said("15GiB") == "15 GiB"
    # 500 GB in whole pages of 16 KiB.
    assert said("488281264KiB") == "500 GB" and said("937500000KiB") == "960 GB"


def test_init_writes_a_configuration_that_runs_and_overwrites_nothing(ftlab: Ftlab, tmp_path: Path) -> None:
    told = ftlab(
        "init", "own.toml", *SMALL, "--t-read", "45us,55us,70us", "--t-program", "700us", "--op", "12%"
    ).stdout
    assert "1 GiB for the user" in told and "next: `ftlab run own.toml`" in told
    device = package.resolve(tmp_path / "own.toml")["device"]
    assert (
        device["timing"]["read"] == ["45us", "55us", "70us"] and device["timing"]["program"] == ["700us"] * 3
    )
    assert (device["channels"], device["planes_per_die"], device["page_size"]) == (1, 2, "16KiB")
    assert device["over_provisioning"] >= 0.12
    ftlab("config", "check", "own.toml")
    few = ("--set", "workload.volume=0.1x", "--set", "run.precondition=none")
    assert "IOPS" in ftlab("run", "own.toml", *few).stdout
    first = (tmp_path / "own.toml").read_text(encoding="utf-8")
    refused = ftlab("init", "own.toml", *SMALL, code=2).stderr
    assert "own.toml is there already" in refused and "`--force` replaces it" in refused
    assert (tmp_path / "own.toml").read_text(encoding="utf-8") == first
    ftlab("init", "own.toml", *SMALL, "--force", "--trace", "io.csv")
    second = (tmp_path / "own.toml").read_text(encoding="utf-8")
    assert 'trace = "io.csv"' in second and "generator" not in second
    # Every key has a word to it.
    keys = [line for line in second.splitlines() if " = " in line]
    assert len(keys) > 25 and all(" # " in line for line in keys if "trace =" not in line)


def test_init_refuses_what_no_device_has_and_leaves_no_file(ftlab: Ftlab, tmp_path: Path) -> None:
    for words, said in (
        (("--planes", "40"), "found 40; expected a whole number from 1 to 16"),
        (("--t-read", "50"), "no unit; expected one of `ns`, `us`, `ms`, `s`"),
        (("--capacity", "8GiB", "--op", "7%"), "fewer `--channels`"),
        (("--op", "7"), "`7` means 700 %; expected `7%`"),
        ((), "no numbers, and no terminal to ask for them"),
    ):
        assert said in ftlab("init", "x.toml", *words, code=2).stderr
    assert "cannot be written" in ftlab("init", "nowhere/x.toml", *SMALL, code=2).stderr
    assert not list(tmp_path.glob("**/*ftlab-init*")) and not (tmp_path / "x.toml").exists()


def test_a_capacity_of_a_datasheet_is_rounded_up_to_pages() -> None:
    for said, pages in (("1TB", 61035157), ("0.5 TB", 30517579)):
        toml = init.written({"device.user_capacity": said})
        assert in_bytes(package.resolve(toml)["device"]["user_capacity"]) == pages * 16384
        assert f"# {said}, in whole pages" in toml
    assert "whole pages" not in init.written({"device.user_capacity": "960GB"})


def test_init_asks_again_for_what_cannot_be_used() -> None:
    answers = iter(["1", "1", "", "40", "2", "", "", "", "x", "8GiB", "12", "12%", "", "", "", ""])
    given = init.ask(lambda _: next(answers))
    assert given["device.planes_per_die"] == "2" and given["device.over_provisioning"] == "12%"
    assert package.resolve(init.written(given))["device"]["channels"] == 1


def test_zsh_and_fish_have_the_same_words(ftlab: Ftlab) -> None:
    zsh, fish = ftlab("completion", "zsh").stdout, ftlab("completion", "fish").stdout
    assert (
        zsh.startswith("#compdef ftlab")
        and "bashcompinit" in zsh
        and "complete -o filenames -F _ftlab" in zsh
    )
    assert "-n '__ftlab_at' -f -a sweep -d 'run many configurations" in fish
    assert "-n '__ftlab_at trace info' -l skip-bad -d" in fish
    assert "-n '__ftlab_at run' -a '(__ftlab_presets)'" in fish
    assert "-n '__ftlab_at compare' -l vary -r" in fish and "ftl.victim" in fish
    assert "-n '__ftlab_at reproduce' -f -a 'tbm" in fish
