"""The page about a run: what is on it, and that nothing on it is taken for markup."""

from __future__ import annotations

from datetime import UTC, timedelta
from html.parser import HTMLParser
from typing import Any

from ralph_ls.core.loop.rules.receipts import finished_receipts
from ralph_ls.core.views.report.metrics import measure_run
from ralph_ls.core.views.report.run_report import (
    EmbeddedPage,
    ReportPage,
    run_report,
    to_html,
    to_markdown,
)
from ralph_ls.core.views.text.run_end import summary_lines
from ralph_ls.protocol.json_output import PrunedOutput
from ralph_ls.protocol.run.events import (
    Committed,
    Event,
    GuardReverted,
    RunEnded,
    TaskSetAside,
    Warned,
)
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import CommitSeen, EndReason, TaskRef
from tests.unit.core.views.run_states import (
    COMMIT,
    NOON,
    TASK,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    report,
    run_started,
    state_after,
)

HOSTILE = '<script>alert(1)</script> <img src="//evil" onerror=x> [a](b) "&'


def page(*events: Event, config: dict[str, Any] | None = None) -> ReportPage:
    whole = [run_started(**(config or {})), *events]
    state = state_after(*whole)
    run = measure_run(whole, is_live=False, receipts=finished_receipts(state))
    assert run is not None
    return run_report(state, run, whole, summary=summary_lines(state, "summary.csv"), zone=UTC)


def test_says_that_the_output_of_the_run_was_removed() -> None:
    whole = [run_started()]
    run = measure_run(whole, is_live=False)
    assert run is not None
    mark = PrunedOutput(at=NOON, setting="keep_days = 9", files=2, bytes=2048)
    run = run.model_copy(update={"pruned": mark})
    page = run_report(state_after(*whole), run, whole, summary=("Exit:  RUNNING",))
    assert dict(section(page, "Summary").facts)["Output"].startswith("the output of run")


def section(page: ReportPage, title: str) -> Any:
    (found,) = [one for one in page.sections if one.title == title]
    return found


def a_run() -> list[Event]:
    along = TaskRef(id="b", title="Write the letter")
    seen = evidence(
        tasks_done=(TASK.id, along.id),
        titles={along.id: along.title},
        commits=(
            CommitSeen(hash="1" * 40, subject="One", files=2),
            CommitSeen(hash="2" * 40, subject="Mine", by_person=True),
        ),
    )
    hard = TaskRef(id="c", title="Hard")
    return [
        iteration_started(),
        report(WORK_SUMMARY=f"Rounded {HOSTILE} " + "x" * 700),
        event(TaskSetAside, iteration=1, task=TASK, attempts=3, reason="tried again and done"),
        seen,
        event(Committed, iteration=1, commit=COMMIT, subject="ralph: it", files=3),
        event(GuardReverted, iteration=1, path="a.md", what=Forbidden.CHANGED, commit="3" * 40),
        event(GuardReverted, iteration=1, path="b.md", what=Forbidden.CHANGED),
        iteration_ended(),
        iteration_started(2, task=hard),
        event(TaskSetAside, iteration=2, task=hard, attempts=3, reason="3 attempts: no key"),
        event(TaskSetAside, iteration=2, task=along, attempts=0, reason="too hard"),
        event(Warned, iteration=2, code="a", message="look here"),
        event(Warned, iteration=2, code="a", message="look here"),
        event(Warned, code="b", message="and there"),
        iteration_ended(2, commit=None),
        event(
            RunEnded, reason=EndReason.LIMIT, exit_code=1, message="all used up",
            at=NOON + timedelta(minutes=9),
        ),
    ]  # fmt: skip


class TestThePage:
    def test_has_the_figures_of_the_summary(self) -> None:
        whole = [run_started(), *a_run()]
        facts = dict(section(page(*a_run()), "Summary").facts)
        lines = summary_lines(state_after(*whole), "summary.csv")
        assert facts["Exit"] == "LIMIT (code 1)"
        for name, value in facts.items():
            assert any(line.startswith(f"{name}:") and line.endswith(value) for line in lines)

    def test_is_about_a_project_by_its_name_and_not_by_its_path(self) -> None:
        made = page(*a_run())
        assert made.title == "Ralph run 20260131T120000Z-0a1b: limit"
        assert made.subtitle == "project, started 2026-01-31 12:00 UTC, ended 2026-01-31 12:09 UTC"
        assert "/project" not in to_markdown(made)

    def test_says_what_was_done_in_the_agents_words_as_a_claim(self) -> None:
        first, second, last = section(page(*a_run()), "What was done").points
        assert first.startswith(
            f"{TASK.title}: iteration 1, commit abc1234. The agent reports: Rounded <script>"
        )
        assert first.endswith("x …")
        assert second.startswith(
            f"Write the letter: iteration 1, commit abc1234, together with “{TASK.title}”"
        )
        assert last == "The run ended: all used up"

    def test_says_what_was_set_aside_and_not_what_was_done_after_that(self) -> None:
        assert section(page(*a_run()), "Set aside").points == (
            "Hard (iteration 2 after 3 attempts): 3 attempts: no key",
            "Write the letter (iteration 2): too hard",
        )

    def test_lists_each_commit_once_with_its_maker(self) -> None:
        assert section(page(*a_run()), "Commits").rows == (
            ("1111111", "1", "agent", "2", "One"),
            ("2222222", "1", "user", "0", "Mine"),
            ("abc1234", "1", "loop", "3", "ralph: it"),
            ("3333333", "1", "loop", "", "restore a.md"),
        )

    def test_lists_each_warning_once_with_its_iterations(self) -> None:
        assert section(page(*a_run()), "Warnings").points == (
            "look here (iteration 2)",
            "and there",
        )

    def test_of_a_run_that_did_nothing_has_no_empty_section(self) -> None:
        assert [one.title for one in page().sections] == ["Summary", "Figures", "Settings"]


class TestMarkdown:
    def test_takes_no_text_for_markup(self) -> None:
        text = to_markdown(page(*a_run()))
        assert "<script" not in text.replace("\\<script", "")
        assert "\\[a\\](b)" in text
        assert "| 3333333 | 1 | loop |  | restore a.md |" in text


class _Tags(HTMLParser):
    """The names of all tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


class TestHtml:
    def test_has_neither_scripts_nor_references(self) -> None:
        parser = _Tags()
        parser.feed(to_html(page(*a_run())))
        assert parser.tags.isdisjoint({"script", "img", "link", "a", "iframe"})
        assert parser.attributes <= {
            *("lang", "charset", "name", "content", "http-equiv", "class", "scope"),
        }

    def test_shows_every_text_as_it_was_written(self) -> None:
        text = to_html(page(*a_run()))
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert '<td class="wide">Mine</td>' in text
        assert "<dt>Exit</dt><dd>LIMIT (code 1)</dd>" in text

    def test_has_the_charts_behind_its_summary_with_their_policy(self) -> None:
        charts = EmbeddedPage(policy="default-src 'none'", style="p{}", body="<b>charts</b>")
        text = to_html(page(*a_run()), charts)
        assert 'content="default-src &#x27;none&#x27;"' in text
        assert "<style>p{}</style>" in text
        first, second = text.index("<section>"), text.rindex("<section>")
        assert first < text.index("<b>charts</b>") < second

    def test_every_text_can_be_changed_before_as_by_redaction(self) -> None:
        made = page(*a_run()).mapped(lambda text: text.replace("Mine", "Yours"))
        assert "Mine" not in to_html(made)
        assert "Yours" in to_markdown(made)
