"""What touched points, planes and spheres can and cannot tell, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiffarm.identifiability.touch_advice import stands_still

if TYPE_CHECKING:
    from stiffarm.identifiability.assessment import Assessment


def touch_sentences(a: Assessment) -> list[str]:
    """The scale first, then where the arm stands."""
    facts = a.touches
    if facts is None:
        return []
    things = " and ".join(facts.shapes)
    out = []
    if facts.scale_lost:
        out.append(
            f"Touching {things} cannot tell the scale: all lengths may grow together and every touch still meets. Add "
            f"{facts.artefact}: {facts.rank_with} numbers then; without a known length the scale is held at that of "
            "the file and its uncertainty stays in every interval."
        )
    elif facts.known:
        out.append(f"The scale comes from {facts.known} known length{'' if facts.known == 1 else 's'}.")
    still = stands_still(a.groups, a.robot.joints)
    if still:
        from stiffarm.identifiability.words import name_list

        out.append(
            f"Touching things whose place nobody knows cannot tell where the arm stands: {name_list(still)} stay as in "
            "the file, which harms no motion relative to what is touched."
        )
    return out


def told_elsewhere(a: Assessment) -> frozenset[str]:
    """Names of which these sentences speak, so that no other does."""
    return frozenset(() if a.touches is None else stands_still(a.groups, a.robot.joints))
