"""`stiffarm assess`: what a robot, its loads and its markers can ever tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from stiffarm.cli.common import REDUCE_HELP, AsJson, Output, Quiet, Seed, answer, warn_all
from stiffarm.errors import InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from rich.console import Group

    from stiffarm.identifiability.assessment import Assessment
    from stiffarm.identifiability.question import Question

MOST_LINES = 40


def assess(
    robot: Annotated[str, typer.Argument(help="A robot file or a packaged robot.")],
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="A plan or campaign; else random configurations.")
    ] = None,
    geometry: Annotated[str | None, typer.Option(metavar="none|offsets|full", help="Geometric parameters.")] = None,
    elastic: Annotated[str | None, typer.Option(metavar="none|joints|links", help="Compliances.")] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="full|symmetric|beam|diagonal",
            help="Of links the file does not describe; of all links when it describes every one.",
        ),
    ] = None,
    links: Annotated[
        str, typer.Option(metavar="base|none", help="Whether a link stands before the first joint.")
    ] = "base",
    load: Annotated[str | None, typer.Option(metavar="any|vertical|none", help="What pulls.")] = None,
    load_point: Annotated[str | None, typer.Option(metavar="NAME", help="Where it pulls.")] = None,
    observe: Annotated[
        str, typer.Option(metavar="pose|position|touch|plane|sphere", help="What is read.")
    ] = "position",
    known_length: Annotated[
        bool, typer.Option("--known-length", help="Touches only: one distance, gap or radius of the targets is known.")
    ] = False,
    marker: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A point that is seen; repeatable.")] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Further parameters, such as '*.compensator.*'.")
    ] = None,
    reduce: Annotated[list[str] | None, typer.Option(metavar="[LINKS=]RULE", help=REDUCE_HELP)] = None,
    nu: Annotated[
        str, typer.Option(metavar="LOW,HIGH", help="Bounds of |value|/std: negligible, identifiable.")
    ] = "2,5",
    use: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A plan or path where the model is used: what matters there.")
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """What can be identified with this robot, load and markers.

    Without --geometry and --elastic the question is the full geometry and the compliances of joints; with one of
    them named, only that. The answer is in words and a table; `-o FILE.html` writes a picture.
    """
    from stiffarm.identifiability.assessment import assess as assess_robot
    from stiffarm.identifiability.words import cautions
    from stiffarm.measure.paths import read_plan_or_path
    from stiffarm.measure.reading import read_plan
    from stiffarm.robot.reading import read_robot

    question = _question(geometry, elastic, template, links, load, load_point, observe, marker, select, nu, seed)
    question = replace(question, known_length=known_length)
    question = replace(question, reduce=tuple(reduce or ()))
    arm = read_robot(robot)
    campaign = None if plan is None else read_plan(plan, arm)
    if campaign is not None:
        warn_all(campaign.warnings)
        _warn_ignored(load, marker, load_point, observe)
    found = assess_robot(arm, campaign, question, None if use is None else read_plan_or_path(use, arm))
    warn_all(cautions(found))
    document = _document(found, robot, plan)
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        from stiffarm.cli.common import write_text
        from stiffarm.report.assess_page import assess_page

        write_text(output, assess_page(found))
        output = None
    answer(document, _text(found), as_json, output)


def _question(
    geometry: str | None,
    elastic: str | None,
    template: str | None,
    links: str,
    load: str | None,
    load_point: str | None,
    observe: str,
    marker: list[str] | None,
    select: list[str] | None,
    nu: str,
    seed: int,
) -> Question:
    from stiffarm.identifiability import question as q
    from stiffarm.robot.arm import Template

    return q.Question(
        geometry=cast(Any, _one_of("--geometry", geometry, get_args(q.GeometryChoice))),
        elastic=cast(Any, _one_of("--elastic", elastic, get_args(q.ElasticChoice))),
        template=cast(Any, _one_of("--template", template, get_args(Template))),
        links=cast(Any, _one_of("--links", links, get_args(q.LinksChoice))),
        load=cast(Any, _one_of("--load", load, get_args(q.LoadKind))),
        observe=cast(Any, _one_of("--observe", observe, get_args(q.ObserveKind))),
        markers=tuple(marker or ()),
        load_point=load_point,
        select=tuple(select or ()),
        nu=_bounds(nu),
        seed=seed,
    )


def _one_of(option: str, value: str | None, allowed: tuple[str, ...]) -> str | None:
    if value is None or value in allowed:
        return value
    raise InputError(
        Problem(
            "there is no such choice",
            column=option,
            found=repr(value),
            allowed=" ".join(allowed),
            next_step=did_you_mean(value, allowed),
        )
    )


def _bounds(text: str) -> tuple[float, float]:
    parts = text.split(",")
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise InputError(
            Problem("two bounds are needed", column="--nu", found=repr(text), allowed="LOW,HIGH such as 2,5")
        ) from None
    return low, high


def _warn_ignored(load: str | None, marker: list[str] | None, load_point: str | None, observe: str) -> None:
    given = {"--load": load, "--marker": marker, "--load-point": load_point}
    ignored = [name for name, value in given.items() if value] + (["--observe"] if observe != "position" else [])
    if ignored:
        warn_all([f"{', '.join(ignored)} left aside: the plan states loads, markers and readings itself"])


def _document(a: Assessment, robot: str, plan: Path | None) -> dict[str, Any]:
    from stiffarm.identifiability.words import cautions, sentences

    groups = a.groups
    unit = {name: p.unit for name, p in a.model_parameters.items()}
    document: dict[str, Any] = {
        "robot": robot,
        "plan": None if plan is None else str(plan),
        "parameters": len(groups.names),
        "names": groups.names,
        "rank": groups.rank,
        "gap": groups.gap,
        "G1": groups.alone,
        "G2": groups.nothing,
        "G3": [{"members": g.members, "rank": g.rank, "told": [c.name for c in g.told]} for g in groups.together],
        "base": [
            {"name": c.name, "unit": unit.get(c.name), "others": dict(zip(c.others, c.coefficients, strict=True))}
            for c in groups.base
        ],
        "classes": {},
        "in_use": {u.name: {"effect[m]": u.effect_m, "matters": u.matters} for u in a.in_use},
        "observe": a.readings,
        "load": a.load,
        "markers": a.markers,
        "configurations": a.configurations,
        "enough": a.enough,
        "help": [{"what": h.what, "rank": h.rank, "tells": h.tells, "alone": h.alone} for h in a.help],
        "misaligned": None,
        "touches": None,
        "reduced": None,
        "words": sentences(a),
        "warnings": cautions(a),
        "seed": a.question.seed,
    }
    if a.misaligned is not None:
        document["misaligned"] = {"on_paper": a.misaligned.on_paper, "against_noise": a.misaligned.against_noise}
    if a.touches is not None:
        document["touches"] = {"scale_told": not a.touches.scale_lost, "known_lengths": a.touches.known,
                               "with_known_length": a.touches.rank_with}  # fmt: skip
    if a.reduced is not None:
        r, cost = a.reduced, a.reduced.cost
        document["reduced"] = {"rules": r.rules, "full": r.full, "left": r.left}
        if cost is not None:
            document["reduced"] |= {"rms[m]": cost.rms_m, "worst[m]": cost.worst_m, "share": cost.share,
                                    "over_noise": cost.over_noise}  # fmt: skip
    for p in a.practical:
        entry: dict[str, Any] = {"nu": p.nu, "class": p.kind, "std": p.sigma, "value": p.value, "basis": p.basis}
        if p.kind == "uncertain":
            entry |= {"repeats": p.repeats, "load": p.load, "direction": p.direction}
        document["classes"][p.name] = entry
    return document


def _text(a: Assessment) -> Group:
    """Words, then the table."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from stiffarm.identifiability.words import combination_text, sentences

    parts: list[Text | Table] = [Text(sentence) for sentence in sentences(a)]
    practical = {p.name: p for p in a.practical}
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("parameter", no_wrap=True)
    table.add_column("what can be told", overflow="fold")
    for name in ("std (SI)", "nu", "class") if practical else ():
        table.add_column(name, justify="left" if name == "class" else "right", no_wrap=True)
    for combination in _combinations_first(a)[:MOST_LINES]:
        cells = [combination.name, combination_text(combination) if combination.others else "itself"]
        p = practical.get(combination.name)
        if p is not None and p.nu is not None and p.sigma is not None:
            cells += [f"{p.sigma:.2e}", f"{p.nu:.2f}", p.kind]
        table.add_row(*cells)
    parts.append(table)
    hidden = len(a.groups.base) - MOST_LINES
    if hidden > 0:
        parts.append(Text(f"{hidden} more lines: --json or -o FILE.html has all of them."))
    parts.append(
        Text(
            f"Seen: {a.readings} of {', '.join(a.markers)}, load {a.load}, {a.configurations} configurations"
            f"{'' if a.planned else f' (seed {a.question.seed})'}; gap behind the last number told {a.groups.gap:.1e}."
        )
    )
    return Group(*parts)


def _combinations_first(a: Assessment) -> list[Any]:
    """Base parameters, those that need an explanation first."""
    return sorted(a.groups.base, key=lambda c: not c.others)
