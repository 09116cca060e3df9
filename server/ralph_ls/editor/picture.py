"""What is known of a work tree at one moment: one immutable value that every viewer starts from.

It is made in a thread and handed to the event loop whole, so nobody ever sees half of a change.
It must never know how it was read, nor who looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.history import History
from ralph_ls.core.views.panel.rows import IterationRows
from ralph_ls.core.views.text.status import needs_person
from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.layout import RunFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A work tree's newest run, and what its halt files say."""

    state: RunState | None = None
    """None: no run was ever made here."""
    phase: Phase = Phase.ENDED
    """As viewers show it, with ``crashed``; it means nothing without a state."""
    pid: int | None = None
    """The engine's, while it lives."""
    live: bool = False
    """An engine owns the work tree, and works on this run."""
    history: History = field(default_factory=History)
    rows: IterationRows = field(default_factory=IterationRows)
    halt: HaltFiles = field(default_factory=HaltFiles)
    run_files: RunFiles | None = None

    @property
    def needs_person(self) -> bool:
        """Whether nothing goes on until somebody does something."""
        return self.state is not None and needs_person(self.state, self.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where the loop's own files lie in a work tree."""

    plan: Path | None
    """None where there is no plan yet."""
    decide: Path
    blocked: Path
    progress: Path
    """What was done, as ``PROGRESS.md``."""
    plan_names: tuple[str, ...] = ()
    """Where a plan is looked for, relative to the work tree."""
    kind: PlanKind = PlanKind.MARKDOWN
    """What the plan is written in, or would be where its name does not say so."""
    parent: str | None = None
    """The issue of ``bd`` whose parts alone are to be done."""
    optional_sections: tuple[str, ...] = ()
    """Headings whose tasks are optional."""
    skip_review: bool = False
    """Stories are finished without a review."""


def default_paths(root: Path) -> Paths:
    """What holds before anything was read."""
    paths = PathsConfig()
    return Paths(
        plan=None,
        decide=root / paths.decide,
        blocked=root / paths.blocked,
        progress=root / paths.progress,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPiece:
    """A piece of what the agent printed."""

    start: int
    stream: str
    """``out`` or ``err``."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLines:
    """Some of the agent's messages, each the JSON that stands in ``messages.jsonl``."""

    lines: tuple[bytes, ...]


Told = Event | UnknownEvent | OutputPiece | MessageLines


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one look at a work tree found, or a part of it where it is much."""

    picture: Picture
    paths: Paths
    told: tuple[Told, ...] = ()
    """New events and output in their order, where somebody wants them."""
    changed: bool = True
    """Whether picture, paths or one of the loop's files differ from the look before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What a viewer that comes late is told first; what it is told later goes on right behind."""

    run: str | None
    """None: no run was ever made here."""
    seq: int
    """Events of ``run`` behind this one are told."""
    earlier: Iterator[list[Event | UnknownEvent]] = field(default_factory=lambda: iter(()))
    """Those of them that there are, in parts; each is read when it is asked for, which blocks."""
    told: tuple[Told, ...] = ()
    """What the agent that runs has said."""
