"""The guard and the branch in whole runs: what a clone gets, and what stays the user's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import GuardReverted
from tests.engine.crash_driver import KILLED, Driver
from tests.engine.guard.test_commit_ancestry import clean_git
from tests.engine.project_builder import events_of, git, make_repository, write_agent
from tests.engine.ralph_runner import Project, told, wait_until, warnings
from tests.engine.story_project import StoryProject, story

APPROVES = """\
plan = load()
for one in plan["userStories"]:
    one.update(passes=True, reviewStatus="approved", reviewCount=1)
save(plan)
commit()
print("<promise>COMPLETE</promise>")
"""


class TestStories:
    def test_a_clone_does_not_get_what_the_agent_approved_by_itself(
        self, story_project: StoryProject, tmp_path: Path
    ) -> None:
        story_project.stories(story(1), story(2)).agent(APPROVES)
        before = story_project.file(story_project.plan_path).read_bytes()
        ran = story_project.run("2")
        assert ran.exit_code == 1
        assert [one.evidence.progress for one in told(ran, "evidenceGathered")] == [False, False]
        assert [one.commit for one in told(ran, "iterationEnded")] == [None, None]
        assert [one.stuck_count for one in told(ran, "iterationEnded")] == [1, 2]
        assert not {"person-committed", "left-uncommitted"} & {*warnings(ran)}
        assert story_project.file(story_project.plan_path).read_bytes() == before
        assert git(story_project.repository, "status", "--porcelain") == ""
        subjects = git(story_project.repository, "log", "--format=%s").splitlines()
        assert [one.startswith("ralph: restore") for one in subjects] == [True, False] * 2 + [False]
        prompt = story_project.kept_text("prompt-2")
        assert "## The loop restored guarded files" in prompt
        assert "US-1: implementing only sets reviewStatus from null to needs_review" in prompt
        git(tmp_path, "clone", "-q", str(story_project.repository), "clone")
        assert git(tmp_path / "clone", "show", f"HEAD:{story_project.plan_path}").encode() == before
        # A rollback takes the restoration with the iteration that it belongs to.
        back = story_project.ralph(story_project.repository, "rollback", "1", "--yes")
        assert back.exit_code == 0, back.stdout + back.stderr
        assert git(story_project.repository, "log", "--format=%s").splitlines() == subjects[2:]

    def test_a_story_that_the_user_deleted_in_a_commit_stays_deleted(
        self, story_project: StoryProject
    ) -> None:
        story_project.stories(story(1), story(2)).agent(
            "work(); commit(); wait_here(); work(); commit(); print('Going on.')\n"
        )
        story_project.make_gate()
        running = story_project.start("1")
        wait_until(story_project.kept, (story_project.kept / "here").exists)
        plan = story_project.file(story_project.plan_path)
        plan.write_text(plan.read_text(encoding="utf-8").replace("US-2", "US-7"), encoding="utf-8")
        clean_git(story_project.repository, "commit", "-q", "-a", "-m", "Mine: another story")
        # The moments of files come from a clock that may be a few ticks behind.
        time.sleep(0.05)
        with (story_project.kept / "go").open("w", encoding="utf-8") as gate:
            gate.write("go\n")
        ran = running.wait()
        assert told(ran, "guardReverted") == []
        assert [one["id"] for one in story_project.plan["userStories"]] == ["US-1", "US-7"]


def test_where_the_loop_commits_and_pushes_the_restoration_goes_along(
    project: Project, tmp_path: Path
) -> None:
    settings = 'profile = "spec"\npush = true\n'
    plan = "IMPLEMENTATION_PLAN.md"
    files = {plan: "- [ ] Read the law\n- [ ] Write the manual\n", ".ralph/config.toml": settings}
    project.plan(files=files)
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(project.repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
    project.agent(
        f"sed -i /manual/d {plan}; echo 'push = false' >.ralph/config.toml; work; commit\n"
        "echo more >>more.txt; report 'STATUS: IN_PROGRESS'"
    )
    ran = project.run("1")
    assert ran.exit_code == 1, ran.stderr
    subjects = git(project.repository, "log", "--format=%s").splitlines()
    assert subjects == [
        "ralph: Read the law",
        "ralph: restore 2 guarded files",
        "Work 1",
        "The beginning",
    ]
    pushed = git(tmp_path / "remote.git", "rev-parse", "HEAD")
    assert pushed == git(project.repository, "rev-parse", "HEAD")
    assert git(project.repository, "show", f"HEAD:{plan}") == files[plan]
    assert git(project.repository, "show", "HEAD:.ralph/config.toml") == settings
    assert [one.files for one in told(ran, "committed")] == [1]


def test_where_the_trace_does_not_reach_the_agents_git_the_user_is_asked(project: Project) -> None:
    project.plan("Read the law", "Write the manual")
    project.agent(
        "sed -i /manual/d @fix_plan.md; mark x 'Read the law'; work\n"
        'env -u GIT_TRACE2_EVENT sh -c "git add -A; git commit -qm all"\n'
        "report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'; echo 'All tasks are complete.'"
    )
    ran = project.run("1")
    assert "restoration-not-committed" in warnings(ran)
    assert "manual" in project.file("@fix_plan.md").read_text(encoding="utf-8")
    assert "manual" not in git(project.repository, "show", "HEAD:@fix_plan.md")
    # The next agent finishes the task, and commits nothing of the plan.
    project.agent(
        "mark x 'Write the manual'; work; git add work.txt; git commit -qm more\n"
        "report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'; echo 'All tasks are complete. Done.'"
    )
    held = project.run("9", "--resume")
    assert held.exit_code == 2
    assert (
        "@fix_plan.md in HEAD contains a forbidden change: dropped: Write the manual" in held.stdout
    )
    clean_git(project.repository, "commit", "-q", "-m", "Restore the plan", "--", "@fix_plan.md")
    done = project.run("9", "--resume")
    assert done.exit_code == 0, done.stdout


@pytest.mark.slow
def test_an_engine_that_dies_anywhere_restores_once_and_reports_it(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", ("Read the law", "Write the manual"))
    command = write_agent(
        tmp_path / "bin",
        "cat >/dev/null; sed -i /manual/d @fix_plan.md; echo x >>work; git add -A\n"
        "git commit -qm work; echo 'STATUS: IN_PROGRESS'",
    )
    engines = Driver(tmp_path / "output")
    start = git(repository, "rev-parse", "HEAD").strip()
    for kill_at in (10, 12):
        git(repository, "reset", "-q", "--hard", start)
        died = engines.ralph(repository, "run", "1", "--agent-command", command, kill_at=kill_at)
        assert died == KILLED
        engines.ralph(repository, "run", "1", "--resume")
        events = list(events_of(repository))
        subjects = git(repository, "log", "--format=%s").splitlines()
        assert subjects == ["ralph: restore @fix_plan.md", "work", "The beginning"], kill_at
        assert git(repository, "status", "--porcelain") == "", kill_at
        told_of = [one for one in events if isinstance(one, GuardReverted)]
        assert [one.commit for one in told_of] == [git(repository, "rev-parse", "HEAD").strip()]
        assert "person-committed" not in [getattr(one, "code", "") for one in events]


@pytest.mark.parametrize(
    "instead",
    [
        "printf '\\377\\000 no plan' >@fix_plan.md",
        "ln -sf /etc/hostname @fix_plan.md",
        "rm @fix_plan.md; mkdir @fix_plan.md; echo x >@fix_plan.md/x",
    ],
    ids=["binary", "link", "folder"],
)
def test_a_committed_plan_that_is_no_text_any_more_is_restored_in_the_branch(
    project: Project, instead: str
) -> None:
    project.plan("Read the law", "Write the manual")
    before = project.file("@fix_plan.md").read_bytes()
    project.agent(f"work; {instead}; commit; report 'STATUS: IN_PROGRESS'")
    ran = project.run("1")
    assert ran.exit_code == 1, ran.stderr
    assert project.file("@fix_plan.md").read_bytes() == before
    assert git(project.repository, "show", "HEAD:@fix_plan.md").encode() == before
    assert git(project.repository, "status", "--porcelain") == ""
    assert [one.commit for one in told(ran, "guardReverted")] == [
        git(project.repository, "rev-parse", "HEAD").strip()
    ]
