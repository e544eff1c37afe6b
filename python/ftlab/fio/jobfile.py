"""The syntax of fio's job files: sections, words and values, each with its line, for errors that point at it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.base.hints import nearest
from ftlab.fio.words import ALIASES, FLAGS, IGNORED, NEUTRAL, REFUSED, TAKEN

LONGEST = 1 << 20
"""Bytes of a job file at most; the longest of fio's examples has some thousands."""

KNOWN = {*TAKEN, *IGNORED, *NEUTRAL, *REFUSED, *ALIASES}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a job, as it is written."""

    key: str
    """Its name in the tables of words."""
    value: str | None
    """The text behind the `=`; `None` where there is none."""
    line: int
    """The line that it stands in, from 1."""
    text: str
    """That line."""


@dataclass(frozen=True, slots=True)
class Section:
    """A job: its name, its words, and those of the `[global]` sections before it."""

    name: str
    line: int
    words: dict[str, Word] = field(default_factory=dict)

    def value(self, key: str) -> str | None:
        """What is written behind a word; `None` where the word is not there."""
        word = self.words.get(key)
        return None if word is None else ("1" if word.value is None else word.value)

    def flag(self, key: str) -> bool:
        """True for a word that is there and not 0."""
        return (self.value(key) or "0") not in ("0", "false")


class JobFile:
    """A job file: its jobs in order, and how its errors look.

    Raises:
        InputError: it cannot be read, or is no job file; the error says where, and what would be right.
    """

    def __init__(self, text: str, name: str = "job file") -> None:
        self.name = name
        self.sections: list[Section] = []
        self.globals: dict[str, Word] = {}
        self._lines = text.split("\n")
        self._read()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> JobFile:
        """The job file at a path."""
        name = os.fspath(path)
        try:
            with Path(name).open("rb") as file:
                data = file.read(LONGEST + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"error: the job file {escape.terminal(name)} cannot be read: {why}") from None
        if len(data) > LONGEST:
            raise InputError(
                f"error: the job file {escape.terminal(name)} has more than {LONGEST:,} bytes; expected one of fio's"
            )
        try:
            return cls(data.decode("utf-8"), name)
        except UnicodeDecodeError as error:
            raise InputError(
                f"error: the job file {escape.terminal(name)} is not UTF-8 at byte {error.start}; expected text"
            ) from None

    def refusal(self, at: Word | int, message: str, expected: str = "", hint: str = "") -> InputError:
        """An error that points at a word, or at a line."""
        number = at if isinstance(at, int) else at.line
        line = self._lines[number - 1].rstrip() if 0 < number <= len(self._lines) else ""
        begin = len(line) - len(line.lstrip())
        shown = line[:160]
        mark = " " * begin + "^" * max(1, min(len(shown) - begin, 60))
        gap = " " * len(str(number))
        text = [
            f"error: {message}",
            f"{gap}--> {self.name}:{number}:{begin + 1}",
            f"{gap} |",
            f"{number} | {shown}",
            f"{gap} | {mark} {expected}".rstrip(),
        ]
        if hint:
            text.append(f"hint: {hint}")
        return InputError("\n".join(escape.terminal(part) for part in text))

    def _read(self) -> None:
        section: Section | None = None
        in_globals = False
        for number, line in enumerate(self._lines, 1):
            # A comment goes to the end of the line, wherever it begins.
            text = re.split("[;#]", line, maxsplit=1)[0].strip()
            if not text:
                continue
            if text.startswith("["):
                found = re.fullmatch(r"\[([^\]]+)\]", text)
                if not found:
                    raise self.refusal(number, f"`{text}` begins no section", "expected `[NAME]`")
                in_globals = found[1] == "global"
                if not in_globals:
                    section = Section(found[1], number, dict(self.globals))
                    self.sections.append(section)
                continue
            if text.split(None, 1)[0] == "include":
                raise self.refusal(number, f"`include` is not carried out: {REFUSED['include'][0]}",
                            f"expected: {REFUSED['include'][1]}")  # fmt: skip
            if section is None and not in_globals:
                raise self.refusal(
                    number,
                    f"`{text}` is in no section",
                    "expected `[global]` or the name of a job, `[NAME]`, before it",
                )
            word = self._word(number, text)
            words = self.globals if in_globals or section is None else section.words
            # The last of a key counts, as in fio.
            words[word.key] = word
        if not self.sections:
            raise self.refusal(
                len(self._lines), "there is no job", "expected a section `[NAME]` behind what is global"
            )

    def _word(self, number: int, text: str) -> Word:
        key, equals, value = (part.strip() for part in text.partition("="))
        if key not in KNOWN:
            raise self.refusal(number, f"unknown word `{key}`", "expected a word of fio's job files",
                        nearest(key, sorted(KNOWN)))  # fmt: skip
        key = ALIASES.get(key, key)
        taken = key in TAKEN and key not in FLAGS
        if taken and not (equals and value):
            raise self.refusal(number, f"`{key}` has no value", f"expected `{key}=VALUE`")
        word = Word(key, self._expanded(number, value) if equals else None, number, text)
        if key in TAKEN or key in IGNORED:
            return word
        if (word.value if word.value is not None else "1") in NEUTRAL.get(key, ()):
            return word
        reason, instead = REFUSED[key]
        shown = key if word.value is None else f"{key}={word.value}"
        raise self.refusal(number, f"`{shown}` is not carried out: {reason}", instead)

    def _expanded(self, number: int, value: str) -> str:
        """A value with the variables of the environment in it, `${NAME}`."""

        def of(found: re.Match[str]) -> str:
            if (text := os.environ.get(found[1])) is None:
                raise self.refusal(
                    number, f"the environment has no variable `{found[1]}`", "expected it to be set"
                )
            return text

        return re.sub(r"\$\{([^}]*)\}", of, value)
