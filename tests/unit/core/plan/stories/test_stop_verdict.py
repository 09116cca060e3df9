"""The verdict of the stop hook: when the agent may stop, and the message if it may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.plan.formats.stories.stop_verdict import (
    StopAttempt,
    judge_stop,
    read_active,
    read_hook_input,
    snapshot_path,
    snapshot_text,
)
from ralph_ls.protocol.run.stop_hook import HookAnswer, RalphActive
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, story, text_of

IMPLEMENT = RalphActive(iteration_mode="implement")
FRESH = text_of(story("A"))


def reason(**stop: Any) -> list[str]:
    """The message for the agent, line by line; empty where it may stop."""
    given: dict[str, Any] = {
        "active": IMPLEMENT,
        "path": "ralph/tasks.json",
        "before": FRESH,
        "after": FRESH,
    }
    answer = judge_stop(StopAttempt(**given | stop))
    if answer is None:
        return []
    first, *lines = answer.reason.split("\n- ")
    assert first == "This iteration is not finished yet:"
    return lines


def test_who_did_what_the_iteration_was_for_may_stop() -> None:
    assert reason(after=text_of(story("A", **WAITING))) == []


def test_outside_a_run_of_stories_there_is_nothing_to_say() -> None:
    assert reason(active=None, after=None, uncommitted=["a.py"]) == []


def test_a_broken_file_is_reported_with_its_line() -> None:
    assert reason(after='{"userStories": [\n  {"id": "A",}]}') == [
        "ralph/tasks.json:2: A has no title (story-field-missing)",
        "ralph/tasks.json:2: remove this comma: JSON has no trailing commas (json-syntax)",
    ]


def test_a_file_that_is_gone_is_asked_for() -> None:
    assert reason(after=None) == ["ralph/tasks.json is missing; restore it"]


def test_invariants_are_reported() -> None:
    after = text_of(story("A", dependsOn=["Z"]))
    assert reason(after=after) == [
        "ralph/tasks.json:21: A depends on Z, but there is no such story (story-dependency-unknown)"
    ]


def test_what_was_wrong_before_is_ignored() -> None:
    broken = text_of(story("A", dependsOn=["Z"]), story("B", **WAITING | {"passes": True}))
    assert reason(before=broken, after=broken) == []
    no_json = '{"userStories": [}'
    assert reason(before=no_json, after=no_json) == []


def test_illegal_moves_are_reported_with_what_to_do_instead() -> None:
    (told,) = reason(after=text_of(story("A", **DONE)))
    assert told.startswith(
        "ralph/tasks.json: A: implementing only sets reviewStatus from null to needs"
    )
    assert told.endswith("(implement-illegal-move)")


def test_without_a_snapshot_moves_are_not_looked_at() -> None:
    assert reason(before=None, after=text_of(story("A", **DONE))) == []
    assert reason(before=None, after=text_of(story("A", reviewStatus="approved"))) != []


def test_an_unknown_mode_has_no_moves() -> None:
    assert (
        reason(active=RalphActive(iteration_mode="dance"), after=text_of(story("A", **DONE))) == []
    )


def test_a_review_that_judged_nothing_is_asked_for_one() -> None:
    text = text_of(story("A", **WAITING))
    review = RalphActive(iteration_mode="review")
    (told,) = reason(active=review, before=text, after=text)
    assert told.endswith("(no-story-reviewed)")
    assert reason(active=review, before=text, after=text, halts=True) == []


def test_settings_of_the_run_count() -> None:
    active = RalphActive(iteration_mode="review", review_cap=2)
    before = text_of(story("A", reviewStatus="needs_review", reviewCount=1))
    after = text_of(story("A", **RETURNED | {"reviewCount": 2}))
    (told,) = reason(active=active, before=before, after=after)
    assert "this was review 2 of at most 2" in told
    skips = RalphActive(skip_review=True)
    passed = text_of(story("A", passes=True))
    assert reason(active=skips, after=passed) == []
    assert len(reason(after=passed)) == 1


def test_of_several_moves_that_of_the_assigned_story_may_stay() -> None:
    before = text_of(story("A"), story("B"))
    after = text_of(story("A", **WAITING), story("B", **WAITING))
    (told,) = reason(before=before, after=after, assigned="B")
    assert "A changed as well as B" in told


def test_uncommitted_files_keep_the_agent() -> None:
    assert reason(uncommitted=["a.py", "b.py"]) == [
        "2 files not committed: a.py, b.py; commit what belongs to your work"
    ]
    (told,) = reason(uncommitted=[f"{n}.py" for n in range(12)])
    assert told.endswith("9.py and 2 more; commit what belongs to your work")


def test_a_long_list_is_cut() -> None:
    many = text_of(*(story(f"S{n}", **DONE) for n in range(15)))
    told = reason(before=text_of(), after=many)
    assert (len(told), told[-1]) == (11, "and 5 more like these")


@pytest.mark.parametrize(("n_active", "is_kept"), [(0, True), (1, True), (2, False), (3, False)])
def test_who_was_kept_twice_is_let_go(n_active: int, is_kept: bool) -> None:
    assert bool(reason(after=None, n_active=n_active)) is is_kept


def test_the_answer_is_what_programs_of_agents_read() -> None:
    answer = HookAnswer(reason="x")
    assert json.loads(answer.model_dump_json()) == {"decision": "block", "reason": "x"}


def test_what_the_program_says_is_read_as_far_as_it_goes() -> None:
    text = '{"session_id": "s", "stop_hook_active": true, "cwd": null, "more": 1}'
    hook = read_hook_input(text)
    assert hook is not None
    assert (hook.session_id, hook.stop_hook_active, hook.cwd) == ("s", True, None)
    assert read_hook_input("{}") is not None
    assert read_hook_input("no JSON") is None


def test_the_file_of_a_run_has_the_fields_of_the_seed() -> None:
    text = (
        '{"timestamp": "2026-01-31T12:00:00Z", "pid": 7, "max_iterations": 20, "mode": "direct", '
        '"skipReview": true, "reviewCap": 3, "iterationMode": "review", '
        '"preIterationSnapshot": {"userStories": []}, "stuckCount": 2}'
    )
    active = read_active(text)
    assert active is not None
    written = json.loads(active.model_dump_json(by_alias=True))
    assert written == json.loads(text) | {"timestamp": "2026-01-31T12:00:00.000Z"}
    assert (active.max_iterations, active.review_cap, active.stuck_count) == (20, 3, 2)
    assert read_active("{") is None


@pytest.mark.parametrize(
    ("snapshot", "text", "path"),
    [
        pytest.param({"userStories": []}, '{"userStories": []}', None, id="object"),
        pytest.param([], "[]", None, id="list"),
        pytest.param(' {"userStories": []}', ' {"userStories": []}', None, id="text"),
        pytest.param("ralph/before.json\n", None, "ralph/before.json", id="path"),
        pytest.param(" ", None, None, id="blank"),
        pytest.param(None, None, None, id="none"),
        pytest.param(3, None, None, id="number"),
    ],
)
def test_a_snapshot_is_brought_as_json_as_text_or_by_its_path(
    snapshot: Any, text: str | None, path: str | None
) -> None:
    active = RalphActive(pre_iteration_snapshot=snapshot)
    assert (snapshot_text(active), snapshot_path(active)) == (text, path)
