"""A view served to the browsers of this machine: one page, one thread that redraws when something was moved.

Whoever moves a slider only leaves word; the redrawing thread takes the newest state of the panel, works it out and
moves what has moved.  A slider dragged faster than postures are solved skips what lies between.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.report.view.panel import Panel, Wanted
from stiffarm.report.view.scene import Posed, posed
from stiffarm.report.view.stage import Stage
from stiffarm.report.view.subject import Subject

Floats = NDArray[np.float64]

USUAL_PORT = 8080
PORTS_TRIED = 200
WIDE = 1.0
"""Width over height of a window from which the panel stands beside the picture."""
VIEWED_FROM = np.array([0.42, -0.88, 0.22])


class View:
    """A subject on show at ``url``, until it is closed."""

    def __init__(self, subject: Subject, host: str, port: int) -> None:
        import viser

        self.subject = subject
        self._moved = threading.Event()
        self._over = threading.Event()
        logging.getLogger("websockets").addHandler(logging.NullHandler())  # a caller that hangs up is no event
        with _silent():
            self.server: Any = viser.ViserServer(host=host, port=port, label=subject.known.robot.name, verbose=False)
        self.server.request_share_url = lambda *_, **__: None  # nobody may ask for a tunnel through somebody's server
        self.url = f"http://{_in_url(host)}:{self.server.get_port()}"
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self.stage = Stage(self.server, subject)
        self.panel = Panel(self.server, subject, self._moved.set)
        self.shown: tuple[Wanted, Posed] = self.redraw()
        self._look()

    def _look(self) -> None:
        """Where a new browser looks from: at the arm from the side and above."""
        self.server.initial_camera.position, self.server.initial_camera.look_at = self._eye(WIDE)
        self.server.on_client_connect(self._look_again)

    def _look_again(self, client: Any) -> None:
        """From farther away through a narrow window, whose lower half is the panel's."""
        wide = client.camera.image_width / max(client.camera.image_height, 1)
        if wide < WIDE:
            client.camera.position, client.camera.look_at = self._eye(wide)

    def _eye(self, wide: float) -> tuple[Floats, Floats]:
        """Place and aim (m, world) for a window so many times as wide as high; the panel is to its right, or below."""
        found, subject = self.shown[1], self.subject
        seen = [*(at.translation for at in found.rest), *found.points.values(), *subject.track.T]
        corners = np.array([*seen, *(subject.misses.predicted.T if subject.misses is not None else ())])
        low, high = corners.min(axis=0), corners.max(axis=0)
        aim, far = 0.5 * (low + high), 0.9 * float(np.linalg.norm(high - low))
        if wide < WIDE:
            far *= min(WIDE / wide, 2.5)
            aim = aim - (0.0, 0.0, 0.3 * far)
        to_the_right = np.array([-VIEWED_FROM[1], VIEWED_FROM[0], 0.0]) / np.hypot(*VIEWED_FROM[:2])
        aim = aim + 0.12 * far * to_the_right
        return aim + far * VIEWED_FROM, aim

    def redraw(self) -> tuple[Wanted, Posed]:
        """Show what the panel asks for now."""
        wanted = self.panel.wanted()
        found = posed(self.subject.arm, wanted.asked)
        with self.server.atomic():
            self.stage.show(found, wanted.switches, wanted.attachment)
            self.panel.tell(wanted, found)
        return wanted, found

    def run(self, seconds: float | None = None) -> None:
        """Follow the panel until `end` is called, or for so many seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._over.is_set():
            left = 0.5 if until is None else min(0.5, until - time.monotonic())
            if left <= 0.0:
                return
            if self._moved.wait(left):
                self._moved.clear()
                if not self._over.is_set():
                    self.shown = self.redraw()

    def page(self) -> str:
        """The picture as it stands, as one page that opens anywhere without a network; its sliders stay here."""
        return str(self.server.scene.as_html())

    def end(self) -> None:
        """Let `run` return."""
        self._over.set()
        self._moved.set()

    def close(self) -> None:
        """Give the port back."""
        self.end()
        with _silent():
            self.server.stop()


def require_viser() -> None:
    """One message instead of a traceback when the extra is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("viser", "trimesh") if find_spec(name) is None]
    if missing:
        what = f"the view needs the package {' and '.join(missing)}, which is not installed"
        raise InputError(Problem(what, next_step='Install it: pip install "stiffarm[view]"'))


@contextmanager
def on_show(subject: Subject, host: str = "127.0.0.1", port: int | None = None) -> Iterator[View]:
    """A view, closed whatever happens; ``port`` None takes the first free one from `USUAL_PORT` on."""
    view = View(subject, host, free_port(host, port))
    try:
        yield view
    finally:
        view.close()


def free_port(host: str, port: int | None) -> int:
    """The port asked for, or a free one; `InputError` when it cannot be had."""
    if port is not None:
        if (problem := _taken(host, port)) is not None:
            raise InputError(problem)
        return port
    for candidate in range(USUAL_PORT, USUAL_PORT + PORTS_TRIED):
        problem = _taken(host, candidate)
        if problem is None:
            return candidate
        if problem.column == "--host":
            raise InputError(problem)
    what = f"no port from {USUAL_PORT} to {USUAL_PORT + PORTS_TRIED - 1} is free"
    raise InputError(Problem(what, column="--port", next_step="Name a free one: --port 9000"))


def _taken(host: str, port: int) -> Problem | None:
    """Why nothing can listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        step = "127.0.0.1 shows it on this machine alone, 0.0.0.0 to the whole network"
        return Problem(f"'{host}' is no address of this machine", column="--host", next_step=step)
    with socket.socket(family, kind, protocol) as probe:
        if os.name == "posix":  # as servers bind there: a port just left is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except PermissionError:
            return Problem(f"port {port} may not be used", column="--port", allowed="1024 or more, or 0 for any")
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                step = "127.0.0.1 shows it on this machine alone, 0.0.0.0 to the whole network"
                return Problem(f"'{host}' is no address of this machine", column="--host", next_step=step)
            step = "Leave --port out for the next free one, or close what uses it"
            return Problem(f"port {port} is in use", column="--port", next_step=step)
    return None


def _in_url(host: str) -> str:
    """A host as a browser of this machine is told it."""
    if host in ("0.0.0.0", "::", ""):
        return "localhost"
    return f"[{host}]" if ":" in host else host


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing of what a package prints by itself may stand between a command and its answer."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
