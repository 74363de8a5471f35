"""The page of a plan, and its section on the page of the model it led to."""

from __future__ import annotations

from typing import Any

from stiffarm.identify.estimate import Estimate
from stiffarm.model.arm_model import ArmModel
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.page import page_html
from stiffarm.report.parts import Answer, Beside, Bullets, Facts, Page, Part, Section, Table
from stiffarm.report.plan_answer import PlanAnswer, plan_answer_of
from stiffarm.report.plan_figures import achieved_figure, certificate_figure, check_figure, curve_figure, stops_figure
from stiffarm.robot.arm import Robot


def plan_page(document: Any, robot: Robot) -> str:
    """The page of a plan's answer as one HTML file."""
    plan = plan_answer_of(document, robot)
    shown = ShownArm.bare(ArmModel.of(robot).at())
    section = plan_section(plan, shown)
    agrees = plan.verify is None or plan.verify.agrees
    reasons = [_value_words(plan)]
    reasons += [] if plan.finished else ["Interrupted: the best plan so far, not the end of the search."]
    reasons += [] if agrees else ["Virtual campaigns do not scatter as predicted."]
    answer = Answer(plan.finished and agrees, "Planned" if plan.finished else "Interrupted", tuple(reasons))
    facts = [("distinct stops", str(len(plan.experiments))), ("experiments", str(plan.count))]
    if plan.efficiency is not None:
        facts.append(("efficiency", f"{100 * plan.efficiency:.1f} %"))
    if plan.driving_s is not None:
        facts.append(("driving", f"{plan.driving_s / 60.0:.2g} min"))
    return page_html(Page(robot.name, "Plan", (section,), answer, "", tuple(facts)))


def _value_words(plan: PlanAnswer) -> str:
    if plan.criterion != "test":
        return f"Criterion {plan.criterion}: {plan.shown(plan.value)}."
    return f"After compensation a marker is expected {plan.shown(plan.value)} off (root mean square) at {plan.use}."


def plan_section(plan: PlanAnswer, shown: ShownArm, estimate: Estimate | None = None) -> Section:
    """Stops, certificate and what was planned, beside what was found when there is a model."""
    figures = (
        certificate_figure(plan),
        curve_figure(plan),
        None if estimate is None else achieved_figure(plan, estimate),
        None if plan.verify is None else check_figure(plan.verify),
        stops_figure(plan, shown),
    )
    rows = [("criterion", plan.criterion), ("value", plan.shown(plan.value)), ("read", plan.observe)]
    rows += [] if plan.use is None else [("use", plan.use)]
    rows += [("seed", str(plan.seed)), ("searched for", f"{plan.seconds:.1f} s")]
    parts: list[Part] = [Beside((*(figure for figure in figures if figure is not None), Facts(tuple(rows))))]
    if plan.held:
        held = tuple(plan.held.items())
        parts.append(Table("Not planned for", ("parameter", "why"), held, code=frozenset({0})))
    if plan.notes:
        parts.append(Bullets(tuple(note[:1].upper() + note[1:] for note in plan.notes)))
    return Section("plan", "The plan", tuple(parts), "Plan")
