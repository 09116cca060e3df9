"""Findings and proposals from records, and records from events."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.lessons.distil import Distilled, distil, kind_of, source_words, telling_words
from ralph_ls.core.lessons.history import KINDS, RememberedNote, RunRecord, read_record
from ralph_ls.core.lessons.lesson import read_lesson, write_lesson
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.lessons import Finding, FindingKind, IterationRef
from ralph_ls.protocol.run.events import (
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    LessonRemembered,
    RunStarted,
    Warned,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Baseline, Breaker, Evidence, Outcome
from tests.unit.core.lessons.histories import (
    AT,
    OTHER_RUN,
    RUN,
    aside,
    iteration,
    run,
    task,
    validated,
)

SCRIPT = ".ralph/validate.sh"
LINE = "FAILED t.py:9: AssertionError"


def found(kind: FindingKind, *runs: RunRecord) -> list[Finding]:
    return [one for one in distil(runs).findings if one.kind is kind]


def test_no_history_is_no_finding() -> None:
    assert distil([]) == distil([run()]) == Distilled()


class TestValidations:
    FAILING = run(
        iteration(1, validated=validated(SCRIPT, tail="..\nFAILED t.py:3: AssertionError\n")),
        iteration(2, paths=("a.py", "b.py"), validated=validated(scripts=(SCRIPT,))),
        iteration(3, paths=("a.py",), validated=validated(SCRIPT, tail=LINE)),
        iteration(4, paths=("a.py",), validated=validated(SCRIPT, scripts=(SCRIPT,))),
        iteration(5),
    )

    def test_the_one_that_fails_is_found_with_files_and_line(self) -> None:
        (finding,) = found(FindingKind.VALIDATION, self.FAILING)
        assert finding.text == (
            ".ralph/validate.sh failed in 3 of the 4 iterations that ran it, most often after "
            "changes of a.py. Its output most often had: FAILED t.py:9: AssertionError"
        )
        assert [one.iteration for one in finding.iterations] == [1, 3, 4]
        assert finding.next == "ralph show 0a1b 4"

    def test_it_proposes_a_lesson_that_can_be_read(self) -> None:
        (lesson,) = distil([self.FAILING]).proposals
        assert lesson.id == "validation-ralph-validate-sh"
        assert lesson.source == "run 0a1b iterations 1, 3, 4"
        assert read_lesson(lesson.id, write_lesson(lesson)) == lesson

    def test_once_is_a_coincidence(self) -> None:
        once = iteration(1, validated=validated(SCRIPT))
        assert not found(FindingKind.VALIDATION, run(once, iteration(2, validated=validated())))

    def test_files_and_lines_that_differ_are_left_out(self) -> None:
        lines = [("a.py", "error one"), ("b.py", "error two"), ("c.py", "all is well")]
        failing = [
            iteration(n, paths=(path,), validated=validated(SCRIPT, tail=tail))
            for n, (path, tail) in enumerate(lines, 1)
        ]
        (finding,) = found(FindingKind.VALIDATION, run(*failing))
        assert finding.text == f"{SCRIPT} failed in 3 of the 3 iterations that ran it"

    def test_the_one_that_fails_most_comes_first(self) -> None:
        failing = [iteration(n, validated=validated("a" if n < 3 else "b")) for n in range(1, 6)]
        texts = [one.text for one in found(FindingKind.VALIDATION, run(*failing))]
        assert [text[0] for text in texts] == ["b", "a"]


class TestSetAside:
    def test_it_is_found_with_its_reason(self) -> None:
        title = "Migrate the database"
        given = run(iteration(1, title), iteration(2), set_aside=(aside(1, title, attempts=3),))
        (finding,) = found(FindingKind.SET_ASIDE, given)
        assert finding.text == (
            '"Migrate the database" was set aside after 3 attempts: the database is not reachable'
        )
        assert [one.iteration for one in finding.iterations] == [1]
        (lesson,) = distil([given]).proposals
        assert lesson.tasks == ("database", "migrate")

    def test_its_iteration_is_named_where_none_worked_on_it(self) -> None:
        (finding,) = found(FindingKind.SET_ASIDE, run(set_aside=(aside(7),)))
        assert [one.iteration for one in finding.iterations] == [7]

    @pytest.mark.parametrize(
        ("later", "is_found"),
        [
            (run(iteration(2, "Migrate the database", done=True), run=OTHER_RUN), False),
            (run(iteration(2, "Migrate the database"), run=OTHER_RUN), True),
            (run(set_aside=(aside(1),), run=OTHER_RUN), True),
        ],
    )
    def test_one_that_became_done_later_is_not(self, later: RunRecord, is_found: bool) -> None:
        before = run(set_aside=(aside(3),))
        assert bool(found(FindingKind.SET_ASIDE, before, later)) is is_found

    @pytest.mark.parametrize(("done_in", "is_found"), [(2, True), (4, False)])
    def test_only_what_came_after_counts(self, done_in: int, is_found: bool) -> None:
        done = iteration(done_in, "Migrate the database", done=True)
        assert bool(found(FindingKind.SET_ASIDE, run(done, set_aside=(aside(3),)))) is is_found

    @pytest.mark.parametrize(
        ("title", "words"),
        [
            ("Update the invoice renderer", ["renderer", "invoice"]),
            ("Write tests first", ["write"]),
            ("Do it", []),
        ],
    )
    def test_similar_tasks_are_known_by_their_long_words(
        self, title: str, words: list[str]
    ) -> None:
        assert telling_words(title) == words


class TestKindsOfTasks:
    @pytest.mark.parametrize(
        ("title", "kind"),
        [
            ("Fix the login", "fix"),
            ("P1: Add a parser", "add"),
            ("Tests for totals", "test"),
            ("Rename x", "refactor"),
            ("Bump Django", "upgrade"),
            ("Document it", "document"),
            ("The login page", "other"),
            ("", "other"),
        ],
    )
    def test_the_first_words_decide(self, title: str, kind: str) -> None:
        assert kind_of(title) == kind

    def test_time_and_cost_of_a_kind_are_medians(self) -> None:
        (finding,) = found(
            FindingKind.TASKS,
            run(
                iteration(1, "Fix a", seconds=30.0, cost_usd=0.5),
                iteration(2, "Fix a", seconds=30.0, done=True),
                iteration(3, "Fix b", seconds=300.0, cost_usd=1.5, done=True),
                iteration(4, "Fix c", seconds=9.0),
                iteration(5, "Add d", done=True),
                iteration(6, task=None),
            ),
        )
        assert finding.text == (
            'Tasks of the kind "fix" (2 finished) took 1.5 iterations and 3 min, 1.00 US dollars '
            "each (medians)"
        )

    def test_a_kind_that_takes_much_longer_proposes_a_lesson(self) -> None:
        slow = [
            iteration(n, f"Fix {name}", seconds=60.0, done=n % 2 == 0 or ())
            for n, name in enumerate("aabbcc", 1)
        ]
        quick = [iteration(n, f"Add {name}", done=True) for n, name in enumerate("xyz", 7)]
        (lesson,) = distil([run(*slow, *quick)]).proposals
        assert lesson.id == "long-tasks-fix"
        assert "all other tasks 1 iterations and 0 s" in lesson.text
        assert "fix" in lesson.tasks

    def test_others_are_named_so(self) -> None:
        two = [iteration(n, f"Page {n}", done=True) for n in (1, 2)]
        (finding,) = found(FindingKind.TASKS, run(*two))
        assert finding.text.startswith("Other tasks (2 finished) took 1 iterations and 0 s each")


class TestSettings:
    def test_a_value_that_was_given_twice_is_a_habit(self) -> None:
        given = {"max_iterations": 20, "task": "x", "agents.command": {"argv": ["x"]}}
        runs = [run(iteration(n), given=given) for n in (1, 2)]
        (finding,) = found(FindingKind.SETTING, *runs, run(given={"max_iterations": 5}))
        assert finding.text == "max_iterations = 20 was given by hand in 2 of 3 runs"
        assert finding.next == "ralph config set max_iterations 20"
        assert [one.iteration for one in finding.iterations] == [1, 2]

    @pytest.mark.parametrize(
        ("key", "value", "step"),
        [
            ("verify", True, "ralph config set verify true"),
            ("agent", "a b; c", "ralph config set agent 'a b; c'"),
        ],
    )
    def test_the_next_step_is_safe_to_copy(self, key: str, value: Any, step: str) -> None:
        (finding,) = found(FindingKind.SETTING, *[run(given={key: value})] * 2)
        assert finding.next == step

    def test_a_change_between_two_runs_is_found(self) -> None:
        slower = Config.model_validate({"timeouts": {"iteration": 3600}, "max_stuck": 3})
        before = run(iteration(4), given={"max_stuck": 1})
        after = run(iteration(1), run=OTHER_RUN, config=slower)
        (finding,) = found(FindingKind.SETTING, before, after)
        assert finding.text == (
            "timeouts.iteration was changed from 1800.0 to 3600.0 before run 3c4d"
        )
        assert [one.iteration for one in finding.iterations] == [4, 1]
        (unset,) = found(FindingKind.SETTING, run(), run(config=Config(max_stuck=2)))
        assert unset.text == "max_stuck was changed from unset to 2 before run 0a1b"

    def test_another_profile_is_no_change_of_settings(self) -> None:
        other = Config.model_validate({"profile": "spec", "max_stuck": 3})
        assert not found(FindingKind.SETTING, run(), run(config=other))


class TestRemembered:
    def test_a_note_of_several_iterations_is_one_proposal(self) -> None:
        notes = [RememberedNote(iteration=n, text=text) for n, text in enumerate(NOTES, 1)]
        runs = [run(remembered=tuple(notes)), run(run=OTHER_RUN, remembered=tuple(notes[:1]))]
        texts = [one.text for one in found(FindingKind.REMEMBERED, *runs)]
        assert texts == ["Use uv", "Use uv Because pip fails.", "Use uv, and " + "x" * 187 + "…"]
        short, titled, long = distil(runs).proposals
        assert (short.title, short.text) == ("Use uv", "Use uv")
        assert short.source == "run 0a1b iteration 1; run 3c4d iteration 1"
        assert (titled.title, titled.text) == ("Use uv", "Because pip fails.")
        assert long.text == NOTES[2]
        assert len({one.id for one in (short, titled, long)}) == 3
        for lesson in (short, titled, long):
            assert read_lesson(lesson.id, write_lesson(lesson)) == lesson


NOTES = ("Use uv", "Use uv\n\nBecause pip fails.", "Use uv, and " + "x" * 300, " \n")


def test_two_proposals_never_have_one_id() -> None:
    titles = ("Migrate the database!", "Migrate the database?")
    given = run(set_aside=tuple(aside(n, title) for n, title in enumerate(titles, 1)))
    ids = [one.id for one in distil([given]).proposals]
    assert ids == ["set-aside-migrate-the-database", "set-aside-migrate-the-database-2"]


@pytest.mark.parametrize(
    ("iterations", "expected"),
    [
        ([], ""),
        ([(RUN, 3)], "run 0a1b iteration 3"),
        ([(RUN, 3), (RUN, 5), (OTHER_RUN, 1)], "run 0a1b iterations 3, 5; run 3c4d iteration 1"),
        (
            [(RUN, n) for n in range(1, 8)],
            "run 0a1b iterations 3, 4, 5, 6, 7, and 2 earlier ones",
        ),
    ],
)
def test_sources_name_the_newest_iterations(
    iterations: list[tuple[str, int]], expected: str
) -> None:
    refs = [IterationRef(run=name, iteration=number) for name, number in iterations]
    assert source_words(refs) == expected


STAMP: dict[str, Any] = {"seq": 1, "at": AT, "run": RUN}
OF_IT: dict[str, Any] = {**STAMP, "iteration": 2, "start": 3}


class TestRecords:
    def ended(self, **more: Any) -> IterationEnded:
        return IterationEnded(
            **{
                **OF_IT,
                "outcome": Outcome.PROGRESS,
                "seconds": 9.0,
                "breaker": Breaker(),
                **more,
            }
        )

    @property
    def begun(self) -> list[Any]:
        return [
            RunStarted(
                **STAMP,
                version="1",
                pid=1,
                workspace="/w",
                state_dir="/s",
                plan="p",
                config=Config(),
                overrides={"max_stuck": 2},
            ),
            IterationStarted(**OF_IT, baseline=Baseline(), task=task("A")),
        ]

    def test_an_iteration_is_read_with_what_happened(self) -> None:
        checked, moved = validated(SCRIPT), aside(2).event
        events = [
            *self.begun,
            Warned(**STAMP, code="x", message="y"),
            EvidenceGathered(**OF_IT, evidence=Evidence(paths=("a.py",), tasks_done=("id-A",))),
            checked,
            moved,
            LessonRemembered(**OF_IT, text="Use uv"),
            self.ended(usage=Usage(cost_usd=0.5)),
            Warned(**STAMP, code="x", message="y"),
        ]
        assert read_record(events) == RunRecord(
            run=RUN,
            config=Config(),
            given={"max_stuck": 2},
            iterations=(
                iteration(
                    2,
                    "A",
                    paths=("a.py",),
                    done=True,
                    validated=checked,
                    seconds=9.0,
                    cost_usd=0.5,
                ),
            ),
            set_aside=(aside(2),),
            remembered=(RememberedNote(iteration=2, text="Use uv"),),
        )
        assert {event.kind for event in events} - KINDS == {"warned"}

    def test_an_iteration_that_does_not_count_is_left_out(self) -> None:
        found = read_record([*self.begun, self.ended(counted=False), self.ended()])
        assert found is not None
        assert not found.iterations

    def test_without_a_start_there_is_no_record(self) -> None:
        assert read_record([]) is None
