"""Policies of a user's own: classes in Python that stand where the name of a policy stands.

A configuration names one as `FILE.py:NAME` or `MODULE:NAME`, where `NAME` is a class or an object; a class may have
parameters, `FILE.py:NAME(w=4)`. The file is code, and is run. In Python the class
or the object itself may be given; what is not to be found by its name then, such as a class inside a function, is kept
here under one.
"""

from __future__ import annotations

import array
import ast
import copy
import hashlib
import importlib
import importlib.util
import inspect
import linecache
import re
import sys
import threading
import traceback
import uuid
from functools import partial, reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from ftlab import _core
from ftlab._core import RunError
from ftlab.base import arguments

METHODS = {"victim": "choose", "allocation": "plane"}
"""The methods that a policy has to have, by the key under `[ftl]`."""

SIGNATURES = {"choose": "choose(self, blocks, now)", "plane": "plane(self, page)"}

EXAMPLES = {
    "victim": "a class with a method `choose(self, blocks, now)` that returns one of the blocks",
    "allocation": "a class with a method `plane(self, page)` that returns the number of a plane",
}

_given: dict[str, Any] = {}
"""Policies that were given themselves and cannot be found by name."""

_files: dict[str, tuple[str, ModuleType]] = {}
"""The modules of files, each with the digest of its text."""

_loading = threading.RLock()


def is_policy(value: object) -> bool:
    """True for a policy of the user's own, a class or an object."""
    kind = value if isinstance(value, type) else type(value)
    # Written in Python: a NumPy array has a method `choose` too.
    return any(inspect.isfunction(getattr(kind, method, None)) for method in METHODS.values())


def name_of(policy: Any) -> str:
    """The name under which a configuration finds a policy that is given itself."""
    kind = policy if isinstance(policy, type) else type(policy)
    if kind is policy and _attribute(sys.modules.get(kind.__module__), kind.__qualname__) is policy:
        return f"{kind.__module__}:{kind.__qualname__}"
    name = f"{kind.__module__}:{kind.__qualname__.rpartition('<locals>.')[2]}"
    if kind is not policy:
        state = getattr(policy, "__dict__", {})
        plain = [f"{key}={value!r}" for key, value in state.items() if isinstance(value, int | float | str)]
        name += f"({', '.join(plain)})"
    with _loading:
        free, count = name, 1
        while _given.setdefault(free, policy) is not policy:
            count += 1
            free = f"{name} {count}"
    return free


def names_own(value: object) -> bool:
    """True for a value of a resolved configuration that names a policy of the user's own."""
    return isinstance(value, str) and ":" in value


def digest(name: str) -> str:
    """A mark that tells the code of a policy from other code; of code that lies in no file it is never the same."""
    place, _, _ = _parts(name)
    file = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    if name in _given or file is None:
        return uuid.uuid4().hex
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        # Whoever runs it says so.
        return ""


def find(key: str, name: str) -> tuple[Any, str, str]:
    """The policy of that name for a seam; if there is none, why, and what would be right."""
    place, attribute, parameters = _parts(name)
    if name in _given:
        parameters = None
    try:
        with _loading:
            policy = _given[name] if name in _given else _found(place, attribute)
            values = None if parameters is None else _values(parameters)
    except _Missing as missing:
        return None, *missing.args
    # `sys.exit()` would end the process as if all were well.
    except (Exception, SystemExit) as error:
        return None, f"`{place}` cannot be loaded: {_words(error)}{_in_line(error)}", "mend that line"
    method = METHODS[key]
    if not callable(getattr(policy, method, None)):
        return None, f"`{name}` is no {key} policy: it has no method `{method}`", f"expected {EXAMPLES[key]}"
    if not isinstance(policy, type):
        if values is None:
            return policy, "", ""
        return (
            None,
            f"`{place}:{attribute}` is an object, and `{name}` gives it parameters",
            f"expected a class, or `{place}:{attribute}`",
        )
    arguments, keywords = values or ((), {})
    problem = _takes_others(policy, arguments, keywords, f"{place}:{attribute}")
    if problem is not None:
        return None, f"`{name}` {problem[0]}", problem[1]
    return policy if values is None else partial(policy, *arguments, **keywords), "", ""


CALL = re.compile(r"(?P<place>.+?):(?P<attribute>[\w.]+)\((?P<parameters>.*)\)", re.DOTALL)
"""`FILE.py:CLASS(w=4)`."""


def _parts(name: str) -> tuple[str, str, str | None]:
    """Of a policy's name the file or module, what it is called there, and its parameters."""
    if call := CALL.fullmatch(name):
        return call["place"], call["attribute"], call["parameters"]
    place, _, attribute = name.rpartition(":")
    return place, attribute, None


def _values(parameters: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Parameters as they stand in a name: values of Python, and nothing to be computed."""
    try:
        call = ast.parse(f"f({parameters})", mode="eval").body
        assert isinstance(call, ast.Call)
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        if None not in named:
            return tuple(map(ast.literal_eval, call.args)), {str(key): value for key, value in named.items()}
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        pass
    raise _Missing(
        f"the parameters `({parameters})` cannot be read",
        "expected values of Python, as in `(w=4)` or `(0.5, 'all')`",
    )


class _Missing(Exception):
    """There is no such policy: what was found, and what would be right."""


def _found(place: str, attribute: str) -> Any:
    module = _module_of_file(Path(place)) if place.endswith(".py") else _module(place)
    policy = _attribute(module, attribute)
    if policy is None:
        there = [
            name for name, value in vars(module).items() if is_policy(value) and not name.startswith("_")
        ]
        names = (
            ", ".join(f"`{place}:{name}`" for name in there)
            if there
            else "a class with the methods of a policy"
        )
        raise _Missing(f"there is no `{attribute}` in `{place}`", f"expected {names}")
    return policy


def _attribute(module: object, path: str) -> Any:
    return reduce(lambda value, name: getattr(value, name, None), path.split("."), module)


def _module_of_file(path: Path) -> ModuleType:
    """The module of a file, loaded anew when its text has changed."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise _Missing(
            f"the file `{path}` of a policy of your own cannot be read: {error.strerror}",
            "expected `FILE.py:CLASS`, relative to the working directory",
        ) from None
    full, found = str(path.resolve()), hashlib.sha256(text).hexdigest()
    if full in _files and _files[full][0] == found:
        return _files[full][1]
    spec = importlib.util.spec_from_loader(
        f"ftlab_own_{hashlib.sha256(full.encode()).hexdigest()[:12]}", None
    )
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    # Data classes and the like look their module up.
    sys.modules[spec.name] = module
    linecache.checkcache(str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    _files[full] = (found, module)
    return module


def _module(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise _Missing(
            f"there is no module `{name}` for a policy of your own",
            "expected `FILE.py:CLASS`, or `MODULE:CLASS` with a module that Python can import",
        ) from None


def _takes_others(
    kind: type, arguments: tuple[Any, ...], keywords: dict[str, Any], name: str
) -> tuple[str, str] | None:
    """The error of a class that cannot be called with these parameters."""
    try:
        signature = inspect.signature(kind)
        signature.bind(*arguments, **keywords)
    except ValueError:
        return None
    except TypeError as error:
        if arguments or keywords:
            return f"cannot be made: {error}", f"expected the parameters of `{name}{signature}`"
        return (
            f"cannot be made without arguments: {error}",
            f"give them, as in `{name}{_example(signature)}`, or give them defaults in the class",
        )
    return None


def _example(signature: inspect.Signature) -> str:
    """A call with all that has no default."""
    needed = (
        parameter.name for parameter in signature.parameters.values() if parameter.default is parameter.empty
    )
    return f"({', '.join(f'{parameter}=…' for parameter in needed)})"


def made(policy: Any, device: _core.Device) -> Any:
    """A policy of its own for one device: a class is called, an object copied as it was given."""
    own = policy() if isinstance(policy, type | partial) else copy.deepcopy(policy)
    if hasattr(own, "start"):
        own.start(device)
    return own


def planes(
    name: str, policy: Any, device: _core.Device, pages: int, most: int
) -> tuple[bytes | None, str, str]:
    """The plane of each logical page, as words of 32 bits; or what is wrong, and what would be right."""
    try:
        plane_of = made(policy, device).plane
        table = array.array("I", bytes(4 * pages))
        for page in range(pages):
            plane = plane_of(page)
            if not isinstance(plane, int) or isinstance(plane, bool) or not 0 <= plane < device.planes:
                return (
                    None,
                    f"`{name}` gives page {page} the plane {plane!r}",
                    f"expected a whole number from 0 to {device.planes - 1}: the device has {device.planes} planes",
                )
            table[page] = plane
    except (Exception, SystemExit) as error:
        return None, f"`{name}` raised {_words(error)}{_in_line(error)}", f"expected {EXAMPLES['allocation']}"
    counts = [0] * device.planes
    for plane in table:
        counts[plane] += 1
    fullest = max(range(device.planes), key=counts.__getitem__)
    if counts[fullest] > most:
        return (
            None,
            f"`{name}` gives plane {fullest} {counts[fullest]:,} of the {pages:,} pages, more than it can hold with "
            "room for garbage collection",
            f"expected at most {most:,} pages on each plane; {pages / device.planes:,.0f} is an equal share",
        )
    return table.tobytes(), "", ""


def explained(name: str, method: str, error: BaseException) -> RunError:
    """The error that ends a run whose policy raised an exception; that is its cause, with all its lines."""
    where = f" in `{method}`" if method else ""
    failed = RunError(f"error: the policy `{name}` raised {_words(error)}{where}{_at_line(error)}")
    failed.__cause__ = error
    return failed


def wrong_choice(name: str, answer: Any, offered: int, plane: int) -> RunError:
    """The error that ends a run whose policy chose what it cannot."""
    hint = f"expected one of the blocks in the list that it is given, of which there are {offered}"
    if answer is None:
        found = "None"
        hint += "; does a way through `choose` end without `return`?"
    elif isinstance(answer, _core.Block):
        found = f"block {answer.number} of plane {answer.plane}"
        hint += f", all of plane {plane} and full"
    elif isinstance(answer, int):
        found = f"the number {answer}"
        hint += "; `blocks[i]` is a block, `i` is none"
    else:
        found = f"{arguments.kind_of(answer)}"
    return RunError(f"error: the policy `{name}` returned {found} from `choose`\nhint: {hint}")


def _words(error: BaseException) -> str:
    said = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}"
    return said


def _frame_of(error: BaseException) -> traceback.FrameSummary | None:
    """Where in the user's code an exception was raised."""
    if isinstance(error, SyntaxError):
        text = (error.text or "").strip()
        return traceback.FrameSummary(error.filename or "", error.lineno, "<module>", line=text)
    frames = traceback.extract_tb(error.__traceback__)
    # Below what the package calls is what the user wrote; what that calls of libraries is not where to look first.
    package = Path(__file__).parents[1]
    users = [frame for frame in frames if not Path(frame.filename).is_relative_to(package)]
    users = [frame for frame in users if not frame.filename.startswith("<frozen")]
    return [frame for frame in users if frame.filename == users[0].filename][-1] if users else None


def _in_line(error: BaseException) -> str:
    frame = _frame_of(error)
    return "" if frame is None else f", in line {frame.lineno}: `{frame.line}`"


def _at_line(error: BaseException) -> str:
    frame = _frame_of(error)
    if frame is None:
        return ""
    number = str(frame.lineno)
    gap = " " * len(number)
    inside = "" if frame.name == "<module>" else f", in {frame.name}"
    shown = f"\n{gap} |\n{number} | {frame.line}\n{gap} |" if frame.line else ""
    return f"\n{gap}--> {frame.filename}:{number}{inside}{shown}"
