"""The kernel asks nothing of its arrays but the array API: it runs on arrays that refuse everything of NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stiffarm.model.arm_model import ArmModel
from stiffarm.model.chain import Chain
from stiffarm.model.kernel import Frames, frames, turning_columns, world_node, world_point
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot

SCALARS = (int, float)


class Strict:
    """An array that meets its own kind and scalars only, and knows the few functions of the standard used here."""

    __array_ufunc__ = None

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("turned into an array of NumPy")

    def __array_namespace__(self) -> type[Namespace]:
        return Namespace

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def __getitem__(self, key: Any) -> Strict:
        return Strict(self.data[key])

    def _other(self, other: Any) -> np.ndarray | float:
        if not isinstance(other, Strict | int | float):
            raise TypeError(f"met {type(other).__name__}")
        return other.data if isinstance(other, Strict) else other

    def __add__(self, other: Any) -> Strict:
        return Strict(self.data + self._other(other))

    def __sub__(self, other: Any) -> Strict:
        return Strict(self.data - self._other(other))

    def __mul__(self, other: Any) -> Strict:
        return Strict(self.data * self._other(other))

    def __matmul__(self, other: Strict) -> Strict:
        return Strict(self.data @ self._other(other))

    def __neg__(self) -> Strict:
        return Strict(-self.data)


class Namespace:
    """Functions of the array API, on `Strict` arrays."""

    @staticmethod
    def asarray(values: np.ndarray | Strict) -> Strict:
        return values if isinstance(values, Strict) else Strict(np.asarray(values))

    @staticmethod
    def sin(x: Strict) -> Strict:
        return Strict(np.sin(x.data))

    @staticmethod
    def cos(x: Strict) -> Strict:
        return Strict(np.cos(x.data))

    @staticmethod
    def concat(arrays: Sequence[Strict], axis: int = 0) -> Strict:
        return Strict(np.concatenate([one.data for one in arrays], axis=axis))

    @staticmethod
    def stack(arrays: Sequence[Strict], axis: int = 0) -> Strict:
        return Strict(np.stack([one.data for one in arrays], axis=axis))

    @staticmethod
    def reshape(x: Strict, shape: tuple[int, ...]) -> Strict:
        return Strict(np.reshape(x.data, shape))

    @staticmethod
    def broadcast_to(x: Strict, shape: tuple[int, ...]) -> Strict:
        return Strict(np.broadcast_to(x.data, shape))


def assert_same(ours: Any, theirs: np.ndarray) -> None:
    assert isinstance(ours, Strict)
    np.testing.assert_array_equal(ours.data, theirs)


def chain_of(name: str, *, calibrated: bool) -> Chain:
    model = ArmModel.of(read_robot(name))
    rng = np.random.default_rng(1)
    wrong = {
        p.name: p.nominal + p.scale * rng.normal() for p in model.parameters if not p.elastic and "load" not in p.name
    }
    return model.at(wrong if calibrated else None).chain


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("name", packaged_robots())
def test_frames_and_columns_on_arrays_of_another_library(name: str, calibrated: bool) -> None:
    chain = chain_of(name, calibrated=calibrated)
    q = np.random.default_rng(2).uniform(-2.0, 2.0, (chain.n_joints, 5))
    at: Frames = frames(chain, q)
    other: Frames = frames(chain, Strict(q))  # type: ignore[arg-type]
    for ours, theirs in zip((*other.rotation, *other.origin), (*at.rotation, *at.origin), strict=True):
        assert_same(ours, theirs)
    point = chain.point("tool")
    assert_same(world_point(other, point).xyz, world_point(at, point).xyz)
    for k in range(chain.n_joints):
        node, there = world_node(at, chain.joint_node(k)), world_node(other, chain.joint_node(k))
        columns = turning_columns(node, world_point(at, point))
        assert_same(turning_columns(there, world_point(other, point)), columns)
