"""How many numbers of a whole robot's elasticity can be told, and what the published counts leave open.

Links on both sides of a revolute joint share the 7 symmetric forms that do not change when turned about its axis, one
of which is the actuator's own; on both sides of a prismatic joint the 11 that do not change when slid along it:

    rank = 21 L - 7 R - 11 P

of L symmetric links with R revolute and P prismatic joints between them, whatever the lengths: 105 of 153 for a
six-axis arm, 115 with a rail below it.  Full 6x6 links and beams have no such rule: their ranks are computed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from stiffarm.identifiability.assessment import Assessment, assess
from stiffarm.identifiability.question import Question
from stiffarm.papers.items import PaperItem, Verdict
from stiffarm.papers.spring_000 import table_1
from stiffarm.robot.arm import BodyPoint, Robot, Template
from stiffarm.robot.reading import read_robot

ROBOT = "kr270"
REFERENCE_POINT = (0.35, 0.10, -0.20)
"""m, flange frame; ours."""
LAST_LENGTH_M = 0.115
"""From the last cut to the flange."""
RULE = ("kr500-rail", "ur10", "irb120", "iiwa7", "panda")
INCLINED = (3, 4, 6)
"""Links whose template frames, inclined by `INCLINATION_RAD` about their y, give the published 42."""
INCLINATION_RAD = 0.3


def rank_items(paper: str) -> tuple[PaperItem, ...]:
    """Ranks, the rule, and what cannot be reproduced."""
    return (*_ranks(paper), *_rule(paper), _misaligned(paper), *_unpublished(paper))


def reference_robot() -> Robot:
    """The robot with our reference point as its load point."""
    robot = read_robot(ROBOT)
    return replace(robot, tool=replace(robot.tool, load_points=(BodyPoint("ref", REFERENCE_POINT),)))


@cache
def assessed(template: Template, load: str, robot: Robot | None = None) -> Assessment:
    """All compliances of joints and links at generic configurations: a wrench in any direction and full poses, or a
    vertical force and three markers."""
    vertical = load == "vertical"
    question = Question(
        elastic="links",
        template=template,
        observe="position" if vertical else "pose",
        load="vertical" if vertical else "any",
    )
    return assess(robot or reference_robot(), None, question)


def rank(template: Template, load: str, robot: Robot | None = None) -> int:
    """How many numbers can be told."""
    return assessed(template, load, robot).groups.rank


def last_spring_at_the_tool() -> Robot:
    """The robot with its last spring at the reference point."""
    arm = reference_robot()
    tip = replace(arm.links[-1], xyz=tuple(np.add((LAST_LENGTH_M, 0.0, 0.0), REFERENCE_POINT).tolist()))
    return replace(arm, links=(*arm.links[:-1], tip))


def inclined(links: tuple[int, ...] = INCLINED, by_rad: float = INCLINATION_RAD) -> Robot:
    """The robot with some template frames turned about their own y."""
    arm = reference_robot()
    turned = (
        replace(link, rpy=(link.rpy[0], link.rpy[1] + by_rad, link.rpy[2])) if i in links else link
        for i, link in enumerate(arm.links)
    )
    return replace(arm, links=tuple(turned))


def in_general_position(seed: int = 0) -> Robot:
    """The robot with every template frame turned at random."""
    arm = reference_robot()
    random = np.random.default_rng(seed)
    turned = (replace(link, rpy=tuple(random.uniform(-1.0, 1.0, 3).tolist())) for link in arm.links)
    return replace(arm, links=tuple(turned))


def _ranks(paper: str) -> tuple[PaperItem, ...]:
    rows: list[PaperItem] = []
    templates: tuple[tuple[Template, int], ...] = (("full", 258), ("symmetric", 153), ("beam", 62))
    for template, count in templates:
        published = 153.0 if template == "symmetric" else None
        verdict: Verdict = "wrong" if published else "not reproducible"
        why = f"a wrench in any direction and full poses, {ROBOT} geometry, generic configurations"
        why = f"21*7 - 7*6 for any six revolute joints; {why}" if published else f"the paper states none; {why}"
        any_load = float(rank(template, "any"))
        rows.append(PaperItem(paper, f"numbers that can be told of {count}", published, any_load, "1", verdict, why))
    for template, count in templates:
        down = float(rank(template, "vertical"))
        name = f"numbers that can be told of {count}, vertical force"
        why = f"the paper states none; one vertical force and three markers, {ROBOT} geometry, generic configurations"
        rows.append(PaperItem(paper, name, None, down, "1", "not reproducible", why))
    return tuple(rows)


def _rule(paper: str) -> tuple[PaperItem, ...]:
    """The rule beside the rank, of robots of other structure and size."""
    rows = []
    for name in RULE:
        robot = read_robot(name)
        found = rank("symmetric", "any", robot)
        kinds = "".join("P" if joint.kind == "prismatic" else "R" for joint in robot.joints)
        links, revolute, prismatic = len(kinds) + 1, kinds.count("R"), kinds.count("P")
        rule = 21 * links - 7 * revolute - 11 * prismatic
        why = f"the paper states none; 21 L - 7 R - 11 P is {rule} for {links} links, "
        why += f"{revolute} revolute and {prismatic} prismatic joints"
        item = f"numbers that symmetric links tell, {kinds} ({name})"
        rows.append(PaperItem(paper, item, None, float(found), "1", "not reproducible", why))
    return tuple(rows)


def _misaligned(paper: str) -> PaperItem:
    found = assessed("beam", "any")
    off = found.misaligned
    ours = None if off is None else f"{off.on_paper}, {off.against_noise}"
    why = "with axes and springs off by 1e-5 (m, rad): singular values above 1e-9, and above 1e-3, of the largest; "
    why += f"on nominal geometry it is {found.groups.rank}, which is what any load tells"
    return PaperItem(paper, "numbers told of 62 on paper, against noise", None, ours, "1", "not reproducible", why)


def _unpublished(paper: str) -> tuple[PaperItem, ...]:
    aligned, at_tip = rank("beam", "any"), rank("beam", "any", last_spring_at_the_tool())
    tilted, inclined_ = rank("beam", "any", in_general_position()), rank("beam", "any", inclined())
    missing = "readings, configurations and coordinates of the load are unpublished"
    named = " ".join(f"L{i}" for i in INCLINED)
    return (
        PaperItem(paper, "parameters of the reduced model of six axes", 42.0, f"{aligned}, {at_tip} or {tilted}", "1",
                  "not reproducible", "it depends on where the template frames stand, which is unpublished: along the "
                  "axes, the last one at the tool tip, or in general position; some inclinations in between give "
                  f"{inclined_} ({named} by {INCLINATION_RAD} rad about their y)"),
        PaperItem(paper, "parameters identified in practice", 18.0, None, "1", "not reproducible",
                  f"it depends on the data: {missing}"),
        *table_1(paper, missing),
        PaperItem(paper, "share of deflection compensated", 95.0, None, "%", "not reproducible", missing),
    )  # fmt: skip
