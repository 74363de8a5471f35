"""What `stiffarm map` answers: the object, the sentences, the rows and the page of a map or of a part's placements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stiffarm.cli.common import WIDTH
from stiffarm.compensate.map_rows import map_columns, map_document, placement_columns, placement_document
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.placed import PlacedPath
from stiffarm.compensate.placing import Placements
from stiffarm.compensate.stiffness_map import SINGULAR, STIFF, UNREACHED, DeflectionMap
from stiffarm.measure.writing import Cells
from stiffarm.report.map_figures import Drawn, place_cells
from stiffarm.report.map_page import MapText, map_page
from stiffarm.report.page import page_html
from stiffarm.report.parts import Answer as PageAnswer


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer in every form."""

    document: Mapping[str, Any]
    text: str
    best_text: str
    columns: Mapping[str, Cells]
    page: Callable[[], str]
    reached: bool
    warnings: tuple[str, ...]


def map_answer(model: KnownModel, found: DeflectionMap) -> Answer:
    """Of the map of a region."""
    document = map_document(model, found)
    best, worst = (_map_lines(model, found, document[key], key) for key in ("best", "worst"))
    lead = f"{_pull_words(found)}. {_counts(found.status, 'places')}."
    nothing = "no place is reached: try another --tool (out, or a rotation vector) or --over"
    text = "\n".join([*_wrapped(lead), "", _block(best, nothing), *([_block(worst, "")] if worst else [])])
    facts = [] if found.best is None else [
        ("at the stiffest place", f"{1e6 * document['best']['deflection[m]']:.4g} um"),
        ("at the softest", f"{1e6 * document['worst']['deflection[m]']:.4g} um"),
        ("places reached", str(document["reached"])),
    ]  # fmt: skip
    seen = "the tool" if found.pull.seen == "tool" else f"marker {found.pull.seen}"
    drawn = Drawn(
        found.region, model.robot, found.deflection, found.sigma, found.status, found.best, "Deflection",
        f"How far {seen} gives way; empty: out of reach.",
    )  # fmt: skip
    rows = [*_facts("Stiffest", best), *_facts("Softest", worst), ("Tool", _pointing(found.region.pointing))]
    page = MapText(f"Where {model.robot.name} gives way", _first(best, nothing), lead, facts, rows, found.notes)
    return Answer(
        document, text, _block(best, nothing), map_columns(found, model.robot), lambda: _page(drawn, page),
        found.best is not None, found.notes,
    )  # fmt: skip


def part_answer(model: KnownModel, found: Placements, path: PlacedPath | None, here: Placements) -> Answer:
    """Of the placements of a part."""
    document = placement_document(model, found, path, here)
    best = _placement_lines(model, found, document["best"])
    now = _here_line(here)
    lead = f"{_counts(found.status, 'placements')}, {len(found.part)} points of the path in each."
    nothing = "the part is reached nowhere"
    text = "\n".join([*_wrapped(lead), "", now, _block(best, nothing)])
    what = "Root mean square" if found.judged == "rms" else "Largest"
    facts = [("as it stands", f"{1e6 * float(here.value[0]):.4g} um")] if np.isfinite(here.value[0]) else []
    facts += [] if found.best is None else [("at the best place", f"{1e6 * float(found.value[found.best]):.4g} um")]
    drawn = Drawn(
        found.region, model.robot, found.value, None, found.status, found.best, f"{what} of the deflection",
        "Over the path, by where the part's middle stands; empty: out of reach.",
    )  # fmt: skip
    rows = [*_facts("Best", best), ("As it stands", now.partition(": ")[2] or now)]
    page = MapText(f"Where {model.robot.name} gives way least", _first(best, nothing), lead, facts, rows, found.notes)
    return Answer(
        document, text, _block(best, nothing), placement_columns(found, model.robot), lambda: _page(drawn, page),
        found.best is not None, found.notes,
    )  # fmt: skip


def _page(drawn: Drawn, text: MapText) -> str:
    return page_html(map_page(drawn, text), script=False)


def _first(best: list[str], nothing: str) -> PageAnswer:
    """What the page says first."""
    if not best:
        return PageAnswer(False, nothing[0].upper() + nothing[1:])
    return PageAnswer(
        True, best[0][0].upper() + best[0][1:], tuple(line for line in best[1:] if not line.startswith("joints"))
    )


def _pull_words(found: DeflectionMap) -> str:
    pull = found.pull
    where = "" if pull.load_point == "tool" else f" at {pull.load_point}"
    seen = "" if pull.seen == "tool" else f", seen at {pull.seen}"
    if pull.direction is None:
        return f"{pull.force_n:.6g} N{where} in the worst direction of each place{seen}"
    x, y, z = (f"{pull.force_n * d:.4g}" for d in pull.direction)
    return f"Force ({x}, {y}, {z}) N{where} in axes of the {pull.frame}{seen}"


def _counts(status: np.ndarray[Any, np.dtype[np.int64]], what: str) -> str:
    count = np.bincount(status, minlength=4)
    more = [f"{count[UNREACHED]} out of reach"] if count[UNREACHED] else []
    more += [f"{count[SINGULAR]} near a singularity"] if count[SINGULAR] else []
    more += [f"{count[3]} without equilibrium"] if count[3] else []
    return f"{count[STIFF]} of {len(status)} {what} reached" + (f", {', '.join(more)}" if more else "")


def _map_lines(model: KnownModel, found: DeflectionMap, one: Mapping[str, Any] | None, key: str) -> list[str]:
    index = found.best if key == "best" else found.worst
    if one is None or index is None:
        return []
    where = ", ".join(f"{name} {value}" for name, value in place_cells(found.region, model.robot, index))
    spread = "" if one["sigma[m]"] is None else f" ± {1e6 * one['sigma[m]']:.2g} um (1 sigma)"
    lines = [f"{'stiffest' if key == 'best' else 'softest'}: {where}"]
    lines += [f"{1e6 * one['deflection[m]']:.4g} um{spread}, {1e-6 * one['stiffness[N/m]']:.4g} N/um"]
    lines += [f"solved exactly: {1e6 * one['exact[m]']:.4g} um"]
    lines += [f"joints: {_joint_words(one['joints'])}"]
    if key == "best" and one["at_edge"]:
        lines += [f"at the edge of the region along {' '.join(one['at_edge'])}: it may be better beyond"]
    return lines


def _placement_lines(model: KnownModel, found: Placements, one: Mapping[str, Any] | None) -> list[str]:
    if one is None or found.best is None:
        return []
    where = ", ".join(f"{name} {value}" for name, value in place_cells(found.region, model.robot, found.best))
    x, y, z = (f"{1e3 * v:.4g}" for v in one["shift[m]"])
    turned = f" and turned by {np.degrees(one['turn[rad]']):.4g} deg" if one["turn[rad]"] else ""
    spread = "" if one["sigma_rms[m]"] is None else f" ± {1e6 * one['sigma_rms[m]']:.2g} um (1 sigma)"
    lines = [f"best: {where}", f"the part shifted by ({x}, {y}, {z}) mm{turned}"]
    lines += [f"deflection {1e6 * one['rms[m]']:.4g} um{spread} rms, {1e6 * one['worst[m]']:.4g} um at most"]
    lines += [f"solved exactly: {1e6 * one['exact_rms[m]']:.4g} um rms, {1e6 * one['exact_worst[m]']:.4g} um at most"]
    lines += [f"joints at its first point: {_joint_words(one['joints'])}"]
    if one["at_edge"]:
        lines += [f"at the edge of the region along {' '.join(one['at_edge'])}: it may be better beyond"]
    return lines


def _here_line(here: Placements) -> str:
    if not np.isfinite(here.rms[0]):
        row = int(here.failed_row[0])
        return f"as it stands the path is not reached (row {row})"
    more = ", near a singularity" if here.status[0] == SINGULAR else ""
    return f"as it stands: {1e6 * here.rms[0]:.4g} um rms, {1e6 * here.worst[0]:.4g} um at most{more}"


def _joint_words(joints: Mapping[str, float]) -> str:
    said = []
    for header, value in joints.items():
        name, turns = header.removeprefix("q.").partition("[")[0], header.endswith("[rad]")
        number = round(float(np.degrees(value)) if turns else 1e3 * value, 2) + 0.0
        said.append(f"{name} {number:.2f} deg" if turns else f"{name} {number:.1f} mm")
    return ", ".join(said)


def _pointing(pointing: str | tuple[float, float, float]) -> str:
    if isinstance(pointing, str):
        return "pointing down" if pointing == "down" else "pointing outwards"
    return "rotation vector " + ", ".join(f"{np.degrees(v):.4g}" for v in pointing) + " deg"


def _facts(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name, "; ".join([lines[0].partition(": ")[2], *lines[1:]]))] if lines else []


def _block(lines: list[str], nothing: str) -> str:
    """The first line, the others indented below it."""
    if not lines:
        return nothing
    return "\n".join([lines[0], *(part for line in lines[1:] for part in _wrapped(line, "  "))])


def _wrapped(text: str, indent: str = "") -> list[str]:
    import textwrap

    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent) or [""]
