"""Which model, or which agent, gets an iteration: the table ``[models]`` (S, Future 6; SPEC §9).

Models are called as the agent calls them. It must never know which agents or models there are.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ralph_ls.protocol.base import StrictWireModel

ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^-\s]\S*$")]
"""Nothing that an agent could take for a flag."""


class ModelChoice(StrictWireModel):
    """Who gets an iteration: another agent, another model, or both."""

    agent: str | None = Field(default=None, min_length=1)
    """Its name; None: the run's own agent."""
    model: ModelName | None = None
    """None: the one that the agent's settings name, or its own choice."""

    @model_validator(mode="after")
    def _chooses(self) -> ModelChoice:
        if self.agent is None and self.model is None:
            raise ValueError("it chooses nothing; give it an agent, a model, or both")
        return self


Chosen = ModelName | ModelChoice
"""A model of the run's own agent by its name alone, or a table with ``agent`` and ``model``."""


class ModelsByMode(StrictWireModel):
    """By what an iteration is for."""

    plan: Chosen | None = None
    build: Chosen | None = None
    review: Chosen | None = None
    review_fix: Chosen | None = None


class ModelsByPriority(StrictWireModel):
    """By the priority of the task; one that has none counts as standard."""

    high: Chosen | None = None
    """P0."""
    standard: Chosen | None = None
    """P1."""
    low: Chosen | None = None
    """P2, nice to have."""


class ModelsConfig(StrictWireModel):
    """Which model gets an iteration; the first of these that fits: every, tag, mode, priority."""

    every: ModelName | None = None
    """For every iteration, whatever stands below: what ``--model`` sets."""
    tag: dict[str, Chosen] = Field(default_factory=dict)
    """By a tag of the task, ``[simple]`` or ``#simple`` in the plan, a label or type in ``bd``."""
    mode: ModelsByMode = ModelsByMode()
    priority: ModelsByPriority = ModelsByPriority()

    def others(self) -> tuple[ModelChoice, ...]:
        """Every rule but ``every``, in the order of its table."""
        rules = [
            *self.tag.values(),
            *(getattr(self.mode, name) for name in ModelsByMode.model_fields),
            *(getattr(self.priority, name) for name in ModelsByPriority.model_fields),
        ]
        return tuple(as_choice(rule) for rule in rules if rule is not None)


def as_choice(rule: Chosen) -> ModelChoice:
    """A rule as a table."""
    return ModelChoice(model=rule) if isinstance(rule, str) else rule
