"""stiffarm: calibrate the geometry and the elasticity of robot arms, and make use of it.

>>> import stiffarm
>>> stiffarm.read_robot("kr270").joint_names
('A1', 'A2', 'A3', 'A4', 'A5', 'A6')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stiffarm.identify.api import identify
    from stiffarm.identify.estimate import Estimate
    from stiffarm.identify.options import Options
    from stiffarm.measure.merging import read_campaigns
    from stiffarm.robot.reading import read_robot

_HOME = {
    "Estimate": "stiffarm.identify.estimate",
    "Options": "stiffarm.identify.options",
    "identify": "stiffarm.identify.api",
    "read_campaigns": "stiffarm.measure.merging",
    "read_robot": "stiffarm.robot.reading",
}
"""Public names and where they live: imported when first asked for, so that `import stiffarm` costs nothing."""

__all__ = ["Estimate", "Options", "__version__", "identify", "read_campaigns", "read_robot"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'stiffarm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
