"""What a stop tells: columns against those of the design, gains against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from plan_problems import CABLE, information
from stiffarm.errors import InputError
from stiffarm.identifiability.design import Design, design_columns
from stiffarm.measure.campaign import Instrument, Isotropic, SharedError, SigmaTable, Spherical, Tracker
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.plan.columns import makers
from stiffarm.plan.constraints import CableLength, LineOfSight, ToolBox
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Constraint, FixedForce, Floats, FreeForce, Pull, Reading, Stops

SHARED = SharedError(1e-5, 1e-4)
TRACKER = Tracker(5e-6, 1e-6, 2e-6)
MANY = ("A*.compliance", "link*", "A2.compensator.*", "A1.x", "A3.r*", "base*", "tool*", "*.gain", "*.sin", "A2.coup*")
FREE = FreeForce("tool", 4000.0)
DOWN = FixedForce("flange", (0.0, 0.0, -3000.0))
POSE = Reading("pose", ("tool",), Isotropic(3e-5, 1e-4), shared=SHARED)
CASES = {
    "cable": ("kr500-rail", ("*.compliance",), CABLE, Reading("deflection", ("P1", "P2"), Isotropic(3e-5))),
    "tracker, everything": ("kr270", MANY, FREE, Reading("position", ("P1", "P2"), TRACKER, shared=SHARED,
                                                        station_m=(5.0, 1.0, 1.0))),
    "pose": ("kr270", ("A*.compliance", "base*", "A3.rx"), DOWN, POSE),
    "spherical": ("kr270", ("A?.compliance",), FREE, Reading("deflection", ("P1", "P2"), Spherical(3e-5),
                                                             shared=SHARED)),
    "rail with coupling": ("r2000ic-165f", ("*.gain", "*.rz"), None, Reading("position", ("tool",), Isotropic(1e-5))),
}  # fmt: skip


def stops_of(info: Information, pull: Pull | None, count: int = 3) -> Stops:
    random = np.random.default_rng(5)
    q = random.uniform(-1.0, 1.0, (len(info.asked.model.robot.joints), count))
    aimed = pull is not None and not isinstance(pull, FixedForce)
    return Stops(q, random.uniform(1.0, 3.0, (3, count)) if aimed else None)


@pytest.mark.parametrize("case", CASES)
def test_gains_change_with_joints_and_aim_as_differences_say(case: str) -> None:
    robot, patterns, pull, reading = CASES[case]
    info = information(robot, tuple(p for p in patterns if p != "load.gain"), pull, reading)
    info = without(info, "load.")
    stops = stops_of(info, pull)
    square = np.random.default_rng(3).normal(size=(info.size, info.size))
    n = square @ square.T
    gains, h = info.gains(stops, n), 1e-6
    white = info.rows(stops)
    np.testing.assert_allclose(gains.value, np.einsum("nrp,pq,nrq->n", white, n, white), rtol=1e-10)
    for j in range(len(stops.q)):
        step = h * np.eye(len(stops.q))[j][:, None]
        ahead, behind = (info.gains(Stops(stops.q + s, stops.aim), n).value for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), gains.by_q[j], atol=3e-8 * np.abs(gains.by_q).max())
    for k in range(0 if stops.aim is None else 3):
        step = h * np.eye(3)[k][:, None]
        assert stops.aim is not None
        ahead, behind = (info.gains(Stops(stops.q, stops.aim + s), n).value for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), gains.by_aim[k], atol=3e-8 * np.abs(gains.by_aim).max())


def without(info: Information, prefix: str) -> Information:
    keep = [i for i, name in enumerate(info.names) if not name.startswith(prefix)]
    names = tuple(info.names[i] for i in keep)
    return Information(info.asked, names, info.reading, info.pull, info.scale[keep], np.zeros((0, len(keep))))


def test_columns_are_those_of_a_design() -> None:
    info = without(information("kr270", (*MANY[:2], *MANY[3:]), DOWN, POSE), "load.")
    stops = stops_of(info, DOWN)
    asked = type(info.asked)(info.asked.model, info.names, True, True)
    (at, maker), (drive, bent) = makers(asked, ("P1", "P2"), DOWN, weights=True, pose=True)
    assert sorted([*at.tolist(), *drive.tolist()]) == list(range(info.size))
    force = np.repeat(np.array(DOWN.force_world)[:, None], len(stops), axis=1)
    design = Design(stops.q, force, np.zeros_like(force), "flange", ("P1", "P2"), True)
    expected = design_columns(design, info.asked.model, info.names, deflection=False).reshape(len(stops), 9, -1)
    found = maker.at(stops).columns.transpose(2, 1, 0)
    order = [0, 1, 2, 6, 7, 8, 3, 4, 5]  # a design lists the rotation with the first marker
    np.testing.assert_allclose(found, expected[:, order][:, :, at], atol=1e-12 * np.abs(expected).max())
    assert [info.names[i] for i in drive] == ["A2.compliance"]
    moved = bent.at(stops).columns.transpose(2, 1, 0)[:, :6, 0]
    np.testing.assert_allclose(moved, by_compliance_of_a_drive(info, stops), rtol=1e-6)


def by_compliance_of_a_drive(info: Information, stops: Stops) -> Floats:
    """(n, numbers) differences of where the markers are as the drive beside the compensator softens."""
    model, h = info.asked.model, 1e-12
    places = []
    for step in (h, -h):
        arm = model.at({"A2.compliance": model.nominal["A2.compliance"] + step})
        force = np.repeat(np.array(DOWN.force_world)[:, None], len(stops), axis=1)
        state = State(stops.q, (Load(arm.chain.point("flange"), force), *arm.weights()))
        places.append(np.concatenate([predict(arm, state, marker).deflection for marker in ("P1", "P2")]))
    return np.asarray((places[0] - places[1]).T / (2.0 * h))


def test_white_rows_have_the_covariance_of_the_instrument() -> None:
    reading = CASES["tracker, everything"][3]
    info = without(information("kr270", ("A?.compliance", "base*"), FREE, reading), "load.")
    stops = stops_of(info, FREE)
    seen = info.at(stops)
    covariance = info.noise.covariance(seen.points[0])
    unit = seen.factor @ covariance @ seen.factor.transpose(0, 2, 1)
    np.testing.assert_allclose(unit, np.broadcast_to(np.eye(6), unit.shape), atol=1e-10)
    beam = seen.points[0][0, :, 0] - np.array(reading.station_m)
    d, u = np.linalg.norm(beam), beam / np.linalg.norm(beam)
    own = covariance[0, :3, :3] - 1e-10 * np.eye(3)  # less the shift that is shared
    lever = seen.points[0][0, :, 0] - seen.points[0][:, :, 0].mean(axis=0)
    turned = 1e-8 * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    along, across = 5e-6 + 1e-6 * d, 2e-6 * d
    np.testing.assert_allclose(own - turned, across**2 * np.eye(3) + (along**2 - across**2) * np.outer(u, u), rtol=1e-6)


@pytest.mark.parametrize(
    ("instrument", "kind", "words"),
    [
        (SigmaTable(("E1",), ((1e-5, 1e-5, 1e-5),)), "position", "known ones only"),
        (TRACKER, "position", "where it stands"),
        (Isotropic(1e-5), "pose", "rotations"),
    ],
)
def test_an_instrument_that_says_too_little_is_refused(instrument: Instrument, kind: str, words: str) -> None:
    info = information("kr270", ("A?.compliance",), DOWN, Reading(kind, ("tool",), instrument))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=words):
        info.rows(stops_of(info, DOWN))


def test_margins_change_as_differences_say() -> None:
    info = information("kr500-rail", ("*.compliance",), CABLE, CASES["cable"][3])
    arm, stops, h = info.asked.model.at(), stops_of(info, CABLE), 1e-6
    constraints: tuple[Constraint, ...] = (
        ToolBox(arm, (-np.inf, 0.0, 0.5), (1.0, np.inf, np.inf)),
        CableLength(arm, "hook"),
        LineOfSight(arm, ("P1", "P3"), (4.0, 0.0, 1.0), 9.0, 0.5, (0.3, 0.1, 1.0), 0.6),
    )
    for constraint in constraints:
        found = constraint.derivatives(stops)
        np.testing.assert_array_equal(found.value, constraint.margins(stops))
        for j in range(7):
            step = h * np.eye(7)[j][:, None]
            ahead, behind = (constraint.margins(Stops(stops.q + s, stops.aim)) for s in (step, -step))
            np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_q[:, j], atol=1e-7)
        for k in range(3):
            step = h * np.eye(3)[k][:, None]
            assert stops.aim is not None
            ahead, behind = (constraint.margins(Stops(stops.q, stops.aim + s)) for s in (step, -step))
            np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_aim[:, k], atol=1e-7)
