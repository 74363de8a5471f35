"""A robot with its effects, and the same at given values of its parameters.

`ArmModel` knows what the unknowns are; `ArmModel.at(values)` puts numbers into them and gives an `Arm`: a chain
whose constants carry the geometry, and the effects that bend it, ready for evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.model.chain import Chain, Corrections, Node, build_chain
from stiffarm.model.effects import Effect, JointCompliance, default_effects
from stiffarm.model.loads import Load, payload_weight, weights
from stiffarm.model.parameters import Parameter, Values, with_priors
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

    @cached_property
    def exact(self) -> ArmModel:
        """The model with true laws where first order has linearised ones; itself when there are none."""
        effects = tuple(effect.exact() for effect in self.effects)
        changed = any(a is not b for a, b in zip(effects, self.effects, strict=True))
        return ArmModel(self.robot, effects) if changed else self

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter, with the priors of the robot file."""
        plain = tuple(parameter for effect in self.effects for parameter in effect.parameters)
        return with_priors(plain, ((p.parameter, p.sigma, p.unit) for p in self.robot.priors))

    @cached_property
    def bending(self) -> tuple[int, ...]:
        """Indices of the effects that may bend."""
        return tuple(i for i, effect in enumerate(self.effects) if any(p.elastic for p in effect.parameters))

    @cached_property
    def nominal(self) -> dict[str, float]:
        """Nominal values by name."""
        return {p.name: p.nominal for p in self.parameters}

    @cached_property
    def owner(self) -> dict[str, tuple[int, int]]:
        """Index of the effect that has a parameter, and of the parameter within it, by name."""
        return {p.name: (i, j) for i, effect in enumerate(self.effects) for j, p in enumerate(effect.parameters)}

    @cached_property
    def drawn(self) -> Arm:
        """The arm as its file draws it."""
        return Arm(self, self.nominal, build_chain(self.robot))

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
        changed = {self.owner[name][0] for name, value in values.items() if value != nominal[name]}
        if not changed:
            return Arm(self, full, self.drawn.chain)
        corrections = merged(self.effects[i].corrections(full) for i in sorted(changed))
        return Arm(self, full, build_chain(self.robot, corrections))


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
