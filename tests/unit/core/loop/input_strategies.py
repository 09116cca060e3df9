"""Inputs by chance: the answer that is awaited in any shape, or something nobody waits for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AnnouncementDone,
    AnswerOverdue,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    HaltFiles,
    HaltFilesChanged,
    Input,
    Interrupted,
    IterationRead,
    Notice,
    PendingNote,
    PlanFacts,
    Prepared,
    Resumed,
    Started,
    TaskClaimed,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
)
from ralph_ls.protocol.config.config import (
    AttemptCounts,
    Committer,
    Config,
    GateRule,
    OnBlocked,
    OnValidateFail,
)
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.report import (
    JudgeVerdict,
    Promise,
    PromiseKind,
    Report,
    ReportKind,
    RequestedChange,
    SessionSeen,
    Usage,
)
from ralph_ls.protocol.run.values import Baseline, CommitSeen, Mode, PlanCountsView, TaskRef
from tests.unit.core.loop.simulated_project import SimulatedProject
from tests.unit.core.loop.simulated_run import BEGIN, LAUNCHED, RUN, command, facts, settings

small = st.integers(min_value=0, max_value=3)
words = st.sampled_from(["done", "finished", "all-tasks-complete"])
texts = st.sampled_from(["a or b?", "no key", "b  or\nc?", "…"])
seconds = st.sampled_from([0.0, 0.1, 2.5])


def _report(values: tuple[str, str, str, str, int, int]) -> Report:
    names = ("STATUS", "EXIT_SIGNAL", "TESTS_STATUS", "WORK_TYPE", "FILES_MODIFIED", "TASKS")
    fields = dict(zip(names, map(str, values), strict=True))
    fields["TASKS_COMPLETED_THIS_LOOP"] = fields.pop("TASKS")
    return Report(kind=ReportKind.RALPH_STATUS, fields={**fields, "RECOMMENDATION": "go on"})


reports = st.tuples(
    st.sampled_from(["IN_PROGRESS", "COMPLETE", "BLOCKED", "NEEDS_CLARIFICATION", ""]),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["PASSING", "FAILING", "NOT_RUN"]),
    st.sampled_from(["TESTING", "IMPLEMENTATION"]),
    small,
    small,
).map(_report)

promises = st.builds(Promise, kind=st.sampled_from(PromiseKind), text=texts)


def _plan(n_todo: int, n_blocked: int, n_done: int, *, marker: bool = False) -> PlanFacts:
    tasks = tuple(TaskRef(id=f"{number:08x}", title=f"task {number}") for number in range(n_todo))
    counts = PlanCountsView(
        total=n_todo + n_blocked + n_done,
        done=n_done,
        open_required=n_todo + n_blocked,
        blocked_required=n_blocked,
        required=n_todo + n_blocked + n_done,
        required_done=n_done,
        marker=marker,
    )
    return PlanFacts(counts=counts, next_task=tasks[0] if tasks else None, open_tasks=tasks)


plans = st.builds(_plan, small, st.integers(0, 1), small, marker=st.booleans())
fingerprints = st.integers(0, 4).map(lambda number: f"{number:016x}" if number else "")
commits = st.builds(
    CommitSeen,
    hash=st.integers(1, 9).map(lambda number: f"{number:040x}"),
    subject=st.just("change"),
    files=small,
    repository=st.sampled_from(["", "nested"]),
    by_person=st.sampled_from([False, False, True]),
)
changes = st.builds(
    Changes,
    commits=st.lists(commits, max_size=2).map(tuple),
    files=small,
    fingerprint=fingerprints,
)
halts = st.builds(
    HaltFiles,
    question=st.none() | texts,
    answer=st.none() | st.just("a"),
    blocked=st.none() | texts,
)
notices = st.lists(
    st.builds(Notice, code=st.sampled_from(["left-over", "dirty"]), message=st.just("x")),
    max_size=1,
).map(tuple)
prepared = st.builds(
    Prepared,
    baseline=st.builds(Baseline, fingerprint=fingerprints),
    plan=plans,
    mode=st.sampled_from([Mode.BUILD] * 4 + [*Mode]),
    must_claim=st.sampled_from([False] * 3 + [True]),
    notices=notices,
)
claimed = st.builds(
    TaskClaimed,
    task=st.just(TaskRef(id="00000000", title="task 0")),
    refused=st.sampled_from(["", "", "assigned to Bob"]),
)
finished = st.builds(
    AgentFinished,
    exit_code=st.sampled_from([0, 0, 1]) | st.none(),
    timed_out=st.booleans(),
    idle=st.booleans(),
    overspent=st.booleans(),
    stopped=st.booleans(),
    seconds=seconds,
)
errors = st.lists(st.sampled_from(["error: a", "error: b"]), max_size=2, unique=True).map(tuple)
verifications = st.builds(
    TaskVerification,
    task=st.just(TaskRef(id="00000001", title="First")),
    checked=st.lists(
        st.builds(
            CheckOutcome,
            check=st.just(CriterionCheck(criterion="It holds", command="make test")),
            exit_code=st.sampled_from([0, 1]) | st.none(),
            not_run=st.sampled_from(["", "it was never allowed"]),
        ),
        max_size=2,
    ).map(tuple),
    reopened=st.booleans(),
)
read = st.builds(
    IterationRead,
    report=st.none() | reports,
    promises=st.lists(promises, max_size=2).map(tuple),
    completion_words=st.lists(words, max_size=3).map(tuple),
    errors=errors,
    error_patterns=errors,
    without_output=st.booleans(),
    changes=changes | st.just(Changes()),
    tasks_done=st.lists(st.just("00000001"), max_size=1).map(tuple),
    plan=plans,
    halt=halts,
    verified=st.lists(verifications, max_size=1).map(tuple),
    must_validate=st.booleans(),
    notices=notices,
    denied_tools=st.sampled_from([None, (), ("Bash",), ("Bash", "Bash", "Write")]),
    limit=st.sampled_from(
        [None] * 5 + [AccountLimit(), AccountLimit(resets_at=BEGIN + timedelta(minutes=1))]
    ),
    failed=st.sampled_from([False, False, True]),
    session=st.none() | st.just(SessionSeen(id="s-1", cost_usd=0.5)),
    usage=st.none() | st.just(Usage(input_tokens=70, output_tokens=30, cost_usd=0.25)),
    question=st.sampled_from(["", "a or b?"]),
    plan_changed=st.booleans(),
)
validated = st.builds(
    ValidationFinished,
    ok=st.booleans(),
    exit_code=st.sampled_from([0, 1]) | st.none(),
    timed_out=st.booleans(),
    seconds=seconds,
    tail=st.just("tested"),
)
judged = st.builds(
    WorkJudged,
    verdict=st.sampled_from(JudgeVerdict),
    reason=texts,
    changes=st.lists(
        st.builds(RequestedChange, file=st.just("a.py"), reason=st.just("wrong")), max_size=1
    ).map(tuple),
    reopened=st.sampled_from([(), ("00000000",)]),
    agent=st.just("claude"),
    plan=st.none() | plans,
)
undone = st.builds(
    WorkUndone,
    refused=st.sampled_from(["", "it was pushed"]),
    backup=st.none() | st.just("ralph/backup-1"),
    plan=st.none() | plans,
    notices=notices,
)
committed = st.builds(
    WorkCommitted,
    commit=st.none() | st.just("c" * 40),
    subject=st.just("ralph: a"),
    problem=st.sampled_from(["", "the hook said no"]),
    notices=notices,
)
pushed = st.builds(
    WorkPushed,
    ok=st.booleans(),
    remote=st.just("origin"),
    branch=st.just("main"),
    tries=st.integers(0, 3),
    rejected=st.booleans(),
    problem=st.sampled_from(["", "no route to host"]),
    notices=notices,
)


def _command(kind: str, number: int, own: bool) -> CommandArrived:
    name, _, now = kind.partition(" ")
    fields: dict[str, Any] = {"now": True} if now else {}
    if name in {"answer", "note"}:
        fields["text"] = "a"
    if name in {"skip", "resetTask"}:
        fields["task"] = "00000001"
    if name == "allow":
        fields["approvals"] = ({"key": ".ralph/validate.sh", "sha256": "0" * 64},)
    run = RUN if own else "20250101T000000Z-ffff"
    return command(name, id=f"command-{number}", run=run, **fields)


commands = st.builds(
    _command,
    st.sampled_from(
        [
            "stop",
            "stop now",
            "pause",
            "resume",
            "reset",
            "answer",
            "note",
            "skip",
            "resetTask",
            "allow",
            "overrule",
        ]
    ),
    st.integers(10, 40),
    st.sampled_from([True] * 5 + [False]),
)
unreadable = st.builds(
    CommandUnreadable,
    id=st.integers(10, 40).map(lambda number: f"command-{number}"),
    code=st.just("unreadable"),
    reason=st.just("no JSON"),
)
configs: st.SearchStrategy[Config] = st.builds(
    settings,
    wait=st.booleans(),
    max_iterations=st.none() | st.integers(1, 8),
    max_duration=st.none() | st.just(60.0),
    max_stuck=st.none() | st.integers(1, 4),
    min_iterations=st.sampled_from([0, 3]),
    cooldown=st.sampled_from([0.0, 1.25]),
    on_timeout=st.sampled_from(["continue", "stop"]),
    task=st.none() | st.just("00000001"),
    breaker_enabled=st.sampled_from([True, True, False]),
    gate_indicators=st.sampled_from([1, 2]),
    gate_rule=st.sampled_from(GateRule),
    on_blocked=st.sampled_from(OnBlocked),
    attempts_limit=st.sampled_from([0, 2]),
    attempts_counts=st.sampled_from(AttemptCounts),
    attempts_mark=st.booleans(),
    session_resume=st.booleans(),
    commits=st.sampled_from(Committer),
    push=st.booleans(),
    on_validate_fail=st.sampled_from(OnValidateFail),
    judge=st.sampled_from(
        [{}, {}, {"when": "task", "max_rounds": 1}, {"when": "task"}, {"when": "completion"}]
    ),
    max_wait=st.sampled_from([86400.0, 30.0]),
    max_repairs=st.sampled_from([1, 3]),
    max_tokens=st.none() | st.just(300),
    max_cost_usd=st.none() | st.just(1.0),
    max_tokens_per_iteration=st.none() | st.just(90),
    max_calls_per_minute=st.sampled_from([None, None, 1, 3]),
    review_points=st.sampled_from([{}, {}, {"every": 2}, {"after_tasks": ("00000001",)}]),
)


def started(config: Config, halt: HaltFiles) -> Started:
    simulated = SimulatedProject(
        script=[], question=halt.question, answer=halt.answer, blocked=halt.blocked
    )
    notes = (PendingNote(text="use tabs", by="Ada"),)
    return Started(run=RUN, facts=facts(simulated, config, notes=notes))


starts = st.builds(started, configs, halts | st.just(HaltFiles()))
resumes = st.builds(lambda start: Resumed(by="Ada", facts=start.facts), starts)
halt_edits = halts.map(lambda halt: HaltFilesChanged(halt=halt))
signals = st.sampled_from(["Ctrl-C", BY_TERM]).map(lambda by: Interrupted(by=by))
failures = st.just(EffectFailed(message="the disk is full"))
agent_calls = st.builds(
    AgentCalled,
    start=st.integers(1, 3),
    call=st.integers(1, 9),
    tool=st.sampled_from(ReportTool),
    arguments=st.just({"text": "a"}),
    sub_agent=st.booleans(),
    text=st.just("a or b?"),
    waits=st.booleans(),
)
overdue = st.builds(AnswerOverdue, start=st.integers(1, 3))
announced = st.just(AnnouncementDone(code="on-pr-ready", message="it is done"))

anything: st.SearchStrategy[Input] = st.one_of(
    commands,
    unreadable,
    halt_edits,
    signals,
    failures,
    announced,
    prepared,
    claimed,
    st.just(LAUNCHED),
    agent_calls,
    overdue,
    finished,
    read,
    validated,
    judged,
    undone,
    committed,
    pushed,
    st.just(WaitElapsed()),
    starts,
    resumes,
)

awaited: dict[Awaits, st.SearchStrategy[Input]] = {
    Awaits.START: starts,
    Awaits.PREPARED: prepared,
    Awaits.CLAIM: claimed,
    Awaits.LAUNCH: st.just(LAUNCHED),
    Awaits.EXIT: finished | agent_calls | overdue,
    Awaits.READ: read,
    Awaits.VALIDATION: validated,
    Awaits.JUDGE: judged,
    Awaits.UNDO: undone,
    Awaits.COMMIT: committed,
    Awaits.PUSH: pushed,
    Awaits.TIME: st.just(WaitElapsed()),
    Awaits.PERSON: commands | halt_edits,
    Awaits.NOTHING: commands,
}
"""What is likely to come next."""
