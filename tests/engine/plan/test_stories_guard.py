"""Illegal moves of stories in whole runs: restored and reported, and the rest stays.

See docs/rules.md#stories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.run.iteration_events import Forbidden
from tests.engine.project_builder import Completed
from tests.engine.ralph_runner import told, wait_until, warnings
from tests.engine.story_project import StoryProject, story

WAITS = story(1, reviewStatus="needs_review", reviewCount=1)
WANTS = story(1, reviewStatus="changes_requested", reviewCount=1, reviewFeedback="ugly")
APPROVED = {"passes": True, "reviewStatus": "approved", "reviewCount": 2}


def reverted(ran: Completed) -> list[tuple[str, list[str]]]:
    return [(one.what.value, [task.id for task in one.tasks]) for one in told(ran, "guardReverted")]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What an agent does to a plan, and what is reported about it."""

    does: str
    code: str
    what: Forbidden = Forbidden.REVIEW
    whose: tuple[str, ...] = ("US-1",)
    stories: tuple[dict[str, Any], ...] = (story(1), story(2))
    fields: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


CASES = {
    "passes-itself": Case(does="move('US-1', passes=True)", code="implement-illegal-move"),
    "approves-itself": Case(
        does="move('US-1', **{'passes': True, 'reviewStatus': 'approved', 'reviewCount': 1})",
        code="implement-illegal-move",
    ),
    "reviews-without-counting": Case(
        stories=(WAITS, story(2)),
        does="move('US-1', passes=True, reviewStatus='approved')",
        code="review-illegal-move",
    ),
    "asks-for-changes-without-saying-which": Case(
        stories=(WAITS, story(2)),
        does="review(False, '')",
        code="review-feedback-missing",
    ),
    "sends-it-back-at-the-cap": Case(
        stories=(story(1, reviewStatus="needs_review", reviewCount=4), story(2)),
        does="review(False, 'still ugly')",
        code="review-cap-ignored",
    ),
    "says-cap-before-the-cap": Case(
        stories=(WAITS, story(2)),
        does="review(True, '[AUTO-APPROVED AT CAP] so')",
        code="review-cap-ignored",
    ),
    "fixes-and-approves": Case(
        stories=(WANTS, story(2)),
        does="move('US-1', passes=True, reviewStatus='approved', reviewCount=2)",
        code="review-fix-illegal-move",
    ),
    "fixes-and-keeps-the-feedback": Case(
        stories=(WANTS, story(2)),
        does="move('US-1', reviewStatus='needs_review')",
        code="review-fix-illegal-move",
    ),
    "opens-a-finished-one": Case(
        stories=(story(1, **APPROVED), story(2)),
        does="move('US-1', passes=False, reviewStatus=None)",
        code="finished-story-moved",
    ),
    "adds-one-that-is-done": Case(
        does="plan = load(); plan['userStories'].append({'id': 'US-9', 'title': 'New', "
        "'passes': True}); save(plan)",
        code="story-not-fresh",
        whose=("US-9",),
    ),
    "changes-what-is-asked-for": Case(
        does="move('US-1', acceptanceCriteria=['it exists'])",
        code="story-criteria-changed",
        what=Forbidden.CRITERIA,
    ),
    "puts-it-off": Case(
        does="move('US-1', priority=9)", code="story-priority-changed", what=Forbidden.PRIORITY
    ),
    "drops-a-dependency": Case(
        stories=(story(1), story(2, dependsOn=["US-1"])),
        does="move('US-2', dependsOn=[])",
        code="story-dependency-dropped",
        what=Forbidden.DEPENDENCY,
        whose=("US-2",),
    ),
    "verifies-less": Case(
        fields={"verifyCommands": ["make test"]},
        does="save({**load(), 'verifyCommands': []})",
        code="verify-commands-changed",
        what=Forbidden.VERIFY,
        whose=(),
    ),
    "passes-two-without-reviews": Case(
        does="move('US-1', passes=True); move('US-2', passes=True)",
        code="several-stories-moved",
        whose=("US-2",),
        arguments=("--skip-review",),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_restored_and_reported(story_project: StoryProject, case: Case) -> None:
    story_project.stories(*case.stories, **case.fields).agent(f"{case.does}\nprint('so')\n")
    before = story_project.plan
    ran = story_project.run("1", *case.arguments)
    assert reverted(ran) == [(case.what.value, list(case.whose))]
    assert case.code in warnings(ran)
    if case.whose == ("US-9",):
        added = story_project.story("US-9")
        assert (added["passes"], story_project.plan["userStories"][:2]) == (
            False,
            before["userStories"],
        )
    elif case.arguments:
        assert (story_project.story("US-1")["passes"], story_project.story("US-2")) == (
            True,
            case.stories[1],
        )
    else:
        assert story_project.plan == before
    (ended,) = told(ran, "iterationEnded")
    assert ended.outcome == "noProgress"
    (put_back,) = told(ran, "guardReverted")
    assert (story_project.run_folder() / put_back.kept).is_file()
    assert "Restored: " in ran.stdout


def test_of_two_reviews_the_one_of_the_same_story_stays(story_project: StoryProject) -> None:
    story_project.stories(WAITS, story(2, reviewStatus="needs_review", reviewCount=1))
    story_project.agent(
        "for name in ('US-2', 'US-1'):\n"
        "    move(name, passes=True, reviewStatus='approved', reviewCount=2)\ncommit()\n"
    )
    ran = story_project.run("1")
    assert reverted(ran) == [("review", ["US-2"])]
    assert [one["passes"] for one in story_project.plan["userStories"]] == [True, False]
    assert told(ran, "planChanged")[0].done == ("US-1",)


def test_a_story_that_is_gone_comes_back_where_it_was(story_project: StoryProject) -> None:
    story_project.stories(story(1), story(2), story(3))
    before = story_project.file(story_project.plan_path).read_text(encoding="utf-8")
    story_project.agent(
        "plan = load(); del plan['userStories'][1]; save(plan); commit(); print('So.')\n"
    )
    ran = story_project.run("1")
    assert reverted(ran) == [("dropped", ["US-2"])]
    assert story_project.file(story_project.plan_path).read_text(encoding="utf-8") == before
    assert "Restored: 1 open task dropped from ralph/tasks.json: Story 2" in ran.stdout


@pytest.mark.parametrize("broken", ["{", '{"userStories": 3}', ""])
def test_a_file_that_the_agent_broke_is_restored_whole(
    story_project: StoryProject, broken: str
) -> None:
    story_project.stories(story(1))
    before = story_project.file(story_project.plan_path).read_bytes()
    story_project.agent(f"open(PLAN, 'w').write({broken!r})\ncommit()\nprint('There.')\n")
    ran = story_project.run("1")
    assert reverted(ran) == [("changed", [])]
    assert "plan-broken" in warnings(ran)
    assert story_project.file(story_project.plan_path).read_bytes() == before
    assert ran.exit_code == 1
    (put_back,) = told(ran, "guardReverted")
    assert (story_project.run_folder() / put_back.kept).read_text(encoding="utf-8") == broken


def test_a_file_that_is_gone_comes_back(story_project: StoryProject) -> None:
    story_project.stories(story(1))
    before = story_project.file(story_project.plan_path).read_bytes()
    story_project.agent("os.unlink(PLAN)\ncommit()\nprint('<promise>COMPLETE</promise>')\n")
    ran = story_project.run("1")
    assert reverted(ran) == [("deleted", ["US-1"])]
    assert story_project.file(story_project.plan_path).read_bytes() == before
    assert ran.exit_code == 1


def test_its_other_words_and_bytes_stay(story_project: StoryProject) -> None:
    text = (
        '{"userStories":[\n\t{"id": "US-1",   "title":"Caf\\u00e9",\r\n\t"acceptanceCriteria": '
        '["x"], "passes": false,\n\n"team": {"name": "\u00e9"}, "notes": ""}\n]}'
    )
    story_project.text(text)
    story_project.agent(
        "text = open(PLAN, newline='').read().replace('\"passes\": false', '\"passes\": true')\n"
        'text = text.replace(\'"notes": ""\', \'"notes": "tried"\')\n'
        "open(PLAN, 'w', newline='').write(text)\n"
        "commit()\n"
    )
    ran = story_project.run("1")
    assert reverted(ran) == [("review", ["US-1"])]
    wanted = text.replace('"notes": ""', '"notes": "tried"')
    assert story_project.file(story_project.plan_path).read_bytes().decode() == wanted


def test_an_iteration_that_did_not_review_is_reported(story_project: StoryProject) -> None:
    story_project.stories(WAITS).agent("work()\ncommit()\n")
    ran = story_project.run("1")
    assert reverted(ran) == []
    assert "no-story-reviewed" in warnings(ran)


def test_with_the_guard_off_nothing_is_restored(story_project: StoryProject) -> None:
    story_project.stories(story(1), files={".ralph/config.toml": "[guard]\nenabled = false\n"})
    story_project.agent("move('US-1', passes=True)\ncommit()\n")
    ran = story_project.run("1")
    assert reverted(ran) == []
    assert ran.exit_code == 0


def test_what_the_user_does_meanwhile_is_theirs(story_project: StoryProject) -> None:
    """The user passes a story and changes criteria; the agent's own illegal move goes back."""
    from ralph_ls.core.plan.formats.stories import edits
    from ralph_ls.store.layout import StateFolder
    from ralph_ls.store.project.plan_file import edit_as_user
    from ralph_ls.store.run.lock import read_owner

    story_project.stories(story(1), story(2), story(3))
    story_project.agent("wait_here()\nmove('US-2', passes=True)\ncommit()\n")
    story_project.make_gate()
    running = story_project.start("1")
    wait_until(story_project.kept, (story_project.kept / "here").exists)
    owner = read_owner(story_project.git_dir_file("ralph.json").parent)
    assert owner is not None
    criteria = {"acceptanceCriteria": ["it works well"]}
    edit_as_user(
        story_project.repository,
        StateFolder(folder=Path(owner.state_dir)),
        story_project.plan_path,
        lambda text: edits.set_fields(edits.pass_story(text, "US-3"), "US-1", criteria),
        at=datetime.now(UTC),
    )
    (story_project.kept / "go").write_text("go\n", encoding="utf-8")
    ran = running.wait()
    assert reverted(ran) == [("review", ["US-2"])]
    assert story_project.story("US-3")["passes"] is True
    assert story_project.story("US-2")["passes"] is False
    assert story_project.story("US-1")["acceptanceCriteria"] == ["it works well"]
    (changed,) = told(ran, "planChanged")
    assert changed.done == ()
    assert "person-edited-plan" in warnings(ran)
