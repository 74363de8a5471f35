"""The nouns of planning."""

from __future__ import annotations

from typing import Any

import numpy as np

from stiffarm.plan.problem import Cable, PlanProblem, Stops


def _problem(experiments: int, poses: int) -> PlanProblem:
    nothing: Any = None
    return PlanProblem(nothing, nothing, nothing, None, experiments, poses)


def test_repeats_are_as_even_as_they_can_be() -> None:
    assert _problem(12, 5).repeats().tolist() == [3, 3, 2, 2, 2]
    assert _problem(12, 3).repeats().tolist() == [4, 4, 4]


def test_stops_are_taken_joined_and_aimed() -> None:
    stops = Stops(np.arange(8.0).reshape(2, 4)).aimed(np.array([1.0, 2.0, 3.0]))
    both = stops.take(np.array([2, 0])).join(stops.take(slice(3, 4)))
    assert both.q.tolist() == [[2.0, 0.0, 3.0], [6.0, 4.0, 7.0]]
    assert both.aim is not None
    assert both.aim.T.tolist() == [[1.0, 2.0, 3.0]] * 3


def test_a_cable_says_what_of_its_attachment_is_free() -> None:
    assert Cable("hook", 4000.0, (2.0, 6.0, -0.891), (6.0, 6.0, -0.891)).free.tolist() == [True, False, False]
