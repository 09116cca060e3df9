"""Views of plans that are not Markdown: reviews, issues, a request."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.formats.beads.snapshot import snapshot_to_text
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.hover import hover
from ralph_ls.core.views.document.lenses import hints, lenses
from ralph_ls.core.views.document.page import PageKind, read_page
from ralph_ls.core.views.document.quick_fixes import (
    all_reverted_edits,
    check_diagnostics,
    keep_reverted_edit,
)
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.tasks import task_reviews
from ralph_ls.core.views.panel.card import card
from ralph_ls.core.views.panel.facts import SHOWN_REMARKS, facts
from ralph_ls.core.views.panel.panel import panel, panel_answers
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.lsp.options import TaskLenses
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import EventBase, GuardReverted, RunEnded, RunStarted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import EndReason, Phase, TaskRef
from tests.unit.core.plan.beads.test_queue import snapshot_of
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, story, text_of
from tests.unit.core.views.document_contexts import begins, event, seen, shows, started

AT_CAP: dict[str, object] = {
    "passes": True,
    "reviewStatus": "approved",
    "reviewCount": 5,
    "reviewFeedback": "[AUTO-APPROVED AT CAP] still slow",
}


def stories(*told: EventBase, text: str, **fields: Any) -> DocumentContext:
    parsed = parse_plan(text, PlanKind.STORIES)
    return seen(*told, text=text, parsed=parsed, kind=PlanKind.STORIES, **fields)


def issues(*told: EventBase, text: str) -> DocumentContext:
    parsed = parse_plan(text, PlanKind.BEADS)
    return seen(*told, text=text, parsed=parsed, kind=PlanKind.BEADS)


class TestStories:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({}, ""),
            (WAITING, "waits for its review"),
            ({**WAITING, "reviewCount": 2}, "waits for its review, after review 2"),
            (RETURNED, "changes requested in review 1: Name the key"),
            ({"reviewStatus": "changes_requested"}, "changes requested"),
            (DONE, "approved in review 1"),
            ({"passes": True, "reviewStatus": "approved"}, "approved"),
            (AT_CAP, "approved because it reached the review limit"),
        ],
    )
    def test_a_review_is_reported_in_words(self, fields: dict[str, object], words: str) -> None:
        look = stories(text=text_of(story("US-1", **fields)))
        assert task_reviews(look).review(look.plan.tasks[0]) == words

    def test_what_waits_says_for_what_until_that_is_done(self) -> None:
        look = stories(
            text=text_of(
                story("US-1"),
                story("US-2", dependsOn=["US-1", "US-9"]),
                story("US-3", dependsOn=["US-1"], **DONE),
            )
        )
        known = task_reviews(look)
        told = [known.waiting(task) for task in look.plan.tasks]
        assert told == ["", "waits for US-1 (Story US-1)", ""]
        rows = plan_rows(look, uri="file:///tasks.json", path="tasks.json").tasks
        assert [(row.words, row.can_block) for row in rows] == [
            ("", False),
            ("waits for US-1 (Story US-1)", False),
            ("", False),
        ]

    def test_lenses_of_all_stories_show_reviews_and_what_they_wait_for(self) -> None:
        look = stories(text=text_of(story("US-1", **WAITING), story("US-2", dependsOn=["US-1"])))
        told = [lens.title for lens in lenses(look, tasks=TaskLenses.ALL)]
        assert told == [
            "Start loop",
            "Run only this task",
            "waits for its review",
            "Run only this task",
            "waits for US-1 (Story US-1)",
        ]

    def test_a_hover_shows_a_review_with_its_feedback_and_what_a_story_waits_for(self) -> None:
        text = text_of(story("US-1", **RETURNED), story("US-2", dependsOn=["US-1"]))
        returned, waits = (
            hover(stories(text=text), task.line) for task in stories(text=text).plan.tasks
        )
        assert returned is not None
        assert "- Review: changes requested in review 1\n- Feedback: Name the key\n" in returned
        assert waits is not None
        assert "- Waits for US-1 (Story US-1)" in waits

    def test_a_hover_without_a_review_has_no_line_of_it(self) -> None:
        text = hover(stories(text=text_of(story("US-1"))), 8)
        assert text is not None
        assert "Review" not in text
        assert "Feedback" not in text

    def test_a_hint_is_behind_what_a_story_begins_with(self) -> None:
        look = stories(
            started(),
            begins(1, None),
            shows(1, files=1).model_copy(
                update={
                    "evidence": shows(1, files=1).evidence.model_copy(
                        update={"tasks_done": ("US-1",)}
                    )
                }
            ),
            text=text_of(story("US-1", **DONE)),
        )
        (hint,) = hints(look)
        line = look.text.splitlines()[hint.line]
        assert (line, hint.column) == ("    {", 5)

    @pytest.mark.parametrize(
        ("progress", "settings", "is_told"),
        [
            pytest.param(True, {}, False, id="approved in a review"),
            pytest.param(False, {}, True, id="no legal move"),
            pytest.param(True, {"skip_review": True}, True, id="nobody reviews"),
        ],
    )
    def test_an_approval_is_no_bare_tick(
        self, progress: bool, settings: dict[str, Any], is_told: bool
    ) -> None:
        told = shows(1)
        evidence = told.evidence.model_copy(update={"tasks_done": ("US-1",), "progress": progress})
        look = stories(
            started(profile=ProfileName.STORIES, **settings),
            begins(1, None),
            told.model_copy(update={"evidence": evidence}),
            text=text_of(story("US-1", **DONE)),
        )
        codes = [one.code for one in diagnostics(look)]
        assert ("tick-without-change" in codes) == is_told

    @pytest.mark.parametrize(
        ("what", "refusal"),
        [
            (Forbidden.REVIEW, ""),
            (Forbidden.TYPE, "change tasks.json yourself"),
            (Forbidden.VERIFY, "change tasks.json yourself"),
        ],
    )
    def test_what_was_reverted_in_a_story_can_be_kept(self, what: Forbidden, refusal: str) -> None:
        reverted = event(
            GuardReverted,
            iteration=1,
            path="tasks.json",
            what=what,
            tasks=(TaskRef(id="US-1", title="Story US-1"),),
            n_tasks=1,
        )
        text = text_of(story("US-1"))
        (one,) = all_reverted_edits(stories(started(), reverted, text=text))
        agents = text_of(story("US-1", **WAITING))
        kept = keep_reverted_edit(one, text, agents)
        assert kept.refusal == refusal
        assert kept.text == ("" if refusal else agents)

    def test_text_that_is_no_markdown_has_no_headings(self) -> None:
        text = '{\n# no heading\n```\n"userStories": []}'
        page = read_page(PageKind.PLAN, "tasks.json", text, Plan(), is_markdown=False)
        assert page.outline.headings == ()
        assert page.outline.blocks == ()
        assert len(page.outline.lines) == 4


class TestIssues:
    ISSUES = snapshot_to_text(
        snapshot_of(
            {"id": "a", "title": "Log in", "acceptance_criteria": "- make test passes"},
            {"id": "b", "title": "Log out", "needs": ["a"]},
        )
    )

    def test_rows_have_no_document_and_say_what_they_wait_for(self) -> None:
        look = issues(text=self.ISSUES)
        rows = plan_rows(look, uri=None, path="bd")
        assert (rows.uri, rows.path) == (None, "bd")
        assert [row.words for row in rows.tasks] == ["", "waits for a (Log in)"]
        assert plan_rows(look, uri=None, path="").tasks == ()
        assert "waits for" not in " ".join(lens.title for lens in lenses(look))

    def test_remarks_are_in_the_panel(self) -> None:
        (fact,) = facts(issues(text=self.ISSUES))
        assert (fact.key, fact.text) == ("plan", "1 remark")
        assert "“Log out” does not say when it is done" in fact.more
        told = facts(issues(started(), text=self.ISSUES))
        assert [one.key for one in told][:2] == ["breaker", "plan"]
        assert [one.code for one in check_diagnostics(issues(text=self.ISSUES))] == [
            "criteria-missing"
        ]

    def test_of_many_remarks_only_some_are_shown(self) -> None:
        many = [{"id": f"a{nth}", "title": f"Issue {nth}"} for nth in range(SHOWN_REMARKS + 3)]
        (fact,) = facts(issues(text=snapshot_to_text(snapshot_of(*many))))
        assert fact.more.splitlines()[-1] == "and 3 more: ralph plan"

    def test_where_nothing_is_wrong_nothing_is_reported(self) -> None:
        fine = {"id": "a", "title": "Log in", "acceptance_criteria": "- make test passes"}
        assert facts(issues(text=snapshot_to_text(snapshot_of(fine)))) == ()
        nothing = DocumentContext(text="", parsed=ParsedPlan(plan=Plan()), kind=PlanKind.BEADS)
        assert facts(nothing) == ()


class TestRequests:
    ASKED = RequestView(title="Log in with a key", source="acme/shop#12")

    def look(self, *told: EventBase, **fields: Any) -> DocumentContext:
        begun: RunStarted = started().model_copy(update={"request": self.ASKED})
        return seen(begun, *told, text="# Log in", parsed=ParsedPlan(plan=Plan()), **fields)

    def test_its_title_is_where_others_show_their_tasks(self) -> None:
        look = self.look(begins(1, None))
        assert facts(look)[0].model_dump(include={"key", "text", "more"}) == {
            "key": "request",
            "text": "Log in with a key",
            "more": "acme/shop#12",
        }
        doing = next(one for one in panel_answers(look) if one.heading == "Doing")
        assert doing.text == "Log in with a key"
        idle = next(one for one in panel_answers(self.look()) if one.heading == "Doing")
        assert idle.text == "nothing now; asked for: Log in with a key"
        assert panel(look).tasks.of == 0

    def test_its_end_counts_no_tasks(self) -> None:
        ended = event(
            RunEnded, reason=EndReason.COMPLETE, exit_code=0, message="the report says so"
        )
        look = self.look(begins(1, None), ended, phase=Phase.ENDED, pid=None)
        shown = card(look)
        assert shown is not None
        assert "task" not in shown.text
        following = next(one for one in panel_answers(look) if one.heading == "Next")
        assert following.text == "nothing, the request is done"
