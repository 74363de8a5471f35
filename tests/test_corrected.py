"""Corrected paths as writers of programs see them."""

from __future__ import annotations

import numpy as np

from stiffarm.compensate.corrected import CorrectedPath, Refused


def test_points_come_in_order_with_their_lines() -> None:
    q, pose = np.arange(4.0).reshape(2, 2), np.arange(12.0).reshape(6, 2)
    path = CorrectedPath(("A1", "A2"), q, pose, np.array([2, 5]))
    rows, joints, poses = zip(*path.points(), strict=True)
    assert rows == (2, 5)
    assert np.array_equal(np.stack(joints, axis=1), q)
    assert np.array_equal(np.stack(poses, axis=1), pose)


def test_a_refused_point_makes_the_path_incomplete() -> None:
    path = CorrectedPath(("A1",), np.zeros((1, 1)), np.zeros((6, 1)), np.array([2]), refused=(Refused(2, "no reach"),))
    assert not path.complete
