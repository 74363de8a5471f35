"""Touches looked at once the arm is fitted: names that stand for two things.

Before the fit only heaps that lie far apart can be told from what the arm of the file misses by
(`stiffarm.measure.touch_checks`).  A fit through two places under one name leaves them apart, however it bends itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiffarm.measure.touch_checks import FITTED_APART_M, two_heaps

if TYPE_CHECKING:
    from stiffarm.identify.fit import Fit


def touch_faults(found: Fit) -> tuple[str, ...]:
    """Targets that the fitted arm touches at two places: reasons not to use the model."""
    contacts = found.system.contacts
    if not len(contacts.targets):
        return ()
    world = found.system.observer.expected(found.system.arm(found.at), found.at.frames).world
    place = contacts.places(world)
    heaps = [two_heaps(t, place[i], world, FITTED_APART_M) for i, t in enumerate(contacts.targets.targets)]
    return tuple(h.words(contacts.campaign) + "; give each a name of its own" for h in heaps if h is not None)
