"""The view as a function of one call: it is served beside whatever goes on, until it is closed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import TracebackType

import numpy as np

from stiffarm.compensate.given import ModelLike, model_of
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import TableLike
from stiffarm.report.view.scene import Pull
from stiffarm.report.view.serving import View, free_port, require_viser
from stiffarm.report.view.subject import Subject, known_point, subject_of
from stiffarm.report.view.words import described
from stiffarm.showing import Shown


class ShownView(Shown):
    """A view that follows its panel in a thread of its own; a context that closes it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._thread = threading.Thread(target=view.run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return self._view.url

    @property
    def subject(self) -> Subject:
        """What is shown."""
        return self._view.subject

    def summary(self) -> tuple[str, ...]:
        """The address, and what is shown, in words."""
        return (self.url, *described(self.subject))

    def _repr_html_(self) -> str:
        """In a notebook it stands in the page."""
        return f'<iframe src="{escape(self.url)}" title="stiffarm view" width="100%" height="560"></iframe>'

    def write(self, path: str | Path) -> None:
        """The picture as it stands as one page that opens anywhere, without sliders."""
        from stiffarm.measure.writing import replace_file

        replace_file(Path(path), self._view.page().encode())

    def close(self) -> None:
        """Take it off the network and give the port back."""
        self._view.close()
        self._thread.join()

    def __enter__(self) -> ShownView:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def view(
    model: ModelLike,
    *,
    plan: Campaign | TableLike | None = None,
    campaign: Campaign | TableLike | None = None,
    cell: str | Path | None = None,
    force_n: Sequence[float] | None = None,
    load_point: str = "tool",
    host: str = "127.0.0.1",
    port: int | None = None,
) -> ShownView:
    """The arm in a browser of this machine, bent and unbent; ``.close()`` ends it.

    ``force_n`` (x, y, z in the world) pulls at ``load_point`` in the place of what the plan says.
    """
    require_viser()
    known = model_of(model)
    point = known_point(known.arm(), load_point, "load_point")
    pull = None if force_n is None else Pull(point, np.array(force_n, dtype=float), np.zeros(3))
    subject = subject_of(known, plan=plan, campaign=campaign, cell=cell, force=pull)
    return ShownView(View(subject, host, free_port(host, port)))
