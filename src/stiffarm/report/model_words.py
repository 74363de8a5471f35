"""What a model is worth, in words: sentences and rows of facts for its page."""

from __future__ import annotations

from stiffarm.identify.estimate import ErrorModel, Estimate, Holdout, ParameterEstimate, SharedErrors
from stiffarm.identify.words import shown_unit


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


def judged_rows(holdout: Holdout) -> tuple[tuple[str, str], ...]:
    """How the errors on unseen readings came about."""
    rows = [("rule", rule_words(holdout.rule)), ("readings judged", str(holdout.rows))]
    every = (
        ("nominal robot, root mean square", holdout.nominal_rms_m),
        ("this model, root mean square", holdout.rms_m),
    )
    rows += [(words, mm(value)) for words, value in every if value is not None]
    if holdout.geometry_rms_m is not None:
        rows.insert(-1, ("geometry alone, root mean square", mm(holdout.geometry_rms_m)))
    if holdout.max_m is not None:
        rows.append(("this model, largest", mm(holdout.max_m)))
    return (*rows, ("fitted beside the nominal robot", "frames of the setups, markers and turn of the tool"))


def held(estimate: Estimate) -> tuple[tuple[str, str], ...]:
    """What was asked for and not fitted: (names, why), one row for each reason."""
    reasons: dict[str, list[str]] = {}
    for one in estimate.dropped:
        reasons.setdefault(one.why, []).append(one.name)
    return tuple((", ".join(names), why) for why, names in reasons.items())


def merged(estimate: Estimate) -> tuple[tuple[str, str], ...]:
    """What was fitted in the place of others: (name, what it stands for)."""
    return tuple((p.name, ", ".join(p.merged)) for p in estimate.parameters if p.merged and p.std is not None)


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
        rows.append(
            (
                "least degrees of freedom of a standard deviation",
                f"{fit.dof:.3g}" if fit.dof < 1e3 else f"{fit.dof:.0f}",
            )
        )
    if fit.lack_of_fit is not None:
        found = "the model misses by more than repeats scatter" if fit.lack_of_fit["p"] < 0.05 else "none seen"
        rows.append(("lack of fit", f"F = {fit.lack_of_fit['F']:.3g}, p = {fit.lack_of_fit['p']:.2g}: {found}"))
    return rows


def shared_rows(estimate: Estimate) -> list[tuple[str, str]]:
    """How readings scatter, and what several of them have in common."""
    rows = [(f"shared: {name}", _deviation(name, sigma)) for name, sigma in estimate.fit.shared_errors.items() if sigma]
    if estimate.fit.scale_sigma is not None:
        rows.append(("scale of lengths, held, known to", f"{100 * estimate.fit.scale_sigma:.2g} %"))
    return rows + ([] if estimate.errors is None else _error_rows(estimate.errors))


def _deviation(name: str, sigma: float) -> str:
    return f"{1e3 * sigma:.3g} mrad" if "rotation" in name else f"{1e3 * sigma:.3g} mm"


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
