"""The syntax of fio's job files: sections, words and values, each with its line, for errors that point at it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.base.hints import nearest
from ftlab.fio import options
from ftlab.fio.quantities import replaced

LONGEST = 1 << 24
"""Bytes of a job file at most; ScyllaDB's have 500,000."""

DEEPEST = 16
"""Files that include each other, at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    name: str
    """The file."""
    number: int
    """From 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a job, as it is written."""

    key: str
    """Its name in the table of options."""
    value: str | None
    """The text behind the `=`; `None` where there is none."""
    line: Line
    """The line that it stands in."""
    written: str
    """Its name as it is written."""


@dataclass(frozen=True, slots=True)
class Section:
    """A job: its name, its words, and those of the `[global]` sections before it."""

    name: str
    line: Line
    words: dict[str, Word] = field(default_factory=dict)

    def value(self, key: str) -> str | None:
        """What is written behind a word; `None` where the word is not there."""
        word = self.words.get(key)
        return None if word is None else ("1" if word.value is None else word.value)

    def flag(self, key: str) -> bool:
        """True for a word that is there and not 0."""
        return (self.value(key) or "0") not in ("0", "false")

    @property
    def job_name(self) -> str:
        """The name of the job: that of the section, or what `name` says."""
        return self.value("name") or self.name


class JobFile:
    """A job file: its jobs in order, and how its errors look.

    Words are looked at when a job is asked for (:meth:`checked`): one job of a file can be run whatever the others say.

    Raises:
        InputError: it cannot be read, or is no job file; the error says where, and what would be right.
    """

    def __init__(self, text: str, name: str = "job file") -> None:
        self.name = name
        self.sections: list[Section] = []
        self.globals: dict[str, Word] = {}
        self.is_global = False
        self._section: Section | None = None
        self._in_globals = False
        lines = self._lines(text, name)
        for line in lines:
            self._read(line, 0)
        if not self.sections and self.globals:
            # Tools that write job files add a section for each drive; here there is one drive.
            first = next(iter(self.globals.values())).line
            self.is_global = True
            self.sections.append(Section(Path(name).stem, first, dict(self.globals)))
        if not self.sections:
            raise self.refusal(lines[-1], "there is no job", "expected a section `[NAME]` with its words")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> JobFile:
        """The job file at a path."""
        name = os.fspath(path)
        return cls(_text(name), name)

    @staticmethod
    def refusal(at: Word | Line, message: str, expected: str = "", hint: str = "") -> InputError:
        """An error that points at a word, or at a line."""
        place = at if isinstance(at, Line) else at.line
        line = place.text.rstrip()
        begin = len(line) - len(line.lstrip())
        shown = line[:160]
        mark = " " * begin + "^" * max(1, min(len(shown) - begin, 60))
        gap = " " * len(str(place.number))
        text = [
            f"error: {message}",
            f"{gap}--> {place.name}:{place.number}:{begin + 1}",
            f"{gap} |",
            f"{place.number} | {shown}",
            f"{gap} | {mark} {expected}".rstrip(),
        ]
        if hint:
            text.append(f"hint: {hint}")
        return InputError("\n".join(escape.terminal(part) for part in text))

    def checked(self, section: Section) -> Section:
        """A section whose words are carried out or no matter, with what the environment puts into their values.

        Raises:
            InputError: a word is none of fio's, or is not carried out.
        """
        found = {}
        for word in section.words.values():
            if (option := options.table().get(word.key)) is None:
                if options.is_external(section.value("ioengine") or ""):
                    continue
                raise self.refusal(
                    word, f"unknown word `{word.written}`: fio has no such option",
                    "expected one of fio's options", nearest(word.written, sorted(options.names())),
                )  # fmt: skip
            if option.fate == options.NO_MATTER:
                found[word.key] = word
                continue
            # Which drive it is, is no matter: its name may come from an environment that is not here.
            needs_value = word.key != "filename"
            value = (
                None if word.value is None else replaced(self._expanded(word)) if needs_value else word.value
            )
            if option.fate == options.REFUSED:
                if option.asks_for_nothing("1" if value is None else value):
                    continue
                shown = word.written if value is None else f"{word.written}={value}"
                raise self.refusal(
                    word, f"`{shown}` is not carried out: {option.meaning}", f"expected: {option.instead}"
                )
            if value in (None, "") and option.kind not in ("set", "flag"):
                raise self.refusal(word, f"`{word.written}` has no value", f"expected `{word.written}=VALUE`")
            found[word.key] = Word(word.key, value, word.line, word.written)
        return Section(section.name, section.line, found)

    @staticmethod
    def _lines(text: str, name: str) -> list[Line]:
        return [Line(name, number, line) for number, line in enumerate(text.split("\n"), 1)]

    def _read(self, line: Line, depth: int) -> None:
        # A comment goes to the end of the line, wherever it begins.
        text = re.split("[;#]", line.text, maxsplit=1)[0].strip()
        if not text:
            return
        if text.startswith("["):
            self._begin(line, text, depth)
        elif text.split(None, 1)[0] == "include":
            self._include(line, text[len("include") :].strip(), depth)
        elif self._section is None and not self._in_globals:
            raise self.refusal(
                line,
                f"`{text}` is in no section",
                "expected `[global]` or the name of a job, `[NAME]`, before it",
            )
        else:
            word = self._word(line, text)
            words = self.globals if self._in_globals or self._section is None else self._section.words
            # The last of a key counts, as in fio.
            words.pop(word.key, None)
            words[word.key] = word

    def _begin(self, line: Line, text: str, depth: int) -> None:
        found = re.fullmatch(r"\[(.+)\]", text)
        if not found:
            raise self.refusal(line, f"`{text}` begins no section", "expected `[NAME]`")
        if depth:
            raise self.refusal(line, "a file that is included has no sections", "expected words alone")
        self._in_globals = found[1].startswith("global")
        if not self._in_globals:
            self._section = Section(found[1], line, dict(self.globals))
            self.sections.append(self._section)

    def _include(self, line: Line, name: str, depth: int) -> None:
        if not name:
            raise self.refusal(line, "`include` names no file", "expected `include FILE`")
        if depth >= DEEPEST:
            raise self.refusal(
                line, "files include each other without an end", "expected a file that does not"
            )
        # As fio looks for it: here, or beside the file that includes it.
        path = name if Path(name).exists() else str(Path(line.name).parent / name)
        try:
            text = _text(path)
        except InputError as error:
            why = str(error).partition(": ")[2].splitlines()[0]
            raise self.refusal(
                line,
                f"`include` cannot be followed: {why}",
                "expected a file of words, here or beside this one",
            ) from None
        for each in self._lines(text, path):
            self._read(each, depth + 1)

    def _word(self, line: Line, text: str) -> Word:
        written, equals, value = (part.strip() for part in text.partition("="))
        # What fio does not know is told of the jobs that are run.
        return Word(options.names().get(written, f"?{written}"), value if equals else None, line, written)

    def _expanded(self, word: Word) -> str:
        """A value with the variables of the environment in it, `${NAME}`."""

        def of(found: re.Match[str]) -> str:
            if (text := os.environ.get(found[1])) is None:
                raise self.refusal(
                    word,
                    f"the environment has no variable `{found[1]}`",
                    f"expected it to be set: `{found[1]}=… ftlab run …`",
                )
            return text

        return re.sub(r"\$\{([^}]*)\}", of, word.value or "")


def _text(name: str) -> str:
    """The text of a file."""
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
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"error: the job file {escape.terminal(name)} is not UTF-8 at byte {error.start}; expected text"
        ) from None
