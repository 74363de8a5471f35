"""An assessment in words: what can be told, what cannot and what would help, what hangs together, what is noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stiffarm.identifiability.advice import Help
from stiffarm.identifiability.assessment import MISALIGNMENT, ON_PAPER, Assessment
from stiffarm.identifiability.groups import Combination
from stiffarm.identifiability.spectrum import WEAK
from stiffarm.identifiability.touch_words import told_elsewhere, touch_sentences

SMALL_GROUP = 7
MOST_GROUPS = 6
MOST_UNCERTAIN = 6
LOADS = {
    "vertical": "Vertical loads",
    "horizontal": "Horizontal loads",
    "none": "Readings without a load",
    "weights": "Weights alone",
    "joint torques": "Measured joint torques",
}


def sentences(assessment: Assessment) -> tuple[str, ...]:
    """Everything worth saying, most important first."""
    return (
        _headline(assessment),
        *touch_sentences(assessment),
        *_reduction(assessment),
        *_unseen(assessment),
        *_together(assessment),
        *_enough(assessment),
        *_help(assessment),
        *_practical(assessment),
        *_in_use(assessment),
    )


def cautions(assessment: Assessment) -> tuple[str, ...]:
    """What must be known before relying on the rank."""
    out = list(assessment.warnings)
    found = assessment.misaligned
    if found is not None and found.on_paper > assessment.groups.rank:
        out.append(
            f"the rank {assessment.groups.rank} is that of the geometry in the file: with axes and springs off by "
            f"{MISALIGNMENT:g} (m, rad) it would be {found.on_paper} on paper (singular values above {ON_PAPER:g}) and "
            f"{found.against_noise} against any noise (above {WEAK:g})"
        )
    return tuple(out)


def name_list(names: Iterable[str], most: int = 24) -> str:
    """Names with those of one owner drawn together.

    >>> name_list(["A1.compliance", "link0.compliance[y,y]", "link0.compliance[z,z]", "J1.x", "J1.rz"])
    'A1.compliance, link0.compliance[y,y] [z,z], J1.x rz'
    """
    drawn: dict[str, list[str]] = {}
    listed = list(names)
    for name in listed[:most]:
        if "[" in name:
            owner, last = name.split("[", 1)
            drawn.setdefault(owner, []).append("[" + last)
        else:
            owner, _, last = name.rpartition(".")
            drawn.setdefault(owner + ".", []).append(last)
    text = ", ".join(owner + " ".join(last) for owner, last in drawn.items())
    return text + (f" and {len(listed) - most} more" if len(listed) > most else "")


def combination_text(combination: Combination) -> str:
    """A combination as a sum.

    >>> combination_text(Combination("A2.compliance", ("link1.compliance[ry,ry]", "b"), (1.0, -0.25)))
    'A2.compliance + link1.compliance[ry,ry] - 0.25 b'
    """
    text = combination.name
    for other, c in zip(combination.others, combination.coefficients, strict=True):
        size = f"{abs(c):.4g}"
        text += f" {'-' if c < 0 else '+'} {'' if size == '1' else size + ' '}{other}"
    return text


def _headline(a: Assessment) -> str:
    groups = a.groups
    shared = sum(group.rank for group in a.groups.together)
    members = sum(len(group.members) for group in a.groups.together)
    text = f"{a.robot.name}: {_count(len(groups.names))}, {_count(groups.rank, 'number')} can be told"
    parts = [f"{_count(len(groups.alone))} alone"] if groups.alone else []
    parts += [f"{_count(shared, 'combination')} of {members} others"] if groups.together else []
    parts += [f"{_count(len(groups.nothing))} not at all"] if groups.nothing else []
    return f"{text}: {', '.join(parts)}."


def _reduction(a: Assessment) -> list[str]:
    """How well a reduced model stands for the full one."""
    if a.reduced is None:
        return []
    r = a.reduced
    text = f"Reduced by {' then '.join(r.rules)}: {_count(r.left, 'compliance')} in the place of {r.full}"
    if r.cost is None:
        return [f"{text}; the robot file states no compliance of links, so nothing says what that costs."]
    return [f"{text}. For the compliances of the robot file it {r.cost}."]


def _count(number: int, what: str = "parameter") -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _unseen(a: Assessment) -> list[str]:
    """One sentence for unseen joints, one for everything else that is unseen."""
    nothing = [name for name in a.groups.nothing if name not in told_elsewhere(a)]
    if not nothing:
        return []
    subject = LOADS.get(a.load, "These loads")
    subject = f"The plan's {subject[0].lower()}{subject[1:]}" if a.planned else subject
    joints = [j for j in a.robot.joint_names if f"{j}.compliance" in nothing]
    rest = [name for name in nothing if name not in {f"{j}.compliance" for j in joints}]
    if a.load == "none" and joints:
        out = [f"{subject} cannot tell {', '.join(joints)}; hang something on the arm or pull at it."]
    else:
        out = [f"{subject} cannot tell {joint}; {_cure_of_joint(a, joint)}." for joint in joints]
    compliant = [name for name in rest if ".compliance" in name]
    if compliant:
        cure = "a load" if a.load == "none" else _cure(a.help, compliant)
        out.append(f"{subject} show nothing of {name_list(compliant)}{f'; add {cure}' if cure else ''}.")
    still = [name for name in rest if name not in compliant]
    if still:
        cure = _cure(a.help, still)
        out.append(f"Nothing that is read moves with {name_list(still)}{f'; read {cure} as well' if cure else ''}.")
    return out


def _cure_of_joint(a: Assessment, joint: str) -> str:
    number = a.robot.joint_index(joint) + 1
    turns = a.robot.joints[number - 1].kind == "revolute"
    helps = [h for h in a.help if f"{joint}.compliance" in h.tells]
    if not helps:
        return "hold it, or change load and markers"
    what = helps[0].what
    if "marker" in what:
        return f"watch a marker away from axis {number}"
    if "orientation" in what:
        return "read the tool's orientation as well"
    if what.startswith("forces"):
        what = "a load"
    return f"add {what} with a {'moment about' if turns else 'part along'} axis {number}"


def _cure(helps: Sequence[Help], names: Sequence[str]) -> str:
    """The first help that shows all of the names, else the one that shows most."""
    shown = [(len(set(names) & set(h.tells)), h.what) for h in helps]
    most = max((count for count, _ in shown), default=0)
    return next((what for count, what in shown if count == most), "") if most else ""


def _together(a: Assessment) -> list[str]:
    out = []
    for group in a.groups.together[:MOST_GROUPS]:
        if len(group.members) <= SMALL_GROUP:
            told = "; ".join(combination_text(c) for c in group.told)
            out.append(f"Only together: {name_list(group.members)}; what can be told is {told}.")
        else:
            out.append(
                f"{len(group.members)} parameters hang together and tell {group.rank} numbers: "
                f"{name_list(group.members, 12)}."
            )
    more = a.groups.together[MOST_GROUPS:]
    if more:
        out.append(f"{len(more)} more groups like these stand in the table.")
    return out


def _enough(a: Assessment) -> list[str]:
    if a.planned or a.touches is not None or a.groups.rank == 0:
        return []
    return [
        f"{_count(a.enough, 'configuration')} in general position {'reaches' if a.enough == 1 else 'reach'} that rank; "
        "more of them, or better chosen ones, only lower the noise."
    ]


def _help(a: Assessment) -> list[str]:
    """What would raise the rank, beside what was said of unseen parameters."""
    best: list[Help] = []
    for one in a.help:
        if one.rank > max([a.groups.rank, *(h.rank for h in best)]):
            best.append(one)
    return [
        f"With {h.what} it would be {_count(h.rank, 'number')}"
        f"{f', {_count(len(h.alone))} more alone' if h.alone else ''}."
        for h in best
    ]


def _practical(a: Assessment) -> list[str]:
    if not a.practical:
        return ["Without the readings' noise nothing can be said of how well."] if a.planned else []
    low, high = a.question.nu
    by = {kind: [p for p in a.practical if p.kind == kind] for kind in ("identifiable", "uncertain", "negligible")}
    out = [
        f"With the noise of these readings {len(by['identifiable'])} are identifiable (nu > {high:g}), "
        f"{len(by['uncertain'])} uncertain and {len(by['negligible'])} negligible (nu < {low:g})."
    ]
    for p in by["uncertain"][:MOST_UNCERTAIN]:
        more = f"{p.repeats:.2g} times the readings" if p.repeats is not None else ""
        load = f" or {p.load:.2g} times the load" if p.load is not None else ""
        turned = f"; or {p.direction}" if p.direction else ""
        out.append(f"{p.name} (nu {p.nu:.2g}) would become identifiable with {more}{load}{turned}.")
    if len(by["uncertain"]) > MOST_UNCERTAIN:
        more_of_them = len(by["uncertain"]) - MOST_UNCERTAIN
        out.append(f"{more_of_them} more uncertain {'one stands' if more_of_them == 1 else 'ones stand'} in the table.")
    guessed = sum(p.basis == "typical size" for p in a.practical)
    if guessed:
        out.append(
            f"{_count(guessed)} of no known value were judged by a typical size: give values or priors in the "
            "robot file."
        )
    return out


def _in_use(a: Assessment) -> list[str]:
    if not a.in_use:
        return []
    matters = sorted((u for u in a.in_use if u.matters), key=lambda u: -u.effect_m)
    rest = [u.name for u in a.in_use if not u.matters]
    listed = ", ".join(f"{u.name} ({1e6 * u.effect_m:.3g} um)" for u in matters[:MOST_UNCERTAIN])
    out = [f"Where the model is used {_count(len(matters))} should be kept, first of all {listed}."] if matters else []
    if rest:
        out.append(f"Predictions there are better, or no worse, without {name_list(rest)}.")
    return out


def table_rows(a: Assessment) -> list[dict[str, str | float | None]]:
    """What can be told, one combination a row; with a plan how well, SI."""
    known = {one.name: one for one in a.practical}
    rows: list[dict[str, str | float | None]] = []
    for c in a.groups.base:
        p = known.get(c.name)
        well = (None, None, None) if p is None else (p.sigma, p.nu, p.kind)
        rows.append(
            {"told": c.name, "with": ", ".join(c.others), **dict(zip(("std", "nu", "class"), well, strict=True))}
        )
    return rows
