"""`stiffarm.identify`: from a robot and a campaign to a model whose intervals are true."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stiffarm.identify.assemble import assemble, training_rms, versions
from stiffarm.identify.big import identify_pieces, takes_pieces
from stiffarm.identify.compensated import faults_of, separations, warnings_of
from stiffarm.identify.data import Data, fitted_rows, part_of, resolved_of
from stiffarm.identify.eccentricity import with_eccentricities
from stiffarm.identify.estimate import Estimate, Provenance, Verdict
from stiffarm.identify.fit import fit_asked
from stiffarm.identify.judge import geometry_alone, validate, verdict
from stiffarm.identify.options import Options
from stiffarm.identify.remains import configurations_of
from stiffarm.identify.seen import fingerprints
from stiffarm.identify.springs import negative_springs
from stiffarm.identify.suspects import find_suspects
from stiffarm.identify.touch_faults import touch_faults
from stiffarm.identify.unknowns import ask
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import FrameFile, TableLike, listed, source_of
from stiffarm.measure.merging import read_campaigns
from stiffarm.measure.spool import EntangledError, Told
from stiffarm.measure.subset import with_readings
from stiffarm.measure.touch_checks import checked_touches
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

EXACTLY = "readings were held against equilibria on true transforms: predict and validate with --exact"
MOST_SCALARS = 6_000
"""Coordinates up to which every reading is judged against the rest."""


def identify(
    robot: Robot | str | Path,
    campaign: Campaign | TableLike | Sequence[TableLike],
    options: Options | None = None,
    *,
    command: str = "",
    tell: Told | None = None,
    **asked: Any,
) -> Estimate:
    """Identify geometry and elasticity of a robot from a campaign.

    ``robot`` is an object, a file or a packaged name; ``campaign`` an object, or one or several files or data frames.
    ``asked`` are fields of `Options`: ``elastic="joints"``, ``holdout="experiment:0.3"`` ...

    With ``options.holdout`` the model itself is fitted without the readings kept back; folds refit it and the model is
    that of all readings.  Raises `InputError` when the readings cannot be used at all.  Files of many megabytes are
    taken in pieces; ``tell`` hears of progress.
    """
    options = replace(options or Options(), **asked)
    arm = robot if isinstance(robot, Robot) else read_robot(robot)
    files: dict[str, str] = {}
    if not isinstance(campaign, Campaign):
        sources = [source_of(one) for one in listed(campaign)]
        paths = [one for one in sources if not isinstance(one, FrameFile)]
        files = {Path(path).name: _sha256(path) for path in paths}
        if len(paths) == len(sources) and not options.exact and takes_pieces(paths, options):
            origin = Provenance(versions(), options.seed, files, command)
            with suppress(EntangledError):
                return identify_pieces(arm, paths, options, origin, tell)
        campaign = read_campaigns(sources, arm)
    data = fitted_rows(arm, replace(campaign, exact=options.exact), options)
    campaign = data.campaign
    wanted = ask(arm, campaign, options)
    odd = checked_touches(wanted.model.at(), campaign, options.loads)
    used = data
    if options.holdout is not None:
        from stiffarm.identify.holdout import split

        used = part_of(data, ~split(campaign, options.holdout, options.seed).judged)
    trial = with_eccentricities(arm, wanted, used, options)
    wanted, options = trial.asked, trial.options
    found = fit_asked(wanted, used, options)
    holdout = validate(wanted, data, options)
    faults = (*touch_faults(found), *faults_of(found))
    answer = _possible(verdict(found, holdout, training_rms(found)), faults)
    origin = Provenance(versions(), options.seed, files, command, fingerprints(_as_read(used)))
    suspects = find_suspects(found) if len(found.system) <= MOST_SCALARS else ()
    estimate = assemble(found, options, holdout=holdout, verdict=answer, outliers=suspects, provenance=origin)
    added = (*(() if trial.note is None else (trial.note,)), *((EXACTLY,) if options.exact else ()))
    beside = None if holdout is None else geometry_alone(wanted, used, options)
    odd = (*odd, *negative_springs(estimate.parameters))
    notes = (*campaign.warnings, *odd, *added, *estimate.notes, *warnings_of(found))
    separated = separations(found, used, options)
    placed = configurations_of(campaign, estimate.remains, holdout)
    return replace(estimate, notes=notes, geometry_alone=beside, separations=separated, configurations=placed)


def _as_read(data: Data) -> Campaign:
    """Every reading a fit used, as it stood in the file: unloaded ones that were subtracted among them."""
    whole = resolved_of(data)
    return with_readings(whole.source, np.union1d(whole.origin, whole.subtracted[whole.subtracted >= 0]))


def _possible(answer: Verdict, faults: Sequence[str]) -> Verdict:
    """The verdict, which is no for a model that cannot be."""
    if not faults:
        return answer
    return Verdict(False, (*faults, *(() if answer.usable else answer.reasons)))


def _sha256(path: str | Path) -> str:
    if not Path(path).is_file():
        return ""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
