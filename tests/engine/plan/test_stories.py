"""Whole runs of stories: the review cycle from its start to each of its ends.

See docs/rules.md#stories.
"""

from __future__ import annotations

import csv
import json

import pytest

from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import told, wait_until, warnings
from tests.engine.story_project import CYCLE, StoryProject, story

IDLE = "print('nothing came of it')\n"


def modes(ran: Completed) -> list[str]:
    return [event.mode.value for event in told(ran, "iterationStarted")]


def tasks(ran: Completed) -> list[str | None]:
    started = told(ran, "iterationStarted")
    return [None if event.task is None else event.task.id for event in started]


def outcomes(ran: Completed) -> list[str]:
    return [event.outcome.value for event in told(ran, "iterationEnded")]


def end(ran: Completed) -> tuple[int, str]:
    (ended,) = told(ran, "runEnded")
    assert ran.exit_code == ended.exit_code, ran.stderr
    return ended.exit_code, ended.message


class TestCycle:
    def test_each_story_is_implemented_reviewed_fixed_and_approved(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1), story(2, dependsOn=["US-1"])).agent(CYCLE)
        ran = story_project.run()
        assert end(ran) == (0, "every required task is done")
        assert modes(ran) == ["build", "review", "review-fix", "review"] * 2
        assert tasks(ran) == ["US-1"] * 4 + ["US-2"] * 4
        assert outcomes(ran) == ["progress"] * 8
        assert [one["passes"] for one in story_project.plan["userStories"]] == [True, True]
        assert [one["reviewCount"] for one in story_project.plan["userStories"]] == [2, 2]
        assert "Iteration 2 of 20: review Story 1 (0/2 tasks done, mode review, " in ran.stdout
        assert told(ran, "guardReverted") == []
        assert set(warnings(ran)) == {"excluded", "main-branch", "report-missing"}
        # The logs of R, and nothing for git to see.
        summary = story_project.file("ralph/logs/summary.csv").read_text(encoding="utf-8")
        rows = list(csv.DictReader(summary.splitlines()))
        assert [row["mode"] for row in rows[:4]] == ["implement", "review", "review-fix", "review"]
        assert [row["stories_complete"] for row in rows] == list("00011112")
        assert {row["stories_total"] for row in rows} == {"2"}
        logs = sorted(path.name for path in story_project.file("ralph/logs").iterdir())
        assert logs == [*(f"iteration-{n:03d}.log" for n in range(1, 9)), "summary.csv"]
        assert git(story_project.repository, "status", "--porcelain") == ""
        assert not story_project.file(".ralph-active").exists()

    def test_the_prompts_of_its_agents_follow_their_mode(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent(CYCLE)
        story_project.run("4")
        assert [story_project.active(n)["iterationMode"] for n in range(1, 5)] == [
            "implement",
            "review",
            "review-fix",
            "review",
        ]
        assert len({story_project.kept_text(f"prompt-{n}") for n in range(1, 4)}) == 3
        for n in range(1, 5):
            assert "US-1" in story_project.kept_text(f"prompt-{n}")
            assert "ralph/tasks.json" in story_project.kept_text(f"prompt-{n}")

    def test_a_promise_of_complete_is_verified(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, reviewStatus="needs_review", reviewCount=1), story(2))
        story_project.agent(
            "if MODE == 'review':\n    review(True)\nelse:\n    implement()\ncommit()\n"
            "print('<promise>COMPLETE</promise>')\n"
        )
        ran = story_project.run("2")
        assert end(ran)[0] == 1
        refused = told(ran, "completionRefused")
        assert [event.why for event in refused] == ["1 required task is still open in the plan"] * 2
        assert [[task.id for task in event.open_tasks] for event in refused] == [["US-2"]] * 2
        story_project.agent("review(True)\ncommit()\nprint('<promise>COMPLETE</promise>')\n")
        code, message = end(story_project.run("2"))
        assert (code, message) == (0, "the agent promises COMPLETE and every required task is done")

    def test_a_review_that_nobody_committed_is_progress_and_no_new_head(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1, reviewStatus="needs_review"), story(2)).agent(
            "review(False, 'x')\n"
        )
        ran = story_project.run("1")
        (evidence,) = told(ran, "evidenceGathered")
        assert evidence.evidence.progress
        assert evidence.evidence.why == "1 task moved on in review"
        (ended,) = told(ran, "iterationEnded")
        assert (ended.outcome, ended.stuck_count, ended.commit) == ("progress", 1, None)

    def test_an_approval_is_no_tick_alone(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, reviewStatus="needs_review"), story(2)).agent(
            "review(True)\ncommit()\n"
        )
        ran = story_project.run("1")
        (changed,) = told(ran, "planChanged")
        assert changed.done == ("US-1",)
        assert "tick-without-change" not in warnings(ran)

    def test_at_the_cap_a_story_is_approved_and_says_so(self, story_project: StoryProject) -> None:
        story_project.stories(story(1), files={".ralph/config.toml": "review_cap = 2\n"})
        story_project.agent(
            "if MODE == 'review':\n"
            "    count = story_in(load(), 'US-1')['reviewCount']\n"
            "    review(count == 1, '[AUTO-APPROVED AT CAP] still ugly' if count else 'ugly')\n"
            "elif MODE == 'implement':\n    implement()\nelse:\n    fix()\ncommit()\n"
        )
        ran = story_project.run()
        assert end(ran)[0] == 0
        assert modes(ran) == ["build", "review", "review-fix", "review"]
        assert story_project.active(1)["reviewCap"] == 2
        assert "2" in story_project.kept_text("prompt-2")
        last = story_project.story()
        assert (last["reviewCount"], last["passes"]) == (2, True)
        assert last["reviewFeedback"].startswith("[AUTO-APPROVED AT CAP]")

    def test_without_reviews_who_implements_a_story_passes_it(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(
            story(1, reviewStatus="changes_requested", reviewFeedback="x"), story(2)
        )
        story_project.agent(
            "name = first('changes_requested') if N == 1 else first(None)\n"
            "work()\nmove(name, passes=True, **({'reviewStatus': None} if N == 1 else {}))\n"
            "commit()\n"
        )
        ran = story_project.run("--skip-review")
        assert end(ran) == (0, "every required task is done")
        assert modes(ran) == ["build", "build"]
        assert [story_project.active(n)["skipReview"] for n in (1, 2)] == [True, True]
        assert told(ran, "guardReverted") == []
        assert "needs_review" not in story_project.kept_text("prompt-1")

    @pytest.mark.parametrize(
        ("said", "code", "passes"),
        [
            pytest.param("COMPLETE BLOCKED:no_key", 0, True, id="complete first"),
            pytest.param("BLOCKED:no_key", 2, True, id="blocked alone"),
        ],
    )
    def test_without_reviews_a_halt_undoes_no_story_that_passes(
        self, story_project: StoryProject, said: str, code: int, passes: bool
    ) -> None:
        promises = "".join(f"print('<promise>{one}</promise>')\n" for one in said.split())
        story_project.stories(story(1)).agent(
            f"work()\nmove('US-1', passes=True)\ncommit()\n{promises}"
        )
        ran = story_project.run("--skip-review")
        assert ran.exit_code == code
        assert story_project.story()["passes"] is passes
        assert told(ran, "guardReverted") == []

    def test_a_file_of_the_common_kind_has_fewer_fields(self, story_project: StoryProject) -> None:
        known = {"id": "US-1", "title": "Log in", "acceptanceCriteria": [], "priority": 1}
        story_project.stories({**known, "passes": False, "notes": ""}, path="prd.json").agent(CYCLE)
        ran = story_project.run()
        assert end(ran)[0] == 0
        assert modes(ran) == ["build", "review", "review-fix", "review"]
        assert told(ran, "guardReverted") == []
        assert story_project.story()["reviewCount"] == 2

    def test_only_one_story_is_worked_on_where_one_is_named(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1), story(2)).agent(CYCLE.replace("first(None)", "'US-2'"))
        story_project.agent(
            "implement = lambda: (work(), move('US-2', reviewStatus='needs_review'))\n" + CYCLE
        )
        ran = story_project.run("--task", "US-2")
        assert end(ran) == (0, "the task US-2 is done")
        assert set(tasks(ran)) == {"US-2"}
        assert story_project.story("US-1")["reviewStatus"] is None


class TestEnds:
    @pytest.mark.parametrize(
        ("promise", "code", "file"),
        [("BLOCKED:no key", 2, "ralph/blocked.txt"), ("DECIDE:A or B?", 3, "ralph/decide.txt")],
    )
    def test_who_halts_in_a_review_leaves_it_as_it_was(
        self, story_project: StoryProject, promise: str, code: int, file: str
    ) -> None:
        before = story(1, reviewStatus="needs_review", reviewCount=2)
        story_project.stories(before, story(2))
        story_project.agent(
            f"review(False, 'half done')\nwork()\ncommit()\nprint('<promise>{promise}</promise>')\n"
        )
        ran = story_project.run()
        assert ran.exit_code == code
        assert modes(ran) == ["review"]
        assert story_project.story() == before
        assert "halted-with-move" in warnings(ran)
        assert promise.partition(":")[2] in story_project.file(file).read_text(encoding="utf-8")
        # The user does what is to be done, and the review is where it was.
        if code == 2:
            story_project.file(file).unlink()
        else:
            with story_project.file(file).open("a", encoding="utf-8") as answer:
                answer.write("B\n")
        story_project.agent("review(True)\ncommit()\n")
        again = story_project.run("1")
        assert modes(again) == ["review"]
        assert story_project.story()["reviewCount"] == 3
        if code == 3:
            assert "> B\n" in story_project.kept_text("prompt-1")

    def test_the_limit(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent(CYCLE)
        assert end(story_project.run("2")) == (1, "reached the 2-iteration limit")

    def test_three_iterations_without_a_commit(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent(IDLE)
        ran = story_project.run()
        assert ran.exit_code == 4
        assert [event.stuck_count for event in told(ran, "iterationEnded")] == [1, 2, 3]
        assert [story_project.active(n)["stuckCount"] for n in (1, 2, 3)] == [0, 1, 2]

    def test_a_commit_between_begins_the_count_again(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent("if N == 2:\n    work()\n    commit()\nprint('so')\n")
        ran = story_project.run("--max-stuck", "2")
        assert ran.exit_code == 4
        assert [event.stuck_count for event in told(ran, "iterationEnded")] == [1, 0, 1, 2]

    def test_a_story_that_waits_for_another_is_not_taken(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, dependsOn=["US-2"]), story(2)).agent(IDLE)
        ran = story_project.run("--task", "US-1")
        assert modes(ran) == []
        assert end(ran) == (
            2,
            "the task US-1 is waiting for Story 2",
        )

    def test_all_done_already(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, passes=True)).agent(IDLE)
        ran = story_project.run()
        assert end(ran) == (0, "every required task is done")
        assert modes(ran) == []

    def test_ctrl_c(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent("wait_here()\n")
        story_project.make_gate()
        with_agent = story_project.start()
        wait_until(story_project.kept, (story_project.kept / "here").exists)
        ran = story_project.interrupt(with_agent)
        assert ran.exit_code == 130
        assert not story_project.file(".ralph-active").exists()
        assert git(story_project.repository, "status", "--porcelain") == ""


class TestUnusable:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('{"userStories": [\n  {"id": "US-1",\n]}\n', "ralph/tasks.json, line 3: "),
            ('{"project": "x"}', "ralph/tasks.json, line 1: "),
            ("", "ralph/tasks.json, line 1: "),
            ('{"userStories": []}', "ralph/tasks.json has no stories; add some"),
        ],
    )
    def test_a_file_that_is_no_plan_is_fatal_with_place_and_remedy(
        self, story_project: StoryProject, text: str, words: str
    ) -> None:
        story_project.text(text).agent(IDLE)
        ran = story_project.run()
        assert ran.exit_code == 5
        assert words in ran.stderr
        assert "run again" in ran.stderr or "ralph replan" in ran.stderr
        assert ran.events == ()

    def test_so_is_one_that_became_none_between_two_iterations(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1), files={".ralph/config.toml": "[guard]\nenabled = false\n"})
        story_project.agent("open(PLAN, 'w').write('{')\ncommit()\n")
        ran = story_project.run()
        code, message = end(ran)
        assert code == 5
        assert "ralph/tasks.json, line 1: " in message
        assert not story_project.file(".ralph-active").exists()

    def test_what_is_odd_in_it_is_reported_and_works(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, reviewCount="many"), story(1)).agent(CYCLE)
        ran = story_project.run("1")
        (problems,) = [e.message for e in told(ran, "warned") if e.code == "plan-problems"]
        assert "ralph/tasks.json:" in problems
        assert "(story-field-type)" in problems

    def test_no_plan_at_all(self, story_project: StoryProject) -> None:
        story_project.text(None).agent(IDLE)
        ran = story_project.run()
        assert ran.exit_code == 5
        assert "looked for ralph/tasks.json, ralph/prd.json" in ran.stderr


class TestPlanning:
    def test_what_is_in_review_is_opened_and_planned_again(
        self, story_project: StoryProject
    ) -> None:
        begun = story(1, reviewStatus="needs_review", reviewCount=1, notes="Half done")
        story_project.stories(begun, story(2), story(3, passes=True))
        story_project.agent(
            "if MODE == 'plan':\n    plan = load()\n    del plan['userStories'][1]\n"
            "    plan['userStories'][0]['acceptanceCriteria'] = ['it works better']\n"
            "    save(plan)\n    commit()\nelse:\n    implement()\n    commit()\n"
        )
        ran = story_project.start("2", verb="replan").wait()
        assert end(ran)[0] == 1
        assert modes(ran) == ["plan", "build"]
        assert story_project.active(1)["iterationMode"] == "plan"
        assert told(ran, "guardReverted") == []
        opened = [event.message for event in told(ran, "warned") if event.code == "plan-reset"]
        assert opened == ["reopened for planning: Story 1"]
        first = story_project.story()
        assert first["notes"] == "Half done\nReset for replanning"
        assert (first["reviewStatus"], first["reviewCount"]) == ("needs_review", 0)
        assert first["acceptanceCriteria"] == ["it works better"]
        assert [one["id"] for one in story_project.plan["userStories"]] == ["US-1", "US-3"]

    def test_planning_reviews_nothing(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent("move('US-1', passes=True)\ncommit()\n")
        ran = story_project.run("1", "--mode", "plan")
        assert "plan-illegal-move" in warnings(ran)
        assert story_project.story()["passes"] is False

    def test_a_plan_that_is_missing_is_written_where_planning_is_wished(
        self, story_project: StoryProject
    ) -> None:
        story_project.text(None, {"ralph/prd.md": "A shop.\n"})
        story_project.agent(
            "if MODE == 'plan':\n    save({'userStories': [{'id': 'US-1', 'title': 'Log in', "
            "'passes': False}]})\n    commit()\n    sys.exit()\n" + CYCLE
        )
        ran = story_project.run("--mode", "plan")
        assert end(ran)[0] == 0
        assert modes(ran) == ["plan", "build", "review", "review-fix", "review"]

    @pytest.mark.parametrize("mode", ["build", "implement"])
    def test_implementing_is_what_building_is_called_here(
        self, story_project: StoryProject, mode: str
    ) -> None:
        story_project.stories(story(1)).agent(CYCLE)
        ran = story_project.run("1", "--mode", mode)
        assert modes(ran) == ["build"]

    def test_one_task_and_the_whole_plan_do_not_go_together(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1)).agent(IDLE)
        ran = story_project.run("--mode", "plan", "--task", "US-1")
        assert ran.exit_code == 64
        assert "use either --task or --mode plan" in ran.stderr


def test_a_look_ahead_says_mode_and_story(story_project: StoryProject) -> None:
    story_project.stories(story(1), story(2, reviewStatus="changes_requested", reviewFeedback="x"))
    story_project.agent(IDLE)
    seen = json.loads(story_project.run("--dry-run", "--json").stdout)
    assert (seen["mode"], seen["task"], seen["plan"]) == (
        "review-fix",
        "Story 2",
        story_project.plan_path,
    )
    assert "US-2" in seen["prompt"]
    assert not story_project.file(".ralph-active").exists()


def test_a_story_that_fails_is_set_aside_where_that_is_wished(
    story_project: StoryProject,
) -> None:
    settings = "max_stuck = 9\n[attempts]\nlimit = 1\n"
    story_project.stories(story(1), story(2), files={".ralph/config.toml": settings}).agent(IDLE)
    ran = story_project.run("2")
    assert tasks(ran) == ["US-1", "US-2"]
    assert story_project.story()["passes"] is False
