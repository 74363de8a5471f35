"""stiffarm: calibrate the geometry and the elasticity of robot arms, and make use of it.

>>> import stiffarm
>>> stiffarm.read_robot("kr270").joint_names
('A1', 'A2', 'A3', 'A4', 'A5', 'A6')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stiffarm.compensate.api import budget, compare, compensate, predict, simulate, validate
    from stiffarm.compensate.given import table
    from stiffarm.compensate.map_api import conforms, map, place
    from stiffarm.compensate.model_file import read_model
    from stiffarm.errors import InputError
    from stiffarm.identifiability.api import assess
    from stiffarm.identifiability.question import Question
    from stiffarm.identify.api import identify
    from stiffarm.identify.estimate import Estimate
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.options import Options
    from stiffarm.measure.merging import read_campaigns
    from stiffarm.measure.writing import write_campaign
    from stiffarm.plan.api import plan
    from stiffarm.plan.options import PlanOptions
    from stiffarm.plan.touches import plan_touches
    from stiffarm.report.view.api import view
    from stiffarm.robot.reading import read_robot

_HOME = {
    "Estimate": "stiffarm.identify.estimate",
    "InputError": "stiffarm.errors",
    "Options": "stiffarm.identify.options",
    "PlanOptions": "stiffarm.plan.options",
    "Question": "stiffarm.identifiability.question",
    "assess": "stiffarm.identifiability.api",
    "budget": "stiffarm.compensate.api",
    "compare": "stiffarm.compensate.api",
    "compensate": "stiffarm.compensate.api",
    "conforms": "stiffarm.compensate.map_api",
    "identify": "stiffarm.identify.api",
    "map": "stiffarm.compensate.map_api",
    "place": "stiffarm.compensate.map_api",
    "plan": "stiffarm.plan.api",
    "plan_touches": "stiffarm.plan.touches",
    "predict": "stiffarm.compensate.api",
    "read_campaigns": "stiffarm.measure.merging",
    "read_estimate": "stiffarm.identify.model_file",
    "read_model": "stiffarm.compensate.model_file",
    "read_robot": "stiffarm.robot.reading",
    "simulate": "stiffarm.compensate.api",
    "table": "stiffarm.compensate.given",
    "validate": "stiffarm.compensate.api",
    "view": "stiffarm.report.view.api",
    "write_campaign": "stiffarm.measure.writing",
}
"""Public names and where they live: imported when first asked for, so that `import stiffarm` costs nothing."""

__all__ = [
    "Estimate",
    "InputError",
    "Options",
    "PlanOptions",
    "Question",
    "__version__",
    "assess",
    "budget",
    "compare",
    "compensate",
    "conforms",
    "identify",
    "map",
    "place",
    "plan",
    "plan_touches",
    "predict",
    "read_campaigns",
    "read_estimate",
    "read_model",
    "read_robot",
    "simulate",
    "table",
    "validate",
    "view",
    "write_campaign",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'stiffarm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
