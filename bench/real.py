"""Held-out errors on real campaigns, beside the nominal robot: `python bench/real.py FOLDER`.

FOLDER holds one folder per robot with a robot file and its campaigns, as the product reads them, and is searched
beside the repository when not named (../shared/data).  The rule of each campaign follows from what it holds:

    a column author_test     those rows are judged
    few configurations       every configuration left out once (at most 40), else five folds (at most 200)
    more                     a random 30 % of the configurations, seed 0
    only touches             every place of the tool (what stands before the / of a target) left out once: scatter of
                             its touches about their targets' centres, root mean square over all of them

What is fitted is what `identify` fits by itself: geometry, compliances where loads or torques were measured, and gear
eccentricities where folds inside the readings to be fitted favour them.  Exits 1 when a floor in FLOORS is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.holdout import configurations
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.reading import read_campaign
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

FLOORS_MM = {
    ("ur10-ipa", "series_A"): 0.44,
    ("ur10-ipa", "series_B"): 0.45,
    ("iiwa7", "exp1_20170306"): 0.44,
    ("iiwa7", "free_20161118"): 0.349,
    ("r2000ic-165f", "all"): 0.24,
    ("ur5", "UR5_grid"): 0.11,
    ("meca500", "CAL00004_Right_Large160"): 0.062,
    ("meca500", "CAL00004_Right_Small80"): 0.062,
    ("panda-2-clean", "sockets"): 0.35,
    ("panda-3", "sockets"): 0.22,
}
"""Held-out RMS (mm) of a plain least-squares calibrator on the same campaigns."""

DIRECT = ("position", "deflection", "pose")


def rule_of(campaign: Campaign) -> Options:
    """Which readings are judged."""
    if any(header.split("[")[0] == "author_test" for header in campaign.extra):
        return Options(holdout="column:author_test=1")
    count = len(np.unique(configurations(campaign)))
    if count <= 40:
        return Options(folds="each")
    return Options(folds=5) if count <= 200 else Options(holdout="experiment:0.3")


def touches(label: str, robot: Robot, campaign: Campaign, floor: float | None) -> bool:
    """Print the line of a campaign of touches, every place left out once; whether it reaches its floor."""
    start = time.perf_counter()
    rows, squares, nominal = 0, 0.0, 0.0
    for place in sorted({target.split("/")[0] for target in campaign.targets}):
        held = identify(robot, campaign, Options(holdout=f"target:{place}/*")).holdout
        assert held is not None
        assert held.rms_m is not None
        assert held.nominal_rms_m is not None
        rows += held.rows
        squares += held.rows * held.rms_m**2
        nominal += held.rows * held.nominal_rms_m**2
    rms_mm, nominal_mm = 1e3 * np.sqrt(squares / rows), 1e3 * np.sqrt(nominal / rows)
    ok = floor is None or bool(rms_mm <= floor)
    took = f"({time.perf_counter() - start:.1f} s){'' if ok else '  MISSED'}"
    rule = "target:PLACE/* in turn"
    print(f"{label:38} {rule:22} {nominal_mm:8.4f} {'':>8} {rms_mm:8.4f} {floor or '':>6}  {'':6}  {took}", flush=True)
    return ok


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    folder = parser.parse_args().folder or Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        print(f"no measurements at {folder}: nothing to try")
        return 0
    missed = 0
    print(f"{'campaign':38} {'rule':22} {'nominal':>8} {'rigid':>8} {'ours':>8} {'floor':>6}  F lack  model")
    for path in sorted(folder.glob("*/*.campaign.csv")):
        robot = read_robot(next(path.parent.glob("*.robot.toml")))
        name = (path.parent.name, path.name.removesuffix(".campaign.csv"))
        label = "/".join(name)
        try:
            campaign = read_campaign(path, robot)
            if not any(campaign.kind(kind).any() for kind in DIRECT):
                missed += not touches(label, robot, campaign, FLOORS_MM.get(name))
                continue
            start = time.perf_counter()
            estimate = identify(robot, campaign, rule_of(campaign))
        except InputError as error:
            print(f"{label:38} {error}")
            missed += 1
            continue
        held, lack = estimate.holdout, estimate.fit.lack_of_fit
        if held is None or held.rms_m is None or held.nominal_rms_m is None:
            print(f"{label:38} nothing could be held out")
            continue
        floor = FLOORS_MM.get(name)
        ok = floor is None or held.rms_m * 1e3 <= floor
        missed += not ok
        which = "with gears" if any(p.name.endswith(".sin") for p in estimate.parameters) else ""
        rigid = "" if held.geometry_rms_m is None else f"{held.geometry_rms_m * 1e3:.4f}"
        print(
            f"{label:38} {held.rule:22} {held.nominal_rms_m * 1e3:8.4f} {rigid:>8} {held.rms_m * 1e3:8.4f}"
            f" {floor or '':>6}  {'' if lack is None else format(lack['F'], '6.3g'):6}  {which}"
            f" ({time.perf_counter() - start:.1f} s){'' if ok else '  MISSED'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
