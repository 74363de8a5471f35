"""What the demo writes and tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

ROBOT = "kr270"
SIGMA_M = 0.03e-3
"""Scatter of a reading."""


@dataclass(frozen=True)
class Told:
    """What a step has to say, the files it wrote, its figures."""

    text: str
    files: tuple[Path, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Files:
    """Everything the demo writes."""

    folder: Path

    @property
    def robot(self) -> Path:
        """The robot file."""
        return self.folder / f"{ROBOT}.robot.toml"

    @property
    def plan(self) -> Path:
        """What to measure."""
        return self.folder / f"{ROBOT}.plan.csv"

    @property
    def plan_answer(self) -> Path:
        """The plan with its certificate, for the page."""
        return self.folder / f"{ROBOT}.plan.json"

    @property
    def sheet(self) -> Path:
        """What the operator does, stop by stop."""
        return self.folder / f"{ROBOT}-sheet.html"

    @property
    def sheet_campaign(self) -> Path:
        """The campaign the operator fills in."""
        return self.folder / f"{ROBOT}-sheet.campaign.csv"

    @property
    def campaign(self) -> Path:
        """What was measured."""
        return self.folder / f"{ROBOT}.campaign.csv"

    @property
    def settings(self) -> Path:
        """How it was measured."""
        return self.folder / f"{ROBOT}.campaign.toml"

    @property
    def truth(self) -> Path:
        """The stated truth behind it, a model file."""
        return self.folder / f"{ROBOT}.truth.model.json"

    @property
    def model(self) -> Path:
        """What identification found."""
        return self.folder / f"{ROBOT}.model.json"

    @property
    def page(self) -> Path:
        """The same as a page."""
        return self.folder / f"{ROBOT}.report.html"

    @property
    def unseen(self) -> Path:
        """A second campaign that is not fitted."""
        return self.folder / f"{ROBOT}-unseen.campaign.csv"

    @property
    def unseen_settings(self) -> Path:
        """How it was measured."""
        return self.folder / f"{ROBOT}-unseen.campaign.toml"

    @property
    def unseen_plan(self) -> Path:
        """Its plan."""
        return self.folder / f"{ROBOT}-unseen.plan.csv"

    @property
    def path(self) -> Path:
        """A job: where the tool shall go, and what pulls at it."""
        return self.folder / f"{ROBOT}.path.csv"

    @property
    def corrected(self) -> Path:
        """The same job with joint values that take the bending into account."""
        return self.folder / f"{ROBOT}-corrected.path.csv"

    @property
    def program(self) -> Path:
        """The same as a program for the arm's controller."""
        return self.folder / f"{ROBOT}_corrected.src"

    @property
    def later(self) -> Path:
        """A third campaign, of the arm after a joint has worn."""
        return self.folder / f"{ROBOT}-later.campaign.csv"

    @property
    def later_settings(self) -> Path:
        """How it was measured."""
        return self.folder / f"{ROBOT}-later.campaign.toml"

    @property
    def later_model(self) -> Path:
        """What identification found then."""
        return self.folder / f"{ROBOT}-later.model.json"
