"""Separation of powers in whole runs: what an agent may not do is undone, reported and no progress.

Each agent does what it may not, and then something that shows whether it got away with it.
"""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.editor.documents.loop_documents import DocumentSave
from ralph_ls.editor.features.saves import record_document_save, record_settings_save
from ralph_ls.protocol.run.events import EvidenceGathered, GuardReverted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.layout import StateFolder
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, Started, told, wait_until, warnings

TWO = ("First task", "Second task")
IDLES = "report 'STATUS: IN_PROGRESS'"
CONFIG = "[breaker]\nno_progress_half_open = 0\nno_progress_open = 0\n"


def reverted(ran: Completed) -> list[GuardReverted]:
    return [event for event in ran.events if isinstance(event, GuardReverted)]


def what(ran: Completed) -> list[tuple[str, Forbidden]]:
    return [(event.path, event.what) for event in reverted(ran)]


def evidence(ran: Completed) -> EvidenceGathered:
    (gathered,) = (event for event in ran.events if isinstance(event, EvidenceGathered))
    return gathered


class TestPlan:
    def test_a_dropped_task_comes_back_and_the_rest_of_the_work_stays(
        self, project: Project
    ) -> None:
        project.plan(
            *TWO, files={"@fix_plan.md": "# Plan\n\n- [ ] First task\n- [ ] Second task\n"}
        )
        project.agent(
            "printf '# Plan\\n\\n- [x] First task\\n' >@fix_plan.md\nwork; commit\n" + IDLES
        )
        ran = project.run("1")
        assert project.file("@fix_plan.md").read_text(encoding="utf-8") == (
            "# Plan\n\n- [x] First task\n- [ ] Second task\n"
        )
        (event,) = reverted(ran)
        assert (event.path, event.what, event.n_tasks) == ("@fix_plan.md", Forbidden.DROPPED, 1)
        assert [task.title for task in event.tasks] == ["Second task"]
        assert event.kept is not None
        kept = project.run_folder() / event.kept
        assert kept.read_text(encoding="utf-8") == "# Plan\n\n- [x] First task\n"
        (ended,) = told(ran, "iterationEnded")
        assert ended.counts.open_required == 1
        assert ended.outcome == "progress"
        assert "Restored: 1 open task dropped from @fix_plan.md: Second task" in ran.stdout

    def test_a_box_in_a_plan_without_any_hides_no_other_task(self, project: Project) -> None:
        plan = "# TODO\n\n## Next\n- First task\n- Second task\n"
        project.plan(*TWO, files={"@fix_plan.md": plan})
        boxed = plan.replace("- First", "- [x] First").replace("\n", "\\n")
        project.agent(f"printf '{boxed}' >@fix_plan.md\nwork; commit\n" + IDLES)
        ran = project.run("1")
        text = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert text == plan.replace("- First", "- [DONE] First")
        (event,) = reverted(ran)
        assert event.what is Forbidden.CHANGED
        assert "the boxes were written as [DONE]" in (event.why or "")
        assert len(evidence(ran).evidence.tasks_done) == 1

    def test_dropping_all_that_is_left_completes_nothing(self, project: Project) -> None:
        project.plan(*TWO)
        project.agent("work; rm @fix_plan.md; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'")
        ran = project.run("1")
        assert ran.exit_code == 1
        assert project.file("@fix_plan.md").read_text(encoding="utf-8").count("- [ ]") == 2
        (event,) = reverted(ran)
        assert (event.what, event.n_tasks) == (Forbidden.DELETED, 2)

    @pytest.mark.parametrize(
        "instead",
        [
            "mkdir @fix_plan.md",
            "ln -s /dev/null @fix_plan.md",
            "ln -s /dev/zero @fix_plan.md",
            "mkfifo @fix_plan.md",
            "mkdir @fix_plan.md; mkfifo @fix_plan.md/pipe",
            "head -c 17000000 /dev/zero >@fix_plan.md",
            "yes | head -n 100001 >@fix_plan.md",
        ],
    )
    def test_a_plan_that_is_no_file_any_more_comes_back(
        self, project: Project, instead: str
    ) -> None:
        project.plan(*TWO)
        project.agent(f"rm @fix_plan.md; {instead}; {IDLES}")
        ran = project.run("1")
        assert ran.exit_code == 1
        assert project.file("@fix_plan.md").read_text(encoding="utf-8").count("- [ ]") == 2
        assert not project.file("@fix_plan.md").is_symlink()
        assert what(ran) == [("@fix_plan.md", Forbidden.DELETED)]
        assert "must stay a regular file of at most 16 MB" in (reverted(ran)[0].why or "")

    def test_a_plan_that_is_binary_comes_back_whole(self, project: Project) -> None:
        project.plan(*TWO)
        before = project.file("@fix_plan.md").read_bytes()
        project.agent(f"printf '\\377\\000 no plan' >@fix_plan.md; {IDLES}")
        ran = project.run("1")
        assert project.file("@fix_plan.md").read_bytes() == before
        assert what(ran) == [("@fix_plan.md", Forbidden.DELETED)]
        kept = project.run_folder() / "reverted" / "001-1-@fix_plan.md"
        assert kept.read_bytes() == b"\377\000 no plan"

    def test_only_the_user_may_read_what_is_kept_of_the_agents_files(
        self, project: Project
    ) -> None:
        project.plan(*TWO)
        project.agent(f"rm @fix_plan.md; mkdir -m 777 @fix_plan.md; echo >@fix_plan.md/x; {IDLES}")
        project.run("1")
        folder = project.run_folder() / "reverted" / "001-1-@fix_plan.md"
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "x")]
        assert modes == [0o700, 0o600]

    def test_what_is_restored_is_no_progress(self, project: Project) -> None:
        project.plan(*TWO)
        project.agent(f"mark - 'First task'; mark - 'Second task'; {IDLES}")
        ran = project.run("1")
        assert [(event.what, event.n_tasks) for event in reverted(ran)] == [(Forbidden.SKIPPED, 2)]
        assert "[-] First task" in reverted(ran)[0].text
        assert not evidence(ran).evidence.progress
        assert not told(ran, "planChanged")

    def test_a_finished_task_may_move_to_the_progress_file(self, project: Project) -> None:
        project.plan(*TWO, files={"PROGRESS.md": "# Progress\n"})
        body = "printf '# Plan\\n\\n- [ ] Second task\\n' >@fix_plan.md"
        project.agent(f"{body}; echo '- First task: done' >>PROGRESS.md; work; {IDLES}")
        ran = project.run("1")
        assert reverted(ran) == []
        assert project.file("@fix_plan.md").read_text(encoding="utf-8") == (
            "# Plan\n\n- [ ] Second task\n"
        )

    def test_changed_criteria_come_back_and_the_tick_stays(self, project: Project) -> None:
        before = "- [ ] First task\n  - Done when: `make test` passes\n- [ ] Second task\n"
        project.plan(*TWO, files={"@fix_plan.md": before})
        project.agent(
            "sed -i 's/`make test` passes/& mostly/' @fix_plan.md; mark x 'First task'\n"
            f"work; commit; {IDLES}"
        )
        ran = project.run("1")
        assert what(ran) == [("@fix_plan.md", Forbidden.CRITERIA)]
        assert "passes mostly" in reverted(ran)[0].text
        ticked = before.replace("[ ] First", "[x] First")
        assert project.file("@fix_plan.md").read_text(encoding="utf-8") == ticked
        # The agent has committed its version, so the restoration is committed too.
        assert git(project.repository, "show", "HEAD:@fix_plan.md") == ticked
        assert git(project.repository, "status", "--porcelain") == ""
        assert reverted(ran)[0].commit == git(project.repository, "rev-parse", "HEAD").strip()

    @pytest.mark.parametrize("profile", ["fixplan", "spec"])
    def test_what_an_agent_may_do_stays_byte_by_byte(self, project: Project, profile: str) -> None:
        plan = {"fixplan": "@fix_plan.md", "spec": "IMPLEMENTATION_PLAN.md"}[profile]
        before = "# Plan\n\n## High\n- [ ] First task\n- [ ] Second task\n- [ ] Print all pages\n"
        after = (
            "# Plan\n\n## High\n- [ ] Print left pages\n- [ ] Print right pages, then all\n\n"
            "## Low\n- [ ] Second task\n- [ ] A new one\n\n## Completed\n- [x] First task\n"
        )
        settings = f'profile = "{profile}"\ncommits = "agent"\npush = false\n'
        files = {plan: before, "specs/a.md": "# A\n", "wanted": after}
        project.plan(*TWO, files={**files, ".ralph/config.toml": settings})
        project.agent(f"cp wanted {plan}; work; {IDLES}")
        ran = project.run("1")
        assert ran.exit_code == 1, ran.stderr
        assert reverted(ran) == []
        assert project.file(plan).read_text(encoding="utf-8") == after

    @pytest.mark.parametrize(("works", "is_kept"), [("work; ", True), ("", False)])
    def test_in_other_words_where_there_is_evidence(
        self, project: Project, works: str, is_kept: bool
    ) -> None:
        project.plan(*TWO, files={"PROGRESS.md": "# Progress\n"})
        body = "grep -v 'First task' @fix_plan.md >p; cat p >@fix_plan.md; rm p"
        log = "echo '- [x] Rewrote the module to use tokens' >>PROGRESS.md"
        project.agent(f"{body}; {log}; {works}{IDLES}")
        ran = project.run("1")
        assert ("First task" not in project.file("@fix_plan.md").read_text()) is is_kept
        assert (not told(ran, "guardReverted")) is is_kept
        assert ("finished-in-other-words" in warnings(ran)) is is_kept
        assert (len(evidence(ran).evidence.tasks_done) == 1) is is_kept
        removed = [one.removed.text for one in told(ran, "warned") if one.removed is not None]
        assert removed == (["# Plan\n\n- [ ] First task"] if is_kept else [])

    def test_a_tick_without_a_change_is_reported_and_is_no_progress(self, project: Project) -> None:
        project.plan(*TWO)
        project.agent(f"mark x 'First task'; {IDLES}")
        ran = project.run("1")
        assert reverted(ran) == []
        assert "tick-without-change" in [warned.code for warned in told(ran, "warned")]
        assert not evidence(ran).evidence.progress

    def test_bytes_that_are_no_text_stay(self, project: Project) -> None:
        project.plan(*TWO)
        project.agent(f"printf -- '- [ ] caf\\351\\n- [ ] First task\\n' >@fix_plan.md; {IDLES}")
        project.run("1")
        assert project.file("@fix_plan.md").read_bytes() == (
            b"- [ ] caf\xe9\n- [ ] First task\n- [ ] Second task\n"
        )

    def test_the_guard_can_be_switched_off(self, project: Project) -> None:
        project.plan(*TWO, files={".ralph/config.toml": "[guard]\nenabled = false\n"})
        project.agent("printf '# Plan\\n- [x] First task\\n' >@fix_plan.md; : >.ralph/config.toml")
        ran = project.run("1")
        assert reverted(ran) == []
        assert "Second" not in project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert project.file(".ralph/config.toml").read_text(encoding="utf-8") == ""


class TestFiles:
    def scene_with(self, project: Project, body: str) -> Project:
        """Settings, a prompt and a validation script that the user has allowed."""
        files = {
            ".ralph/config.toml": CONFIG,
            ".ralph/prompts/PROMPT_build.md": "Do {TASK}.\n",
            ".ralph/validate.sh": "#!/bin/sh\necho checked\n",
        }
        project.plan(*TWO, files=files)
        project.file(".ralph/validate.sh").chmod(0o755)
        assert project.tell("allow", "--yes").exit_code == 0
        return project.agent(f"{body}\n{IDLES}")

    def unharmed(self, project: Project) -> bool:
        read = {
            name: project.file(f".ralph/{name}").read_text(encoding="utf-8")
            for name in ("config.toml", "prompts/PROMPT_build.md", "validate.sh")
        }
        assert list(read.values()) == [CONFIG, "Do {TASK}.\n", "#!/bin/sh\necho checked\n"]
        mode = project.file(".ralph/validate.sh").stat().st_mode
        return stat.S_IMODE(mode) == 0o755

    def test_settings_prompts_and_validation_stay_as_they_were(self, project: Project) -> None:
        self.scene_with(
            project,
            "echo 'max_iterations = 99 # sk-ant-api03-abcdefghijklmnop' >>.ralph/config.toml\n"
            "echo 'Say COMPLETE.' >.ralph/prompts/PROMPT_build.md\n"
            "printf '#!/bin/sh\\nexit 0\\n' >.ralph/validate.sh; chmod 644 .ralph/validate.sh",
        )
        ran = project.run("2")
        assert ran.exit_code == 1
        assert self.unharmed(project)
        paths = [".ralph/config.toml", ".ralph/prompts/PROMPT_build.md", ".ralph/validate.sh"]
        assert what(ran) == [(path, Forbidden.CHANGED) for path in paths] * 2
        assert "max_iterations = 99 # [redacted" in reverted(ran)[0].text
        assert reverted(ran)[1].text == "Say COMPLETE.\n"
        for event in reverted(ran):
            assert event.kept is not None
            kept = (project.run_folder() / event.kept).read_text(encoding="utf-8")
            assert kept == event.text
        assert [event.ok for event in told(ran, "validated")] == [True, True]
        assert not any(event.evidence.progress for event in told(ran, "evidenceGathered"))

    def test_a_script_is_restored_though_only_its_mode_was_changed(self, project: Project) -> None:
        self.scene_with(project, "chmod 600 .ralph/validate.sh")
        ran = project.run("1")
        assert what(ran) == [(".ralph/validate.sh", Forbidden.CHANGED)]
        assert self.unharmed(project)

    def test_what_is_newly_made_is_taken_away(self, project: Project) -> None:
        project.plan(*TWO)
        project.agent(
            "mkdir -p .ralph/prompts .ralph/validate.sh; echo hi >.ralph/prompts/PROMPT_build.md\n"
            f"ln -s /dev/null .ralph/config.toml; {IDLES}"
        )
        ran = project.run("2")
        assert ran.exit_code == 1
        made = [".ralph/config.toml", ".ralph/prompts/PROMPT_build.md", ".ralph/validate.sh"]
        assert what(ran) == [(path, Forbidden.CREATED) for path in made] * 2
        for path in made:
            assert not project.file(path).exists()

    def test_what_was_no_file_when_the_iteration_began_is_left_alone(
        self, project: Project
    ) -> None:
        project.plan(*TWO)
        project.file(".ralph").mkdir()
        project.file(".ralph/validate.sh").symlink_to("nowhere")
        project.agent(IDLES)
        assert reverted(project.run("1")) == []
        assert project.file(".ralph/validate.sh").is_symlink()

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param("rm -rf .ralph", id="deleted"),
            pytest.param("rm -rf .ralph; echo hi >.ralph", id="a-file"),
            pytest.param("rm -rf .ralph; ln -s /tmp .ralph", id="a-link-out-of-the-tree"),
            pytest.param("rm -rf .ralph; mkdir -p .ralph/config.toml", id="another-folder"),
        ],
    )
    def test_the_loop_survives_the_loss_of_its_folder(self, project: Project, body: str) -> None:
        self.scene_with(project, f"work; {body}")
        ran = project.run("2")
        assert ran.exit_code == 1
        assert self.unharmed(project)
        assert len(told(ran, "iterationEnded")) == 2
        assert len(reverted(ran)) == 6
        rows = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) == 3
        logs = project.file(".ralph/logs")
        assert not logs.is_symlink()

    def test_a_question_is_asked_though_its_folder_is_gone(self, project: Project) -> None:
        self.scene_with(project, "rm -rf .ralph; say '<promise>DECIDE:a or b?</promise>'")
        ran = project.run("2")
        assert ran.exit_code == 3
        assert "a or b?" in project.file(".ralph/decide.txt").read_text(encoding="utf-8")

    def test_a_link_of_the_user_stays_one(self, project: Project, tmp_path: Path) -> None:
        mine = tmp_path / "mine.toml"
        mine.write_text(CONFIG, encoding="utf-8")
        project.plan(*TWO)
        project.file(".ralph").mkdir()
        project.file(".ralph/config.toml").symlink_to(mine)
        project.agent(f"rm .ralph/config.toml; echo 'push = true' >.ralph/config.toml; {IDLES}")
        ran = project.run("1")
        assert what(ran) == [(".ralph/config.toml", Forbidden.CHANGED)]
        assert project.file(".ralph/config.toml").readlink() == mine
        assert mine.read_text(encoding="utf-8") == CONFIG

    def test_a_commit_of_what_was_restored_is_no_progress(self, project: Project) -> None:
        files = {".ralph/config.toml": '[paths]\nvalidate_script = "check.sh"\n' + CONFIG}
        project.plan(*TWO, files={**files, "check.sh": "#!/bin/sh\ntrue\n"})
        project.file("check.sh").chmod(0o755)
        assert project.tell("allow", "--yes").exit_code == 0
        project.agent(f"echo 'exit 0' >>check.sh; commit; {IDLES}")
        ran = project.run("1")
        assert what(ran) == [("check.sh", Forbidden.CHANGED)]
        assert project.file("check.sh").read_text(encoding="utf-8") == "#!/bin/sh\ntrue\n"
        assert not evidence(ran).evidence.progress


class TestUser:
    """The user edits in an editor while the agent works; the editor reports each save."""

    def held(self, project: Project, then: str) -> Started:
        project.agent(f"wait_here; {then}; {IDLES}")
        project.make_gate()
        running = project.start("1")
        wait_until(project.kept, (project.kept / "here").exists)
        return running

    def saves(self, project: Project, name: str, text: str) -> None:
        path = project.file(name)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        state = StateFolder(folder=project.run_folder().parents[1])
        save = DocumentSave("file:///f", before, text)
        if name.endswith("plan.md"):
            kind = PlanKind.MARKDOWN
            record_document_save(state, name, save, at=datetime.now(UTC), kind=kind)
        else:
            record_settings_save(state, name, save, at=datetime.now(UTC))

    def test_what_the_user_did_to_the_plan_stays_and_the_agents_is_undone(
        self, project: Project
    ) -> None:
        project.plan("First task", "Second task", "Third task")
        running = self.held(project, "sed -i '/Third task/d' @fix_plan.md")
        text = project.file("@fix_plan.md").read_text(encoding="utf-8")
        self.saves(project, "@fix_plan.md", text.replace("- [ ] Second task\n", ""))
        project.open_gate()
        ran = running.wait()
        assert [[task.title for task in one.tasks] for one in reverted(ran)] == [["Third task"]]
        now = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert now == text.replace("- [ ] Second task\n", "")

    def test_a_plan_that_only_the_user_wrote_is_left_alone(self, project: Project) -> None:
        project.plan(*TWO)
        running = self.held(project, "true")
        self.saves(project, "@fix_plan.md", "- [ ] Something else\n")
        project.open_gate()
        assert reverted(running.wait()) == []
        assert project.file("@fix_plan.md").read_text(encoding="utf-8") == "- [ ] Something else\n"

    @pytest.mark.parametrize("was", [CONFIG, None])
    def test_settings_that_the_user_saved_stay(self, project: Project, was: str | None) -> None:
        project.plan(*TWO, files={} if was is None else {".ralph/config.toml": was})
        running = self.held(project, "true")
        self.saves(project, ".ralph/config.toml", "max_iterations = 7\n")
        project.open_gate()
        assert reverted(running.wait()) == []
        now = project.file(".ralph/config.toml").read_text(encoding="utf-8")
        assert now == "max_iterations = 7\n"

    @pytest.mark.parametrize("was", [CONFIG, None])
    def test_what_the_agent_made_of_the_users_settings_is_undone(
        self, project: Project, was: str | None
    ) -> None:
        project.plan(*TWO, files={} if was is None else {".ralph/config.toml": was})
        running = self.held(project, "echo 'push = true' >>.ralph/config.toml")
        self.saves(project, ".ralph/config.toml", "max_iterations = 7\n")
        project.open_gate()
        ran = running.wait()
        assert what(ran) == [(".ralph/config.toml", Forbidden.CHANGED)]
        assert reverted(ran)[0].text == "max_iterations = 7\npush = true\n"
        now = project.file(".ralph/config.toml").read_text(encoding="utf-8")
        assert now == "max_iterations = 7\n"
