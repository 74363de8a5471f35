"""A report page: at most 6 MB and 5 s of processor time for as much as a model ever holds, 1 MB without its script.

600 groups of residuals and of errors on readings that were not fitted, 60 parameters and their correlations, the map of
deflections and the ellipsoids of a six-axis arm that bends.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from stiffarm.identify.api import identify
from stiffarm.identify.estimate import Estimate, Remains, UnseenErrors
from stiffarm.identify.options import Options
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.api import plan
from stiffarm.plan.options import PlanOptions
from stiffarm.plan.plan_file import campaign_of
from stiffarm.report.model_page import model_page
from stiffarm.report.page import page_html
from stiffarm.report.parts import figures_of

ROBOT = "kr270"
GROUPS = 600
LARGEST_MB, STATIC_MB, LIMIT_S = 6.0, 1.0, 5.0


def full(estimate: Estimate, seed: int = 1) -> Estimate:
    """The estimate with as many residuals as are ever kept."""
    rng = np.random.default_rng(seed)
    names = tuple(f"experiment {i:03d}" for i in range(GROUPS))
    markers = tuple(f"P{1 + i % 3}" for i in range(GROUPS))
    day = ("day",) * GROUPS
    mean = tuple(tuple(map(float, row)) for row in rng.normal(0.0, 1e-4, (GROUPS, 3)).round(8))
    remains = Remains(names, day, markers, tuple(map(float, rng.uniform(0, 3e-4, GROUPS))), GROUPS, mean)
    errors = {key: tuple(map(float, rng.uniform(0, 1e-3, GROUPS))) for key in ("model", "nominal", "geometry")}
    assert estimate.holdout is not None
    holdout = replace(estimate.holdout, unseen=UnseenErrors(names, day, markers, errors, GROUPS))
    q = {name: tuple(map(float, rng.uniform(-1.5, 1.5, 6).round(6))) for name in names}
    many = tuple(f"parameter {i}" for i in range(60))
    covariance = tuple(tuple(map(float, row)) for row in np.cov(rng.normal(size=(60, 90))))
    spread = replace(estimate, covariance_names=many, covariance=covariance, scale_covariance=())
    return replace(spread, remains=remains, holdout=holdout, configurations=q)


def main() -> int:
    """Write the page, weigh it, time it, and say by the exit status whether the limits were kept."""
    planned = plan(ROBOT, PlanOptions(experiments=12, poses=12, force_n=2000.0, curve=False))
    campaign = simulate(ArmModel.of(planned.problem.robot).at(), campaign_of(planned), seed=1).campaign
    estimate = full(identify(ROBOT, campaign, Options(estimator="wls")))
    began = time.process_time()
    page = model_page(estimate)
    text = page_html(page)
    seconds = time.process_time() - began
    small = page_html(page, script=False)
    megabytes, still = len(text.encode()) / 1e6, len(small.encode()) / 1e6
    print(f"figures {len(figures_of(page)):4d}   panels {sum(len(f.panels) for f in figures_of(page)):4d}")
    print(f"page    {megabytes:6.2f} MB  (at most {LARGEST_MB:g})")
    print(f"static  {still:6.2f} MB  (at most {STATIC_MB:g})")
    print(f"written in {seconds:5.2f} s of processor time  (at most {LIMIT_S:g})")
    return 0 if megabytes <= LARGEST_MB and still <= STATIC_MB and seconds <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
