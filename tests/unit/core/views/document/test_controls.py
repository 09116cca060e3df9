"""Controls at a line: which commands are offered where, in each state of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.document.controls import (
    MAX_TITLE_LINE,
    ControlGroup,
    controls,
    is_about_run,
)
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.protocol.run.events import BlockedRaised, EventBase, QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    READ,
    ROUND,
    RUN,
    begins,
    ends,
    event,
    phase,
    seen,
    shows,
    started,
)

BEGUN = (started(), begins(1, CHOOSE))


def offered(context: DocumentContext, first: int, last: int | None = None) -> list[str]:
    """The commands at these lines, with the answer that they give."""
    found = controls(context, first, first if last is None else last)
    return [f"{one.command} {one.arguments.get('text', '')}".strip() for one in found]


def asks(question: str) -> EventBase:
    return event(QuestionAsked, iteration=1, question=question, path="d", asked_at=NOON)


class TestRun:
    def test_without_a_run_it_can_be_started(self) -> None:
        assert offered(DocumentContext(text=PLAN), 0) == ["start", "replan"]

    def test_a_live_run_is_paused_and_stopped(self) -> None:
        live = seen(*BEGUN, phase(Phase.RUNNING))
        steering = ["pause", "stop", "stop", "showLog", "showChanges"]
        assert offered(live, 0) == steering
        assert offered(replace(live, phase=Phase.STOPPING), 0) == ["stop", *steering[3:]]
        assert offered(live, 1) == []

    def test_one_that_crashed_is_resumed_as_a_remedy(self) -> None:
        crashed = replace(seen(*BEGUN), pid=None, phase=Phase.CRASHED)
        resume, *others = controls(crashed, 0, 0)
        assert (resume.command, resume.group) == ("resume", ControlGroup.REMEDY)
        assert "engine-gone" in resume.codes
        assert [one.command for one in others] == [
            "start",
            "replan",
            "showLog",
            "showChanges",
            "showRollback",
        ]

    def test_a_request_is_not_replanned(self) -> None:
        request = DocumentContext(text="Fix it\n", kind=PlanKind.REQUEST)
        assert offered(request, 0) == ["start"]


class TestTitle:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("intro\n\n# Plan\n", 2),
            ("---\na: b\n# no\n---\n  # Plan\n", 4),
            ("#No\n\n#\tPlan\n", 2),
            ("- [ ] One\n" + "\n" * (MAX_TITLE_LINE + 1) + "# Late\n", 0),
            ("- [ ] One\n", 0),
        ],
    )
    def test_it_is_the_first_heading_of_the_first_level(self, text: str, line: int) -> None:
        context = DocumentContext(text=text)
        found = [at for at in range(text.count("\n") + 1) if is_about_run(context, at, at)]
        assert found == sorted({0, line})

    def test_it_is_the_first_line_of_other_formats_and_nowhere_in_other_files(self) -> None:
        org = DocumentContext(text="\n# Plan\n", kind=PlanKind.ORG)
        assert [is_about_run(org, at, at) for at in (0, 1)] == [True, False]
        assert not is_about_run(DocumentContext(text="", file=FileKind.DECIDE), 0, 0)


class TestRemedies:
    def test_each_option_of_a_question_is_an_answer(self) -> None:
        question = "SQLite or Postgres?"
        asked = seen(
            *BEGUN,
            asks(question),
            phase(Phase.PARKED, "decide"),
            halt=HaltFiles(question=question),
        )
        answers = ["answer SQLite", "answer Postgres", "answer"]
        assert offered(asked, CHOOSE)[:3] == offered(asked, 0)[:3] == answers
        assert "answer" not in offered(asked, ROUND)
        assert offered(replace(asked, file=FileKind.DECIDE, text=""), 9) == answers

    def test_without_options_it_is_answered_in_words(self) -> None:
        asked = seen(
            *BEGUN,
            asks("why?"),
            phase(Phase.PARKED, "decide"),
            halt=HaltFiles(question="why?"),
        )
        assert offered(asked, CHOOSE)[:1] == ["answer"]

    def test_a_blocker_is_resolved(self) -> None:
        raised = event(BlockedRaised, iteration=1, reason="no keys", path="b")
        blocked = seen(
            *BEGUN, raised, phase(Phase.PARKED, "blocked"), halt=HaltFiles(blocked="no keys")
        )
        assert offered(blocked, CHOOSE)[0] == offered(blocked, 0)[0] == "resume"
        assert offered(replace(blocked, file=FileKind.BLOCKED), 0) == ["resume"]
        assert offered(replace(blocked, halt=HaltFiles(), file=FileKind.BLOCKED), 0) == []

    def test_an_answer_without_an_engine_continues_the_run(self) -> None:
        text = "why?\n\n---\n## Answer\nblue\n"
        answered = seen(
            *BEGUN, asks("why?"), halt=HaltFiles(question="why?", answer="blue"), pid=None
        )
        context = replace(answered, file=FileKind.DECIDE, text=text)
        (resume,) = controls(context, 0, 0)
        assert (resume.command, resume.arguments) == ("resume", {"run": RUN, "continue": True})


class TestTask:
    def test_an_open_one_is_run_alone_and_skipped_while_an_engine_lives(self) -> None:
        assert offered(DocumentContext(text=PLAN, parsed=seen().parsed), ROUND) == ["runTask"]
        live = seen(*BEGUN, phase(Phase.RUNNING))
        assert offered(live, ROUND, ROUND + 1) == ["runTask", "skip"]
        assert offered(live, ROUND, CHOOSE) == []
        assert offered(replace(live, pid=None), ROUND) == ["runTask"]

    def test_one_that_was_tried_is_reset_and_its_iteration_looked_at(self) -> None:
        live = seen(*BEGUN, phase(Phase.RUNNING))
        looks = ["showLog", "showChanges"]
        assert offered(live, CHOOSE) == ["runTask", "skip", "resetTask", *looks]

    def test_a_finished_one_has_its_iteration_alone(self) -> None:
        done = seen(started(), begins(1, READ), shows(1, files=1, done=(READ,)), ends(1))
        assert offered(done, READ) == ["showLog", "showChanges"]

    def test_further_formats_have_the_same(self) -> None:
        text = "* TODO One\n"
        parsed = parse_plan(text, PlanKind.ORG)
        context = DocumentContext(text=text, parsed=parsed, kind=PlanKind.ORG)
        assert offered(context, 0) == ["runTask", "start", "replan"]
