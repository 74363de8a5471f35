"""What each line of an uncertainty budget is made of: inputs, their standard uncertainties, their sensitivities.

The measured or expected place of a point (m, along the axes of a frame) depends on inputs x_i with standard
uncertainties u_i and correlations R.  With the sensitivities c_i = dp/dx_i a line has the variance

    u^2(line) = sum_ij  c_i u_i R_ij u_j c_j                                   (law of propagation of uncertainty)

    line           inputs                                               c
    instrument     the numbers of a reading; twice for a difference     1
    load           gain, turn, tension, payload mass of the loads of    load columns (`stiffarm.model.effects.load`)
                   the points asked about
    repeatability  where a visit comes to rest: shift and turn          1 and e_a x (p - centre)
    parameters     fitted parameters, with a setup also its frame       exact derivatives of the prediction
    lack of fit    shift and turn common to every visit of a            1 and e_a x (p - centre)
                   configuration, or scatter beyond what was stated
    scale          the same parameters, moved by the load of the        exact derivatives of the prediction
                   calibration that was not exactly known

Parameters and scale split one covariance (`stiffarm.identify.nuisance`): together they are what `predict` calls sigma.
The load of the calibration and that of the points asked about are taken for independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.predicting import joint_covariance
from stiffarm.identify.estimate import ErrorModel, SharedErrors
from stiffarm.model.kernel import cross

Floats = NDArray[np.float64]
FRAME_UNKNOWNS = ("frame.x", "frame.y", "frame.z", "frame.rx", "frame.ry", "frame.rz")
"""The six numbers of a setup's frame beside the parameters."""


@dataclass(frozen=True, eq=False)
class Part:
    """Inputs of a line at some points."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    u: Floats
    """(inputs, rows) standard uncertainties, each in its own unit."""
    columns: Floats
    """(inputs, 3, rows) sensitivities, m per unit of the input, in the axes of the answer."""
    correlation: Floats | None = None
    """(inputs, inputs); None: independent."""

    @property
    def contributions(self) -> Floats:
        """(inputs, 3, rows) c u, m."""
        return np.asarray(self.columns * self.u[:, None, :])

    @property
    def variance(self) -> Floats:
        """(3, rows) m^2."""
        each = self.contributions
        if self.correlation is None:
            return np.asarray((each**2).sum(axis=0))
        whole = np.einsum("pcn,pcn->cn", each, np.einsum("pq,qcn->pcn", self.correlation, each))
        return np.asarray(np.maximum(whole, 0.0))


def of_covariance(names: Sequence[str], units: Sequence[str], covariance: Floats, columns: Floats) -> Part:
    """Inputs with a covariance of their own, the same at every point."""
    u = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(u > 0.0, u, 1.0)
    every = np.broadcast_to(u[:, None], (len(u), columns.shape[2]))
    return Part(tuple(names), tuple(units), every, columns, covariance / np.outer(scale, scale))


def along_axes(name: str, u: Floats, factor: Floats) -> Part:
    """Independent errors (3, rows) of the three coordinates; ``factor`` (rows,) is their sensitivity."""
    columns = np.eye(3)[:, :, None] * factor
    return Part(tuple(f"{name}.{axis}" for axis in "xyz"), ("m",) * 3, u, columns)


def shared_part(shared: SharedErrors, name: str, lever_world: Floats, turn: Floats) -> Part:
    """Shift and turn of the arm at a stop; ``lever_world`` (3, rows) from their centre, ``turn`` answer from world."""
    n = lever_world.shape[1]
    axes = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, n))
    rotation = np.einsum("ij,ajn->ain", turn, cross(axes, lever_world))
    shift = np.broadcast_to(turn.T[:, :, None], (3, 3, n))
    u = np.repeat([shared.translation_m, shared.rotation_rad], 3)[:, None] * np.ones(n)
    names = tuple(f"{name}.{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz"))
    return Part(names, ("m",) * 3 + ("rad",) * 3, u, np.concatenate([shift, rotation]))


@dataclass(frozen=True, eq=False)
class Split:
    """One covariance of parameters (and frame) as what readings leave and what the calibration's load adds."""

    names: tuple[str, ...]
    data: Floats
    scale: Floats | None


def split(
    names: Sequence[str],
    covariance: Floats,
    scale: Floats | None,
    frame: tuple[Floats | None, Floats | None, Floats | None, Floats | None],
) -> Split:
    """Covariances of the parameters and, when it has one, of the frame (``covariance, cross, scale, scale_cross``)."""
    whole, cross_, scale_frame, scale_cross = frame
    if whole is None:
        return Split(tuple(names), covariance if scale is None else covariance - scale, scale)
    joint = joint_covariance(covariance, whole, cross_)
    if scale is None:
        return Split((*names, *FRAME_UNKNOWNS), joint, None)
    part = joint_covariance(scale, np.zeros((6, 6)) if scale_frame is None else scale_frame, scale_cross)
    return Split((*names, *FRAME_UNKNOWNS), joint - part, part)


WORDS = {
    "stated": "as stated",
    "visits": "from returning to configurations",
    "configurations": "from what the readings of a configuration have in common",
    "tested": "tested, none found beside the scatter of readings",
    "excess": "by what readings scatter more than stated",
    "scatter": "scatter of the readings about the fit",
}


def is_untold(errors: ErrorModel | None) -> bool:
    """Whether the scatter of readings holds repeatability and lack of fit, for nothing was repeated."""
    known = errors is not None and errors.reading_m is not None
    return known and errors is not None and errors.reading_source == "scatter" and errors.configuration is None


def instrument_words(errors: ErrorModel | None) -> str:
    """Where the standard deviation of a reading comes from."""
    if errors is None or errors.reading_m is None:
        return "not known: neither the plan's settings nor the model state it"
    if errors.reading_source == "stated":
        return "as stated in the calibration"
    return WORDS["scatter"] + (", with repeatability and lack of fit in it" if is_untold(errors) else "")


def repeatability_words(errors: ErrorModel | None, scattered: bool) -> str:
    """Where repeatability comes from, or in which line it is; ``scattered``: in the scatter of readings."""
    if errors is None:
        return "not known: the model does not say"
    if errors.stop is not None:
        return WORDS[errors.stop.source]
    if errors.configuration is not None and errors.configuration.source == "configurations":
        return "in lack of fit: no configuration was visited twice (column visit)"
    if scattered:
        return "in the instrument: nothing was repeated"
    return "not known: state [shared], or visit configurations twice (column visit)"


def lack_words(errors: ErrorModel | None, scattered: bool) -> str:
    """Where lack of fit comes from, or in which line it is; ``scattered``: in the scatter of readings."""
    if errors is None:
        return "not known: the model does not say"
    if errors.configuration is not None:
        return WORDS[errors.configuration.source]
    if scattered:
        return "in the instrument: nothing was repeated"
    return "not known: nothing was repeated"
