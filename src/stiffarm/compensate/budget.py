"""The uncertainty budget of every row of a plan or path, after the Guide to the expression of uncertainty (JCGM 100).

What is measured (the *measurand*) is the place of the row's point in the world or in the frame of a setup, and for a
row that is a deflection the displacement by the external load.  The budget is that of the difference between it and
the model's prediction.  A row of a plan stands for a *reading*, which brings the instrument's own error; on a path
nothing is read, and the measurand is the *place* itself.

    u(axis) = sqrt(sum over lines of u(line, axis)^2),     u = sqrt(sum over axes),     U = k u

Lines are independent of each other; inputs within a line may be correlated (`stiffarm.compensate.budget_lines`).
What is not known is not zero: such a line is left out of the sum, and the budget says so.  Nor is what could not be
told apart: repeatability that is in the scatter of readings has no number of its own, and says where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked, read_asked
from stiffarm.compensate.budget_lines import (
    Part,
    Split,
    along_axes,
    instrument_words,
    is_untold,
    lack_words,
    of_covariance,
    repeatability_words,
    shared_part,
    split,
)
from stiffarm.compensate.model_file import KnownModel, KnownSetup
from stiffarm.compensate.predicting import frame_columns, parts, turned_columns
from stiffarm.compensate.use import Use, use_of
from stiffarm.errors import InputError, Problem
from stiffarm.identify.estimate import SharedErrors
from stiffarm.measure.campaign import Payload
from stiffarm.measure.frames import Source
from stiffarm.measure.writing import Cells, write_table
from stiffarm.model.evaluate import predict, sensitivity
from stiffarm.robot.placement import Rigid
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Measurand = Literal["reading", "place"]
LINES = ("instrument", "load", "repeatability", "parameters", "lack_of_fit", "scale")
AXES = ("x", "y", "z")
LOAD = ("load.gain", "load.rx", "load.ry", "load.rz")


@dataclass(frozen=True, eq=False, repr=False)
class Budget(Shown):
    """One column per row of what was asked; NaN: not known."""

    asked: Asked
    measurand: Measurand
    frame: str
    coverage: float
    u: Mapping[str, Floats]
    """(3, rows) standard uncertainty of each line along x, y, z, m."""
    sources: Mapping[str, str]
    """Where each line comes from, in words."""
    included: tuple[str, ...]
    """Lines that the measurand has."""
    within: Mapping[str, str]
    """Lines without a number of their own, because another line holds them."""
    notes: tuple[str, ...] = ()

    @cached_property
    def combined(self) -> Floats:
        """(3, rows) m; NaN in rows that could not be answered."""
        squares = np.stack([self.u[name] for name in self.included]) ** 2
        total = np.sqrt(np.nansum(squares, axis=0))
        total[:, np.isnan(squares).all(axis=(0, 1))] = np.nan
        return np.asarray(total)

    def summary(self) -> tuple[str, ...]:
        """The largest expanded uncertainty, and what is not in it."""
        size = np.sqrt((self.combined**2).sum(axis=0))
        most = f"at most {1e3 * self.coverage * np.nanmax(size):.4g} mm" if np.isfinite(size).any() else "not known"
        missing = f"not known: {', '.join(self.missing)}" if self.missing else "every line is known"
        return (f"expanded uncertainty (k = {self.coverage:g}) of a {self.measurand}: {most}", missing)

    def to_polars(self) -> pl.DataFrame:
        """One row per row of what was asked, all lines beside."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def known(self, line: str) -> bool:
        """Whether a line is known in every row."""
        return bool(np.isfinite(self.u[line][:, self.answered]).all())

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """(rows,) those with joint values."""
        return np.asarray(np.isfinite(self.asked.q).all(axis=0))

    @property
    def missing(self) -> tuple[str, ...]:
        """Lines of the measurand that are not known in some row."""
        return tuple(name for name in self.included if name not in self.within and not self.known(name))

    def columns(self) -> dict[str, Floats]:
        """Every column by header, m."""
        found: dict[str, Floats] = {}
        for name in LINES:
            found |= _headed(name, self.u[name])
        return found | _headed("combined", self.combined) | _headed("expanded", self.coverage * self.combined)

    def rows(self) -> list[dict[str, float | str | None]]:
        """The columns of the file with those of the budget beside them, one dict per row."""
        named: dict[str, list[float | str | None]] = {
            **{header: self.asked.cells(header) for header in self.asked.text},
            **{header: list(map(float, values)) for header, values in self.columns().items()},
        }
        return [dict(zip(named, cells, strict=True)) for cells in zip(*named.values(), strict=True)]

    def write(self, path: str | Path) -> None:
        """The same as a CSV file."""
        columns: dict[str, Cells] = {**self.asked.text, **self.columns()}
        write_table(path, list(columns), list(columns.values()))


def _headed(name: str, u: Floats) -> dict[str, Floats]:
    axes = {f"{name}.{axis}[m]": values for axis, values in zip(AXES, u, strict=True)}
    return axes | {f"{name}[m]": np.sqrt((u**2).sum(axis=0))}


@dataclass(frozen=True, eq=False)
class Question:
    """A model, the rows asked about, and what is stated of their use."""

    model: KnownModel
    asked: Asked
    setup: KnownSetup | None
    use: Use

    @cached_property
    def frame(self) -> Rigid:
        """The frame of the answer, from the world."""
        return Rigid.identity() if self.setup is None else self.setup.frame

    @cached_property
    def split(self) -> Split:
        """Covariance of the unknowns by cause."""
        s, m = self.setup, self.model
        four = (None,) * 4 if s is None else (s.covariance, s.cross, s.scale, s.scale_cross)
        return split(m.covariance_names, m.covariance, m.scale, four)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Units of the unknowns."""
        known = {p.name: p.unit for p in self.model.model.parameters}
        own = tuple(known[name] for name in self.model.covariance_names)
        return own + (("m",) * 3 + ("rad",) * 3 if len(self.split.names) > len(own) else ())

    @cached_property
    def scale_words(self) -> tuple[bool, str]:
        """Whether it is known what the load of the calibration did to the compliances, and in words."""
        names, domain, errors = self.model.covariance_names, self.model.domain, self.model.errors
        if self.split.scale is not None:
            return True, "load of the calibration, as stated there"
        if not any(".compliance" in name for name in names):
            return True, "none: no compliance was identified"
        if "load.gain" in names:
            return True, "in the parameters: load.gain is one of them"
        if errors is not None and errors.load_gain_sigma > 0.0:
            return True, "in the parameters: the load of the calibration was uncertain by experiment"
        if domain is not None and domain.torque:
            return False, "not known: nobody says how well the torques of the calibration were measured"
        if domain is not None and domain.force is not None and max(map(abs, domain.force)) == 0.0:
            return True, "none: only weights bent the arm, and they are taken as known"
        return False, "not known: the calibration states no uncertainty of its load ([load] gain_sigma)"


def budget_file(
    model: KnownModel,
    path: Source,
    *,
    marker: str | None = None,
    setup: str | None = None,
    measurand: Measurand | None = None,
    coverage: float = 2.0,
    gain_sigma: float | None = None,
    direction_sigma_rad: float | None = None,
) -> Budget:
    """The budget of every row of a plan or path file; see `stiffarm.compensate.use` for what may be stated."""
    question = ask(
        model, path, marker=marker, setup=setup, gain_sigma=gain_sigma, direction_sigma_rad=direction_sigma_rad
    )
    what = measurand or ("place" if question.use.plan is None else "reading")
    return budget_of(question, what, coverage)


def ask(
    model: KnownModel,
    path: Source,
    *,
    marker: str | None = None,
    setup: str | None = None,
    gain_sigma: float | None = None,
    direction_sigma_rad: float | None = None,
) -> Question:
    """Read what is asked about; `InputError` for a model that knows nothing of its uncertainty."""
    if not model.covariance_names:
        raise InputError(
            Problem(
                "this model states no uncertainty of its parameters",
                file=model.file,
                allowed="a model file with a covariance",
                next_step="Identify a model from a campaign: stiffarm identify ROBOT CAMPAIGN -o MODEL",
            )
        )
    known_setup = None if setup is None else model.setup(setup)
    asked = read_asked(path, model.nominal())
    if marker is not None:
        asked = asked.at_marker(marker, model.robot)
    use = use_of(model, asked, path, gain_sigma=gain_sigma, direction_sigma_rad=direction_sigma_rad)
    return Question(model, asked, known_setup, use)


def budget_of(question: Question, measurand: Measurand, coverage: float = 2.0) -> Budget:
    """The budget of rows that were read before."""
    asked, errors = question.asked, question.model.errors
    u = {name: np.full((3, len(asked)), np.nan) for name in LINES}
    for rows, made_of in every_part(question):
        for name, inputs in made_of.items():
            if inputs is not None:
                total = np.sum([part.variance for part in inputs], axis=0) if inputs else np.zeros((3, len(rows)))
                u[name][:, rows] = np.sqrt(total)
    untold = is_untold(errors) and question.use.reading_words is None
    included = LINES if measurand == "reading" or untold else LINES[1:]
    frame = "world" if question.setup is None else question.setup.name
    notes = _notes(question, measurand, untold=untold)
    return Budget(asked, measurand, frame, coverage, u, sources(question), included, within(question), notes)


def within(question: Question) -> dict[str, str]:
    """Lines that another one holds, for nothing tells them apart."""
    errors, found = question.model.errors, {}
    if errors is None or not (question.asked.difference == errors.difference).all():
        return {}
    scattered = is_untold(errors) and question.use.reading_words is None
    if errors.configuration is None and scattered:
        found["lack_of_fit"] = "instrument"
    if question.use.stop is None and errors.stop is None:
        if errors.configuration is not None and errors.configuration.source == "configurations":
            found["repeatability"] = "lack_of_fit"
        elif scattered:
            found["repeatability"] = "instrument"
    return found


def every_part(question: Question, only: Ints | None = None) -> Iterator[tuple[Ints, dict[str, list[Part] | None]]]:
    """Rows of one kind with the inputs of each line; None for a line that is not known there."""
    asked = question.asked
    for point, payload, rows in parts(asked, len(question.split.names) + len(LOAD)):
        for difference in (False, True):
            chosen = rows[asked.difference[rows] == difference]
            chosen = chosen if only is None else np.intersect1d(chosen, only)
            if len(chosen):
                yield chosen, _lines(question, point, payload, chosen, difference=difference)


def _lines(
    question: Question, point: str, payload: Payload | None, rows: Ints, *, difference: bool
) -> dict[str, list[Part] | None]:
    model, asked, turn = question.model, question.asked, question.frame.rotation
    arm = model.arm(question.setup)
    state = asked.state(arm, rows, payload, weights=not difference)
    own = model.covariance_names
    found, columns = sensitivity(arm, state, point, (*own, *LOAD), deflection=difference)
    turned = turned_columns(question.frame, columns)
    unknowns = turned[: len(own)]
    if len(question.split.names) > len(own):
        unknowns = np.concatenate([unknowns, _of_frame(question, found.position, found.deflection, difference)])
    load = question.use.parts(model, asked, payload, rows, turned[len(own) :], turn, point, difference=difference)
    errors = model.errors
    same_kind = errors is not None and errors.difference == difference
    lever = np.zeros((3, len(rows)))
    if any(shared is not None and shared.rotation_rad > 0 for shared in question.use.shared(errors)):
        places = [predict(arm, state, name).position for name in question.use.centre(model)]
        lever = np.asarray(found.position - np.mean(places, axis=0))
    split_, names, units = question.split, question.split.names, question.units
    return {
        "instrument": question.use.reading(errors, rows, turn, difference=difference),
        "load": load,
        "repeatability": _stop(question, lever, same_kind=same_kind),
        "parameters": [of_covariance(names, units, split_.data, unknowns)],
        "lack_of_fit": _lack(question, lever, difference=difference, same_kind=same_kind),
        "scale": _scale(question, names, units, unknowns),
    }


def _of_frame(question: Question, position_world: Floats, deflection_world: Floats, difference: bool) -> Floats:
    """(6, 3, rows) derivatives by the setup's frame; a displacement is turned by it and not shifted."""
    columns = frame_columns(question.frame.rotation @ (deflection_world if difference else position_world))[:, :3]
    if difference:
        columns[:3] = 0.0
    return columns


def _stop(question: Question, lever: Floats, *, same_kind: bool) -> list[Part] | None:
    errors, stated = question.model.errors, question.use.stop
    turn = question.frame.rotation
    if stated is not None:
        return [shared_part(stated, "stop", lever, turn)]
    if errors is None or errors.stop is None or not same_kind:
        return None
    return [shared_part(errors.stop, "stop", lever, turn)]


def _lack(question: Question, lever: Floats, *, difference: bool, same_kind: bool) -> list[Part] | None:
    errors = question.model.errors
    if errors is None or errors.configuration is None or not same_kind:
        return None
    found = [shared_part(errors.configuration, "configuration", lever, question.frame.rotation)]
    if errors.excess_m is not None and any(errors.excess_m):
        n = lever.shape[1]
        u = np.broadcast_to(np.array(errors.excess_m)[:, None], (3, n))
        found.append(along_axes("excess", u, np.full(n, np.sqrt(2.0) if difference else 1.0)))
    return found


def _scale(question: Question, names: tuple[str, ...], units: tuple[str, ...], unknowns: Floats) -> list[Part] | None:
    if question.split.scale is not None:
        return [of_covariance(names, units, question.split.scale, unknowns)]
    return [] if question.scale_words[0] else None


def sources(question: Question) -> dict[str, str]:
    """Where every line comes from, or why it is not known."""
    model, use = question.model, question.use
    scattered = is_untold(model.errors) and use.reading_words is None
    return {
        "instrument": use.reading_words or instrument_words(model.errors),
        "load": use.load_words,
        "repeatability": "as stated in the plan's settings"
        if use.stop
        else repeatability_words(model.errors, scattered),
        "parameters": "covariance of the fit, without what its load adds",
        "lack_of_fit": lack_words(model.errors, scattered),
        "scale": question.scale_words[1],
    }


def _notes(question: Question, measurand: Measurand, *, untold: bool) -> tuple[str, ...]:
    notes = []
    model, asked = question.model, question.asked
    geometric = any(p.name in set(model.covariance_names) and not p.elastic for p in model.model.parameters)
    if not geometric and not asked.difference.all():
        notes.append("no geometry was identified: the budget of positions is that of the bending alone")
    if geometric and question.setup is None and model.setups and not asked.difference.all():
        notes.append("where the base stands in the world is taken as known; --setup NAME answers in a measured frame")
    if measurand == "place" and untold:
        notes.append("the scatter of readings stays in: what of it is the arm's cannot be told from the instrument's")
    if model.errors is not None and not all(asked.difference == model.errors.difference):
        learned = "deflections" if model.errors.difference else "positions"
        notes.append(f"the model was learned from {learned}: other rows have no known repeatability and lack of fit")
    return tuple(notes)


__all__ = ["LINES", "Budget", "Question", "SharedErrors", "ask", "budget_file", "budget_of", "every_part"]
