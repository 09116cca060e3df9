"""The profile ``spec`` as a whole, and what a run begins with where there is no plan.

See docs/rules.md#plan-mode.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, Ralph, told, warnings

CONFIG = """profile = "spec"\ncommits = "agent"\npush = false\n"""
SPEC = "---\nstatus: active\n---\n\n# Letters\n\nThe program writes letters.\n"
PLAN = "IMPLEMENTATION_PLAN.md"

AGENT = """\
plan=IMPLEMENTATION_PLAN.md
if [ ! -s $plan ]; then
  cat >$plan <<'EOF'
# Implementation Plan

## Remaining Tasks

1. [HIGH PRIORITY] Write the letter (specs/letter.md)
2. Post the letter (specs/letter.md)
EOF
  commit 'ralph: the plan'
elif grep -q Write $plan; then
  work; grep -v Write $plan >"$kept/plan"; cat "$kept/plan" >$plan
  printf '# Progress Log\\n\\n## Completed Tasks\\n\\n- [x] Write the letter\\n' >PROGRESS.md
  commit 'ralph: write the letter'
else
  work; echo '- [x] Post the letter' >>PROGRESS.md
  printf '# Implementation Plan\\n\\nPROJECT_COMPLETE\\n' >$plan
  sed 's/active/implemented/' specs/letter.md >"$kept/spec"; cat "$kept/spec" >specs/letter.md
  commit 'ralph: post the letter'
fi
report 'STATUS: IN_PROGRESS' 'EXIT_SIGNAL: false'
"""


def without_plan(project: Project, *, config: str = CONFIG, spec: str | None = SPEC) -> Project:
    """A repository with specifications, and no plan."""
    files = {".ralph/config.toml": config, **({} if spec is None else {"specs/letter.md": spec})}
    project.plan(files=files)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "commit", "-q", "-m", "No plan yet")
    return project


def modes(done: Completed) -> list[str]:
    return [event.mode.value for event in told(done, "iterationStarted")]


class TestSpec:
    def test_from_specifications_alone_to_the_end(self, project: Project) -> None:
        done = without_plan(project).agent(AGENT).run("10")
        assert (done.exit_code, modes(done)) == (0, ["plan", "build", "build"])
        tasks = [event.task and event.task.title for event in told(done, "iterationStarted")]
        assert tasks == [
            None,
            "Write the letter (specs/letter.md)",
            "Post the letter (specs/letter.md)",
        ]
        first = told(done, "evidenceGathered")[0].evidence
        assert (first.progress, first.why) == (True, "the plan changed")
        # Both left the plan for PROGRESS.md, where finished tasks are listed.
        finished = [event.evidence.tasks_done for event in told(done, "evidenceGathered")]
        assert [len(ids) for ids in finished] == [0, 1, 1]
        assert [event.outcome.value for event in told(done, "iterationEnded")] == ["progress"] * 3
        assert told(done, "runEnded")[0].message.startswith("the plan contains PROJECT_COMPLETE")
        assert told(done, "runStarted")[0].plan == PLAN
        assert warnings(done) == ["excluded", "main-branch", "spec-status-changed"]
        changed = told(done, "warned")[-1].message
        assert changed == (
            "specs/letter.md: active is now implemented; check that this is right, or revert it"
        )
        assert "Task: write the plan, `IMPLEMENTATION_PLAN.md`." in project.prompt(1)
        assert "Read all specifications in `specs/`" in project.prompt(1)
        assert "PROJECT_COMPLETE on its own line" in project.prompt(2)
        assert git(project.repository, "status", "--porcelain") == ""
        rows = (project.file(".ralph/logs") / "summary.csv").read_text(encoding="utf-8")
        assert [row.split(",")[1] for row in rows.splitlines()[1:]] == ["plan", "build", "build"]

    def test_a_plan_iteration_that_writes_none_is_no_progress(self, project: Project) -> None:
        project = without_plan(project).agent("work; commit; report 'STATUS: COMPLETE'")
        done = project.run("10")
        assert (done.exit_code, set(modes(done))) == (4, {"plan"})
        whys = {event.evidence.why for event in told(done, "evidenceGathered")}
        assert whys == {"the plan did not change"}

    def test_a_plan_that_is_deleted_and_not_restored_is_written_again(
        self, project: Project
    ) -> None:
        body = AGENT.replace(
            "work; grep", "if [ ! -e work.txt ]; then work; rm $plan; exit; fi\ngrep"
        )
        # Where nothing is restored: deleting the plan drops every task of it.
        config = f"{CONFIG}[guard]\nenabled = false\n"
        done = without_plan(project, config=config).agent(body).run("10")
        assert done.exit_code == 0
        assert modes(done) == ["plan", "build", "plan", "build", "build"]

    def test_a_blocked_task_is_set_aside_in_the_plan(self, project: Project) -> None:
        body = AGENT.replace("elif", "elif grep -q '^1. .HIGH' $plan; then :\nelif", 1)
        done = without_plan(project).agent(body).run("4")
        assert modes(done) == ["plan", "build", "build", "build"]
        (aside,) = told(done, "taskSetAside")
        assert (aside.attempts, aside.marked) == (3, True)
        text = project.file(PLAN).read_text(encoding="utf-8")
        assert (
            "1. [BLOCKED] [HIGH PRIORITY] Write the letter (specs/letter.md)\n   - Blocked by: 3 "
            "attempts without success\n   - Needs: you to look at it and remove [BLOCKED]\n2. "
            "Post the letter"
        ) in text

    def test_implemented_with_open_tasks_is_reported_once(self, project: Project) -> None:
        body = AGENT.replace(
            "work; grep", "sed -i s/active/implemented/ specs/letter.md; work; grep"
        )
        spec = SPEC.replace("---\n\n", "dependencies: gone.md\n---\n\n", 1)
        done = without_plan(project, spec=spec).agent(body).run("10")
        assert done.exit_code == 0
        about = {"specs-unclear", "spec-implemented-with-open-tasks"}
        claims = [event for event in told(done, "warned") if event.code in about]
        assert [event.code for event in claims] == [
            "specs-unclear",
            "spec-implemented-with-open-tasks",
        ]
        assert "specs/letter.md, line 3: dependencies: there is no specif" in claims[0].message
        assert "open tasks for it: Post the letter (specs/letter.md);" in claims[1].message

    def test_what_an_agent_does_to_specifications_is_reported(self, project: Project) -> None:
        body = AGENT.replace(
            "work; grep",
            "cd specs; echo >>letter.md; cp letter.md post.md; rm old.md; cd ..\n  work; grep",
        )
        project = without_plan(project).agent(body)
        project.file("specs/old.md").write_text(SPEC, encoding="utf-8")
        git(project.repository, "add", "-A")
        git(project.repository, "commit", "-q", "-m", "Another")
        done = project.run("2")
        messages = {event.code: event.message for event in told(done, "warned")}
        assert messages["specs-changed"] == "changed: specs/letter.md; specs/post.md (new)"
        assert messages["spec-status-changed"].startswith("specs/old.md is gone; check that")

    @pytest.mark.parametrize("blank", [False, True])
    def test_without_a_specification_too_it_is_refused(
        self, project: Project, *, blank: bool
    ) -> None:
        project = without_plan(project, spec=None).agent(AGENT)
        project.file("specs/archive").mkdir(parents=True)
        project.file("specs/archive/old.md").write_text(SPEC, encoding="utf-8")
        if blank:
            project.file(PLAN).write_text("\n", encoding="utf-8")
        done = project.run()
        assert (done.exit_code, done.events) == (5, ())
        assert "no plan and no specification" in done.stderr

    def test_one_task_needs_a_plan_that_has_it(self, project: Project) -> None:
        project = without_plan(project).agent(AGENT)
        done = project.run("--task", "A-1")
        assert (done.exit_code, done.events) == (5, ())
        assert f"no plan in {project.repository}" in done.stderr

    def test_a_look_says_that_the_plan_comes_first(self, project: Project) -> None:
        project = without_plan(project).agent(AGENT)
        done = project.run("--dry-run")
        assert "Task: write the plan\n" in done.stdout
        assert "This iteration plans" in done.stdout
        shown = json.loads(project.run("--dry-run", "--json").stdout)
        assert (shown["mode"], shown["task"], shown["plan"]) == ("plan", None, PLAN)
        assert not project.file(PLAN).exists()

    def test_a_custom_template_has_to_be_allowed(self, project: Project) -> None:
        project = without_plan(project).agent(AGENT)
        own = project.file(".ralph/prompts/PROMPT_plan.md")
        own.parent.mkdir()
        own.write_text("Plan {{PLAN}} now.\n", encoding="utf-8")
        assert "PROMPT_plan.md" in project.run().stderr
        assert project.tell("allow", "--yes").exit_code == 0
        assert project.run("1").exit_code == 1
        assert project.prompt(1) == f"Plan {PLAN} now.\n"


class TestSkeleton:
    def test_with_nothing_to_plan_from_no_agent_is_started(self, project: Project) -> None:
        project = without_plan(project, config='profile = "fixplan"\n', spec=None).agent("work")
        done = project.run("--dry-run")
        assert (done.exit_code, project.file("@fix_plan.md").exists()) == (5, False)
        done = project.run()
        assert (done.exit_code, done.events) == (5, ())
        text = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert text.startswith("# Fix Plan\n\n## High Priority (P0)\n")
        # The next start finds the same, and says the same.
        for said in (done, project.run()):
            assert "write one on its own line, such as: - [ ] " in said.stderr
        project.file("@fix_plan.md").write_bytes("# Plan\n\n- [ ] A\n".encode("utf-16"))
        done = project.run()
        assert (done.exit_code, done.events) == (5, ())
        assert "the plan @fix_plan.md is not UTF-8 text" in done.stderr

    @pytest.mark.parametrize("name", ["PROGRESS.md", "PROGRESS-archive.md"])
    def test_a_plan_whose_tasks_are_all_finished_is_confirmed(
        self, project: Project, name: str
    ) -> None:
        project.plan(files={"@fix_plan.md": "# Plan\n", name: "# Progress\n\n- [x] A\n"})
        done = project.agent("report 'STATUS: IN_PROGRESS'").run()
        assert (done.exit_code, modes(done)) == (0, ["build"])
        assert told(done, "iterationStarted")[0].confirming

    def test_the_agent_may_fill_it(self, project: Project) -> None:
        project = without_plan(project, config="")
        done = project.agent(
            "if ! grep -q Form @fix_plan.md; then echo '- [ ] Form' >>@fix_plan.md; "
            "else work; commit; fi"
        ).run("2", "--profile", "fixplan")
        assert (done.exit_code, modes(done)) == (1, ["plan", "build"])
        assert "plan-written" in warnings(done)
        assert [event.task and event.task.title for event in told(done, "iterationStarted")] == [
            None,
            "Form",
        ]

    @pytest.mark.parametrize(
        ("config", "arguments"),
        [
            pytest.param("", (), id="the profile is the default"),
            pytest.param('profile = "fixplan"\n', ("--plan", "mine.md"), id="a plan was named"),
            pytest.param('profile = "fixplan"\n', ("--task", "A-1"), id="a task was named"),
        ],
    )
    def test_otherwise_it_is_refused(
        self, project: Project, config: str, arguments: tuple[str, ...]
    ) -> None:
        # Specifications would point to the profile that has the plan written.
        project = without_plan(project, config=config, spec=None).agent("work")
        done = project.run(*arguments)
        assert (done.exit_code, done.events) == (5, ())
        assert "no plan" in done.stderr
        assert not project.file("@fix_plan.md").exists()

    def test_a_plan_that_goes_between_two_engines_is_not_made_up(self, project: Project) -> None:
        files = {".ralph/config.toml": 'profile = "fixplan"\n'}
        project.plan("A", "B", files=files).agent("work; commit")
        assert project.run("1").exit_code == 1
        project.file("@fix_plan.md").unlink()
        done = project.tell("run", "5", "--resume")
        assert done.exit_code == 5
        assert "no plan in" in done.stderr


class TestFinished:
    def test_ends_at_once_and_names_the_specifications_without_a_task(
        self, project: Project
    ) -> None:
        project.plan(
            files={
                ".ralph/config.toml": CONFIG,
                PLAN: "# Plan\n\nPROJECT_COMPLETE\n",
                "PROGRESS.md": "# Progress\n\n- [x] Write the letter (specs/letter.md)\n",
                "specs/letter.md": SPEC,
                "specs/stamp.md": SPEC,
                "specs/old.md": SPEC.replace("active", "obsolete"),
            }
        )
        done = project.agent("work").run()
        assert (done.exit_code, modes(done)) == (0, [])
        (warned,) = [one for one in told(done, "warned") if one.code == "specs-without-tasks"]
        assert "no task names specs/stamp.md;" in warned.message
        assert "Next:        ralph replan" in done.stderr + done.stdout


class TestReplan:
    PLANS = """\
if grep -q 'Reset for replanning' @fix_plan.md; then
  printf '# Plan\\n\\n- [ ] New\\n' >@fix_plan.md; commit
else work; mark x New; commit; fi
report 'STATUS: IN_PROGRESS'
"""

    @pytest.mark.parametrize("verb", [("replan", "2"), ("run", "2", "--mode", "plan")])
    def test_it_opens_what_is_in_progress_and_plans_first(
        self, project: Project, verb: tuple[str, ...]
    ) -> None:
        project.plan("Old").agent(self.PLANS)
        plan = project.file("@fix_plan.md")
        plan.write_text("# Plan\n\n- [~] Old\n- [!] Held\n", encoding="utf-8")
        done = project.tell(*verb, "--agent-command", project.command)
        assert modes(done) == ["plan", "build"]
        (reset,) = [event for event in told(done, "warned") if event.code == "plan-reset"]
        assert reset.message == "reopened for planning: Old"
        assert [event.task and event.task.title for event in told(done, "iterationStarted")] == [
            None,
            "New",
        ]
        assert plan.read_text(encoding="utf-8") == "# Plan\n\n- [x] New\n"

    def test_what_cannot_be_opened_is_reported_and_a_resumed_run_plans_no_more(
        self, project: Project
    ) -> None:
        project.plan("Old").agent("echo '- [ ] More' >>@fix_plan.md; work; commit")
        plan = project.file("@fix_plan.md")
        plan.write_text("- [~] [WIP] Old\n", encoding="utf-8")
        done = project.tell("replan", "1", "--agent-command", project.command)
        assert (done.exit_code, modes(done)) == (1, ["plan"])
        assert "plan-not-reset" in warnings(done)
        assert plan.read_text(encoding="utf-8") == "- [~] [WIP] Old\n- [ ] More\n"
        done = project.tell("run", "2", "--resume")
        assert modes(done) == ["plan", "build"]

    def test_one_task_cannot_be_planned(self, project: Project) -> None:
        project.plan("A-1: a").agent("work")
        done = project.run("--mode", "plan", "--task", "A-1")
        assert (done.exit_code, done.events) == (64, ())
        assert "use either --task or --mode plan" in done.stderr

    def test_a_mode_that_is_none_is_refused(self, ralph: Ralph, project: Project) -> None:
        project.plan()
        done = ralph(project.repository, "run", "--mode", "review")
        assert done.exit_code == 64
        assert "--mode must be one of build, plan" in done.stderr


def test_a_link_out_of_the_tree_is_never_written_through(project: Project, tmp_path: Path) -> None:
    project = without_plan(project, config='profile = "fixplan"\n').agent("work")
    project.file("@fix_plan.md").symlink_to(tmp_path / "outside.md")
    done = project.run()
    assert (done.exit_code, done.events) == (5, ())
    assert not (tmp_path / "outside.md").exists()
