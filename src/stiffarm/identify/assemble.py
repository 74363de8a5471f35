"""From a fit to the estimate a user gets: intervals, classes, frames, domain, provenance.

The covariance of a frame is found about the centre of its readings, where shift d and turn w are as good as
independent; the frame's own translation moves by d + w x (t - c), so the stated one is carried to the origin.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm import __version__
from stiffarm.identifiability.practical import practical_class
from stiffarm.identify.error_model import errors_of
from stiffarm.identify.estimate import (
    Domain,
    Estimate,
    FitSummary,
    Held,
    Holdout,
    Outlier,
    ParameterEstimate,
    Provenance,
    RobotText,
    SetupEstimate,
    TargetEstimate,
    Verdict,
)
from stiffarm.identify.fit import Fit
from stiffarm.identify.options import Options
from stiffarm.identify.positive import notes_on_links
from stiffarm.identify.remains import remains_of
from stiffarm.identify.smaller import expanded, in_full
from stiffarm.measure.campaign import Campaign
from stiffarm.model.effects import JointCompliance
from stiffarm.model.parameters import Parameter
from stiffarm.robot.placement import skew, vector_from_rotation
from stiffarm.robot.writing import robot_text

Floats = NDArray[np.float64]
_Rows = tuple[tuple[float, ...], ...]


def training_rms(found: Fit) -> float | None:
    """Root mean square of the 3-D position residual of the fit, of touches about their targets, m."""
    component, row = found.system.read
    lengths = component < 3
    squares = np.sum(found.solution.equations.residual[: len(row)][lengths] ** 2)
    touches = found.system.contacts.rows
    count = len(np.unique(row[lengths])) + len(touches)
    if not count:
        return None
    if len(touches):
        world = found.system.observer.expected(found.system.arm(found.at), found.at.frames).world
        off, _ = found.system.contacts.missing(world, found.system.contacts.places(world))
        squares += np.sum(off**2)
    return float(np.sqrt(squares / count))


def assemble(
    found: Fit,
    options: Options,
    *,
    holdout: Holdout | None,
    verdict: Verdict,
    outliers: Sequence[Outlier] = (),
    provenance: Provenance | None = None,
) -> Estimate:
    """The estimate of a fit."""
    n = len(found.names)
    full = expanded(found.asked.model, found.names)
    details = found.estimate.details
    lack = details.lack_of_fit
    dof = float(np.min(found.estimate.dof[:n], initial=np.inf))
    return Estimate(
        robot=_robot(found),
        parameters=_parameters(found, options),
        covariance_names=full.names,
        covariance=_rows(full.covariance(found.estimate.covariance[:n, :n])),
        scale_covariance=_rows(full.covariance(found.scale[:n, :n])) if found.errors.names or found.held_scale else (),
        dropped=tuple(Held(d.name, d.why) for d in found.dropped),
        setups=_setups(found),
        outliers=tuple(outliers),
        fit=FitSummary(
            n_rows=len(found.system.campaign.readings),
            dof=dof if np.isfinite(dof) else None,
            rms_m=training_rms(found),
            estimator=found.estimate.estimator,
            lack_of_fit=None
            if lack is None
            else {"F": lack.F, "dof_lack": lack.dof_lack, "dof_pure": lack.dof_pure, "p": lack.p_value},
            rank=found.rank,
            gap=float(min(found.selection.gap, 1e16)),
            iterations=found.solution.iterations,
            reading_m=reading_sigma(found),
            scale_sigma=None if found.held_scale is None else found.held_scale.sigma,
            shared_errors={
                component.name: component.sigma
                for component in details.variance_components
                if component.name in details.shared_effects
            },
        ),
        domain=domain(found.system.campaign),
        holdout=holdout,
        verdict=verdict,
        provenance=provenance or Provenance(versions(), options.seed),
        notes=_notes(found),
        errors=errors_of(found),
        remains=remains_of(found),
        targets=targets_found(found),
    )


def targets_found(found: Fit) -> tuple[TargetEstimate, ...]:
    """Where everything touched is."""
    contacts = found.system.contacts
    if not len(contacts.rows):
        return ()
    world = found.system.observer.expected(found.system.arm(found.at), found.at.frames).world
    places = contacts.places(world)
    off = np.linalg.norm(contacts.missing(world, places)[0], axis=1)
    ends = np.cumsum([len(target.rows) for target in contacts.targets.targets])
    return tuple(
        TargetEstimate(
            target.name,
            target.shape,
            tuple(map(float, place[:3])),
            None if target.shape == "touch" else float(place[3]),
            len(part),
            float(np.sqrt(np.mean(part**2))),
        )
        for target, place, part in zip(contacts.targets.targets, places, np.split(off, ends[:-1]), strict=True)
    )


def reading_sigma(found: Fit) -> float | None:
    """Standard deviation of the 3-D error of one reading as the fit found it, m; None without lengths.

    A deflection that was not made from two rows is two readings.
    """
    component, row = found.system.take
    sigma = found.estimate.details.row_sigma
    lengths = component < 3
    if sigma is None or not lengths.any():
        return None
    variance = (sigma * (found.noise.sigma if found.noise.whitening.mixes else 1.0)) ** 2
    resolved = found.system.rows
    readings = np.where(resolved.source.kind("deflection")[resolved.origin], 2.0, 1.0)
    return float(np.sqrt(3.0 * np.mean((variance / readings[row])[lengths])))


def _rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in matrix)


def versions() -> dict[str, str]:
    """Versions that matter for a number."""
    import scipy

    return {
        "stiffarm": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _robot(found: Fit) -> RobotText:
    groups = {
        effect.joint: effect.groups
        for effect in found.asked.model.full.effects
        if isinstance(effect, JointCompliance) and effect.groups
    }
    robot = found.asked.model.robot
    return RobotText(f"{robot.name}.robot.toml", robot_text(robot), groups)


def _parameters(found: Fit, options: Options) -> tuple[ParameterEstimate, ...]:
    known = {p.name: p for p in found.asked.model.parameters}
    merged: dict[str, list[str]] = {name: [] for name in found.names}
    for dropped in found.dropped:
        for name in dropped.merged_into:
            merged.get(name, []).append(dropped.name)
    ends = found.estimate.intervals(options.level)
    shift = found.estimate.values
    fitted = {
        name: _fitted(known[name], found.at.values[name], i, found, ends[i] - shift[i], tuple(merged[name]), options)
        for i, name in enumerate(found.names)
    }
    held = {
        d.name: ParameterEstimate(
            d.name,
            known[d.name].unit,
            None if known[d.name].elastic else known[d.name].nominal,
            known[d.name].nominal,
            None,
            None,
            None,
            options.level,
            None,
            "merged" if d.merged_into else "unobservable",
            d.merged_into,
        )
        for d in found.dropped
        if d.name in known  # a reduction has taken the others out of the model
    }
    own = tuple((fitted | held)[name] for name in found.asked.names if name in fitted or name in held)
    return own if found.asked.model.reduction is None else in_full(found, own, options)


def _fitted(
    parameter: Parameter, value: float, i: int, found: Fit, ends: Floats, merged: tuple[str, ...], options: Options
) -> ParameterEstimate:
    std = float(found.estimate.sigma[i])
    signal = abs(value if parameter.elastic else value - parameter.nominal)
    nu = signal / std if std > 0 else np.inf
    return ParameterEstimate(
        parameter.name,
        parameter.unit,
        float(value),
        parameter.nominal,
        std,
        float(value + ends[0]),
        float(value + ends[1]),
        options.level,
        float(min(nu, 1e16)),
        practical_class(nu, options.nu),
        merged,
    )


def _setups(found: Fit) -> tuple[SetupEstimate, ...]:
    system, n = found.system, len(found.names)
    model, values = found.asked.model, found.at.values
    setups = []
    for i, setup in enumerate(system.campaign.setups):
        frame = found.at.frames.get(setup.name)
        if frame is None:
            continue
        covariance = cross = scale = scale_cross = None
        if i in system.unknown_frames:
            at = n + 6 * system.unknown_frames.index(i)
            carry = np.eye(6)
            carry[:3, 3:] = -skew(frame.translation - system.centres[:, i])
            covariance, cross = _of_frame(found.estimate.covariance, at, n, carry)
            if found.errors.names:
                scale, scale_cross = _of_frame(found.scale, at, n, carry)
        markers = tuple((m, tuple(values[f"tool.{m}.{a}"] for a in "xyz")) for m in model.robot.marker_names)
        setups.append(
            SetupEstimate(
                setup.name,
                tuple(map(float, frame.translation)),
                tuple(map(float, vector_from_rotation(frame.rotation))),
                markers,
                tuple(values[f"tool.{a}"] for a in ("rx", "ry", "rz")),
                covariance,
                cross,
                scale,
                scale_cross,
            )
        )
    return tuple(setups)


def _of_frame(covariance: Floats, at: int, n: int, carry: Floats) -> tuple[_Rows, _Rows]:
    """Covariance of the frame whose unknowns begin at ``at``, and its covariance with the n parameters."""
    six = slice(at, at + 6)
    return _rows(carry @ covariance[six, six] @ carry.T), _rows(carry @ covariance[six, :n])


def domain(campaign: Campaign) -> Domain:
    """Ranges of joints, torques, force and temperatures over the experiments that were read."""
    used = np.unique(campaign.readings.experiment)
    experiments = campaign.experiments
    force = np.zeros(len(experiments))
    if experiments.load_points:
        force = np.linalg.norm(experiments.wrench_world[:, :3].sum(axis=0), axis=0)
    torque = experiments.joint_torque
    return Domain(
        _ranges(dict(zip(campaign.joints, experiments.q[:, used], strict=True))),
        {} if torque is None else _ranges(dict(zip(campaign.joints, torque[:, used], strict=True))),
        _ranges({"force": force[used]}).get("force"),
        _ranges({name: values[used] for name, values in experiments.temperature.items()}),
    )


def _ranges(table: Mapping[str, Floats]) -> dict[str, tuple[float, float]]:
    return {
        name: (float(np.nanmin(values)), float(np.nanmax(values)))
        for name, values in table.items()
        if np.isfinite(values).any()
    }


def _notes(found: Fit) -> tuple[str, ...]:
    notes = [*found.estimate.details.messages, *notes_on_links(found)]
    compliances = any(".compliance" in name for name in found.names)
    campaign = found.system.campaign
    if found.errors.names:
        notes.append(f"carried into every interval: the stated uncertainty of {', '.join(found.errors.names)}")
    carried = campaign.load_uncertainty.gain_sigma > 0 or "load.gain" in found.names
    if compliances and campaign.experiments.wrench_world.any() and not carried:
        notes.append(
            "the common scale of all compliances rests on the stated force being exact; "
            "state [load] gain_sigma in the campaign file to carry its uncertainty into every interval"
        )
    return tuple(notes)
