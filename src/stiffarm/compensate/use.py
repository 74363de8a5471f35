"""What is stated of the use a budget is asked for: the instrument that will read, the load that will pull.

A plan may have settings beside it (`NAME.campaign.toml`) and ``sigma.*`` columns, like a campaign.  What they do not
say of the instrument and of repeatability is taken from the model; what they do not say of the load is not known, for
the load of the calibration was another one.  Weights of links and tool are taken as known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked
from stiffarm.compensate.budget_lines import Part, along_axes
from stiffarm.compensate.model_file import KnownModel
from stiffarm.identify.estimate import ErrorModel, SharedErrors
from stiffarm.measure.campaign import Campaign, LoadUncertainty, Payload, SharedError
from stiffarm.measure.columns import markers_of
from stiffarm.measure.frames import Source
from stiffarm.measure.instruments import reading_covariance
from stiffarm.measure.paths import read_plan_or_path
from stiffarm.measure.points import row_frames, seen_points
from stiffarm.model.evaluate import sensitivity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Use:
    """A plan's settings, or those of a path, which has none."""

    plan: Campaign | None
    load: LoadUncertainty | None
    """None: nothing is stated."""
    covariance: Floats | None
    """(3, 3, rows) of the numbers in the plan's rows along world axes, m^2; NaN where neither settings nor row say."""

    @cached_property
    def stop(self) -> SharedErrors | None:
        """Repeatability as the plan states it."""
        if self.plan is None or self.plan.shared == SharedError():
            return None
        return SharedErrors(self.plan.shared.translation_m, self.plan.shared.rotation_rad, "stated")

    def shared(self, errors: ErrorModel | None) -> tuple[SharedErrors | None, SharedErrors | None]:
        """Errors of the stop and of the configuration that hold here."""
        return self.stop or (errors.stop if errors else None), errors.configuration if errors else None

    def centre(self, model: KnownModel) -> tuple[str, ...]:
        """The points whose mean a stop turns about: those that are read together."""
        if self.stop is not None and self.plan is not None and self.plan.markers:
            return self.plan.markers
        known = markers_of(model.robot)
        read = tuple(name for name in (model.errors.markers if model.errors else ()) if name in known)
        return read or model.robot.marker_names or ("tool",)

    def reading(self, errors: ErrorModel | None, rows: Ints, turn: Floats, *, difference: bool) -> list[Part] | None:
        """Scatter of the numbers in the rows, along the axes of the answer."""
        if self.covariance is not None:
            stated = np.einsum("ij,jkn,lk->iln", turn, self.covariance[:, :, rows], turn)
            diagonal = stated[range(3), range(3)]
            if np.isfinite(diagonal).all():
                return [along_axes("reading", np.sqrt(diagonal), np.ones(len(rows)))]
        if errors is None or errors.reading_m is None:
            return None
        u = np.broadcast_to(np.array(errors.reading_m)[:, None], (3, len(rows)))
        return [along_axes("reading", u, np.full(len(rows), np.sqrt(2.0) if difference else 1.0))]

    @cached_property
    def reading_words(self) -> str | None:
        """Where the instrument of the plan is stated; None when it is not."""
        known = self.covariance is not None and np.isfinite(self.covariance[range(3), range(3)]).all()
        return "as stated for the plan" if known else None

    @property
    def load_words(self) -> str:
        """What is stated of the load."""
        if self.load is not None or self._tension is not None:
            return "as stated for these points"
        return "not known where something pulls: state [load] in the plan's settings, or --gain-sigma"

    @cached_property
    def _tension(self) -> Floats | None:
        """(rows,) N, standard deviations of the force of each row."""
        if self.plan is None or self.plan.experiments.sigma_force_n is None:
            return None
        return np.asarray(self.plan.experiments.sigma_force_n[self.plan.readings.experiment])

    def parts(
        self,
        model: KnownModel,
        asked: Asked,
        payload: Payload | None,
        rows: Ints,
        columns: Floats,
        turn: Floats,
        point: str,
        *,
        difference: bool,
    ) -> list[Part] | None:
        """Inputs of the load; ``columns`` (4, 3, rows) are those of its gain and of its turn."""
        bolted = [] if difference else self._payload(model, asked, payload, rows, turn, point)
        if asked.joint_torque is not None and not difference:
            return None  # measured torques stand for the loads, and nobody says how well they are known
        force = np.linalg.norm(asked.wrench_world[:, :3, rows].sum(axis=0), axis=0)
        if not asked.wrench_world[:, :, rows].any():
            return bolted
        tension = None if self._tension is None else self._tension[rows]
        if tension is not None and np.isfinite(tension).all():
            per_newton = np.divide(columns[:1], force, out=np.zeros_like(columns[:1]), where=force > 0.0)
            bolted.append(Part(("tension",), ("N",), tension[None, :], per_newton))
        elif self.load is None:
            return None
        if self.load is not None:
            turned = self.load.direction_sigma_rad
            u = np.array([self.load.gain_sigma, turned, turned, turned])[:, None] * np.ones(len(rows))
            bolted.append(Part(("load.gain", "load.rx", "load.ry", "load.rz"), ("1", "rad", "rad", "rad"), u, columns))
        return bolted

    def _payload(
        self, model: KnownModel, asked: Asked, payload: Payload | None, rows: Ints, turn: Floats, point: str
    ) -> list[Part]:
        """The mass of what is bolted to the flange."""
        if payload is None or payload.mass_sigma_kg <= 0.0:
            return []
        centre = dict(zip(("payload.x", "payload.y", "payload.z"), payload.com_m, strict=True))
        arm = model.model.at({**model.values, **centre})
        state = asked.state(arm, rows, payload)
        columns = np.einsum("ij,pjn->pin", turn, sensitivity(arm, state, point, ("payload.mass",))[1])
        return [Part(("payload.mass",), ("kg",), np.full((1, len(rows)), payload.mass_sigma_kg), columns)]


def use_of(
    model: KnownModel,
    asked: Asked,
    path: Source,
    *,
    gain_sigma: float | None = None,
    direction_sigma_rad: float | None = None,
) -> Use:
    """What a file and its settings state; ``gain_sigma`` and ``direction_sigma_rad`` take the place of theirs."""
    found = read_plan_or_path(path, model.robot)
    plan = found if isinstance(found, Campaign) else None
    load = None if plan is None or plan.load_uncertainty == LoadUncertainty() else plan.load_uncertainty
    if gain_sigma is not None or direction_sigma_rad is not None:
        before = load or LoadUncertainty()
        load = replace(
            before,
            gain_sigma=before.gain_sigma if gain_sigma is None else gain_sigma,
            direction_sigma_rad=before.direction_sigma_rad if direction_sigma_rad is None else direction_sigma_rad,
        )
    return Use(plan, load, None if plan is None else _reading_world(model, plan))


def _reading_world(model: KnownModel, plan: Campaign) -> Floats:
    """(3, 3, rows) covariance of the plan's numbers as its settings or rows state it, along world axes."""
    frames = {setup.name: setup.frame for setup in model.setups}
    points = seen_points(model.arm(), plan, frames)
    covariance = reading_covariance(plan, points=points).position
    turn = row_frames(plan, frames)[0]
    return np.asarray(np.einsum("jir,jkr,klr->ilr", turn, covariance, turn))
