"""Where a plan is and what it is written in, for whoever reads or edits single tasks of it.

A plan of ``bd`` is asked for with ``bd``, which takes its time; everything here blocks. It must
never know which orders there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.kinds import PlanKind, kind_of_file
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.protocol.config import Config, OptionalTasks
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.state import RunState
from ralph_ls.store.plan_file import read_plan

if TYPE_CHECKING:
    from ralph_ls.core.plan.beads.snapshot import Snapshot


BD = "bd"
"""What a plan is called that ``bd`` keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPlace:
    """The plan of a work tree."""

    path: str
    """Relative to the root; where no file is the plan, what it is called."""
    kind: PlanKind = PlanKind.MARKDOWN
    environment: Mapping[str, str] = field(default_factory=dict)
    """Where ``bd`` is looked for."""
    parent: str | None = None
    """The issue whose parts alone are to be done."""

    @property
    def is_file(self) -> bool:
        """Whether the plan is the text of a file."""
        return self.kind in {PlanKind.MARKDOWN, PlanKind.STORIES}


def place_of(path: str, config: Config, environment: Mapping[str, str]) -> PlanPlace:
    """The plan that these settings have at ``path``."""
    kind = profile_of(config.profile).plan_kind
    if kind in {PlanKind.MARKDOWN, PlanKind.STORIES}:
        kind = kind_of_file(path, kind)
    parent = config.beads.parent
    return PlanPlace(path=path, kind=kind, environment=environment, parent=parent)


def left_alone(state: RunState) -> tuple[str, ...]:
    """Titles of the open optional tasks in the plan of a run that does not work on them."""
    config = state.config
    if not state.counts.open_optional or config.optional is OptionalTasks.DO or config.task:
        return ()
    place = place_of(state.plan, config, {})
    if place.kind is not PlanKind.MARKDOWN:
        return ()
    try:
        text = read_plan(Path(state.workspace), state.plan).decode("utf-8", errors="replace")
    except RalphError:
        return ()
    plan = parse(text, optional_sections=config.optional_sections).plan
    tasks = plan.some(states={TaskState.TODO, TaskState.IN_PROGRESS})
    return tuple(make_sayable(task.title) for task in tasks if task.optional)


def find_task(root: Path, place: PlanPlace, task: str, *, text: str | None = None) -> Task:
    """The task in the plan; raises ``UsageError`` where there is none, and what to do.

    ``text`` is the plan's where it is known; otherwise it is read, which raises ``PlanMissing``.
    """
    from ralph_ls.core.plan.parsing import parse_plan

    known = text_of_plan(root, place) if text is None else text
    found = parse_plan(known, place.kind).plan.find(task)
    if found is None:
        raise UsageError(
            f"{place.path} has no task {task!r}; its tasks and their ids are shown by: "
            "ralph plan --json"
        )
    return found


def text_of_plan(root: Path, place: PlanPlace) -> str:
    """The plan's text as it is now; raises ``PlanMissing``."""
    if place.kind is PlanKind.BEADS:
        from ralph_ls.core.plan.beads.snapshot import to_text

        return to_text(issues_of(root, place))
    return read_plan(root, place.path).decode("utf-8", errors="replace")


def issues_of(root: Path, place: PlanPlace) -> Snapshot:
    """What ``bd`` says; raises ``IssuesMissing``."""
    from ralph_ls.store.bd import find_bd, read_snapshot

    return read_snapshot(find_bd(root, place.environment), parent=place.parent)
