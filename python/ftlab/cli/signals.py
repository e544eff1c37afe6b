"""Ctrl-C, SIGTERM and SIGHUP end a command: in good order where it listens, within a second whatever it is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from ftlab import _core

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a command to end."""

GRACE_S = 0.7
"""How long a command may take to end by itself."""

RETRY_S = 0.01
"""When to try again: an import may be over then, or a finalizer."""

SHOW_CURSOR = b"\x1b[?25h\r\n"
"""For a terminal whose progress line hid it."""


class Ended(KeyboardInterrupt):
    """A signal asks the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending() -> Iterator[None]:
    """While the block lasts, the first of these signals raises :class:`Ended`.

    The engine and whatever runs Python hear of that within a tenth of a second. Nothing else does, a large allocation
    for example; then the process is ended without further ado, which loses no more than a power cut would.
    """
    over = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    asked = 0
    raised = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal asked, raised
        asked = asked or number
        if _is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
        # Once only: another one would interrupt the tidying up.
        elif not raised:
            raised = True
            raise Ended(asked)

    def end_now(_: int, frame: FrameType | None) -> None:
        end(asked, frame)

    def unraised(lost: sys.UnraisableHookArgs) -> None:
        # Python prints and forgets what is raised in a finalizer, so that it is raised again a moment later.
        nonlocal raised
        if isinstance(lost.exc_value, Ended):
            raised = False
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
        else:
            before(lost)

    before, sys.unraisablehook = sys.unraisablehook, unraised
    signal.signal(signal.SIGALRM, end_now)
    for number in ENDING:
        # What a shell or `nohup` made it ignore, it ignores.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_last_resort, args=(reader, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        sys.unraisablehook = before
        signal.set_wakeup_fd(-1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number in ENDING:
            if signal.getsignal(number) is end:
                signal.signal(number, signal.SIG_DFL)


def _is_importing(frame: FrameType | None) -> bool:
    """True while a module is being imported. Libraries in C do not expect that to fail, and some abort the process."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def exit_with(main: Callable[[], int]) -> NoReturn:
    """Runs a program and exits with its code; one of these signals ends it within a second, whatever it is doing."""
    try:
        with ending():
            code = main()
    except Ended as ended:
        with suppress(OSError):
            os.write(2, b"interrupted\n")
        code = 128 + ended.number
    sys.exit(code)


def _last_resort(reader: int, over: threading.Event) -> None:
    """Ends the process when a signal came and nothing came of it. The main thread may be anywhere."""
    while (number := os.read(reader, 1)[0]) not in ENDING:
        pass
    if not over.wait(GRACE_S):
        _core.discard_unfinished()
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
        os._exit(128 + number)
