"""A plan and runs over it, as an editor has them before it when a file is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.plan.model import Plan
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.history import history
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    Event,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PhaseChanged,
    RalphStatusUpdate,
    RunStarted,
    UnknownEvent,
)
from ralph_ls.protocol.run.report import Report, ReportKind, ReportProblem
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    CommitSeen,
    Evidence,
    Outcome,
    Phase,
    TaskRef,
)
from tests.unit.core.loop.machine.test_properties import Chance
from tests.unit.core.plan.plan_assertions import plan_texts

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RUN = "20260131T120000Z-0a1b"
COMMIT = "abc1234" + "0" * 33
PID = 4711

PLAN = """\
# Invoice

## High Priority
- [x] Read the law
- [ ] **Round** half a cent up
  - Done when: every total is right
- [ ] Choose the storage engine
- [ ] [BLOCKED: no keys] Pay by card
- [!] Print
## Nice to have
- [ ] Write the letter
"""
READ, ROUND, CHOOSE, PAY, PRINT, LETTER = (3, 4, 6, 7, 8, 10)
"""The tasks' lines."""

TITLES = {
    READ: "Read the law",
    ROUND: "Round half a cent up",
    CHOOSE: "Choose the storage engine",
    PAY: "Pay by card",
    PRINT: "Print",
    LETTER: "Write the letter",
}

EventType = TypeVar("EventType", bound=EventBase)


def task(line: int) -> TaskRef:
    """The task on a line of ``PLAN``, as the engine would name it."""
    return TaskRef(id=title_id(TITLES[line]), title=TITLES[line])


def event(kind: type[EventType], **fields: Any) -> EventType:
    """An event of the run; ``run_of`` numbers it."""
    return kind.model_validate({"seq": 1, "at": NOON, "run": RUN, **fields})


def started(**config: Any) -> RunStarted:
    return event(
        RunStarted,
        version="0.1.0",
        pid=PID,
        workspace="/project",
        state_dir="/state",
        plan="@fix_plan.md",
        config=Config(agent="command", **{"max_iterations": 20, **config}),
    )


def begins(number: int, line: int | None) -> IterationStarted:
    assigned = None if line is None else task(line)
    return event(IterationStarted, iteration=number, task=assigned, baseline=Baseline())


def reports(number: int, *problems: str, **fields: str) -> RalphStatusUpdate:
    report = Report(
        kind=ReportKind.RALPH_STATUS,
        fields=fields,
        problems=tuple(ReportProblem(code=code, message=f"{code} it is") for code in problems),
    )
    return event(RalphStatusUpdate, iteration=number, report=report)


def shows(
    number: int, *, files: int = 0, commit: str | None = None, done: tuple[int, ...] = ()
) -> EvidenceGathered:
    """Evidence: files and a commit outside the loop's own, tasks by their line."""
    commits = () if commit is None else (CommitSeen(hash=commit, subject="work", files=files),)
    evidence = Evidence(
        commits=commits,
        files=files,
        tasks_done=tuple(task(line).id for line in done),
        progress=files > 0,
        why="" if files else "nothing changed at all",
    )
    return event(EvidenceGathered, iteration=number, evidence=evidence)


def ends(number: int, **fields: Any) -> IterationEnded:
    values: dict[str, Any] = {"outcome": Outcome.PROGRESS, "seconds": 60.0, "breaker": Breaker()}
    return event(IterationEnded, iteration=number, **{**values, **fields})


def phase(name: Phase, reason: str | None = None) -> PhaseChanged:
    return event(PhaseChanged, phase=name, reason=reason)


def run_of(events: Iterable[EventBase]) -> list[Event | UnknownEvent]:
    """The events of a journal: numbered, a minute apart."""
    return [
        one.model_copy(update={"seq": number, "at": NOON + timedelta(minutes=number - 1)})  # type: ignore[misc]
        for number, one in enumerate(events, start=1)
    ]


def seen(*events: EventBase, text: str = PLAN, **fields: Any) -> DocumentContext:
    """The plan beside a run with these ``events``; with a live engine unless ``pid`` is None."""
    told = run_of(events)
    state = fold(told) if told else None
    shown = Phase.ENDED if state is None else state.phase
    values: dict[str, Any] = {"phase": shown, "pid": None if state is None else PID, **fields}
    values.setdefault("parsed", parse_markdown(text))
    return DocumentContext(text=text, state=state, history=history(told), **values)


def seen_by_chance(data: st.DataObject) -> DocumentContext:
    """A plan by chance beside a run by chance, whose journal may lack events and their order."""
    chance = Chance(data)
    for _ in range(data.draw(st.integers(0, 20))):
        chance.move()
    told = list(chance.events)
    is_torn = data.draw(st.booleans())
    if told and is_torn:
        told = data.draw(st.lists(st.sampled_from(told), max_size=30))
    text = data.draw(plan_texts)
    parsed = parse_markdown(text)
    # The runs of chance work on tasks with these ids.
    renamed = tuple(
        one._replace(id=f"{number:08x}" if number < 3 else one.id)
        for number, one in enumerate(parsed.plan.tasks)
    )
    return DocumentContext(
        text=text,
        parsed=replace(parsed, plan=Plan(tasks=renamed)),
        state=fold(told) if told else None,
        phase=data.draw(st.sampled_from(Phase)),
        pid=data.draw(st.none() | st.just(PID)),
        history=history(told),
    )
