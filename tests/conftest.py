"""What every test may rely on."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import settings

# The same examples in every run, and no verdict that depends on how busy the machine is.
settings.register_profile("stiffarm", derandomize=True, deadline=None, database=None)
settings.load_profile("stiffarm")


@pytest.fixture(scope="session")
def pinocchio() -> ModuleType:
    """Pinocchio, an independent kinematics library; the test is skipped where it has no wheel."""
    module: ModuleType = pytest.importorskip(
        "pinocchio", reason="Pinocchio is not installed (extra 'oracle'; it has no wheel for this platform)"
    )
    return module
