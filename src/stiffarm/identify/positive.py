"""Compliances of links that are compliances: checked after every fit, kept positive definite on request.

Only a link all of whose entries are told can be judged: where some are merged into others (as between neighbouring
links of a serial arm), what is found is a sum over several links and no matrix of one of them.

The constrained fit (`stiffarm.identifiability.definite`) minimises the same sum of squares as the free one, of rows
linearised at its solution and weighed as they were there: exact for deflections, which are linear in compliances.
Geometry and frames move along.  Intervals stay those of the free fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.definite import check_definite, fit_definite, matrices
from stiffarm.identify.nonlinear import Solution

if TYPE_CHECKING:
    from stiffarm.identify.fit import Fit


def whole_links(found: Fit) -> tuple[str, ...]:
    """Links with fitted entries, all of whose entries that were asked for are told."""
    lost = {d.name.split(".")[0] for d in found.dropped if "(M3)" not in d.why}
    links = dict.fromkeys(name.split(".")[0] for name in found.names if name.startswith("link"))
    return tuple(link for link in links if link not in lost)


def made_definite(found: Fit) -> Fit:
    """The fit with its wholly told links kept positive definite, k = L L'."""
    whole = whole_links(found)
    if not whole:
        raise InputError(
            Problem(
                "no link has all its entries told, so none can be kept positive definite",
                column="--definite",
                found=f"{len(found.names)} unknowns fitted, none of them a whole link"
                if not any(name.startswith("link") for name in found.names)
                else "entries of every link are merged into others",
                next_step="Ask for one link beside stiff joints (--elastic none --select 'link3.*'), or leave it out",
            )
        )
    problem, n = found.problem, len(found.names)
    here = np.array([found.at.values[name] if name.split(".")[0] in whole else 0.0 for name in found.names])
    rows = problem.A / problem.row_scale[:, None]
    right = problem.y / problem.row_scale + rows[:, :n] @ here
    # names of unknowns that are not to be constrained must not look like entries of a link
    label = [
        *(name if name.split(".")[0] in whole else f"free {name}" for name in found.names),
        *(f"frame {name}" for name in found.system.frame_names),
    ]
    answer = fit_definite(rows, right, label)
    step = np.array([answer.values[name] for name in label])
    step[:n] -= here
    at = found.system.moved(found.at, found.names, step)
    solution = Solution(
        at, found.system.equations(at, found.names), found.solution.iterations, found.solution.converged
    )
    return replace(found, solution=solution, cost_ratio=answer.cost_ratio)


def notes_on_links(found: Fit) -> list[str]:
    """Whether the compliances found can be ones."""
    model = found.asked.model
    if not any(name.startswith("link") for name in found.names):
        return []
    values = dict(found.at.values)
    if model.reduction is not None:
        values |= model.reduction.values(np.array([values[name] for name in model.reduction.names]))
    whole = whole_links(found)
    own = {name: value for name, value in values.items() if name.split(".")[0] in whole}
    notes = [str(verdict) for verdict in check_definite(own)] if matrices(own) else []
    rest = [name.split(".")[0] for name in found.names if name.startswith("link")]
    shared = [link for link in dict.fromkeys(rest) if link not in whole]
    if shared:
        notes.append(
            f"{', '.join(shared)}: entries are merged into others, so nothing says whether these are positive definite"
        )
    if found.cost_ratio is not None:
        notes.append(f"kept positive definite (k = L L'): {found.cost_ratio:.4g} times the residual of the free fit")
    return notes
