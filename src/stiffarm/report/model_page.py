"""The page of a model: the verdict in words, then pictures, what was held and why, tables, and where it comes from."""

from __future__ import annotations

from stiffarm.identify.estimate import Estimate
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.model_errors import error_figures
from stiffarm.report.model_parameters import CLASSES, correlation_figure, parameter_figures
from stiffarm.report.model_patterns import pattern_figures
from stiffarm.report.model_places import place_figures
from stiffarm.report.model_residuals import domain_figure, size_figure, suspects_of
from stiffarm.report.model_stiffness import deflection_figure, ellipsoid_figure, separation_figures
from stiffarm.report.model_words import fit_rows, held, judged_rows, merged, mm, row_of, setup_row, shared_rows, summary
from stiffarm.report.page import page_html
from stiffarm.report.parts import Answer, Beside, Bullets, Facts, Figure, Folded, Page, Part, Section, Table, Words
from stiffarm.report.plan_answer import PlanAnswer
from stiffarm.report.plan_page import plan_section
from stiffarm.robot.arm import Robot

MOST_OUTLIERS = 100
_HEADS = ("parameter", "value", "std", "low", "high", "robot file", "unit", "value/std", "class")


def page(estimate: Estimate, *, plan: PlanAnswer | None = None, script: bool = True) -> str:
    """The model as one HTML page, with the plan behind it; without ``script`` a small one that stands still."""
    return page_html(model_page(estimate, plan), script=script)


def model_page(estimate: Estimate, plan: PlanAnswer | None = None) -> Page:
    """What stands on the page of a model."""
    shown = ShownArm.of(estimate)
    usable = estimate.verdict.usable
    sections = (
        _errors(shown),
        _found(estimate),
        _left(shown),
        _gives_way(shown),
        None if plan is None else plan_section(plan, shown, estimate),
        _learned(estimate, shown.robot),
        _held(estimate),
        _tables(estimate),
        _origin(estimate),
    )
    return Page(
        title=estimate.robot.file.removesuffix(".robot.toml"),
        kicker="Calibrated model",
        sections=tuple(section for section in sections if section is not None),
        answer=Answer(usable, "Usable" if usable else "Not usable", estimate.verdict.reasons),
        lead=summary(estimate),
        facts=_key(estimate),
    )


def _key(estimate: Estimate) -> tuple[tuple[str, str], ...]:
    """Few numbers to remember."""
    holdout, fit = estimate.holdout, estimate.fit
    found = []
    if holdout is not None and holdout.rms_m is not None:
        if holdout.nominal_rms_m is not None:
            found.append(("nominal robot, readings not fitted", mm(holdout.nominal_rms_m)))
        found.append(("this model, readings not fitted", mm(holdout.rms_m)))
    told = [p for p in estimate.parameters if p.std is not None]
    sure = sum(p.kind == "identifiable" for p in told)
    return (*found, ("parameters identifiable", f"{sure} of {len(told)}"), ("readings", str(fit.n_rows)))


def _errors(shown: ShownArm) -> Section | None:
    figures: tuple[Part, ...] = (*error_figures(shown.estimate), *place_figures(shown))
    if not figures:
        return None
    if shown.estimate.holdout is not None:
        figures += (Facts(judged_rows(shown.estimate.holdout), "How it was judged"),)
    return Section("errors", "Errors on readings that were not fitted", (Beside(figures),), "Errors")


def _gives_way(shown: ShownArm) -> Section | None:
    found = (deflection_figure(shown), *separation_figures(shown.estimate.separations), ellipsoid_figure(shown))
    figures = tuple(figure for figure in found if figure is not None)
    return Section("stiffness", "How it gives way", (Beside(figures),), "Stiffness") if figures else None


def _found(estimate: Estimate) -> Section | None:
    figures = parameter_figures(estimate)
    if not figures:
        return None
    classes = "; ".join(f"{name}: {meaning}" for name, meaning, _, _ in CLASSES)
    together = correlation_figure(estimate)
    every = figures + (() if together is None else (together,))
    return Section("found", "What was found", (Words(f"{classes}.", "small"), Beside(every)), "Parameters")


def _left(shown: ShownArm) -> Section:
    estimate = shown.estimate
    size = None if estimate.remains is None else size_figure(estimate.remains, suspects_of(estimate))
    figures: tuple[Figure, ...] = () if size is None else (size,)
    facts = Facts(tuple(fit_rows(estimate)), "How the fit went")
    parts: list[Part] = [Beside((*figures, facts, *pattern_figures(shown)))]
    if estimate.outliers:
        rows = tuple((o.experiment, o.marker, o.evidence, o.action) for o in estimate.outliers[:MOST_OUTLIERS])
        heads = ("experiment", "marker", "evidence", "what was done")
        parts.append(Table("Readings that do not fit the rest", heads, rows, code=frozenset({0, 1})))
        more = len(estimate.outliers) - len(rows)
        words = "Nothing was removed: each is in the fit as it was read."
        parts.append(Words(words + (f" {more} more in the model file." if more else ""), "small"))
    if estimate.targets:
        parts.append(_targets(estimate))
    return Section("left", "What the fit leaves", tuple(parts), "Residuals")


def _targets(estimate: Estimate) -> Table:
    """What was touched, where it is, and how its touches scatter."""
    rows = tuple(
        (
            t.name, t.shape, *(f"{v:.4f}" if t.shape == "plane" else f"{1e3 * v:.3f}" for v in t.xyz),
            "" if t.size is None else f"{1e3 * t.size:.3f}", str(t.touches), f"{1e3 * t.rms:.3g}",
        )
        for t in estimate.targets
    )  # fmt: skip
    caption = "What was touched: place in mm (of a plane its normal), radius or distance from the origin in mm"
    heads = ("target", "kind", "x", "y", "z", "size, mm", "touches", "scatter, mm")
    return Table(caption, heads, rows, frozenset(range(2, 8)), frozenset({0}))


def _learned(estimate: Estimate, robot: Robot) -> Section | None:
    domain, figure = estimate.domain, domain_figure(estimate.domain, robot)
    rows = (
        []
        if domain.force is None or domain.force[1] == 0.0
        else [("external force", f"{domain.force[0]:.4g} to {domain.force[1]:.4g} N")]
    )
    rows += [(f"torque of {name}", f"{ends[0]:.4g} to {ends[1]:.4g} N m") for name, ends in domain.torque.items()]
    rows += [(name, f"{ends[0]:.4g} to {ends[1]:.4g} °C") for name, ends in domain.temperature.items()]
    if figure is None and not rows:
        return None
    own: tuple[Part, ...] = (() if figure is None else (figure,)) + (
        (Facts(tuple(rows), "Loads and surroundings"),) if rows else ()
    )
    words = "Outside of this it is an extrapolation; predict, validate and compensate say by how much."
    return Section("learned", "Where it was learned", (Words(words), Beside(own)), "Domain")


def _held(estimate: Estimate) -> Section:
    shared = shared_rows(estimate)
    parts: list[Part] = [Facts(tuple(shared), "How readings scatter, and what they share")] if shared else []
    rows = held(estimate)
    if rows:
        parts.append(Table("Held at the robot file's value", ("parameters", "why"), rows, code=frozenset({0})))
    else:
        parts.append(Words("Nothing that was asked for had to be held."))
    if together := merged(estimate):
        heads = ("fitted", "stands for these as well")
        parts.append(Table("Merged: told only together", heads, together, code=frozenset({0, 1})))
    return Section("held", "What was shared, held or merged, and why", tuple(parts), "Held")


def _tables(estimate: Estimate) -> Section:
    told = tuple(row_of(p) for p in estimate.parameters if p.std is not None)
    rest = tuple(row_of(p) for p in estimate.parameters if p.std is None)
    numeric, code = frozenset({1, 2, 3, 4, 5, 7}), frozenset({0})
    parts: tuple[Part, ...] = (Table("Every parameter that was fitted", _HEADS, told, numeric, code, hidden=True),)
    if rest:
        short = tuple((row[0], row[5], row[6], row[8]) for row in rest)
        heads = ("parameter", "robot file", "unit", "class")
        table = Table("Parameters that were held", heads, short, frozenset({1}), code, hidden=True)
        parts += (Folded(f"{len(rest)} more that were asked for and held at the robot file's value", (table,)),)
    return Section("parameters", "Every parameter", parts, "Table")


def _origin(estimate: Estimate) -> Section:
    origin = estimate.provenance
    parts: list[Part] = [Bullets(estimate.notes)] if estimate.notes else []
    if estimate.setups:
        places = tuple(setup_row(estimate, i) for i in range(len(estimate.setups)))
        heads = ("setup", "x", "y", "z", "rx", "ry", "rz", "")
        caption = "Setups from the world: place in mm, rotation vector in mrad, ± one standard deviation"
        parts.append(Table(caption, heads, places, frozenset(range(1, 7)), frozenset({0})))
    rows = [("command", origin.command)] if origin.command else []
    rows.append(("seed", str(origin.seed)))
    rows += [(name, f"SHA-256 {digest[:16]}…" if digest else "not a file") for name, digest in origin.files.items()]
    rows += [(name, version) for name, version in origin.versions.items()]
    parts.append(Facts(tuple(rows)))
    if estimate.robot.text:
        parts.append(Folded("The robot file it starts from", (Words(estimate.robot.text, "file"),)))
    return Section("origin", "Where it comes from", tuple(parts), "Provenance")
