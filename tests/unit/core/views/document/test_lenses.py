from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.model import LazyTuple
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.lenses import Lens, lenses
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.protocol.lsp.options import TaskLenses
from ralph_ls.protocol.lsp.panel import Verb
from ralph_ls.protocol.run.events import (
    BlockedRaised,
    CommandAccepted,
    EventBase,
    QuestionAsked,
    RunEnded,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Outcome, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    LETTER,
    NOON,
    PAY,
    PLAN,
    PRINT,
    READ,
    ROUND,
    RUN,
    begins,
    ends,
    event,
    phase,
    seen,
    seen_by_chance,
    shows,
    started,
    task,
)

OPEN = Breaker(state=BreakerState.OPEN, reason="3 iterations without progress")
HALF_OPEN = Breaker(state=BreakerState.HALF_OPEN, reason="2 iterations without progress")
OF_RUN = {"run": RUN}
GOES_ON = {"run": RUN, "continue": True}
WORKS = (started(), begins(3, CHOOSE), phase(Phase.RUNNING))
BETWEEN = (*WORKS, ends(3))


def asked(number: int | None = 3) -> QuestionAsked:
    return event(QuestionAsked, iteration=number, question="a?", path="decide", asked_at=NOON)


def raised(number: int | None = 3) -> BlockedRaised:
    return event(BlockedRaised, iteration=number, reason="no keys", path="blocked")


def ended(reason: EndReason, message: str = "so it is") -> RunEnded:
    return event(RunEnded, reason=reason, exit_code=0, message=message)


def shown(found: tuple[Lens, ...], line: int = 0) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (one.title, one.command.value, dict(one.arguments)) for one in found if one.line == line
    ]


def controls(look: DocumentContext) -> list[tuple[str, str, dict[str, Any]]]:
    """The first line's lenses but the one with the status of the run."""
    *first, standing = shown(lenses(look))
    assert standing[1] in {"showLog", "none"}
    return first


def standing(look: DocumentContext, **times: Any) -> str:
    return shown(lenses(look, **times))[-1][0]


def test_without_a_run_there_is_a_start_and_nothing_else() -> None:
    (one,) = lenses(seen(text="# Plan\n- [ ] a\n"))
    assert one == Lens(line=0, title="Start loop", command=Verb.START)


WORKING = [Phase.STARTING, Phase.PREPARING, Phase.RUNNING, Phase.SETTLING, Phase.WAITING]


@pytest.mark.parametrize("name", WORKING)
def test_a_run_at_work_can_be_paused_and_stopped(name: Phase) -> None:
    ends_wait = [("Continue now", "resume", OF_RUN)] if name is Phase.WAITING else []
    assert controls(seen(*WORKS, phase(name))) == [
        *ends_wait,
        ("Pause", "pause", OF_RUN),
        ("Stop after this iteration", "stop", OF_RUN),
    ]


def test_a_wish_to_pause_can_be_taken_back() -> None:
    wish = event(CommandAccepted, command="command-1", command_kind="pause", by="Ada")
    look = seen(*WORKS, wish)
    assert controls(look) == [
        ("Cancel the pause", "resume", OF_RUN),
        ("Stop after this iteration", "stop", OF_RUN),
    ]
    assert standing(look).startswith("pauses after this iteration · iteration 3 of 20")


@pytest.mark.parametrize(
    ("name", "reason", "expected", "opening"),
    [
        pytest.param(
            Phase.PAUSED,
            None,
            [("Resume", "resume", OF_RUN), ("Stop", "stop", OF_RUN)],
            "paused",
            id="paused",
        ),
        pytest.param(
            Phase.STOPPING,
            "Ada",
            [("Stop now", "stop", {**OF_RUN, "now": True})],
            "stops after this iteration",
            id="stopping",
        ),
        pytest.param(
            Phase.PARKED, "decide", [("Stop", "stop", OF_RUN)], "waits for you", id="parked"
        ),
        pytest.param(
            Phase.PARKED,
            "blocked",
            [("Resume", "resume", OF_RUN), ("Stop", "stop", OF_RUN)],
            "waits for you",
            id="parked-without-a-task",
        ),
    ],
)
def test_each_phase_has_its_own_controls(
    name: Phase, reason: str | None, expected: list[object], opening: str
) -> None:
    look = seen(*WORKS, phase(name, reason))
    assert controls(look) == expected
    assert standing(look) == f"{opening} · iteration 3 of 20 · 3 min"


@pytest.mark.parametrize(
    ("reason", "opening"),
    [("cooldown", "waits: cooldown"), (None, "waits: for a moment")],
)
def test_a_wait_names_its_reason(reason: str | None, opening: str) -> None:
    assert standing(seen(*WORKS, phase(Phase.WAITING, reason))).startswith(f"{opening} · ")


@pytest.mark.parametrize(
    ("events", "fields", "expected"),
    [
        pytest.param((ended(EndReason.COMPLETE),), {}, [], id="complete"),
        pytest.param((ended(EndReason.LIMIT),), {}, [], id="limit"),
        pytest.param(
            (ended(EndReason.STOPPED),), {}, [("Resume run", "resume", GOES_ON)], id="stopped"
        ),
        pytest.param(
            (), {"phase": Phase.CRASHED}, [("Resume run", "resume", GOES_ON)], id="crashed"
        ),
        pytest.param(
            (asked(), ended(EndReason.DECIDE)),
            {},
            [("Ralph asks: answer and continue…", "answer", GOES_ON)],
            id="decide",
        ),
        pytest.param(
            (asked(), ended(EndReason.DECIDE)),
            {"halt": HaltFiles(question="a?", answer="b")},
            [("Resume run", "resume", GOES_ON)],
            id="answered-in-its-file",
        ),
        pytest.param(
            (raised(), ended(EndReason.BLOCKED)),
            {},
            [("Mark blocker as resolved and continue", "resume", GOES_ON)],
            id="blocked",
        ),
        pytest.param(
            (ends(3, breaker=OPEN), ended(EndReason.STUCK)),
            {},
            [("Reset breaker and continue", "reset", GOES_ON)],
            id="stuck",
        ),
        pytest.param(
            (ends(3, breaker=HALF_OPEN), ended(EndReason.STOPPED)),
            {},
            [("Resume run", "resume", GOES_ON)],
            id="half-open",
        ),
        pytest.param(
            (asked(), phase(Phase.PARKED, "decide")),
            {"pid": None},
            [("Ralph asks: answer and continue…", "answer", GOES_ON)],
            id="parked-without-engine",
        ),
    ],
)
def test_where_nothing_runs_a_new_run_can_be_started_or_the_last_one_taken_up(
    events: tuple[EventBase, ...], fields: dict[str, Any], expected: list[object]
) -> None:
    assert controls(seen(*WORKS, *events, **fields)) == [*expected, ("Start loop", "start", {})]


@pytest.mark.parametrize("breaker", [HALF_OPEN, OPEN], ids=["half-open", "open"])
def test_the_breaker_can_be_reset_while_an_engine_lives(breaker: Breaker) -> None:
    look = seen(*WORKS, ends(3, breaker=breaker), phase(Phase.PREPARING))
    assert controls(look)[0] == ("Reset breaker", "reset", OF_RUN)


def test_a_run_that_parks_for_want_of_commits_can_be_reset_too() -> None:
    start = started(max_stuck=2)
    look = seen(start, begins(3, CHOOSE), ends(3, stuck_count=2), phase(Phase.PARKED, "stuck"))
    assert controls(look)[0] == ("Reset breaker", "reset", OF_RUN)


def test_what_needs_the_user_is_first() -> None:
    look = seen(*WORKS, asked(), raised(), ends(3, breaker=OPEN), phase(Phase.PARKED, "blocked"))
    assert [title for title, _, _ in controls(look)] == [
        "Ralph asks: answer…",
        "Mark blocker as resolved",
        "Reset breaker",
        "Stop",
    ]


def test_a_question_of_an_earlier_run_can_be_answered_before_any_run() -> None:
    look = seen(halt=HaltFiles(question="a?", blocked="no keys"))
    assert shown(lenses(look)) == [
        ("Ralph asks: answer…", "answer", {}),
        ("Mark blocker as resolved", "resume", {}),
        ("Start loop", "start", {}),
    ]


def test_how_far_how_long_and_how_dear() -> None:
    usage = Usage(cost_usd=0.21)
    look = seen(*WORKS, ends(3, usage=usage), begins(4, LETTER), ends(4, usage=usage))
    assert standing(look) == "iteration 4 of 20 · 5 min · $0.42"
    assert standing(look, now=NOON + timedelta(hours=2, minutes=6)) == (
        "iteration 4 of 20 · 2 h 6 min · $0.42"
    )
    assert shown(lenses(look))[-1][1:] == ("showLog", {"run": RUN, "start": 4})


def test_the_time_of_a_run_without_engine_stops() -> None:
    look = seen(*WORKS, phase=Phase.CRASHED, pid=None)
    later = NOON + timedelta(hours=2)
    assert standing(look, now=later) == "engine gone · iteration 3 of 20 · 2 min"


def test_a_parked_run_whose_engine_is_gone_says_so() -> None:
    look = seen(*WORKS, phase(Phase.PARKED, "stuck"), pid=None)
    assert standing(look).startswith("waits for you; the system stopped its engine · iteration 3")


def test_before_the_first_iteration_there_is_no_log() -> None:
    found = shown(lenses(seen(started(max_iterations=None))))
    assert found[-1] == ("under 1 min", "none", {})


def test_without_a_limit_none_is_named() -> None:
    look = seen(started(max_iterations=None), begins(3, CHOOSE))
    assert standing(look) == "iteration 3 · 1 min"


def test_an_end_names_its_reason_on_one_line() -> None:
    look = seen(*WORKS, ended(EndReason.FATAL, "the\nagent \x1b[2J" + "x" * 200))
    title = standing(look)
    assert title.startswith("fatal: the agent \\x1b[2Jxxx")
    assert "…" in title
    assert len(title) < 130


def test_an_end_that_cannot_be_read_fails_nobody() -> None:
    assert standing(seen(*WORKS, phase=Phase.ENDED)) == "iteration 3 of 20 · 2 min"


TRIED = (
    started(),
    begins(1, READ),
    shows(1, files=1, commit=COMMIT, done=(READ,)),
    ends(1),
    begins(2, ROUND),
    ends(2, outcome=Outcome.NO_PROGRESS),
    begins(3, ROUND),
    ends(3, outcome=Outcome.NO_PROGRESS),
    begins(4, CHOOSE),
)
BLOCKED_LENSES: dict[int, list[Any]] = {
    PAY: [("blocked: no keys", "none", {})],
    PRINT: [("blocked: the plan gives no reason", "none", {})],
}


def only_this(line: int) -> tuple[str, str, dict[str, Any]]:
    return ("Run only this task", "runTask", {"task": task(line).id})


def on_tasks(
    look: DocumentContext, wanted: TaskLenses = TaskLenses.TOUCHED
) -> dict[int, list[Any]]:
    found = lenses(look, tasks=wanted)
    assert [one.line for one in found] == sorted(one.line for one in found)
    return {line: shown(found, line) for line in dict.fromkeys(one.line for one in found) if line}


def test_only_tasks_that_have_something_to_say_have_lenses() -> None:
    log = {"run": RUN, "start": 3}
    assert on_tasks(seen(*TRIED)) == {
        ROUND: [only_this(ROUND), ("2 attempts", "showLog", log)],
        CHOOSE: [only_this(CHOOSE), ("attempt 1", "showLog", {**log, "start": 4})],
        **BLOCKED_LENSES,
    }


def test_only_the_task_in_work_and_those_that_wait_on_wish() -> None:
    assert list(on_tasks(seen(*TRIED), TaskLenses.CURRENT)) == [CHOOSE]
    assert list(on_tasks(seen(*TRIED, asked(2)), TaskLenses.CURRENT)) == [ROUND, CHOOSE]
    assert on_tasks(seen(*TRIED, phase=Phase.CRASHED), TaskLenses.CURRENT) == {}


def test_every_open_task_on_wish() -> None:
    found = on_tasks(seen(*TRIED), TaskLenses.ALL)
    assert list(found) == [READ, ROUND, CHOOSE, PAY, PRINT, LETTER]
    log = {"run": RUN, "start": 1, "commit": COMMIT}
    assert found[READ] == [("done in iteration 1 · abc1234", "showLog", log)]
    assert found[LETTER] == [only_this(LETTER)]
    assert on_tasks(seen(), TaskLenses.ALL) == {
        **BLOCKED_LENSES,
        **{line: [only_this(line)] for line in (ROUND, CHOOSE, LETTER)},
    }


def test_a_finished_task_without_a_commit_names_none() -> None:
    look = seen(*WORKS, shows(3, files=1, done=(READ,)))
    log = {"run": RUN, "start": 3}
    assert on_tasks(look, TaskLenses.ALL)[READ] == [("done in iteration 3", "showLog", log)]


def test_a_task_that_was_opened_again_is_not_done() -> None:
    text = PLAN.replace("- [x] Read", "- [ ] Read")
    assert on_tasks(seen(*TRIED, text=text))[READ] == [
        only_this(READ),
        ("1 attempt", "showLog", {"run": RUN, "start": 1}),
    ]


def test_a_task_that_the_user_ticked_says_nothing() -> None:
    text = PLAN.replace("- [ ] **Round**", "- [x] **Round**")
    assert ROUND not in on_tasks(seen(*TRIED, text=text))


def test_a_question_and_a_blocker_are_at_their_tasks() -> None:
    found = on_tasks(seen(*TRIED, asked(2), raised(4)))
    assert found[ROUND][0] == ("Ralph asks: answer…", "answer", OF_RUN)
    assert found[CHOOSE][0] == ("Mark blocker as resolved", "resume", OF_RUN)


def test_a_task_on_the_first_line_repeats_nothing() -> None:
    text = "- [ ] Choose the storage engine"
    look = seen(*WORKS, asked(), raised(), text=text)
    titles = [one.title for one in lenses(look)]
    assert titles.count("Ralph asks: answer…") == 1
    assert titles.count("Mark blocker as resolved") == 1
    assert titles[-2:] == ["Run only this task", "attempt 1"]


def test_tasks_that_nothing_is_reported_of_are_not_made() -> None:
    text = "".join(f"# {part}\n- [ ] a {part}\n- [!] b {part}\n- [ ] c\n" for part in range(9))
    look = seen(text=text)
    assert isinstance(look.plan.tasks, LazyTuple)
    assert [lens.line for lens in lenses(look)][-9:] == list(range(2, 36, 4))
    assert len(diagnostics(look)) == 9
    assert not look.plan.tasks.is_made


def test_a_confirming_iteration_has_no_task_to_be_at() -> None:
    assert set(on_tasks(seen(started(), begins(1, None)))) == {PAY, PRINT}


@pytest.mark.parametrize(
    ("file", "title", "verb"),
    [
        (FileKind.DECIDE, "Ralph asks: answer…", "answer"),
        (FileKind.BLOCKED, "Mark blocker as resolved", "resume"),
    ],
)
def test_the_halt_files_offer_their_own_way_out(file: FileKind, title: str, verb: str) -> None:
    look = seen(*WORKS, asked(), raised())
    assert shown(lenses(replace(look, file=file, text="a?"))) == [(title, verb, OF_RUN)]
    assert lenses(replace(seen(*WORKS), file=file, text="")) == ()


@pytest.mark.slow
@given(st.data())
def test_any_run_beside_any_plan_has_lenses_inside_the_text(data: st.DataObject) -> None:
    look, wanted = seen_by_chance(data), data.draw(st.sampled_from(TaskLenses))
    now = data.draw(st.none() | st.just(NOON + timedelta(days=1)))
    n_lines = sum(1 for _ in lines_of(look.text))
    for file in FileKind:
        found = lenses(replace(look, file=file), tasks=wanted, now=now)
        assert all(0 <= one.line < n_lines for one in found)
        assert all(one.title and "\n" not in one.title for one in found)
        assert file is not FileKind.PLAN or any(
            one.command in {Verb.START, Verb.STOP} for one in found
        )
