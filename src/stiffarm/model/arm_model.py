"""A robot with its effects, and the same at given values of its parameters.

`ArmModel` knows what the unknowns are; `ArmModel.at(values)` puts numbers into them and gives an `Arm`: a chain
whose constants carry the geometry, and the effects that bend it, ready for evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

import numpy as np

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.model.chain import Chain, Corrections, Node, build_chain
from stiffarm.model.effects import Effect, JointCompliance, default_effects
from stiffarm.model.effects.reduced import ReducedEffect
from stiffarm.model.loads import Load, payload_weight, weights
from stiffarm.model.parameters import Parameter, ParameterSet, Values, glob_match, with_priors
from stiffarm.model.reducing import composed, reduced_effects
from stiffarm.robot.arm import Robot, Vector3


@dataclass(frozen=True)
class ArmModel:
    """A robot and its effects.

    >>> from stiffarm.robot.arm import AxisPlacement, Joint
    >>> model = ArmModel.of(Robot("one", (Joint("J1", "revolute", AxisPlacement(), compliance=1e-6),)))
    >>> [p.name for p in model.parameters if p.elastic]
    ['J1.compliance']
    """

    robot: Robot
    effects: tuple[Effect, ...]
    reduction: ParameterSet | None = None
    """How the parameters of the robot's own effects follow from those of this model; None: they are the same."""

    @staticmethod
    def of(robot: Robot) -> ArmModel:
        """The robot with every effect of its file; the same model whenever the same robot is asked about."""
        known = _model_of(robot)
        # equal robots may differ in what a file shows (0.0 and -0.0), so only the very same one shares a model
        return known if known.robot is robot else ArmModel(robot, default_effects(robot))

    def grouped(self, joint: str, angles: Iterable[float]) -> ArmModel:
        """The model with the compliance of one joint grouped by its angles (rad or m)."""
        groups = tuple(sorted(angles))
        return ArmModel(
            self.robot,
            tuple(
                replace(effect, groups=groups)
                if isinstance(effect, JointCompliance) and effect.joint == joint
                else effect
                for effect in self.effects
            ),
        )

    def reduced(self, parameters: ParameterSet) -> ArmModel:
        """The model with a map of some of its parameters put before them; the others stay free.

        Nothing that takes a model has to know: its ``parameters`` are the reduced unknowns, and what follows from
        them is held or moved along.
        """
        full = self.full
        total = composed(full.plain_parameters, self.reduction, parameters)
        return ArmModel(self.robot, reduced_effects(full.effects, total), total)

    def like(self, other: ArmModel) -> ArmModel:
        """The model with the reduction of another, whose robot differs in numbers or has other effects as well."""
        if other.reduction is None:
            return self
        names = {p.name for p in self.plain_parameters}
        keep = [i for i, p in enumerate(other.reduction.full) if p.name in names]
        full = tuple(other.reduction.full[i] for i in keep)
        matrix = other.reduction.matrix[keep]
        used = np.flatnonzero(matrix.any(axis=0))
        kept = tuple(other.reduction.names[i] for i in used)
        return self.reduced(ParameterSet(full, kept, matrix[:, used], other.reduction.fixed[keep]))

    @cached_property
    def full(self) -> ArmModel:
        """The model of the robot's own effects, before any reduction."""
        if self.reduction is None:
            return self
        return ArmModel(
            self.robot,
            tuple(effect.effect if isinstance(effect, ReducedEffect) else effect for effect in self.effects),
        )

    @cached_property
    def exact(self) -> ArmModel:
        """The model with true laws where first order has linearised ones; itself when there are none."""
        effects = tuple(effect.exact() for effect in self.effects)
        changed = any(a is not b for a, b in zip(effects, self.effects, strict=True))
        return ArmModel(self.robot, effects, self.reduction) if changed else self

    @cached_property
    def plain_parameters(self) -> tuple[Parameter, ...]:
        """Every parameter once, without priors."""
        return tuple({p.name: p for effect in self.effects for p in effect.parameters}.values())

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter, with the priors of the robot file."""
        plain = self.plain_parameters
        own = {e.joint for e in self.effects if isinstance(e, JointCompliance) and e.groups}
        drives = {f"{joint}.compliance" for joint in own}  # what is known of a drive is not known of its groups
        priors = [(p.parameter, p.sigma, p.unit) for p in self.robot.priors if p.parameter not in drives]
        if self.reduction is not None:  # what is held or moved along has no prior of its own
            priors = [one for one in priors if any(glob_match(p.name, one[0]) for p in plain)]
        return with_priors(plain, priors)

    @cached_property
    def bending(self) -> tuple[int, ...]:
        """Indices of the effects that may bend."""
        return tuple(i for i, effect in enumerate(self.effects) if _bends(effect))

    @cached_property
    def nominal(self) -> dict[str, float]:
        """Nominal values by name."""
        return {p.name: p.nominal for p in self.parameters}

    @cached_property
    def owner(self) -> dict[str, tuple[int, int]]:
        """Index of the effect that has a parameter (the first of several), and of the parameter within it, by name."""
        return {name: places[0] for name, places in self.owners.items()}

    @cached_property
    def owners(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Index of every effect that has a parameter, and of the parameter within it, by name."""
        found: dict[str, tuple[tuple[int, int], ...]] = {}
        for i, effect in enumerate(self.effects):
            for j, p in enumerate(effect.parameters):
                found[p.name] = (*found.get(p.name, ()), (i, j))
        return found

    @cached_property
    def _mapped(self) -> frozenset[int]:
        """Effects behind a map: these may hold numbers that are not nominal."""
        return frozenset(i for i, effect in enumerate(self.effects) if isinstance(effect, ReducedEffect))

    @cached_property
    def drawn(self) -> Arm:
        """The arm as its file draws it, with what a reduction holds."""
        return Arm(self, self.nominal, self._chain(self.nominal, self._mapped))

    def _chain(self, values: Values, changed: Iterable[int]) -> Chain:
        """The chain with the corrections of some effects."""
        return build_chain(self.robot, merged(self.effects[i].corrections(values) for i in sorted(changed)))

    def at(self, values: Values | None = None) -> Arm:
        """The arm with some parameters at other than nominal values."""
        if not values:
            return self.drawn
        nominal = self.nominal
        full = {**nominal, **values}
        if len(full) > len(nominal):
            unknown = next(name for name in values if name not in nominal)
            raise InputError(
                Problem(
                    f"parameter {unknown!r} does not exist for {self.robot.name}",
                    next_step=did_you_mean(unknown, list(nominal)),
                )
            )
        # an effect at its nominal values corrects nothing
        changed = {i for name, value in values.items() if value != nominal[name] for i, _ in self.owners[name]}
        if not changed:
            return Arm(self, full, self.drawn.chain)
        return Arm(self, full, self._chain(full, changed | self._mapped))


def _bends(effect: Effect) -> bool:
    if isinstance(effect, ReducedEffect):
        return effect.bends
    return any(p.elastic for p in effect.parameters)


@lru_cache(maxsize=32)
def _model_of(robot: Robot) -> ArmModel:
    return ArmModel(robot, default_effects(robot))


@dataclass(frozen=True, eq=False)
class Arm:
    """An `ArmModel` at given values."""

    model: ArmModel
    values: Values
    chain: Chain
    _nodes: dict[int, tuple[Node, ...]] = field(default_factory=dict, repr=False)

    def nodes(self, effect: int) -> tuple[Node, ...]:
        """Nodes of one effect, worked out when first asked for."""
        if effect not in self._nodes:
            self._nodes[effect] = self.model.effects[effect].nodes(self.chain, self.values)
        return self._nodes[effect]

    @property
    def exact(self) -> Arm:
        """The arm of the exact model; itself when that is the same."""
        return self if self.model.exact is self.model else Arm(self.model.exact, self.values, self.chain, self._nodes)

    @property
    def robot(self) -> Robot:
        """The robot of the file."""
        return self.model.robot

    def weights(self, payload: tuple[float, Vector3] | None = None) -> tuple[Load, ...]:
        """Weights of links, tool and, when given, of a payload (kg, centre in the flange frame in m)."""
        own = weights(self.robot, self.chain)
        return own if payload is None else (*own, payload_weight(self.robot, self.chain, *payload))


def merged(corrections: Iterable[Corrections]) -> Corrections:
    """All corrections as one; no two effects correct the same thing."""
    total = Corrections(*({} for _ in fields(Corrections)))
    for one in corrections:
        for name, entries in vars(one).items():
            if entries:
                vars(total)[name].update(entries)
    return total
