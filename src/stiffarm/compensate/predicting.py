"""Where the real tool or a marker is at every row of a plan or path, how much of that is bending, how sure it is.

With the model's values v and their covariance C, to first order in what is small,

    position    p(v) of the loaded arm, weights included, and the rotation vector of the tool
    elastic     p(v) - p_0(v): what the loads do (for a row that is a deflection: the external load alone)
    sigma       the square roots of the diagonal of J C J',   J = dp/dv

In the frame of a setup with T_setup = (R, t), position R p + t; its own covariance adds the columns of the
frame, dt + dphi x (R p), and its covariance with the parameters.  Rotation deviations are those of a small rotation
applied from the left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked, read_asked
from stiffarm.compensate.model_file import KnownModel, KnownSetup
from stiffarm.compensate.pulling import Asking
from stiffarm.errors import InputError
from stiffarm.measure.campaign import Payload
from stiffarm.measure.frames import Source
from stiffarm.measure.writing import Cells, write_table
from stiffarm.model.arm_model import Arm
from stiffarm.model.equilibrium import Equilibrium, equilibrium
from stiffarm.model.evaluate import Prediction, predict, sensitivity
from stiffarm.model.loads import State
from stiffarm.model.rotations import vector_of
from stiffarm.robot.placement import Rigid
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSE_HEADERS = ("x[m]", "y[m]", "z[m]", "rx[rad]", "ry[rad]", "rz[rad]")
ELASTIC_HEADERS = ("dx[m]", "dy[m]", "dz[m]")
SIGMA_HEADERS = tuple(f"sigma.{header}" for header in POSE_HEADERS)
_MOST_NUMBERS = 4_000_000
"""Numbers of the array of derivatives held at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Predicted(Shown):
    """One column per row of what was asked; NaN where the row states no joint values."""

    asked: Asked
    pose: Floats
    """(6, rows) position (m) and rotation vector (rad) in the world or the setup's frame."""
    elastic: Floats
    """(3, rows) m, the part of the position that is bending."""
    sigma: Floats | None
    """(6, rows) standard deviations; None when the model knows no covariance."""
    more: Mapping[str, Floats] = field(default_factory=dict)
    """Further columns by header, (rows,)."""

    def columns(self) -> dict[str, Floats]:
        """The predicted columns by header."""
        found = dict(zip((*POSE_HEADERS, *ELASTIC_HEADERS), (*self.pose, *self.elastic), strict=True))
        found |= {} if self.sigma is None else dict(zip(SIGMA_HEADERS, self.sigma, strict=True))
        return found | dict(self.more)

    def rows(self) -> list[dict[str, float | str | None]]:
        """The columns of the file with the predicted ones beside them, one dict per row."""
        columns = self.columns()
        named: dict[str, list[float | str | None]] = {
            **{_beside(header, columns): self.asked.cells(header) for header in self.asked.text},
            **{header: list(map(float, values)) for header, values in columns.items()},
        }
        if self.sigma is None:  # the keys stand whatever the model knows
            named |= {header: [None] * len(self.asked) for header in SIGMA_HEADERS}
        return [dict(zip(named, cells, strict=True)) for cells in zip(*named.values(), strict=True)]

    def write(self, path: str | Path) -> None:
        """The same as a CSV file."""
        predicted = self.columns()
        columns: dict[str, Cells] = {_beside(header, predicted): cells for header, cells in self.asked.text.items()}
        columns |= predicted
        write_table(path, list(columns), list(columns.values()))

    def summary(self) -> tuple[str, ...]:
        """How much bends, how sure that is."""
        bending = np.linalg.norm(self.elastic, axis=0)
        most = f"bending at most {1e3 * np.nanmax(bending):.4g} mm" if np.isfinite(bending).any() else "nothing known"
        sure = "no uncertainty stated"
        if self.sigma is not None and np.isfinite(self.sigma).any():
            sure = f"standard deviation at most {1e3 * np.nanmax(np.linalg.norm(self.sigma[:3], axis=0)):.3g} mm"
        return (f"{len(self.asked)} rows of {self.asked.file}", f"{most}; {sure}")

    def to_polars(self) -> pl.DataFrame:
        """The columns of the file with the predicted ones beside them."""
        import polars as pl

        predicted = self.columns()
        given = {_beside(header, predicted): self.asked.cells(header) for header in self.asked.text}
        return pl.DataFrame({**given, **predicted}, strict=False)


def _beside(header: str, predicted: Collection[str]) -> str:
    """Name of a column of the file: its own unless a predicted one takes it, as ``x[m]`` of a campaign."""
    return f"input.{header}" if header in predicted else header


def predict_file(
    model: KnownModel,
    path: Source,
    *,
    marker: str | None = None,
    setup: str | None = None,
    exact: bool = False,
) -> Predicted:
    """Predict every row of a plan or path file.

    ``marker`` asks about one point instead of those in the file; ``setup`` answers in the frame of a setup
    the model knows; ``exact`` solves the equilibrium on true transforms instead of first order.
    """
    known_setup = None if setup is None else model.setup(setup)
    return predict_asked(model, ask(model, path, marker=marker), known_setup, exact=exact)


def ask(model: KnownModel, path: Source, *, marker: str | None = None, asking: Asking | None = None) -> Asked:
    """The rows of a plan or path file, about one ``marker`` when it is named, under what ``asking`` says."""
    nominal = model.nominal()
    asked = read_asked(path, nominal).pulled(asking or Asking(), nominal)
    return asked if marker is None else asked.at_marker(marker, model.robot)


def predict_asked(
    model: KnownModel, asked: Asked, setup: KnownSetup | None = None, *, exact: bool = False
) -> Predicted:
    """Predict rows that were read before."""
    arm = model.arm(setup)
    frame = Rigid.identity() if setup is None else setup.frame
    pose, elastic = np.full((6, len(asked)), np.nan), np.full((3, len(asked)), np.nan)
    sigma = np.full((6, len(asked)), np.nan) if model.covariance_names else None
    for point, payload, rows in parts(asked, len(model.covariance_names)):
        state = asked.state(arm, rows, payload)
        found = _prediction(arm, state, point, asked, rows, exact=exact)
        pose[:, rows] = _in_frame(frame, found)
        own = _difference(arm, asked, rows, payload, point, found, exact=exact)
        elastic[:, rows] = frame.rotation @ np.where(asked.difference[rows], own, found.deflection)
        if sigma is not None:
            columns = sensitivity(arm, state, point, model.covariance_names, rotation=True)[1]
            sigma[:, rows] = _deviations(model.covariance, columns, frame, setup, pose[:3, rows])
    return Predicted(asked, pose, elastic, sigma)


def parts(asked: Asked, n_parameters: int) -> Iterator[tuple[str, Payload | None, Ints]]:
    """Rows with joint values that share a point and a payload, in parts of bounded memory."""
    most = max(1, _MOST_NUMBERS // (6 * max(1, n_parameters)))
    payload = np.zeros(len(asked), dtype=np.int64) if asked.payload is None else asked.payload
    answerable = np.isfinite(asked.q).all(axis=0)
    for i, point in enumerate(asked.markers):
        for j, bolted in enumerate(asked.payloads):
            rows = np.flatnonzero((asked.marker == i) & (payload == j) & answerable)
            for start in range(0, len(rows), most):
                yield point, bolted, rows[start : start + most]


def _prediction(arm: Arm, state: State, point: str, asked: Asked, rows: Ints, *, exact: bool) -> Prediction:
    if not exact:
        return predict(arm, state, point)
    from stiffarm.model.statics import predict_exact

    return predict_exact(arm, state, point, found=balanced(arm, state, asked, rows))


def balanced(arm: Arm, state: State, asked: Asked, rows: Ints) -> Equilibrium:
    """The equilibrium of some rows; `InputError` that names those which have none."""
    found = equilibrium(arm, state)
    problem = found.problem()
    if problem is not None:
        lost = np.flatnonzero(~found.reached)
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        row = int(asked.row[rows[lost[0]]])
        raise InputError(replace(problem, file=asked.file, row=row, found=f"the loads of this row{more}"))
    return found


def _difference(
    arm: Arm, asked: Asked, rows: Ints, payload: Payload | None, point: str, loaded: Prediction, *, exact: bool
) -> Floats:
    """(3, rows) loaded minus unloaded, m, for the rows that are deflections (zero when none is)."""
    if not asked.difference[rows].any():
        return np.zeros((3, 1))
    if not exact:
        return predict(arm, asked.state(arm, rows, payload, weights=False), point).deflection
    bare = State(np.ascontiguousarray(asked.q[:, rows]), arm.weights(None if payload is None else _bolted(payload)))
    return np.asarray(loaded.position - _prediction(arm, bare, point, asked, rows, exact=True).position)


def _bolted(payload: Payload) -> tuple[float, tuple[float, float, float]]:
    return payload.mass_kg, payload.com_m


def _in_frame(frame: Rigid, found: Prediction) -> Floats:
    turned = np.einsum("ij,cjn->cin", frame.rotation, found.rotation)
    return np.concatenate([frame.rotation @ found.position + frame.translation[:, None], vector_of(turned)])


def _deviations(
    covariance: Floats, columns: Floats, frame: Rigid, setup: KnownSetup | None, position: Floats
) -> Floats:
    """(6, rows) from derivatives (parameters, 6, rows) in the world; positions (3, rows) are in the frame."""
    moved = turned_columns(frame, columns)
    if setup is not None and setup.covariance is not None:
        moved = np.concatenate([moved, frame_columns(position - frame.translation[:, None])])
        covariance = joint_covariance(covariance, setup.covariance, setup.cross)
    return np.asarray(np.sqrt(np.maximum(variances(covariance, moved), 0.0)))


def variances(covariance: Floats, columns: Floats) -> Floats:
    """(components, rows) diagonal of J C J' for derivatives (unknowns, components, rows)."""
    return np.asarray(np.einsum("pcn,pcn->cn", columns, np.einsum("pq,qcn->pcn", covariance, columns)))


def turned_columns(frame: Rigid, columns: Floats) -> Floats:
    """Derivatives (unknowns, 3 or 6, rows) of the world in the axes of a frame."""
    return np.concatenate(
        [np.einsum("ij,pjn->pin", frame.rotation, columns[:, i : i + 3]) for i in range(0, columns.shape[1], 3)], axis=1
    )


def frame_columns(placed: Floats) -> Floats:
    """(6, 6, rows) derivatives by the six numbers of a frame; ``placed`` (3, rows) seen from its origin."""
    moved = np.zeros((6, 6, placed.shape[1]))
    for i, axis in enumerate(np.eye(3)):
        moved[i, i] = 1.0
        moved[3 + i, :3] = np.cross(axis, placed.T).T
        moved[3 + i, 3 + i] = 1.0
    return moved


def joint_covariance(parameters: Floats, frame: Floats, cross: Floats | None) -> Floats:
    """Of the parameters, then the frame; ``cross`` (6, parameters) is none in models that do not say."""
    between = np.zeros((6, len(parameters))) if cross is None else cross
    return np.block([[parameters, between.T], [between, frame]])
