"""Campaign files of touches, as somebody in the cell would write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.papers.paper_004 import FLANGE, POINTS_M, true_numbers
from stiffarm.papers.touching import touch_points

Floats = NDArray[np.float64]
JOINTS = tuple(f"A{k}" for k in range(1, 7))
HEADER = (
    "experiment", *(f"q.{j}[rad]" for j in JOINTS), "force.z[N]", "load_point", "observation", "target", "target2",
    "distance[mm]", "sigma.distance[mm]", "radius[mm]",
)  # fmt: skip


@dataclass
class TouchFile:
    """Rows of a campaign of touches, collected and written."""

    rows: list[str] = field(default_factory=list)

    def touch(self, target: str, q: Floats, kind: str = "touch", radius: str = "") -> TouchFile:
        """Touches of one target in postures q (6, n)."""
        for column in q.T:
            joints = ",".join(repr(float(v)) for v in column)
            self.rows.append(f"{joints},-600,flange,{kind},{target},,,,{radius}")
        return self

    def distance(self, first: str, second: str, mm: float) -> TouchFile:
        """A known distance between two targets."""
        self.rows.append(f",,,,,,,,distance,{first},{second},{mm!r},0.002,")
        return self

    def write(self, folder: Path, sigma_mm: float | None = None) -> tuple[str, str]:
        """Robot file and campaign file, as arguments of a command."""
        robot, path = folder / "arm.robot.toml", folder / "touches.campaign.csv"
        robot.write_bytes(files("stiffarm.papers").joinpath("004.robot.toml").read_bytes())
        lines = [",".join(HEADER), *(f"{i},{row}" for i, row in enumerate(self.rows, start=1))]
        path.write_text("\n".join(lines) + "\n")
        if sigma_mm is not None:
            text = f'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "{sigma_mm} mm"\n'
            (folder / "touches.campaign.toml").write_text(text)
        return str(robot), str(path)


def postures(points_m: Floats = POINTS_M, times: int = 18, seed: int = 0, sigma_m: float = 37.5e-6) -> list[Floats]:
    """(6, times) for each point: the true robot touches it again and again."""
    q = touch_points(true_numbers(), points_m, times, FLANGE, np.random.default_rng(seed), sigma_m)
    return np.split(q, len(points_m), axis=1)
