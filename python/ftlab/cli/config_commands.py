"""The commands about configurations: `ftlab presets`, `explain`, `config` and `completion`."""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from ftlab import _core
from ftlab._core import ConfigError, Error
from ftlab.api.configs import Source, config_argument, named
from ftlab.api.keys import flat, known, reference, scopes, told
from ftlab.api.simulation import Job
from ftlab.base.hints import nearest, one_of
from ftlab.cli import model
from ftlab.cli.glossary import GLOSSARY, term
from ftlab.cli.usage import Parser, add_command, at, plain, pointed
from ftlab.results import output, text

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


def add_presets(command: Parser) -> None:
    """Adds the arguments of `ftlab presets`."""
    command.runs(_presets)
    command.add_argument("name", type=plain, metavar="NAME", nargs="?", help="the preset to print as TOML")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_explain(command: Parser) -> None:
    """Adds the arguments of `ftlab explain`."""
    command.runs(_explain)
    command.add_argument(
        "key", type=plain, metavar="KEY", nargs="?",
        help="a key (ftl.victim), its last part (victim), a choice (ftl.victim.rga), a parameter (rga.d), or a word of "
        "the field (WAF); `model`: the parts of the model and their limits; without it, every key in a line, and "
        "the words",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_config(command: Parser) -> None:
    """Adds the actions of `ftlab config`."""
    command.description = "Check, show and compare configurations; nothing is run."
    actions = command.add_subparsers(metavar="ACTION", required=True, title="actions")
    check = add_command(actions, "check", "say whether configurations can be used")
    check.runs(_check)
    check.add_argument("configs", metavar="CONFIG", nargs="+", help="TOML files or names of presets")
    show = add_command(actions, "show", "print a configuration with every default filled in")
    show.runs(_show)
    show.add_argument("config", metavar="CONFIG", help="a TOML file or the name of a preset")
    diff = add_command(actions, "diff", "print where two configurations differ, defaults filled in")
    diff.runs(_diff)
    diff.add_argument("first", metavar="A", help="a TOML file or the name of a preset")
    diff.add_argument("second", metavar="B", help="another one")
    for action in (check, show, diff):
        action.add_argument(
            "--set", type=plain, action="append", default=[], metavar="KEY=VALUE", dest="sets",
            help="override a setting; may be repeated",
        )  # fmt: skip
    for action in (show, diff):
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_command(actions, "schema", "print the JSON schema of a configuration, for editors").runs(_schema)


def add_completion(command: Parser) -> None:
    """Adds the arguments of `ftlab completion`."""
    command.runs(_completion)
    command.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help=", ".join(SHELLS))


def _presets(options: argparse.Namespace) -> None:
    known = {name: (line, toml, of_paper) for name, line, toml, of_paper in _core.presets()}
    if options.name is None:
        if options.json:
            sys.stdout.write(
                output.json_text(
                    {"presets": [{"name": n, "doc": d, "paper": p} for n, (d, _, p) in known.items()]}
                )
            )
        else:
            groups = {"drives": False, "devices of papers": True}
            listed = [
                f"{title}\n"
                + text.columns(
                    [[name, line] for name, (line, _, paper) in known.items() if paper == of_papers],
                    indent="  ",
                )
                for title, of_papers in groups.items()
            ]
            sys.stdout.write("\n\n".join(listed) + "\n")
        return
    if options.name not in known:
        raise pointed(Parser.argv, at(options.name), f"unknown preset `{options.name}`", one_of(known),
                      nearest(options.name, known))  # fmt: skip
    toml = known[options.name][1]
    sys.stdout.write(output.json_text({"name": options.name, "toml": toml}) if options.json else toml)


def _explain(options: argparse.Namespace) -> None:
    keys = known()
    if options.key is None:
        if options.json:
            sys.stdout.write(output.json_text(reference()))
        else:
            rows = [[name, _first_sentence(key["doc"])] for name, key in keys.items()]
            sys.stdout.write(_table(rows))
            sys.stdout.write("\nwords of the field\n" + _wrapped(", ".join(GLOSSARY)) + "\n")
        return
    if options.key == "model":
        sys.stdout.write(output.json_text({"parts": scopes()}) if options.json else model.told(_width()))
        return
    try:
        name, rest = _key_of(options.key)
    except ConfigError:
        if (word := term(options.key)) is None:
            raise
        sys.stdout.write(_meaning(word, options.json))
        return
    key = keys[name]
    choices = {choice["name"]: choice for choice in key["choices"]}
    choice, _, parameter = rest.partition(".")
    if choice and choice not in choices:
        raise _unknown(options.key, [f"{name}.{each}" for each in choices] or [name])
    found = {each["name"]: each for each in choices[choice]["params"]} if choice else {}
    if parameter and parameter not in found:
        raise _unknown(options.key, [f"{name}.{choice}.{each}" for each in found] or [f"{name}.{choice}"])
    if options.json:
        described = found[parameter] if parameter else choices[choice] if choice else key
        sys.stdout.write(
            output.json_text({"key": options.key, **{k: v for k, v in described.items() if k != "key"}})
        )
    elif parameter:
        sys.stdout.write(_described(f"{name}.{choice}.{parameter}", found[parameter]))
    elif choice:
        sys.stdout.write(_described(f"{name}.{choice}", choices[choice]) + _parameters(choices[choice]))
    else:
        sys.stdout.write(_described(name, key) + _choices(key) + _left_out(name))


def _meaning(word: str, as_json: bool) -> str:
    """A word of the field."""
    meaning, key = GLOSSARY[word]
    if as_json:
        return output.json_text({"term": word, "meaning": meaning, "key": key or None})
    see = f"  see `ftlab explain {key}`\n" if key else ""
    return f"{word}\n{_wrapped(meaning)}\n{see}"


def _wrapped(words: str) -> str:
    return textwrap.fill(words, _width(), initial_indent="  ", subsequent_indent="  ")


def _first_sentence(doc: str) -> str:
    return re.split(r"(?<=\w)[.:;] ", doc, maxsplit=1)[0].rstrip(".")


def _key_of(word: str) -> tuple[str, str]:
    """The key that a word is or begins with, and what is behind it."""
    keys = known()
    if (full := named(word, keys)) in keys:
        return str(full), ""
    parts = word.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        if (full := named(".".join(parts[:cut]), keys)) in keys:
            return str(full), ".".join(parts[cut:])
    # `rga.d`: a parameter by its choice alone.
    of, _, parameter = word.partition(".")
    parameters = [
        key
        for key, entry in keys.items()
        for choice in entry["choices"]
        if choice["name"] == of and parameter in (each["name"] for each in choice["params"])
    ]
    if len(parameters) == 1:
        return parameters[0], word
    if parameters:
        raise pointed(Parser.argv, at(word), f"`{word}` is a parameter of choices of several keys",
                      one_of(f"{key}.{word}" for key in parameters))  # fmt: skip
    choices = [key for key, entry in keys.items() if word in (choice["name"] for choice in entry["choices"])]
    if len(choices) == 1:
        return choices[0], word
    if choices:
        raise pointed(Parser.argv, at(word), f"`{word}` is a choice of several keys",
                      one_of(f"{key}.{word}" for key in choices))  # fmt: skip
    raise _unknown(word, [*keys, *(key.rpartition(".")[2] for key in keys), *GLOSSARY])


def _unknown(word: str, names: list[str]) -> Exception:
    return pointed(Parser.argv, at(word), f"`{word}` is no key of a configuration",
                   "expected a key such as `ftl.victim`, or a word such as `WAF`; `ftlab explain` lists all",
                   nearest(word, names))  # fmt: skip


def _width() -> int:
    return min(100, shutil.get_terminal_size((80, 24)).columns)


def _table(rows: list[list[str]]) -> str:
    """Rows whose last cell is cut where the terminal ends."""
    lines = text.columns(rows).splitlines()
    width = _width()
    return "".join(f"{line if len(line) <= width else f'{line[: width - 1]}…'}\n" for line in lines)


def _described(name: str, entry: Mapping[str, Any]) -> str:
    lines = [name, *textwrap.wrap(entry["doc"], _width() - 2, initial_indent="  ", subsequent_indent="  ")]
    if "takes" in entry:
        lines += textwrap.wrap(f"takes {entry['takes']}", _width() - 2, initial_indent="  ", subsequent_indent="    ",
                               break_on_hyphens=False)  # fmt: skip
        lines.append(f"  default {entry['default']}")
    return "\n".join(lines) + "\n"


def _choices(key: Mapping[str, Any]) -> str:
    if not key["choices"]:
        return ""
    rows = {choice["name"]: choice["doc"] for choice in key["choices"]}
    parameters = [choice for choice in key["choices"] if choice["params"]]
    hint = (
        f"\n`ftlab explain {key['key']}.{parameters[0]['name']}` shows the parameters of a choice.\n"
        if parameters
        else ""
    )
    return "\nchoices\n" + text.listed(rows, _width()) + hint


def _left_out(key: str) -> str:
    sentences = model.left_out(key)
    if not sentences:
        return ""
    wrap = functools.partial(
        textwrap.fill, width=_width(), initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )
    return "\nnot modelled\n" + "".join(f"{wrap(sentence)}\n" for sentence in sentences)


def _parameters(choice: Mapping[str, Any]) -> str:
    if not choice["params"]:
        return ""
    rows = {
        each["name"]: f"{each['doc']} Takes {each['takes']}; default {each['default']}."
        for each in choice["params"]
    }
    return "\nparameters\n" + text.listed(rows, _width())


def _check(options: argparse.Namespace) -> None:
    errors = []
    for config in options.configs:
        try:
            resolved = _resolved(config, options.sets)
        except Error as error:
            errors.append(str(error))
            continue
        spare = text.percent(resolved["device"]["over_provisioning"])
        sys.stdout.write(
            f"{config}: fine; {text.capacity(resolved)} for the user, over-provisioning {spare}\n"
        )
    if errors:
        raise ConfigError("\n\n".join(errors))


def _show(options: argparse.Namespace) -> None:
    source = Source.of(config_argument(options.config))
    toml, resolved = _core.resolve(source.kind, source.text, options.sets)
    sys.stdout.write(output.json_text(json.loads(resolved)) if options.json else toml)


def _diff(options: argparse.Namespace) -> None:
    first, second = (
        dict(flat(_resolved(config, options.sets))) for config in (options.first, options.second)
    )
    rows = [
        [key, told(first.get(key)), told(second.get(key))]
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]
    if options.json:
        differences = {key: [first.get(key), second.get(key)] for key, *_ in rows}
        sys.stdout.write(
            output.json_text({"configs": [options.first, options.second], "differences": differences})
        )
    elif rows:
        sys.stdout.write(_side_by_side([["", options.first, options.second], *rows]) + "\n")
    else:
        sys.stdout.write("no difference\n")


def _side_by_side(rows: list[list[str]]) -> str:
    """A column of keys and two of values; long values go on below."""
    room = max(16, (_width() - max(len(key) for key, *_ in rows) - 4) // 2)
    lines = []
    for key, *values in rows:
        cells = [textwrap.wrap(value, room, break_on_hyphens=False) or [""] for value in values]
        lines += [list(line) for line in itertools.zip_longest([key], *cells, fillvalue="")]
    return text.columns(lines)


def _resolved(config: str, sets: list[str]) -> dict[str, Any]:
    return Job.of(config_argument(config), sets, None).resolve()


def _schema(_: argparse.Namespace) -> None:
    sys.stdout.write(output.json_text(schema()))


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration. Quantities are texts there; `config check` knows their units."""
    tables = {section["name"]: _object(section["doc"]) for section in reference()["sections"]}
    for name, table in tables.items():
        above, _, last = name.rpartition(".")
        if above:
            tables[above]["properties"][last] = table
    for key in reference()["keys"]:
        section, _, last = key["key"].rpartition(".")
        tables[section]["properties"][last] = {
            "description": f"{key['doc']} Default: {key['default']}",
            **key["schema"],
        }
    for section in reference()["sections"]:
        if section.get("is_array"):
            tables[section["name"]] = _array(section, tables)
    top = _object("A configuration of ftlab")
    presets = [name for name, *_ in _core.presets()]
    top["properties"] = {
        "preset": {"description": "What the configuration starts from", "enum": presets},
        **{name: table for name, table in tables.items() if "." not in name},
    }
    return {"$schema": SCHEMA_ID, "title": "ftlab configuration", **top}


def _array(section: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of `[[tenant]]`: keys of its own, those of a workload, and two of the host."""
    own, host = tables[section["name"]], tables["host"]["properties"]
    properties = own["properties"] | tables["workload"]["properties"]
    properties |= {name: host[name] for name in ("replay", "queue_depth")}
    item = {**own, "properties": properties, "required": ["name"]}
    return {"type": "array", "description": section["doc"], "minItems": 1, "items": item}


def _object(doc: str) -> dict[str, Any]:
    return {"type": "object", "description": doc, "additionalProperties": False, "properties": {}}


def _completion(options: argparse.Namespace) -> None:
    from ftlab.cli.main import parser

    sys.stdout.write(SHELLS[options.shell](parser().complete()))


def bash(top: argparse.ArgumentParser) -> str:
    """A script for bash: commands, their options, presets where a configuration goes, and keys after `--set`."""
    cases = "\n".join(
        f'        "{path}") words="{" ".join(words)}" ;;' for path, words in sorted(_words(top, "").items())
    )
    commands = "|".join(f'"{path}"' for path in sorted(_words(top, "")) if path)
    presets = " ".join(name for name, *_ in _core.presets())
    keys = " ".join(f"{key}=" for key in known())
    return (
        BASH.replace("CASES", cases)
        .replace("PRESETS", presets)
        .replace("KEYS", keys)
        .replace("COMMANDS", commands)
    )


def _words(parser: argparse.ArgumentParser, path: str) -> dict[str, list[str]]:
    """The words that may stand behind each command."""
    options = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    found = {path: options}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found[path] = [*action.choices, *options]
            for name, command in action.choices.items():
                found |= _words(command, f"{path} {name}".strip())
        elif action.choices is not None and not action.option_strings:
            found[path] = [*map(str, action.choices), *options]
    return found


def zsh(top: argparse.ArgumentParser) -> str:
    """A script for zsh, which runs the one for bash as zsh can."""
    return ZSH + bash(top).partition("\n")[2]


def fish(top: argparse.ArgumentParser) -> str:
    """A script for fish: the same words, with what each command and option is for."""
    lines = [FISH.replace("PRESETS", " ".join(name for name, *_ in _core.presets()))
             .replace("KEYS", " ".join(known()))]  # fmt: skip
    lines += _fish(top, ())
    return "\n".join(lines) + "\n"


def _fish(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> list[str]:
    at = f"complete -c ftlab -n '__ftlab_at {' '.join(path)}'".replace("at '", "at'")
    lines = []
    for action in parser._actions:
        for name in action.option_strings:
            if name.startswith("--"):
                takes = " -r" if action.nargs != 0 else ""
                lines.append(f"{at} -l {name[2:]}{takes}{_fish_doc(action.help)}")
        if isinstance(action, argparse._SubParsersAction):
            docs = {choice.dest: choice.help for choice in action._choices_actions}
            for name, command in action.choices.items():
                lines.append(f"{at} -f -a {name}{_fish_doc(docs.get(name))}")
                lines += _fish(command, (*path, name))
        elif action.choices is not None and not action.option_strings:
            lines.append(f"{at} -f -a '{' '.join(map(str, action.choices))}'")
        elif action.dest in ("config", "configs", "first", "second", "name") and not action.option_strings:
            lines.append(f"{at} -a '(__ftlab_presets)'")
        elif action.dest == "key":
            lines.append(f"{at} -f -a '(__ftlab_keys)'")
        elif action.dest in ("sets", "vary"):
            lines.append(f"{at} -l {action.option_strings[0][2:]} -x -a '(__ftlab_keys =)'")
    return lines


def _fish_doc(doc: str | None) -> str:
    if not doc or doc == argparse.SUPPRESS:
        return ""
    plain_doc = doc.replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'")
    return f" -d '{plain_doc}'"


SHELLS: dict[str, Callable[[argparse.ArgumentParser], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Shells that can be completed."""

ZSH = """\
#compdef ftlab
# Completes ftlab. In ~/.zshrc, behind `compinit`:  source <(ftlab completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""

FISH = """\
# Completes ftlab. In ~/.config/fish/config.fish:  ftlab completion fish | source
function __ftlab_presets
    string split ' ' -- 'PRESETS'
end
function __ftlab_keys
    for key in (string split ' ' -- 'KEYS')
        echo "$key$argv"
    end
end
# Whether the words so far are those of a command.
function __ftlab_at
    set -l words (commandline -opc)[2..-1]
    set -l path
    for word in $words
        string match -q -- '-*' $word; and break
        set path $path $word
        contains -- $path[1] trace config; or break
        test (count $path) -ge 2; and break
    end
    test "$path" = "$argv"
end
complete -c ftlab -f -n '__ftlab_at'"""

BASH = """\
# Completes ftlab. In ~/.bashrc:  source <(ftlab completion bash)
_ftlab() {
    local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i
    for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
        [[ ${COMP_WORDS[i]} == [a-z]* ]] || break
        case "${path:+$path }${COMP_WORDS[i]}" in
            COMMANDS)
                path="${path:+$path }${COMP_WORDS[i]}" ;;
            *) break ;;
        esac
        [[ $path == trace || $path == config ]] || break
    done
    case "$path" in
CASES
    esac
    case "$path" in
        run|compare|"config "*) words="$words PRESETS" ;;
        presets) words="$words PRESETS" ;;
    esac
    if [[ $previous == --set || $previous == --vary || $path == explain ]]; then
        words="KEYS"
        [[ $path == explain ]] && words="${words//=/}"
        compopt -o nospace 2>/dev/null
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ $word == -* || ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _ftlab ftlab
"""
