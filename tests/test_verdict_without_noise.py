"""The verdict on readings without noise: what rounding leaves is not taken for what a model learned by heart."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stiffarm.identify.estimate import Holdout
from stiffarm.identify.judge import verdict


def _settled() -> Any:
    return cast(Any, SimpleNamespace(held_scale=None, solution=SimpleNamespace(converged=True)))


@pytest.mark.parametrize(
    ("held_out_m", "training_m", "usable"),
    [
        (1.1e-12, 6.3e-16, True),  # touches without noise: both are arithmetic
        (9.0e-10, 1.0e-15, True),
        (1.1e-9, 1.0e-15, False),  # just outside
        (1.0e-4, 4.9e-5, False),  # noise learned by heart
        (1.0e-4, 5.1e-5, True),
    ],
)
def test_rounding_is_not_overfitting(held_out_m: float, training_m: float, usable: bool) -> None:
    holdout = Holdout("folds:5", 42, held_out_m, 1.2e-3)
    said = verdict(_settled(), holdout, training_m)
    assert said.usable == usable, said.reasons
    assert usable or "too many parameters" in said.reasons[0]
