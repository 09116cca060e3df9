"""One run on one plan, drawn at some of its moments: what the documents show, and tests compare.

The JSON is under ``tests/golden``; ``UPDATE_SNAPSHOTS=1`` writes it again, so look at the
difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.history import history
from ralph_ls.core.views.panel.panel import panel, panel_answers
from ralph_ls.core.views.panel.rows import iteration_rows, plan_rows, with_undone
from ralph_ls.core.views.text.status import needs_user
from ralph_ls.protocol.config.agent import AgentConfig
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.lsp.methods import StateResult, SubscribeResult, ViewParams
from ralph_ls.protocol.lsp.panel import Panel, PlanRows
from ralph_ls.protocol.run.events import (
    EventBase,
    LaneMerged,
    LaneParked,
    LaneRunEnded,
    LaneRunStarted,
    LaneStarted,
    LaneWaiting,
    MergeRefused,
    MergeStarted,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunStarted,
)
from ralph_ls.protocol.run.report import AgentFailure, Usage
from ralph_ls.protocol.run.values import (
    Breaker,
    BreakerState,
    Mode,
    Outcome,
    Phase,
    PlanCountsView,
    RollbackRecord,
    TaskRef,
)
from tests.unit.core.views.document_contexts import (
    NOON,
    PID,
    RUN,
    begins,
    ends,
    event,
    phase,
    reports,
    run_of,
    shows,
)

WORKSPACE = "file:///srv/invoice"
STATE_DIR = "/home/ada/.local/state/ralph/worktrees/3f9a1c20b7d4"
COMMIT = "4be1f2a9c07d3e5f6a8b9c0d1e2f3a4b5c6d7e8f"

PLAN = """\
# Invoice

## High Priority
- [x] Add the lines up
- [ ] Choose where VAT is rounded
  - Done when: every total is right
- [ ] [BLOCKED: no merchant account] Pay by card
## Nice to have
- [&] Print it
- [ ] Write the letter
"""
ADD, CHOOSE = "Add the lines up", "Choose where VAT is rounded"

QUESTION = """\
Where is VAT rounded? The law allows both.
(a) on each line
(b) on the total"""

HALF_OPEN = Breaker(
    state=BreakerState.HALF_OPEN,
    reason="2 iterations without progress",
    last_change_at=NOON + timedelta(minutes=14),
    current_iteration=3,
    last_progress_iteration=1,
    consecutive_no_progress=2,
    consecutive_same_error=2,
    error_streaks={"error: no rule for rounding": 2},
    error_history=("error: no rule for rounding", "error: no rule for rounding"),
)

CLAIMS = {
    "STATUS": "IN_PROGRESS",
    "FILES_MODIFIED": "4",
    "TASKS_COMPLETED_THIS_LOOP": "0",
    "TESTS_STATUS": "FAILING",
    "WORK_TYPE": "IMPLEMENTATION",
}
ADVICE = "Ask whoever sends the invoices where VAT is rounded"


def _task(title: str) -> TaskRef:
    return TaskRef(id=title_id(title), title=title)


def _begins(number: int, title: str | None) -> EventBase:
    started = begins(number, None)
    return started.model_copy(update={"task": None if title is None else _task(title)})


def _done(title: str) -> EventBase:
    told = shows(1, files=4, commit=COMMIT)
    changes = {"tasks_done": (_task(title).id,), "why": "1 commit, 4 files, 1 task"}
    return told.model_copy(update={"evidence": told.evidence.model_copy(update=changes)})


def _usage(cost: float, context: int) -> Usage:
    return Usage(
        input_tokens=14_200,
        output_tokens=1_310,
        cost_usd=cost,
        turns=9,
        context_tokens=context,
        context_window=200_000,
    )


COUNTS = PlanCountsView(
    total=5, done=1, open_required=4, blocked_required=1, required=5, required_done=1
)
CONFIG = Config(
    agent="command",
    agents={"command": AgentConfig(argv=("./agent.sh",))},
    max_iterations=20,
)
STARTED = event(
    RunStarted,
    version="0.1.0",
    pid=PID,
    workspace="/srv/invoice",
    state_dir=STATE_DIR,
    branch="main",
    plan="@fix_plan.md",
    config=CONFIG,
    counts=COUNTS,
)
FIRST = (
    STARTED,
    _begins(1, ADD),
    phase(Phase.RUNNING),
    reports(1, **{**CLAIMS, "TASKS_COMPLETED_THIS_LOOP": "1", "TESTS_STATUS": "PASSING"}),
    _done(ADD),
    ends(1, seconds=66.4, commit=COMMIT, usage=_usage(0.09, 31_000), counts=COUNTS),
)
CONFIRMED = (
    *FIRST[:-1],
    ends(
        1,
        seconds=66.4,
        commit=COMMIT,
        usage=_usage(0.09, 31_000),
        counts=COUNTS,
        confirmed=True,
    ),
)
SECOND = (
    _begins(2, CHOOSE),
    reports(2, **CLAIMS),
    shows(2),
    ends(
        2,
        outcome=Outcome.NO_PROGRESS,
        failure=AgentFailure.TIMED_OUT,
        usage=_usage(0.11, 52_000).model_copy(update={"estimated": True}),
        counts=COUNTS,
    ),
    _begins(3, CHOOSE),
)
PLANNED = (
    *FIRST,
    _begins(2, None).model_copy(update={"mode": Mode.PLAN}),
    shows(2, files=1),
    ends(2, seconds=31.2, usage=_usage(0.04, 12_000), counts=COUNTS),
)
ASKS = (
    reports(3, **CLAIMS, RECOMMENDATION=ADVICE),
    shows(3),
    event(QuestionAsked, iteration=3, question=QUESTION, path=".ralph/decide.txt", asked_at=NOON),
    ends(
        3,
        outcome=Outcome.NO_PROGRESS,
        usage=_usage(0.22, 84_000),
        counts=COUNTS,
        breaker=HALF_OPEN,
        recommendation=ADVICE,
    ),
)
PARKED = (*FIRST, *SECOND, *ASKS, phase(Phase.PARKED, "decide"))
ANSWERED = (
    *PARKED,
    event(QuestionAnswered, question=QUESTION, answer="on each line", by="Neovim"),
    phase(Phase.PREPARING),
    _begins(4, CHOOSE),
    phase(Phase.RUNNING),
)
LIMIT = event(PhaseChanged, phase=Phase.WAITING, reason="limit", until=NOON + timedelta(hours=5))
END = event(
    RunEnded,
    reason="stopped",
    exit_code=130,
    message="stopped by Ada",
    by="Ada",
    iterations=1,
    seconds=300.0,
)


WRITE, PRINT = "Write the letter", "Print it"


def _lane(kind: type[EventBase], number: int, title: str, **fields: Any) -> EventBase:
    return event(kind, lane=number, task=_task(title), **fields)


def _opens(number: int, title: str, run: str) -> tuple[EventBase, ...]:
    name = f"{title_id(title)}-{number}"
    return (
        _lane(
            LaneStarted,
            number,
            title,
            branch=f"ralph/{RUN}/{name}",
            worktree=f"{STATE_DIR}/lanes/{RUN}/{name}",
        ),
        _lane(LaneRunStarted, number, title, lane_run=run, base=COMMIT, limit=5),
    )


def _is_done(number: int, title: str, run: str) -> EventBase:
    return _lane(
        LaneRunEnded,
        number,
        title,
        lane_run=run,
        reason="complete",
        message="the task is done",
        iterations=2,
        usage=_usage(0.13, 31_000),
        seconds=66.4,
    )


MARKERS = "conflict markers are left in invoice/letter.py"
SIDE_BY_SIDE = (
    STARTED.model_copy(update={"config": CONFIG.model_copy(update={"parallel": 3})}),
    phase(Phase.RUNNING),
    *_opens(1, CHOOSE, "20260131T120001Z-1b2c"),
    *_opens(2, WRITE, "20260131T120002Z-3d4e"),
    *_opens(3, PRINT, "20260131T120003Z-5f60"),
    _is_done(3, PRINT, "20260131T120003Z-5f60"),
    _lane(MergeStarted, 3, PRINT, onto=COMMIT, head=COMMIT),
    _lane(
        LaneMerged,
        3,
        PRINT,
        head=COMMIT,
        commits=2,
        counts=COUNTS.model_copy(update={"done": 2, "open_required": 3, "required_done": 2}),
        kept="uncommitted changes in notes.txt",
    ),
    _is_done(2, WRITE, "20260131T120002Z-3d4e"),
    _lane(
        MergeRefused,
        2,
        WRITE,
        problem="unresolved",
        message=MARKERS,
        paths=("invoice/letter.py",),
    ),
    _lane(LaneParked, 2, WRITE, message=MARKERS),
    _lane(LaneWaiting, 1, CHOOSE, phase="parked", reason="decide", question=QUESTION),
)


def look_at(*events: EventBase, pid: int | None = PID) -> DocumentContext:
    """The plan beside the run after these events."""
    told = run_of(events)
    state = fold(told)
    return DocumentContext(
        text=PLAN,
        parsed=parse_markdown(PLAN),
        state=state,
        phase=state.phase,
        pid=pid,
        history=history(told),
    )


def panel_at(*events: EventBase, now: datetime | None = None, pid: int | None = PID) -> Panel:
    rows = iteration_rows(run_of(events)).rows
    return panel(look_at(*events, pid=pid), rows, now)


def gone_at(*events: EventBase) -> Panel:
    """As after the engine was killed there."""
    look = replace(look_at(*events, pid=None), phase=Phase.CRASHED)
    return panel(look, iteration_rows(run_of(events)).rows)


def undone_at(*events: EventBase) -> Panel:
    """As after the user has taken the branch back to before its iterations."""
    rows = iteration_rows(run_of(events)).rows
    undone = RollbackRecord(run=RUN, start=1, at=NOON, commits=(COMMIT,))
    return panel(look_at(*events, pid=None), with_undone(rows, RUN, [undone]))


def tree_at(*events: EventBase) -> PlanRows:
    return plan_rows(look_at(*events), uri=f"{WORKSPACE}/%40fix_plan.md", path="@fix_plan.md")


def state_at(*events: EventBase, pid: int | None = PID) -> StateResult:
    """What the server sends about the work tree at that moment."""
    look = look_at(*events, pid=pid)
    assert look.state is not None
    return StateResult(
        run=look.state,
        phase=look.phase,
        live=look.live,
        pid=look.pid,
        needs_person=needs_user(look.state, look.phase),
        answers=panel_answers(look),
        panel=panel_at(*events, pid=pid),
        plan=tree_at(*events),
        journal=f"{STATE_DIR}/runs/{RUN}/journal.jsonl",
    )


def _subscribed() -> SubscribeResult:
    state = state_at(*FIRST[:3])
    assert state.run is not None
    return SubscribeResult(run=RUN, seq=state.run.seq, workspace=WORKSPACE, state=state)


EXAMPLES: Mapping[str, BaseModel] = {
    "panel/asks": panel_at(*PARKED),
    "panel/answered": panel_at(*ANSWERED, now=NOON + timedelta(minutes=21)),
    "panel/waits": panel_at(*PLANNED, LIMIT),
    "panel/gone": gone_at(*FIRST),
    "panel/stopped": undone_at(*CONFIRMED, END),
    "panel/lanes": panel_at(*SIDE_BY_SIDE),
    "planRows/asks": tree_at(*PARKED),
    "planRows/lanes": tree_at(*SIDE_BY_SIDE),
    "methods/state.result": state_at(*PARKED),
    "methods/subscribe.result": _subscribed(),
    "methods/view.params": ViewParams(workspace=WORKSPACE, state=state_at(*FIRST, END, pid=None)),
}
"""By their place under ``tests/golden``, without ``.json``."""


def to_json(model: BaseModel) -> Any:
    """As the server writes it: a field without a value is left out."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
