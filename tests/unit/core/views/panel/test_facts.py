from __future__ import annotations

from datetime import timedelta

import pytest

from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.facts import facts, running_time
from ralph_ls.protocol.lsp.panel import Fact, Tone
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.protocol.run.report import Claims, Usage
from ralph_ls.protocol.run.values import Breaker, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    NOON,
    begins,
    ends,
    phase,
    reports,
    run_of,
    seen,
    shows,
    started,
)
from tests.unit.core.views.run_situations import HALF_OPEN, OPEN, WORKS

FULL = (
    *WORKS,
    reports(
        3,
        STATUS="IN_PROGRESS",
        FILES_MODIFIED="4",
        TESTS_STATUS="PASSING",
        WORK_TYPE="IMPLEMENTATION",
        RECOMMENDATION="Wire the token refresh",
    ),
    shows(3, files=4, commit=COMMIT, done=(CHOOSE,)),
    ends(
        3,
        recommendation="Wire the token refresh",
        usage=Usage(
            input_tokens=30_000,
            output_tokens=1_234,
            cost_usd=0.42,
            context_tokens=84_000,
            context_window=200_000,
        ),
    ),
    phase(Phase.PREPARING),
    begins(4, None),
)


def told(*events: EventBase) -> dict[str, tuple[str, Tone, str]]:
    return by_key(seen(*events))


def by_key(look: DocumentContext) -> dict[str, tuple[str, Tone, str]]:
    return {fact.key: (fact.text, fact.tone, fact.more) for fact in facts(look)}


def test_they_are_in_their_order_with_their_headings() -> None:
    found = facts(seen(*FULL))
    assert [(fact.key, fact.heading, fact.text) for fact in found] == [
        ("report", "Report", "IN_PROGRESS"),
        ("breaker", "Breaker", "closed"),
        ("tests", "Tests", "passing"),
        ("work", "Work", "implementation · 4 files (report 4)"),
        ("evidence", "Evidence", "1 commit, 4 files, 1 task"),
        ("next", "Advice", "Wire the token refresh"),
        ("time", "Time", "7m 0s"),
        ("cost", "Cost", "$0.42"),
        ("tokens", "Tokens", "31k · context 42 %"),
    ]


def test_what_is_not_known_is_left_out() -> None:
    assert facts(seen()) == ()
    assert set(told(started())) == {"breaker", "time"}


class TestReport:
    @pytest.mark.parametrize(
        ("status", "tone"),
        [
            ("IN_PROGRESS", Tone.ACTIVE),
            ("complete", Tone.GOOD),
            ("BLOCKED", Tone.BAD),
            ("NEEDS_CLARIFICATION", Tone.WARNING),
        ],
    )
    def test_each_status_has_its_tone(self, status: str, tone: Tone) -> None:
        assert told(*WORKS, reports(3, STATUS=status))["report"] == (status.upper(), tone, "")

    def test_one_off_the_list_is_reported_as_it_is_read(self) -> None:
        assert told(*WORKS, reports(3, STATUS="TIRED"))["report"][0] == "IN_PROGRESS"

    @pytest.mark.parametrize(
        ("tests", "words", "tone"),
        [
            ("PASSING", "passing", Tone.GOOD),
            ("failing", "failing", Tone.BAD),
            ("NOT_RUN", "not run", Tone.PLAIN),
            ("FLAKY\x07", "not run", Tone.PLAIN),
        ],
    )
    def test_each_tests_status_has_its_tone(self, tests: str, words: str, tone: Tone) -> None:
        assert told(*WORKS, reports(3, TESTS_STATUS=tests))["tests"] == (words, tone, "")


class TestWork:
    def test_what_was_observed_is_before_what_was_claimed(self) -> None:
        claims = reports(3, FILES_MODIFIED="5", WORK_TYPE="BUG_FIX")
        assert told(*WORKS, claims, shows(3))["work"] == (
            "bug fix · 0 files (report 5)",
            Tone.WARNING,
            "the report claims 5 modified files, but there is no evidence of it",
        )

    def test_a_claim_alone_is_named_as_one(self) -> None:
        assert told(*WORKS, reports(3, FILES_MODIFIED="5"))["work"] == ("report 5", Tone.PLAIN, "")

    def test_evidence_alone_needs_no_claim(self) -> None:
        assert told(*WORKS, shows(3, files=1))["work"] == ("1 file", Tone.PLAIN, "")

    def test_a_report_that_says_nothing_of_it_is_left_out(self) -> None:
        assert "work" not in told(*WORKS, reports(3, STATUS="COMPLETE"))

    def test_the_report_of_an_earlier_iteration_is_not_held_against_new_evidence(self) -> None:
        found = told(*WORKS, reports(2, FILES_MODIFIED="5"), shows(3, files=1))
        assert found["work"] == ("1 file", Tone.PLAIN, "")
        assert "report" not in found
        later = told(*WORKS, shows(2, files=1), reports(3, FILES_MODIFIED="5"))
        assert later["work"] == ("report 5", Tone.PLAIN, "")
        assert "evidence" not in later

    def test_no_progress_is_a_warning(self) -> None:
        assert told(*WORKS, shows(3))["evidence"] == (
            "0 commits, 0 files, 0 tasks, no progress: nothing changed at all",
            Tone.WARNING,
            "",
        )


class TestBreaker:
    def test_its_three_states_have_their_words_and_tones(self) -> None:
        assert told(started())["breaker"] == ("closed", Tone.GOOD, "")
        assert told(*WORKS, ends(3, breaker=HALF_OPEN))["breaker"] == (
            "half-open",
            Tone.WARNING,
            "2 iterations without progress; opens at 3",
        )
        assert told(*WORKS, ends(3, breaker=OPEN))["breaker"] == (
            "open",
            Tone.BAD,
            "3 iterations without progress",
        )

    def test_one_that_is_off_says_so_until_it_is_open(self) -> None:
        off = started(breaker={"enabled": False})
        assert told(off)["breaker"] == ("off", Tone.PLAIN, "")
        assert told(off, *WORKS[1:], ends(3, breaker=OPEN))["breaker"][0] == "open"

    def test_it_warns_of_an_error_that_repeats(self) -> None:
        failing = Breaker(consecutive_same_error=3)
        assert told(*WORKS, ends(3, breaker=failing))["breaker"] == (
            "closed",
            Tone.WARNING,
            "the same error in 3 iterations; opens at 5",
        )
        assert told(*WORKS, ends(3, breaker=Breaker(consecutive_same_error=2)))["breaker"][1] is (
            Tone.GOOD
        )
        never = started(breaker={"same_error_warn": 0})
        assert told(never, *WORKS[1:], ends(3, breaker=failing))["breaker"][1] is Tone.GOOD

    def test_it_warns_of_a_broken_environment(self) -> None:
        denied = Breaker(consecutive_denials=1, consecutive_set_asides=1)
        last = ends(3, breaker=denied, permission_denials=1, denied_tools=("Bash",))
        assert told(*WORKS, last)["breaker"] == (
            "closed",
            Tone.WARNING,
            (
                "permission denied in 1 of 2 iterations\ndenied: Bash; allow it with the setting "
                "tools.allow\n1 of 2 tasks set aside in a row without progress"
            ),
        )
        off = started(breaker={"denials_open": 0, "set_aside_open": 0})
        assert told(off, *WORKS[1:], last)["breaker"] == ("closed", Tone.GOOD, "")


class TestClaims:
    def test_they_are_a_line_below_the_evidence(self) -> None:
        claims = Claims(summary="word " * 50, confidence=50)
        known = (*WORKS, shows(3), ends(3, claims=claims))
        keys = [fact.key for fact in facts(seen(*known))]
        assert keys[keys.index("claims") - 1] == "evidence"
        shown, _, more = told(*WORKS, ends(3, claims=claims))["claims"]
        assert shown.startswith('"word word')
        assert shown.endswith("word…")
        assert more.endswith('", confidence 50')

    def test_those_of_an_earlier_iteration_are_not_shown(self) -> None:
        claims = Claims(pr_ready=True, confidence=50)
        text = "ready for a pull request, confidence 50"
        assert told(*WORKS, ends(3, claims=claims))["claims"] == (text, Tone.PLAIN, "")
        later = (*WORKS, ends(3, claims=claims), begins(4, None), reports(4))
        assert "claims" not in told(*later)


class TestNext:
    def test_it_is_cut_to_two_lines_and_the_rest_is_kept(self) -> None:
        text = "first\r\nsecond\x07\nthird\nfourth"
        assert told(*WORKS, reports(3, RECOMMENDATION=text))["next"] == (
            "first\nsecond\\x07…",
            Tone.PLAIN,
            "third\nfourth",
        )

    def test_a_long_line_is_cut_between_words(self) -> None:
        text = "word " * 40
        shown, _, more = told(*WORKS, reports(3, RECOMMENDATION=text))["next"]
        assert shown.endswith("word…")
        assert f"{shown[:-1]} {more}" == text.strip()

    def test_of_two_recommendations_the_newer_one_is_reported(self) -> None:
        settled = (*WORKS, reports(3, RECOMMENDATION="old"), ends(3, recommendation="settled"))
        assert told(*settled)["next"][0] == "settled"
        assert told(*settled, begins(4, None), reports(4, RECOMMENDATION="new"))["next"][0] == "new"


class TestTimeAndCost:
    def test_time_continues_only_with_an_engine(self) -> None:
        later = NOON + timedelta(minutes=10)
        assert running_time(seen(*WORKS), later) == 600
        assert running_time(seen(*WORKS), None) == 120
        assert running_time(seen(*WORKS, pid=None), later) == 120
        assert running_time(seen(), later) == 0
        assert facts(seen(*WORKS), later)[-1] == Fact(key="time", heading="Time", text="10m 0s")

    @pytest.mark.parametrize(
        ("tokens", "text"),
        [(0, "0"), (950, "950"), (31_234, "31k"), (999_499, "999k"), (1_234_567, "1.2M")],
    )
    def test_tokens_are_reported_in_round_numbers(self, tokens: int, text: str) -> None:
        last = ends(3, usage=Usage(input_tokens=tokens))
        assert told(*WORKS, last)["tokens"] == (text, Tone.PLAIN, "")

    @pytest.mark.parametrize(
        ("context", "window", "text", "tone"),
        [
            (69, 100, "5 · context 69 %", Tone.PLAIN),
            (70, 100, "5 · context 70 %", Tone.WARNING),
            (95, 100, "5 · context 95 %", Tone.BAD),
            (95, None, "5", Tone.PLAIN),
            (95, 0, "5", Tone.PLAIN),
        ],
    )
    def test_a_full_context_is_reported_louder(
        self, context: int, window: int | None, text: str, tone: Tone
    ) -> None:
        usage = Usage(output_tokens=5, context_tokens=context, context_window=window)
        assert told(*WORKS, ends(3, usage=usage))["tokens"] == (text, tone, "")


def test_the_events_of_these_tests_are_a_minute_apart() -> None:
    assert [one.at for one in run_of(WORKS)] == [NOON + timedelta(minutes=n) for n in range(3)]
