"""How far long work is, on the standard error: one line that renews itself, or a line now and then in a log."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

FIRST_S = 1.0
"""s before anything is said."""
SCREEN_S, LOG_S = 0.2, 10.0
"""s between two lines on a screen and in a log."""


class Progress:
    """Told how much is done of how much; says so, with the time left, when it takes long."""

    def __init__(self, what: str, quiet: bool = False) -> None:
        self.what, self.quiet = what, quiet
        self.screen = sys.stderr.isatty()
        self.start = time.monotonic()
        self.said = self.start + FIRST_S - (SCREEN_S if self.screen else LOG_S)
        self.shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.shown and self.screen:
            print(file=sys.stderr)

    def tell(self, done: int, total: int) -> None:
        """So much is done of so much."""
        now = time.monotonic()
        if self.quiet or now - self.start < FIRST_S or now - self.said < (SCREEN_S if self.screen else LOG_S):
            return
        self.said, self.shown = now, True
        left = (now - self.start) * (total - done) / max(done, 1)
        line = f"{done} of {total} {self.what}, {left:.0f} s left"
        print(f"\r{line}   " if self.screen else line, end="" if self.screen else "\n", file=sys.stderr, flush=True)


class Stages:
    """Progress of work in several stages, of each of which it is told what is done of how much."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.what = ""
        self.progress: Progress | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.progress is not None:
            self.progress.__exit__(kind, error, at)

    def tell(self, what: str, done: int, total: int) -> None:
        """So much of a stage is done."""
        if what != self.what:
            self.__exit__(None, None, None)
            self.what, self.progress = what, Progress(what, self.quiet)
        if self.progress is not None:
            self.progress.tell(done, total)


class Steps:
    """Progress of work of which nobody knows how long it takes: what is being done, and for how long already."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.screen = sys.stderr.isatty()
        self.start = time.monotonic()
        self.width = 0

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.width and self.screen:
            print(file=sys.stderr)

    def tell(self, what: str) -> None:
        """This is being done now."""
        passed = time.monotonic() - self.start
        if self.quiet or passed < FIRST_S:
            return
        line = f"{passed:.0f} s: {what}"
        end = "" if self.screen else "\n"
        print(f"\r{line:<{self.width}}" if self.screen else line, end=end, file=sys.stderr, flush=True)
        self.width = len(line)


@contextmanager
def interruptible(quiet: bool = False) -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks for an end and the best so far; pressed again it is an interrupt as everywhere else."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        if not quiet:  # past the buffer, which may be in the middle of a line: it cannot be entered twice
            with suppress(OSError, ValueError):
                os.write(sys.stderr.fileno(), b"\ninterrupted: the best so far follows (again: nothing)\n")

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread
        yield lambda: False
        return
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
