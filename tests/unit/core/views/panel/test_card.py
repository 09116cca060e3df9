from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.card import MAX_CARD_CHARS, card
from ralph_ls.protocol.lsp.panel import Card, Tone
from ralph_ls.protocol.run.events import PhaseChanged
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Phase, PlanCountsView
from tests.unit.core.views.document_contexts import (
    NOON,
    RUN,
    begins,
    ends,
    event,
    phase,
    seen,
    started,
)
from tests.unit.core.views.run_situations import (
    GOES_ON,
    HALF_OPEN,
    LOG,
    OF_RUN,
    OPEN,
    PARKED_ASKING,
    PARKED_BLOCKED,
    PARKED_OPEN,
    WORKS,
    asked,
    ended,
    raised,
)

DECIDE = {"path": ".ralph/decide.txt"}
BLOCKED = {"path": ".ralph/blocked.txt"}
PLAN = {"path": "@fix_plan.md"}
NOW = {**OF_RUN, "now": True}


def shown(look: DocumentContext) -> Card:
    made = card(look)
    assert made is not None
    return made


def buttons(made: Card) -> list[tuple[str, str, dict[str, Any]]]:
    return [(one.title, one.verb.value, one.arguments) for one in made.actions]


class TestWhatTheUserMustSettle:
    def test_a_question_comes_with_its_answer_and_its_file(self) -> None:
        made = shown(seen(*PARKED_ASKING))
        assert (made.kind, made.tone) == ("question-waiting", Tone.WARNING)
        assert (made.title, made.text) == ("Ralph asks (iteration 3)", "red or blue?")
        assert buttons(made) == [
            ("red", "answer", {**OF_RUN, "text": "red"}),
            ("blue", "answer", {**OF_RUN, "text": "blue"}),
            ("Answer…", "answer", OF_RUN),
            ("Open decide.txt", "showFile", DECIDE),
        ]

    @pytest.mark.parametrize(
        ("question", "options"),
        [
            ("Which?\n(a) one\n(b) two", ["(a) one", "(b) two"]),
            ("Which?\n1. one\n2. two", ["1. one", "2. two"]),
            ("Which?\n- one\n- two", ["one", "two"]),
            (f"Which?\n- one\n- {'long ' * 30}", ["one", f"{'long ' * 15}long…"]),
            ("Which one?", []),
        ],
    )
    def test_each_option_of_a_question_is_a_button(self, question: str, options: list[str]) -> None:
        made = shown(seen(halt=HaltFiles(question=question)))
        assert [title for title, _, _ in buttons(made)] == [*options, "Answer…"]

    def test_without_an_engine_the_answer_continues(self) -> None:
        made = shown(seen(*PARKED_ASKING, pid=None))
        assert buttons(made)[0] == ("red", "answer", {**GOES_ON, "text": "red"})
        assert buttons(made)[2] == ("Answer and continue…", "answer", GOES_ON)

    def test_a_breaker_that_only_warns_is_left_to_its_own_card(self) -> None:
        look = seen(*WORKS, asked(), ends(3, breaker=HALF_OPEN), *PARKED_ASKING[-1:])
        titles = [title for title, _, _ in buttons(shown(look))]
        assert titles == ["red", "blue", "Answer…", "Open decide.txt"]

    def test_a_question_that_an_earlier_run_left_needs_no_run(self) -> None:
        made = shown(seen(halt=HaltFiles(question="a?")))
        assert (made.title, made.text) == ("Ralph asks", "a?")
        assert buttons(made) == [("Answer…", "answer", {})]

    def test_a_blocker_comes_with_its_file(self) -> None:
        made = shown(seen(*PARKED_BLOCKED))
        assert (made.kind, made.tone) == ("run-blocked", Tone.BAD)
        assert (made.title, made.text) == ("Blocked (iteration 3)", "no keys")
        assert buttons(made) == [
            ("Mark blocker as resolved", "resume", OF_RUN),
            ("Open blocked.txt", "showFile", BLOCKED),
        ]

    def test_nothing_hides_behind_a_blocker(self) -> None:
        made = shown(seen(*WORKS, raised(), asked(), ends(3, breaker=OPEN), *PARKED_BLOCKED[-1:]))
        assert made.text == (
            "no keys\n\nRalph asks: red or blue?\n\nBreaker open: 3 iterations without progress"
        )
        assert [title for title, _, _ in buttons(made)] == [
            "Answer…",
            "Mark blocker as resolved",
            "Reset breaker",
            "Open blocked.txt",
        ]

    def test_a_question_that_was_just_asked_is_shown_at_once(self) -> None:
        assert shown(seen(*WORKS, asked())).kind == "question-waiting"

    def test_a_plan_without_an_open_task_says_so(self) -> None:
        made = shown(seen(started(), phase(Phase.PARKED, "blocked")))
        assert (made.kind, made.title) == ("plan-blocked", "Blocked")
        assert made.text == "it waits for a task in the plan that is not blocked"
        assert buttons(made) == [
            ("Resume", "resume", OF_RUN),
            ("Open @fix_plan.md", "showFile", PLAN),
        ]

    def test_a_run_that_ended_for_want_of_a_task_shows_its_own_words(self) -> None:
        made = shown(seen(started(), ended(EndReason.BLOCKED, "all 2 are blocked"), pid=None))
        assert made.text == "all 2 are blocked"
        assert buttons(made)[0] == ("Resume run", "resume", GOES_ON)

    def test_strangers_text_is_harmless_and_not_endless(self) -> None:
        made = shown(seen(*WORKS, raised(reason="\x1b[2J" + "漢" * 2000), ends(3)))
        assert made.text.startswith("\\x1b[2J漢")
        assert made.text.endswith("漢…")
        assert len(made.text) == MAX_CARD_CHARS + 1


class TestBreaker:
    def test_half_open_says_how_far_it_is_from_opening(self) -> None:
        made = shown(seen(*WORKS, ends(3, breaker=HALF_OPEN), phase(Phase.PREPARING)))
        assert (made.kind, made.tone) == ("breaker-half-open", Tone.WARNING)
        assert made.title == "No progress"
        assert made.text == "Breaker half-open: 2 iterations without progress; opens at 3"
        assert buttons(made) == [
            ("Reset breaker", "reset", OF_RUN),
            ("Show log", "showLog", LOG),
        ]

    def test_the_last_error_is_below(self) -> None:
        failing = HALF_OPEN.model_copy(
            update={"error_streaks": {"error: a": 2}, "error_history": ("error: b", "error: a")}
        )
        made = shown(seen(*WORKS, ends(3, breaker=failing), phase(Phase.PREPARING)))
        assert made.text.splitlines()[1] == "last error: error: a"

    def test_an_error_of_long_ago_is_not_the_last_one(self) -> None:
        mended = HALF_OPEN.model_copy(update={"error_history": ("error: a",)})
        made = shown(seen(*WORKS, ends(3, breaker=mended), phase(Phase.PREPARING)))
        assert "error" not in made.text

    def test_a_threshold_that_is_off_is_not_named(self) -> None:
        off = started(breaker={"no_progress_open": 0})
        made = shown(seen(off, *WORKS[1:], ends(3, breaker=HALF_OPEN), phase(Phase.PREPARING)))
        assert made.text == "Breaker half-open: 2 iterations without progress"

    def test_open_says_since_when_and_what_was_counted(self) -> None:
        failing = OPEN.model_copy(update={"consecutive_failing_tests": 1})
        made = shown(seen(*WORKS, ends(3, breaker=failing), phase(Phase.PARKED, "stuck")))
        assert (made.kind, made.tone, made.title) == ("breaker-open", Tone.BAD, "Breaker open")
        assert made.text == (
            "3 iterations without progress\n"
            "in a row: 3 of 3 iterations without progress, 1 of 5 iterations with failing tests"
        )
        assert made.since == NOON
        assert buttons(made) == [
            ("Reset breaker", "reset", OF_RUN),
            ("Show log", "showLog", LOG),
        ]

    def test_a_row_that_is_off_is_counted_all_the_same(self) -> None:
        off = started(breaker={"failing_tests_open": 0})
        failing = OPEN.model_copy(update={"consecutive_failing_tests": 1})
        look = seen(off, *WORKS[1:], ends(3, breaker=failing), phase(Phase.PARKED, "stuck"))
        assert shown(look).text.endswith(", 1 iteration with failing tests")

    def test_what_was_not_permitted_is_named_with_the_setting_that_permits_it(self) -> None:
        denied = OPEN.model_copy(update={"consecutive_denials": 1, "consecutive_set_asides": 2})
        last = ends(3, breaker=denied, permission_denials=2, denied_tools=("Bash", "Web\x07"))
        made = shown(seen(*WORKS, last, phase(Phase.PARKED, "stuck")))
        assert made.text.splitlines()[2:] == [
            "permission denied in 1 of 2 iterations",
            "denied: Bash, Web\\x07; allow it with the setting tools.allow",
            "2 of 2 tasks set aside in a row without progress",
        ]

    def test_a_reason_that_names_the_setting_is_not_reported_twice(self) -> None:
        reason = "Bash was not permitted; see tools.allow"
        denied = OPEN.model_copy(update={"reason": reason, "consecutive_denials": 2})
        last = ends(3, breaker=denied, permission_denials=1, denied_tools=("Bash",))
        made = shown(seen(*WORKS, last, phase(Phase.PARKED, "stuck")))
        assert made.text.count("tools.allow") == 1
        assert "permission denied in 2 of 2 iterations" in made.text

    def test_a_denial_is_reported_while_the_breaker_is_half_open(self) -> None:
        denied = HALF_OPEN.model_copy(update={"consecutive_denials": 1})
        last = ends(3, breaker=denied, permission_denials=1)
        made = shown(seen(*WORKS, last, phase(Phase.PREPARING)))
        assert made.text.splitlines()[1:] == ["permission denied in 1 of 2 iterations"]

    def test_a_breaker_that_knows_little_shows_little(self) -> None:
        bare = Breaker(state=BreakerState.OPEN, reason="the agent reports BLOCKED: \x07")
        made = shown(seen(started(), ended(EndReason.STUCK), pid=None))
        assert made.kind == "run-ready"
        made = shown(seen(*WORKS, ends(3, breaker=bare), ended(EndReason.STUCK), pid=None))
        assert made.text == "the agent reports BLOCKED: \\x07"
        assert buttons(made)[0] == ("Reset breaker and continue", "reset", GOES_ON)

    def test_iterations_without_a_commit_are_another_reason(self) -> None:
        look = seen(
            started(max_stuck=2),
            begins(2, None),
            ends(2, stuck_count=2),
            phase(Phase.PARKED, "stuck"),
        )
        made = shown(look)
        assert (made.kind, made.title) == ("run-stuck", "Stuck")
        assert (made.text, made.since) == ("2 iterations in a row without a commit", None)


LONG = event(PhaseChanged, phase=Phase.WAITING, reason="limit", until=NOON + timedelta(hours=5))
SHORT = event(PhaseChanged, phase=Phase.WAITING, reason="cooldown", until=NOON)


class TestOfPhases:
    @pytest.mark.parametrize(
        "look",
        [
            pytest.param(seen(), id="no-run"),
            pytest.param(seen(*WORKS), id="running"),
            pytest.param(seen(*WORKS, ends(3), SHORT), id="short-wait"),
            pytest.param(seen(*WORKS, phase(Phase.WAITING)), id="wait-without-an-end"),
            pytest.param(seen(*PARKED_ASKING, halt=HaltFiles(answer="b")), id="about-to-go-on"),
        ],
    )
    def test_where_all_goes_well_there_is_none(self, look: DocumentContext) -> None:
        assert card(look) is None

    def test_a_long_wait_names_its_reason_and_leaves_its_end_to_a_clock(self) -> None:
        made = shown(seen(*WORKS, ends(3), LONG))
        assert (made.kind, made.title) == ("run-waits", "Waiting for the usage limit")
        assert made.text == "The iteration that reached the limit does not count."
        assert buttons(made) == [
            ("Continue now", "resume", OF_RUN),
            ("Pause", "pause", OF_RUN),
            ("Stop after this iteration", "stop", OF_RUN),
        ]
        nameless = shown(seen(*WORKS, ends(3), LONG.model_copy(update={"reason": None})))
        assert (nameless.title, nameless.text) == ("Waiting: for a moment", "")

    def test_a_pause_is_ended_by_the_user(self) -> None:
        made = shown(seen(*WORKS, ends(3), phase(Phase.PAUSED)))
        assert (made.kind, made.title) == ("run-paused", "Paused")
        assert buttons(made) == [("Resume", "resume", OF_RUN), ("Stop", "stop", OF_RUN)]

    def test_what_was_settled_without_an_engine_can_continue(self) -> None:
        halt = HaltFiles(question="a?", answer="b")
        made = shown(seen(*PARKED_ASKING, halt=halt, pid=None))
        assert (made.kind, made.title) == ("run-ready", "Ready to continue")
        assert buttons(made) == [("Resume run", "resume", GOES_ON), ("Start loop", "start", {})]

    def test_a_stop_can_be_made_quicker(self) -> None:
        made = shown(seen(*WORKS, phase(Phase.STOPPING, "Ada")))
        assert (made.kind, made.title) == ("run-stops", "Stopping after this iteration")
        assert buttons(made) == [("Stop now", "stop", NOW)]

    def test_an_engine_that_is_gone_says_when_it_spoke_last(self) -> None:
        look = seen(*WORKS, phase=Phase.CRASHED, pid=None)
        made = shown(look)
        assert (made.kind, made.tone) == ("engine-gone", Tone.BAD)
        assert made.text == f"The engine of run {RUN} (pid 4711) is gone."
        assert made.since == NOON + timedelta(minutes=2)
        assert buttons(made) == [
            ("Resume run", "resume", GOES_ON),
            ("Start loop", "start", {}),
            ("Show log", "showLog", LOG),
        ]
        assert look.state is not None
        silent = replace(look, state=look.state.model_copy(update={"at": None, "start": 0}))
        made = shown(silent)
        assert made.since is None
        assert len(made.actions) == 2

    def test_a_question_of_an_engine_that_is_gone_is_not_hidden(self) -> None:
        made = shown(seen(*WORKS, asked(), phase=Phase.CRASHED, pid=None))
        assert made.kind == "engine-gone"
        assert made.text.endswith("\n\nRalph asks: red or blue?")
        assert buttons(made)[0] == ("Answer and continue…", "answer", GOES_ON)


class TestEnd:
    @pytest.mark.parametrize(
        ("reason", "kind", "tone", "title", "first"),
        [
            (EndReason.COMPLETE, "run-complete", Tone.GOOD, "Complete (code 0)", "Start loop"),
            (EndReason.LIMIT, "run-ended", Tone.PLAIN, "Limit (code 1)", "Start loop"),
            (EndReason.STOPPED, "run-ended", Tone.PLAIN, "Stopped (code 130)", "Resume run"),
            (EndReason.FATAL, "run-fatal", Tone.BAD, "Fatal (code 5)", "Resume run"),
        ],
    )
    def test_each_has_its_name_its_code_and_a_next_step(
        self, reason: EndReason, kind: str, tone: Tone, title: str, first: str
    ) -> None:
        made = shown(seen(*WORKS, ended(reason), pid=None))
        assert (made.kind, made.tone, made.title) == (kind, tone, title)
        assert made.text == "so it is\n3 iterations · 3m 0s · 1 of 6 tasks done"
        assert buttons(made)[0][0] == first
        assert buttons(made)[-1] == ("Show log", "showLog", LOG)

    def test_what_it_cost_is_reported_where_it_is_known(self) -> None:
        counts = PlanCountsView(required=1, required_done=1)
        last = ends(3, usage=Usage(cost_usd=0.425), counts=counts)
        made = shown(seen(*WORKS, last, ended(EndReason.COMPLETE), pid=None))
        # The plan as it is now, as beside it; where there is none, as the run has counted.
        assert made.text.endswith("1 iteration · 4m 0s · 1 of 6 tasks done · $0.42")
        without = shown(seen(*WORKS, last, ended(EndReason.COMPLETE), pid=None, text=""))
        assert without.text.endswith("1 iteration · 4m 0s · 1 of 1 task done · $0.42")

    def test_an_end_without_a_word_is_one_all_the_same(self) -> None:
        made = shown(seen(*WORKS, phase=Phase.ENDED, pid=None))
        assert (made.title, made.text) == ("Ended", "3 iterations · 2m 0s · 1 of 6 tasks done")

    def test_a_stuck_end_is_the_breaker_s(self) -> None:
        made = shown(seen(*PARKED_OPEN, ended(EndReason.STUCK), pid=None))
        assert made.kind == "breaker-open"
