"""What a user may ask of an identification; the defaults answer the usual case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stiffarm.model.parameters import ParameterSet
from stiffarm.robot.arm import Template

GeometryChoice = Literal["none", "offsets", "full"]
ElasticChoice = Literal["none", "joints", "links"]
GearsChoice = Literal["auto", "none"]
LinksChoice = Literal["base", "none"]
LoadsChoice = Literal["model", "torque", "none"]
EstimatorName = Literal["ols", "wls", "cells", "honest", "robust", "bootstrap"]


@dataclass(frozen=True)
class Options:
    """Options of ``stiffarm identify``; None means: decided by what was measured."""

    geometry: GeometryChoice | None = None
    """``full`` for positions, poses and touches; ``none`` when all rows are deflections."""
    elastic: ElasticChoice | None = None
    """``joints`` when there are loads or measured torques."""
    template: Template | None = None
    """Of links the file does not describe (``symmetric``); of all links when the file describes every one."""
    links: LinksChoice = "base"
    """Whether there is a link before the first joint."""
    reduce: tuple[str, ...] = ()
    """Rules of reduction, one after the other (`stiffarm.identifiability.rules`)."""
    reduction: ParameterSet | None = None
    """A map of some of the parameters, put before them after the rules."""
    definite: bool = False
    """Whether compliances of links are kept positive definite, k = L L'."""
    select: tuple[str, ...] = ()
    """Patterns of further parameters."""
    fix: tuple[str, ...] = ()
    """Patterns of parameters held at nominal; wins over everything."""
    gears: GearsChoice = "auto"
    """Eccentricities of the gears: added to free geometry when readings left out of the fit favour them, or never."""
    loads: LoadsChoice = "torque"
    estimator: EstimatorName | None = None
    """``honest`` when repeats allow, else ``wls``."""
    exact: bool = False
    """Hold readings against the equilibrium on true transforms instead of first order at the commanded joints."""
    holdout: str | None = None
    folds: int | Literal["each"] = 5
    """0: no validation, and so no usable verdict."""
    level: float = 0.95
    seed: int = 0
    nu: tuple[float, float] = (2.0, 5.0)
    """Bounds of the classes negligible | uncertain | identifiable."""
    lambda_: float = 1.0
    """Of the printed weighting scheme (paper 003, eq. 14); only for ``cells``."""
    sigma0_m: float = 0.0
    """Its steady component, m."""
    iterations: int | None = None
    """Its number of weighted fits; None: until the weights settle."""
