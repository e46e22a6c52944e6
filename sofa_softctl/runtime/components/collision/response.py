"""Contact responses: frictional, frictionless, or none."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from typing_extensions import override

from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.components.collision.penality import PenalityContactForceField
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Text
from sofa_softctl.runtime.helper.message import complain

DEFAULT_FRICTION = 0.8
"""Default mu of SOFA's FrictionContactConstraint [-]."""
FRICTION_MAX = 10.0
"""Largest plausible coefficient of friction [-]."""
PARAMETERS = {"mu", "tol"}
"""Parameters of SOFA's contacts; tol has no effect here."""
Contact = UnilateralLagrangianConstraint | PenalityContactForceField
_RULE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)")


class Response(NamedTuple):
    """Contact response of two models."""

    kind: str
    """Name of the response, such as FrictionContactConstraint; 'nullptr' for none."""
    parameters: dict[str, str]
    """Parameters of the response, such as mu."""

    @classmethod
    def parse(cls, text: str) -> Response:
        """Read 'FrictionContactConstraint?mu=0.6&tol=1e-3'."""
        kind, _, options = text.partition("?")
        pairs = (option.partition("=") for option in options.replace("?", "&").split("&") if option)
        return cls(kind.strip(), {name.strip(): value.strip() for name, _, value in pairs})


class CollisionResponse(Component):
    """One response for all models, unless a model has its own contactResponse.

    Two models with different contactResponses get the response for all, as in SOFA.
    """

    category: ClassVar[str] = "collision response"
    aliases: ClassVar[tuple[str, ...]] = ("DefaultContactManager",)

    response = Text(
        "", "Kind of contact: PenalityContactForceField, the default, or FrictionContactConstraint."
    )
    responseParams = Text("", "Parameters of the contact, such as 'mu=0.8'.")

    def init(self) -> None:
        """Warn of parameters that no contact reads."""
        parameters = Response.parse(f"?{self.responseParams.get()}").parameters
        for name in parameters.keys() - PARAMETERS:
            problem = (
                f"has responseParams='{self.responseParams.get()}', and no contact reads '{name}'. "
                "Write 'mu=0.6' for a coefficient of friction of 0.6."
            )
            complain(self, self.fault(problem))
        if "mu" in parameters and self._friction(parameters) > FRICTION_MAX:
            problem = (
                f"has mu={parameters['mu']}: coefficients of friction are 0.1 to 2. Is it in "
                "percent, or an angle?"
            )
            complain(self, self.fault(problem))

    def response_of(self, first: CollisionModel, second: CollisionModel) -> Response:
        """Return the response of two models."""
        a, b = first.contactResponse.get(), second.contactResponse.get()
        if (a or b) and (not a or not b or a == b):
            return Response.parse(a or b)
        return Response.parse(f"{self.response.get()}?{self.responseParams.get()}")

    def create_contact(self, first: CollisionModel, second: CollisionModel) -> Contact | None:
        """Return the contact of two models, or None if they go through each other.

        Raises:
            SceneError: the response is not supported, or mu is not a number >= 0.
        """
        kind, parameters = self.response_of(first, second)
        name = f"{first.getName()}-{second.getName()}"
        if kind == "nullptr":
            return None
        if kind in ("", "PenalityContactForceField"):
            pushing = PenalityContactForceField(name=name)
            pushing.connect(first, second)
            return pushing
        if kind not in ("FrictionContactConstraint", "FrictionContact"):
            raise self.fault(
                f"asks for '{kind}' between {first.describe()} and {second.describe()}: the "
                "embedded runtime builds response='FrictionContactConstraint' with "
                "responseParams='mu=0.6', say, and 'PenalityContactForceField', the default."
            )
        constraint = UnilateralLagrangianConstraint(name=name)
        constraint.connect(first, second, self._friction(parameters))
        if not constraint.pushes:
            problem = (
                f"lets {first.describe()} and {second.describe()} go through each other: a "
                "'contactStiffness' of 0 switches contacts off, also those that have no stiffness."
            )
            complain(self, self.fault(problem))
        return constraint

    def _friction(self, parameters: dict[str, str]) -> float:
        text = parameters.get("mu", str(DEFAULT_FRICTION))
        try:
            mu = float(text)
        except ValueError:
            mu = -1.0
        if not 0.0 <= mu < float("inf"):
            raise self.fault(f"got mu='{text}': give a number >= 0, such as mu=0.6.")
        return mu


class RuleBasedContactManager(CollisionResponse):
    """Rules NAME NAME RESPONSE, * for any model, numbers for groups; the first match counts.

    For instance "1 2 FrictionContactConstraint?mu=0.9" and "* ground nullptr".
    """

    aliases: ClassVar[tuple[str, ...]] = ()

    rules = Text(
        "", "Rules, three words each: model or group, model or group, response.", follows="start"
    )
    variables = Text("", "Not supported: write the values into the rules.", follows="start")

    def init(self) -> None:
        """Check the rules; invalid ones are ignored with a warning.

        Raises:
            SceneError: a rule uses variables.
        """
        super().init()
        text = self.rules.get()
        if self.variables.get() or "$" in text:
            raise self.fault("does not support 'variables': write their values into 'rules'.")
        remainder = _RULE.sub("", text).strip()
        if remainder:
            problem = f"has a rule of other than three words in 'rules': '{remainder}'."
            complain(self, self.fault(problem))

    @override
    def response_of(self, first: CollisionModel, second: CollisionModel) -> Response:
        text = first.contactResponse.get() or second.contactResponse.get()
        if text:
            return Response.parse(text)
        for first_word, second_word, response in _RULE.findall(self.rules.get()):
            if (_fits(first_word, first) and _fits(second_word, second)) or (
                _fits(first_word, second) and _fits(second_word, first)
            ):
                return Response.parse(response)
        return super().response_of(first, second)


def _fits(word: str, model: CollisionModel) -> bool:
    if word.lstrip("-").isdigit():
        return int(word) in model.group.get()
    return word in ("*", model.getName())
