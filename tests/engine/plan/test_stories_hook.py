"""What stop hooks of an agent of stories get in whole runs, and what they answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.engine.project_builder import end_marked, git
from tests.engine.ralph_runner import told, wait_until
from tests.engine.story_project import StoryProject, story


class TestActive:
    def test_it_says_what_stop_hooks_have_to_know(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent(
            "keep('status', subprocess.run(['git', 'status', '--porcelain'], "
            "capture_output=True, text=True).stdout)\nprint('so')\n"
        )
        running = story_project.start("1")
        ran = running.wait()
        active = story_project.active(1)
        assert list(active) == [
            "timestamp",
            "pid",
            "max_iterations",
            "mode",
            "skipReview",
            "reviewCap",
            "iterationMode",
            "preIterationSnapshot",
            "stuckCount",
        ]
        assert active["pid"] == running.pid
        assert active["preIterationSnapshot"] == story_project.plan
        assert (active["max_iterations"], active["mode"]) == (1, "direct")
        assert story_project.kept_text("status") == ""
        (started,) = told(ran, "iterationStarted")
        assert active["timestamp"][:19] == started.at.strftime("%Y-%m-%dT%H:%M:%S")

    def test_it_says_that_the_agent_works_in_a_sandbox(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent("print('so')\n")
        story_project.run("1", env={"RALPH_SANDBOX_PREFIX": "env"})
        assert story_project.active(1)["mode"] == "sandbox"

    def test_a_plan_with_a_secret_is_in_no_other_file(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, notes="the key is hunter2hunter2")).agent("print('so')\n")
        story_project.run("1", env={"SHOP_KEY": "hunter2hunter2"})
        assert story_project.active(1)["preIterationSnapshot"] is None

    def test_one_of_another_engine_is_left_alone_by_the_end_of_ours(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1)).agent(
            "ACTIVE['pid'] = 1\njson.dump(ACTIVE, open('.ralph-active', 'w'))\nprint('so')\n"
        )
        story_project.run("1")
        assert json.loads(story_project.file(".ralph-active").read_bytes())["pid"] == 1

    def test_a_killed_engine_leaves_it_and_the_next_one_takes_it_away(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1)).agent("if N == 1:\n    wait_here()\nprint('so')\n")
        story_project.make_gate()
        running = story_project.start("2")
        wait_until(story_project.kept, (story_project.kept / "here").exists)
        running.kill()
        assert story_project.file(".ralph-active").exists()
        ran = story_project.ralph(story_project.repository, "run", "--resume")
        assert ran.exit_code == 1
        assert not story_project.file(".ralph-active").exists()


class TestHook:
    def test_an_agent_is_kept_until_it_has_fixed_what_is_wrong(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1)).agent(
            "os.mkdir('src')\n"
            "work()\nmove('US-1', passes=True)\n"
            "keep('first', hook('src', stop_hook_active=False))\n"
            "move('US-1', passes=False, reviewStatus='needs_review')\ncommit()\n"
            "keep('second', hook(stop_hook_active=True))\n"
        )
        ran = story_project.run("1")
        first = story_project.kept_text("first")
        assert "(implement-illegal-move)" in first
        assert "2 files not committed: ralph/tasks.json, work.txt" in first
        assert story_project.kept_text("second") == ""
        assert told(ran, "guardReverted") == []
        assert [event.outcome.value for event in told(ran, "iterationEnded")] == ["progress"]

    def test_it_lets_go_of_one_that_cannot(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent(
            "move('US-1', passes=True)\ncommit()\n"
            "answers = [bool(hook(stop_hook_active=on)) for on in (False, True, True)]\n"
            "keep('told', json.dumps(answers))\nprint('so')\n"
        )
        ran = story_project.run("2")
        assert json.loads(story_project.kept_text("told")) == [True, True, False]
        # And what it did is restored all the same.
        assert len(told(ran, "guardReverted")) == 2

    def test_what_the_user_left_uncommitted_is_not_held_against_it(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1))
        story_project.file("README.md").write_text("Mine\n", encoding="utf-8")
        story_project.agent(
            "keep('first', hook())\nopen('README.md', 'a').write('agent')\n"
            "keep('second', hook())\nprint('so')\n"
        )
        story_project.run("1")
        assert story_project.kept_text("first") == ""
        assert "1 file not committed: README.md" in story_project.kept_text("second")

    def test_one_that_leaves_it_to_the_user_may_stop(self, story_project: StoryProject) -> None:
        story_project.stories(story(1, reviewStatus="needs_review")).agent(
            "said = 'No key.\\n<promise>BLOCKED:no key</promise>'\n"
            "keep('first', hook())\nkeep('second', hook(last_assistant_message=said))\n"
            "print(said)\n"
        )
        assert story_project.run("1").exit_code == 2
        assert "(no-story-reviewed)" in story_project.kept_text("first")
        assert story_project.kept_text("second") == ""

    def test_in_a_linked_work_tree(self, story_project: StoryProject, tmp_path: Path) -> None:
        story_project.stories(story(1))
        linked = tmp_path / "linked"
        git(story_project.repository, "worktree", "add", "-q", str(linked))
        story_project.repository = linked
        story_project.agent("move('US-1', passes=True)\ncommit()\nkeep('told', hook())\n")
        story_project.run("1")
        assert "(implement-illegal-move)" in story_project.kept_text("told")

    def test_of_a_dead_engine_it_says_nothing(self, story_project: StoryProject) -> None:
        story_project.stories(story(1)).agent("move('US-1', passes=True)\nwait_here()\n")
        story_project.make_gate()
        running = story_project.start("1")
        wait_until(story_project.kept, (story_project.kept / "here").exists)
        running.kill()
        assert story_project.file(".ralph-active").exists()
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "ralph_ls", "hook", "stop"],
            cwd=story_project.repository,
            input="{}",
            capture_output=True,
            text=True,
            check=False,
        )
        end_marked(story_project.repository)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
