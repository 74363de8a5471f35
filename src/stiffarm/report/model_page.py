"""The page of a model: the verdict in words, then pictures, what was held and why, tables, and where it comes from.

One file without scripts and without the network, so that it opens anywhere, prints, and can be sent by mail.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from stiffarm.identify.estimate import ErrorModel, Estimate, Holdout, ParameterEstimate, SharedErrors
from stiffarm.identify.known import model_of
from stiffarm.identify.words import shown_unit
from stiffarm.report.model_figures import (
    domain_figure,
    errors_figure,
    parameter_figures,
    remains_figure,
    suspects_of,
)

MOST_OUTLIERS = 100
CLASSES = {
    "identifiable": "at least five times its standard deviation",
    "uncertain": "two to five times its standard deviation",
    "negligible": "less than twice its standard deviation: it might as well be zero",
}


@dataclass(frozen=True)
class Bar:
    """One error beside others."""

    label: str
    text: str
    percent: float
    kind: str


@dataclass(frozen=True)
class HeldGroup:
    """Parameters that were held for the same reason."""

    why: str
    names: tuple[str, ...]


def page(estimate: Estimate) -> str:
    """The model as one HTML page."""
    from jinja2 import Environment, StrictUndefined

    folder = files("stiffarm.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "model.html").read_text(encoding="utf-8"))
    return template.render(
        e=estimate,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        title=estimate.robot.file.removesuffix(".robot.toml"),
        summary=summary(estimate),
        rule="" if estimate.holdout is None else rule_words(estimate.holdout.rule),
        bars=bars(estimate.holdout),
        errors=None if estimate.holdout is None else errors_figure(estimate.holdout),
        remains=None if estimate.remains is None else remains_figure(estimate.remains, suspects_of(estimate)),
        parameters=parameter_figures(estimate.parameters),
        domain=domain_figure(estimate.domain, model_of(estimate).robot),
        held=held(estimate),
        fit=fit_rows(estimate),
        rows=[row_of(p) for p in estimate.parameters],
        classes=CLASSES,
        setups=[setup_row(estimate, i) for i in range(len(estimate.setups))],
        outliers=estimate.outliers[:MOST_OUTLIERS],
        more_outliers=max(len(estimate.outliers) - MOST_OUTLIERS, 0),
    )


def mm(metres: float | None) -> str:
    """A length for people.

    >>> mm(4.2e-5), mm(3e-8), mm(None)
    ('0.042 mm', '0.03 um', 'not known')
    """
    if metres is None:
        return "not known"
    return f"{1e3 * metres:.3g} mm" if metres >= 1e-6 else f"{1e6 * metres:.3g} um"


def summary(estimate: Estimate) -> str:
    """What the model is worth, in a sentence or two."""
    holdout, fit = estimate.holdout, estimate.fit
    told = sum(p.std is not None for p in estimate.parameters)
    begin = f"{told} parameters from {fit.n_rows} readings"
    begin += (
        f"; {len(estimate.dropped)} that were asked for could not be told and were held." if estimate.dropped else "."
    )
    if holdout is None or holdout.rms_m is None or holdout.nominal_rms_m is None:
        return f"{begin} Nothing says how well it predicts: no readings were kept back."
    factor = holdout.nominal_rms_m / holdout.rms_m if holdout.rms_m else float("inf")
    words = (
        f"{begin} On {holdout.rows} readings that were not fitted it is off by {mm(holdout.rms_m)} (root mean square)"
    )
    words += f", the nominal robot with its tool and frames fitted by {mm(holdout.nominal_rms_m)}"
    words += f": {factor:.3g} times as much." if factor >= 1.0 else ", which is less."
    if holdout.geometry_rms_m is not None:
        words += f" Geometry without elasticity leaves {mm(holdout.geometry_rms_m)}."
    return words + _lack_words(estimate)


def _lack_words(estimate: Estimate) -> str:
    """Whether something is missing in the model, where repeats can tell."""
    lack = estimate.fit.lack_of_fit
    if lack is None or lack["F"] < 2.0 or lack["p"] > 0.05:
        return ""
    return (
        f" Configurations differ from the model by more than their repeats scatter (F = {lack['F']:.3g}): something is "
        "not in the model, and the intervals allow for it."
    )


def rule_words(rule: str) -> str:
    """A rule of keeping readings back, in words.

    >>> rule_words("folds:5"), rule_words("experiment:0.3")
    ('each configuration left out once, in 5 folds', 'kept back: experiment:0.3')
    """
    kind, _, value = rule.partition(":")
    if kind != "folds":
        return f"kept back: {rule}"
    return f"each configuration left out once, {'alone' if value == 'each' else f'in {value} folds'}"


def bars(holdout: Holdout | None) -> list[Bar]:
    """Errors on unseen readings of all that were judged."""
    if holdout is None:
        return []
    every = (
        ("nominal robot", holdout.nominal_rms_m, "nominal"),
        ("geometry alone", holdout.geometry_rms_m, "geometry"),
        ("this model", holdout.rms_m, "model"),
    )
    known = [(label, value, kind) for label, value, kind in every if value is not None]
    largest = max((value for _, value, _ in known), default=0.0) or 1.0
    return [Bar(label, mm(value), 100.0 * value / largest, kind) for label, value, kind in known]


def held(estimate: Estimate) -> list[HeldGroup]:
    """What was asked for and not fitted, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in estimate.dropped:
        reasons.setdefault(one.why, []).append(one.name)
    return [HeldGroup(why, tuple(names)) for why, names in reasons.items()]


def row_of(p: ParameterEstimate) -> tuple[str, ...]:
    """Name, value, standard deviation, interval, file's value, unit, class of a parameter."""
    factor, unit = shown_unit(p.unit)
    numbers = ((p.value, 6), (p.std, 3), (p.low, 5), (p.high, 5), (p.nominal, 6))
    shown = tuple("" if v is None else f"{factor * v:.{digits}g}" for v, digits in numbers)
    return (p.name, *shown, unit, "" if p.nu is None else f"{p.nu:.3g}", p.kind)


def fit_rows(estimate: Estimate) -> list[tuple[str, str]]:
    """How the fit went, in words and numbers."""
    fit = estimate.fit
    rows = [
        ("estimator", fit.estimator),
        ("readings", str(fit.n_rows)),
        ("unknowns told", f"{fit.rank}" + ("" if fit.gap is None else f" (gap behind the last one {fit.gap:.1e})")),
        ("residual of what was fitted", mm(fit.rms_m)),
        ("steps", str(fit.iterations)),
    ]
    if fit.dof is not None:
        rows.append(("least degrees of freedom of a standard deviation", f"{fit.dof:.3g}"))
    if fit.lack_of_fit is not None:
        found = "the model misses by more than repeats scatter" if fit.lack_of_fit["p"] < 0.05 else "none seen"
        rows.append(("lack of fit", f"F = {fit.lack_of_fit['F']:.3g}, p = {fit.lack_of_fit['p']:.2g}: {found}"))
    return rows + ([] if estimate.errors is None else _error_rows(estimate.errors))


def _error_rows(errors: ErrorModel) -> list[tuple[str, str]]:
    rows = []
    if errors.reading_m is not None:
        axes = ", ".join(f"{1e3 * v:.3g}" for v in errors.reading_m)
        rows.append(("a reading scatters by (x, y, z)", f"{axes} mm, {_words(errors.reading_source)}"))
    for words, shared in (("repeatability", errors.stop), ("lack of fit by configuration", errors.configuration)):
        if shared is not None and (shared.translation_m or shared.rotation_rad):
            rows.append((words, _shared(shared)))
    if errors.excess_m is not None and any(errors.excess_m):
        rows.append(("scatter beyond what was stated", f"{', '.join(f'{1e3 * v:.3g}' for v in errors.excess_m)} mm"))
    if errors.load_gain_sigma:
        rows.append(("gain of the load known to", f"{errors.load_gain_sigma:.2%}, in every interval of a compliance"))
    return rows


def _words(source: str) -> str:
    return "as stated" if source == "stated" else "as found"


def _shared(shared: SharedErrors) -> str:
    found = f"{1e3 * shared.translation_m:.3g} mm and {1e3 * shared.rotation_rad:.3g} mrad"
    return f"{found}, {_words(shared.source)}"


def setup_row(estimate: Estimate, i: int) -> tuple[str, ...]:
    """Name, place and turn of a setup, with their standard deviations."""
    setup = estimate.setups[i]
    covariance = setup.covariance
    deviations = (0.0,) * 6 if covariance is None else tuple(covariance[k][k] ** 0.5 for k in range(6))
    given = covariance is None
    place = (f"{1e3 * v:.3f}" + ("" if given else f" ± {1e3 * s:.2g}") for v, s in zip(setup.xyz, deviations))  # noqa: B905
    turn = (f"{1e3 * v:.3f}" + ("" if given else f" ± {1e3 * s:.2g}") for v, s in zip(setup.rotvec, deviations[3:]))  # noqa: B905
    return (setup.name, *place, *turn, "given" if given else "found")
