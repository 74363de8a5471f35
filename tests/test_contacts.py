"""Touched targets taken out of the equations, against the full problem with every unknown in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.contact_rows import ContactRows
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.targets import targets_of
from touch_campaigns import Touched, touch_campaign

Floats = NDArray[np.float64]


def points_on(shape: str, count: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    if shape == "touch":
        return np.tile(random.normal(size=3), (count, 1)) + 1e-3 * random.normal(size=(count, 3))
    points = random.normal(size=(count, 3))
    if shape == "plane":
        points[:, 2] = 0.3 + 1e-3 * random.normal(size=count)
        return points @ np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    return 0.2 * points / np.linalg.norm(points, axis=1)[:, None] * (1 + 1e-3 * random.normal(size=(count, 1)))


def case(*shapes: str, counts: int = 7, distances: tuple[tuple[int, int, float], ...] = ()) -> tuple[Campaign, Floats]:
    """A campaign and the positions (3, readings) of its touches."""
    touched = [Touched(f"T{i}", shape, counts + i) for i, shape in enumerate(shapes)]
    campaign = touch_campaign(
        touched, distances=[(f"T{a}", f"T{b}", d) for a, b, d in distances], sigma_distance_m=1e-5
    )
    world = np.concatenate([points_on(t.shape, t.count, i) for i, t in enumerate(touched)]).T
    return campaign, np.concatenate([world, np.full((3, len(distances)), np.nan)], axis=1)


def full_least_squares(contacts: Contacts, world: Floats, by_parameter: Floats) -> tuple[Floats, Floats, float]:
    """Parameters, covariance and residual sum of the problem with all targets' unknowns in it, by finite differences
    of the plainest residuals; starting where the targets fit best."""
    targets, campaign = contacts.targets, contacts.campaign
    place = contacts.places(world)
    p = len(by_parameter)
    shared = {i: group for group in targets.groups for i in group}
    normals: dict[int, int] = {}
    at, where = p, {}
    for i, target in enumerate(targets.targets):
        if target.shape == "plane":
            leader = shared.get(i, (i,))[0]
            if leader not in normals:
                normals[leader] = at
                at += 2
            where[i] = [normals[leader], normals[leader] + 1, at]
            at += 1
        else:
            where[i] = list(range(at, at + target.unknowns))
            at += target.unknowns

    def residuals(x: Floats) -> Floats:
        moved = world + np.einsum("pjr,p->jr", np.nan_to_num(by_parameter), x[:p])
        out, now = [], {}
        for i, target in enumerate(targets.targets):
            d = x[where[i]]
            points, sigma = moved.T[target.rows], contacts.sigma_m[0, target.rows[0]]
            if target.shape == "plane":
                basis = np.linalg.svd(place[i, :3][None])[2][1:]
                normal = place[i, :3] + d[:2] @ basis
                size = np.linalg.norm(normal)
                now[i] = (place[i, 3] + d[2]) / size
                out.append((points @ normal / size - now[i]) / sigma)
            elif target.shape == "sphere":
                now[i] = place[i, :3] + d[:3]
                radius = place[i, 3] + (d[3] if len(d) == 4 else 0.0)
                out.append((np.linalg.norm(points - now[i], axis=1) - radius) / sigma)
            else:
                now[i] = place[i, :3] + d
                out.append(((points - now[i]) / sigma).ravel())
        for link in targets.links:
            length = np.linalg.norm(np.atleast_1d(now[link.second] - now[link.first]))
            out.append(np.array([(length - link.distance_m) / link.sigma_m]))
        return np.concatenate(out)

    from scipy.optimize import least_squares

    assert campaign.readings is not None
    found = least_squares(residuals, np.zeros(at), xtol=1e-15, ftol=1e-15, gtol=1e-15, jac="3-point")
    covariance = np.linalg.pinv(found.jac.T @ found.jac)
    return found.x[:p], covariance[:p, :p], 2.0 * found.cost


CASES = {
    "points": (("touch", "touch", "touch"), ()),
    "planes": (("plane", "plane"), ()),
    "sphere": (("sphere",), ()),
    "two-point artefact": (("touch", "touch"), ((0, 1, 1.3),)),
    "chain of points": (("touch", "touch", "touch", "touch"), ((0, 1, 1.3), (1, 2, 0.9), (2, 0, 1.1))),
    "gauge": (("plane", "plane"), ((0, 1, 0.05),)),
    "balls": (("sphere", "sphere"), ((0, 1, 0.01),)),
    "point and ball": (("touch", "sphere"), ((0, 1, 1.0),)),
}


@pytest.mark.parametrize("name", CASES)
def test_elimination_is_the_full_problem(name: str) -> None:
    shapes, distances = CASES[name]
    campaign, world = case(*shapes, distances=distances)
    contacts = Contacts(campaign)
    if distances:  # near the truth, so that one linearisation says it all
        place = contacts.places(world)
        links = [
            replace(link, distance_m=abs(place[link.second, 3] - place[link.first, 3]) + 1e-6)
            if shapes[0] == "plane"
            else replace(link, distance_m=float(np.linalg.norm(place[link.second, :3] - place[link.first, :3])) + 1e-6)
            for link in contacts.targets.links
        ]
        campaign, world = case(
            *shapes, distances=tuple((d[0], d[1], link.distance_m) for d, link in zip(distances, links, strict=True))
        )
        contacts = Contacts(campaign)
    by_parameter = np.random.default_rng(9).normal(size=(2, *world.shape))
    x = np.zeros(2)
    for _ in range(12):
        rows = ContactRows(contacts, world + np.einsum("pjr,p->jr", by_parameter, x))
        design = rows.columns(by_parameter)
        step = np.linalg.lstsq(design, rows.residual, rcond=None)[0]
        x = x + step
    want, covariance, cost = full_least_squares(contacts, world, by_parameter)
    np.testing.assert_allclose(x, want, rtol=1e-5, atol=1e-9)
    assert float(rows.residual @ rows.residual) / contacts.scale_m**2 == pytest.approx(cost, rel=1e-5)
    ours = np.linalg.inv(design.T @ design) * contacts.scale_m**2
    np.testing.assert_allclose(ours, covariance, rtol=2e-3, atol=1e-3 * float(np.abs(covariance).max()))


@pytest.mark.parametrize("name", CASES)
def test_as_many_rows_as_numbers_less_unknowns(name: str) -> None:
    shapes, distances = CASES[name]
    campaign, world = case(*shapes, distances=distances)
    contacts = Contacts(campaign)
    rows = ContactRows(contacts, world)
    planes = sum(max(0, len(group) - 1) * 2 for group in contacts.targets.groups if shapes[group[0]] == "plane")
    count = sum(t.scalars - t.unknowns for t in contacts.targets.targets) + len(distances) + planes
    assert len(rows.residual) == len(rows.columns(np.ones((1, *world.shape)))) == len(contacts) == count
    assert all(len(label) == count for label in contacts.labels)


def test_all_pairs_say_what_the_centred_rows_say() -> None:
    """Paper 004, eq. 7: the sum over pairs is the number of touches times the centred sum, to rounding."""
    campaign, world = case("touch", counts=40)
    rows = ContactRows(Contacts(campaign), world)
    pairs = sum(float(np.sum((world[:, i] - world[:, j]) ** 2)) for i in range(40) for j in range(i))
    assert pairs == pytest.approx(40 * float(rows.residual @ rows.residual), rel=2e-15 * 40)


def test_weights_of_touches_are_kept() -> None:
    campaign, world = case("touch", counts=5)
    sigma = np.full_like(campaign.readings.sigma, np.nan)
    sigma[:3] = np.random.default_rng(2).uniform(1e-5, 1e-3, (3, sigma.shape[1]))
    campaign = replace(campaign, readings=replace(campaign.readings, sigma=sigma))
    contacts = Contacts(campaign)
    assert contacts.stated
    mean = (world / sigma[:3] ** 2).sum(axis=1) / (1.0 / sigma[:3] ** 2).sum(axis=1)
    want = float(np.sum(((world - mean[:, None]) / sigma[:3]) ** 2))
    residual = ContactRows(contacts, world).residual / contacts.scale_m
    assert float(residual @ residual) == pytest.approx(want, rel=1e-12)


def test_the_scatter_comes_from_rows_or_instrument_or_is_unknown() -> None:
    campaign, _ = case("touch", "plane")
    assert not Contacts(campaign).stated
    assert Contacts(replace(campaign, instrument=Isotropic(2e-5))).scale_m == pytest.approx(2e-5)


def test_touching_one_name_as_two_things_is_refused() -> None:
    with pytest.raises(InputError, match="two kinds of thing"):
        targets_of(touch_campaign([Touched("hole", "touch", 3), Touched("hole", "plane", 3)]))


def test_a_distance_from_a_point_to_a_plane_is_refused() -> None:
    with pytest.raises(InputError, match="parallel planes"):
        targets_of(case("touch", "plane", distances=((0, 1, 0.1),))[0])


def test_a_distance_to_what_nobody_touched_is_left_out() -> None:
    campaign = touch_campaign([Touched("a", "touch", 3)], distances=[("a", "b", 0.1)])
    assert targets_of(campaign).links == ()
