"""Springs that cannot be: a joint that gives way against its load.

Least squares does not know that compliances are positive.  Where a joint hardly feels the load, or moves with something
the model leaves out, its number takes whatever fits, and can come out negative beyond doubt.  It may serve where the
readings were taken and misleads under any other load, so it is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from stiffarm.identify.estimate import ParameterEstimate

BEYOND = 2.0
"""Standard deviations below zero at which chance is ruled out."""


def negative_springs(parameters: Sequence[ParameterEstimate]) -> tuple[str, ...]:
    """A sentence about compliances of joints that are negative beyond doubt; none when there are none."""
    names = [p.name for p in parameters if _is_joint_spring(p.name) and _negative(p)]
    if not names:
        return ()
    listed, held = ", ".join(names), " ".join(f"--fix '{name}'" for name in names)
    them = "it" if len(names) == 1 else "them"
    return (
        f"{listed} came out negative, which no spring is: these loads hardly bend {them}, or something else moves "
        f"along. Hold {them} ({held}) or load the joint more before using the model under other loads",
    )


def _is_joint_spring(name: str) -> bool:
    """Whether a name is a joint's compliance, alone or of one of its angles.

    >>> [_is_joint_spring(name) for name in ("A2.compliance", "A2.compliance[1]", "link1.compliance[x,x]")]
    [True, True, False]
    """
    owner, _, what = name.partition(".")
    return what == "compliance" or (what.startswith("compliance[") and what[11:-1].isdigit() and bool(owner))


def _negative(p: ParameterEstimate) -> bool:
    return p.value is not None and p.std is not None and p.value < -BEYOND * p.std
