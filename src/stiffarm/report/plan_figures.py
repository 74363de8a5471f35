"""Pictures of a plan: where it goes and what pulls there, how good it is beside the bound, what it will tell."""

from __future__ import annotations

import numpy as np

from stiffarm.identify.estimate import Estimate
from stiffarm.identify.words import shown_unit
from stiffarm.report.chart import Axis, Chart, Line, Mark, Points, Rule, Spans
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.parts import Figure, Table
from stiffarm.report.plan_answer import CheckTable, PlanAnswer
from stiffarm.report.scene import ArmLine, Cloud, Scene, Vector

MILLI = 1e3
ARROW = 0.18
"""Length of the largest force as a share of the scene."""
MOST_NAMED = 60


def stops_figure(plan: PlanAnswer, shown: ShownArm) -> Figure:
    """The arm at every stop and what pulls it."""
    tips = shown.places_at(np.array([stop.q for stop in plan.experiments]).T, "tool") * MILLI
    lines = [MILLI * shown.skeleton(np.array(stop.q), "tool") for stop in plan.experiments]
    span = max(float(np.ptp(np.concatenate(lines, axis=1), axis=1).max()), 1.0)
    most = max((float(np.linalg.norm(stop.force)) for stop in plan.experiments), default=0.0)
    things: list[ArmLine | Cloud] = [ArmLine(_path(line)) for line in lines]
    rows = []
    for i, stop in enumerate(plan.experiments):
        if most > 0.0:
            point = stop.load_point if stop.load_point in shown.arm.chain.points else "tool"
            begin = MILLI * shown.places_at(np.array(stop.q)[:, None], point or "tool")[:, 0]
            end = begin + ARROW * span * np.array(stop.force) / most
            things.append(ArmLine(_path(np.stack([lines[i][:, -1], begin], axis=1)), dots_from=1))
            force = _path(np.stack([begin, end], axis=1))
            things.append(ArmLine(force, "geometry", "force" if i == 0 else "", dots_from=1))
        size = float(np.linalg.norm(stop.force))
        angles = (f"{MILLI * v:.1f} mm" if slides else f"{np.degrees(v):.1f}" for v, slides in
                  zip(stop.q, shown.arm.chain.prismatic, strict=True))  # fmt: skip
        rows.append((f"{i + 1}", *angles, f"{size:.0f}", str(stop.repeats)))
    texts = tuple(f"stop {i + 1}, read {stop.repeats} times" for i, stop in enumerate(plan.experiments))
    things.append(Cloud(_path(tips), texts=texts, name="tool"))
    if plan.attachment is not None:
        x, y, z = (MILLI * v for v in plan.attachment)
        things.append(Cloud(((x, y, z),), texts=("attachment of the cable",), colour="no", name="attachment"))
    reading = f"{len(plan.experiments)} distinct stops, {plan.count} experiments with repeats"
    reading += f"; orange lines show the force, up to {most:.0f} N." if most > 0.0 else "; nothing pulls."
    heads = ("stop", *(f"{name}, deg" for name in plan.joints), "force, N", "repeats")
    table = Table("Every stop", heads, tuple(rows), frozenset(range(len(heads))))
    return Figure("plan-stops", "Where it goes", reading, (Scene(tuple(things)),), table, wide=True)


def _path(places: np.ndarray) -> tuple[Vector, ...]:
    return tuple((float(a), float(b), float(c)) for a, b, c in places.T)


def certificate_figure(plan: PlanAnswer) -> Figure | None:
    """The value beside the bound under which no plan of its size gets."""
    if plan.bound is None or plan.efficiency is None:
        return None
    factor, unit = (MILLI, ", mm") if plan.criterion == "test" else (1.0, "")
    words = ("this plan", "no plan gets under")
    values = (factor * plan.value, factor * plan.bound)
    marks = tuple(
        Spans((float(i),), (0.0,), (v,), "model" if i == 0 else "nominal", 0.62, words=(plan.shown(v / factor),))
        for i, v in enumerate(values)
    )
    what = "error expected after compensation" if plan.criterion == "test" else f"criterion {plan.criterion}"
    chart = Chart(Axis(f"{what}{unit}", 0.0, 1.3 * max(values)), Axis("", names=words), marks, height=150.0)
    gain = 100 * max(plan.value - plan.bound, 0.0) / plan.value
    reading = (
        f"Efficiency {100 * plan.efficiency:.1f} %: another plan of as many experiments could be better by at most "
    )
    reading += f"{gain:.2g} % (bound found numerically, not proved)."
    table = Table(
        "Certificate", ("", "value"), tuple(zip(words, (plan.shown(plan.value), plan.shown(plan.bound)), strict=True))
    )
    return Figure("plan-certificate", "How good it is", reading, (chart,), table)


def curve_figure(plan: PlanAnswer) -> Figure | None:
    """The value over the number of distinct poses."""
    if len(plan.curve) < 2:
        return None
    factor, unit = (MILLI, ", mm") if plan.criterion == "test" else (1.0, "")
    x, y = tuple(float(row.poses) for row in plan.curve), tuple(factor * row.value for row in plan.curve)
    texts = tuple(f"{row.poses} poses: {plan.shown(row.value)}" for row in plan.curve)
    marks: list[Mark] = [Line(x, y, thin=True), Points(x, y, texts=texts)]
    if plan.bound is not None:
        marks.append(Rule(factor * plan.bound, words="no plan gets under"))
    what = "error expected after compensation" if plan.criterion == "test" else f"criterion {plan.criterion}"
    chart = Chart(Axis("distinct poses"), Axis(f"{what}{unit}", 0.0), tuple(marks))
    reading = "The same number of experiments spread over other numbers of poses. "
    enough = plan.enough_poses
    reading += "None is within 5 % of the bound." if enough is None else f"{enough} poses are within 5 % of the bound."
    shares = ["" if row.efficiency is None else f"{100 * row.efficiency:.1f} %" for row in plan.curve]
    rows = tuple((str(row.poses), plan.shown(row.value), e) for row, e in zip(plan.curve, shares, strict=True))
    table = Table("Value by number of poses", ("poses", "value", "efficiency"), rows, frozenset({0, 1, 2}))
    return Figure("plan-curve", "How many poses are enough", reading, (chart,), table)


def achieved_figure(plan: PlanAnswer, estimate: Estimate) -> Figure | None:
    """What was planned beside what came out: standard deviations found over those predicted."""
    both = [
        (p.name, plan.predicted_std[p.name], p.std, p.unit)
        for p in estimate.parameters
        if p.std and plan.predicted_std.get(p.name, 0.0) > 0.0
    ][:MOST_NAMED]
    if not both:
        return None
    ratio = tuple(std / predicted for _, predicted, std, _ in both)
    at, texts = tuple(map(float, range(len(both)))), tuple(f"{b[0]}: {r:.3g}" for b, r in zip(both, ratio, strict=True))
    marks = (Rule(1.0, "x", "soft", "solid"), Points(ratio, at, texts=texts))
    names = Axis("", names=tuple(b[0] for b in both), code=True)
    ends = (min(0.5, *ratio) / 1.1, max(2.0, *ratio) * 1.1)
    across = Axis("standard deviation found / planned", *ends, log=True)
    chart = Chart(across, names, marks, height=58.0 + 20.0 * len(both))
    worst = max(range(len(both)), key=lambda i: ratio[i])
    reading = f"At 1 the campaign told as much as was planned; {both[worst][0]} is known {ratio[worst]:.3g} times as "
    reading += "widely."
    rows = []
    for name, predicted, std, unit in both:
        factor, shown = shown_unit(unit)
        rows.append((name, f"{factor * predicted:.3g}", f"{factor * std:.3g}", shown, f"{std / predicted:.3g}"))
    heads = ("parameter", "planned", "found", "unit", "ratio")
    table = Table("Standard deviations planned and found", heads, tuple(rows), frozenset({1, 2, 4}), frozenset({0}))
    return Figure("plan-achieved", "Planned and found", reading, (chart,), table)


def check_figure(check: CheckTable) -> Figure | None:
    """Scatter out of virtual campaigns over what was predicted, with the limits of chance."""
    rows = list(check.parameters.items())[:MOST_NAMED]
    if not rows:
        return None
    at = tuple(map(float, range(len(rows))))
    texts = tuple(f"{name}: {r.ratio:.3g}, chance {r.low:.3g} to {r.high:.3g}" for name, r in rows)
    marks = (
        Rule(1.0, "x", "soft", "solid"),
        Spans(at, tuple(r.low for _, r in rows), tuple(r.high for _, r in rows), "nominal", name="chance", texts=texts),
        Points(tuple(r.ratio for _, r in rows), at, texts=texts, name="virtual campaigns"),
    )
    names = Axis("", names=tuple(name for name, _ in rows), code=True)
    chart = Chart(Axis("scatter found / predicted"), names, marks, height=58.0 + 20.0 * len(rows))
    outside = [name for name, r in rows if not r.agrees]
    reading = f"{check.draws} virtual campaigns of the plan, identified: "
    reading += (
        f"beyond chance for {', '.join(outside[:4])}." if outside else "every scatter is as predicted within chance."
    )
    told = tuple((n, f"{r.ratio:.3g}", f"{r.low:.3g}", f"{r.high:.3g}", "yes" if r.agrees else "no") for n, r in rows)
    table = Table(
        "Scatter", ("parameter", "ratio", "low", "high", "agrees"), told, frozenset({1, 2, 3}), frozenset({0})
    )
    return Figure("plan-check", "Checked by virtual campaigns", reading, (chart,), table)
