"""Tasks that fail: counted, set aside in the plan, and really passed over.

See docs/rules.md#attempts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.plan.edit.task_edits import block_task
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.engine.plan import plan_file
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.plan.plan_file import set_task_aside
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import PlanMissing, StateUnusable
from ralph_ls.protocol.run.values import TaskRef
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told

ATTEMPTS = "[attempts]\nlimit = 2\n"
PATIENT = "[breaker]\nno_progress_half_open = 0\nno_progress_open = 0\nset_aside_open = 0\n"
IDLES = "report 'STATUS: IN_PROGRESS'"


class TestEdit:
    def aside(self, root: Path, task: str = "A-1") -> str:
        return set_task_aside(root, "plan.md", task, reason="no key", needs="a key")

    def test_every_byte_that_is_not_meant_stays(self, tmp_path: Path) -> None:
        plan = tmp_path / "plan.md"
        plan.write_bytes(b"\xef\xbb\xbf- [ ] A-1: caf\xe9\r\n- [ ] b\xff\xe4\xb8\r\n\0")
        assert "A-1: caf\ufffd" in self.aside(tmp_path)
        assert plan.read_bytes() == (
            b"\xef\xbb\xbf- [ ] [BLOCKED] A-1: caf\xe9\r\n  - Blocked by: no key\r\n"
            b"  - Needs: a key\r\n- [ ] b\xff\xe4\xb8\r\n\0"
        )

    def test_a_task_is_known_by_the_title_that_was_read(self, tmp_path: Path) -> None:
        plan = tmp_path / "plan.md"
        plan.write_bytes(b"- [ ] half a sign: \xe4\xb8\n")
        (task,) = parse_markdown(plan_file.read_plan_text(tmp_path, "plan.md")).plan.tasks
        self.aside(tmp_path, task.id)
        assert plan.read_bytes().startswith(b"- [ ] [BLOCKED] half a sign: \xe4\xb8\n  - Bl")

    @pytest.mark.parametrize(
        ("plan", "after"),
        [
            ("### A-1: a 🔴\n", "### A-1: a 🔴 [BLOCKED]\n- Blocked by: no key\n- Needs: a key\n"),
            ("|T|D|\n|-|-|\n|A-1|[ ]|\n", "|T|D|\n|-|-|\n|[BLOCKED: no key] A-1|[ ]|\n"),
            (
                "1. 🚧 A-1: a\n",
                "1. 🚧 [BLOCKED] A-1: a\n   - Blocked by: no key\n   - Needs: a key\n",
            ),
        ],
    )
    def test_headings_rows_and_plain_items_are_set_aside_too(
        self, tmp_path: Path, plan: str, after: str
    ) -> None:
        (tmp_path / "plan.md").write_text(plan, encoding="utf-8")
        (task,) = parse_markdown(plan).plan.tasks
        assert self.aside(tmp_path, task.id) == after

    def test_link_and_mode_are_kept(self, tmp_path: Path) -> None:
        real = tmp_path / "docs" / "real.md"
        real.parent.mkdir()
        real.write_text("- [ ] A-1: a\n", encoding="utf-8")
        real.chmod(0o640)
        (tmp_path / "plan.md").symlink_to("docs/real.md")
        self.aside(tmp_path)
        assert (tmp_path / "plan.md").readlink() == Path("docs/real.md")
        assert real.read_text(encoding="utf-8").startswith("- [ ] [BLOCKED] A-1: a\n")
        assert real.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in real.parent.iterdir()] == ["real.md"]

    @pytest.mark.parametrize("text", ["", "- [ ] A-2: b\n", "- [x] A-1: a\n"])
    def test_a_task_that_is_done_or_gone_needs_no_mark(self, tmp_path: Path, text: str) -> None:
        plan = tmp_path / "plan.md"
        plan.write_text(text, encoding="utf-8")
        before = plan.stat()
        assert self.aside(tmp_path) == text
        assert (plan.stat().st_ino, plan.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_what_somebody_writes_meanwhile_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = tmp_path / "plan.md"
        plan.write_text("- [ ] A-1: a\n", encoding="utf-8")

        def slowly(text: str, *arguments: str) -> str:
            edited = block_task(text, *arguments)
            if "A-2" not in text:
                plan.write_text("- [ ] A-2: mine\n- [ ] A-1: a\n", encoding="utf-8")
            return edited

        monkeypatch.setattr(plan_file, "block_task", slowly)
        text = self.aside(tmp_path)
        assert text == plan.read_text(encoding="utf-8")
        assert text.startswith("- [ ] A-2: mine\n- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n")

    def test_a_plan_that_is_never_at_rest_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = tmp_path / "plan.md"
        plan.write_text("- [ ] A-1: a\n", encoding="utf-8")

        def slowly(text: str, *arguments: str) -> str:
            plan.write_text(f"{text}x\n", encoding="utf-8")
            return block_task(text, *arguments)

        monkeypatch.setattr(plan_file, "block_task", slowly)
        with pytest.raises(StateUnusable, match="another program keeps writing"):
            self.aside(tmp_path)
        assert "BLOCKED" not in plan.read_text(encoding="utf-8")

    def test_what_cannot_be_written_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(PlanMissing, match="cannot be read"):
            self.aside(tmp_path)
        outside = tmp_path / "outside.md"
        outside.write_text("- [ ] A-1: a\n", encoding="utf-8")
        tree = tmp_path / "tree"
        tree.mkdir()
        (tree / "plan.md").symlink_to(outside)
        with pytest.raises(StateUnusable, match="leads out of the work tree"):
            self.aside(tree)
        assert outside.read_text(encoding="utf-8") == "- [ ] A-1: a\n"


def test_the_loop_learns_what_is_held_and_why() -> None:
    text = """\
- [ ] A-1: a
- [ ] [BLOCKED] A-2: b
  - Blocked by: no key
- [!] A-3: c
- [x] A-4: d
- [ ] A-5: e
- [!] A-6: f
## Optional
- [!] A-7: g

# PROJECT_COMPLETE
"""
    config = Config.model_validate({"optional_sections": ["Optional"]})
    source = MarkdownSource(Path(), config, "plan.md", {})
    facts = source.facts(text, set_aside={"A-1": 3, "A-4": 1})
    assert facts.next_task is not None
    assert facts.next_task.id == "A-5"
    assert [(held.task.id, held.why) for held in facts.held] == [
        ("A-1", "set aside after 3 attempts"),
        ("A-2", "blocked by no key"),
        ("A-3", "blocked in the plan"),
        ("A-6", "blocked in the plan"),
    ]
    assert [task.id for task in facts.open_tasks] == ["A-1", "A-2", "A-3", "A-5", "A-6"]
    assert facts.counts.marker
    assert source.facts(text, set_aside={"A-1": 3, "A-5": 2}).next_task is None
    many = "".join(f"- [!] B-{number}: b\n" for number in range(20))
    assert len(source.facts(many).held) == 10


def test_a_task_is_followed_through_the_texts_of_a_plan() -> None:
    texts = ("- [ ] Fix logn\n- [ ] b\n", "- [ ] b\n- [ ] Fix login\n", "- [ ] Fix the login\n")
    first, second, third = texts
    was, now, later = (
        next(task for task in parse_markdown(text).plan.tasks if "log" in task.title)
        for text in texts
    )
    source = MarkdownSource(Path(), Config(), "plan.md", {})
    renamed = source.renamed(first, second)
    assert renamed == {was.id: TaskRef(id=now.id, title="Fix login")}
    assert source.renamed(second, second, renamed) == renamed
    reworded = TaskRef(id=later.id, title="Fix the login")
    assert source.renamed(second, third, renamed) == {was.id: reworded}
    assert source.renamed(second, third) == {now.id: reworded}


@pytest.mark.slow
class TestRun:
    @pytest.mark.parametrize("settings", ["", "mark = false\n"], ids=["marked", "unmarked"])
    def test_a_task_that_is_reworded_again_and_again_has_no_more_attempts(
        self, project: Project, settings: str
    ) -> None:
        files = {".ralph/config.toml": ATTEMPTS + settings + PATIENT}
        project.plan("Mend the part", "Another thing", files=files)
        project.agent(
            f"""\
case $RALPH_START in
[12]) sed -i 's/Mend the/Mend the very/' @fix_plan.md;;
*) work; sed -i 's/\\[ \\] Another/[x] Another/' @fix_plan.md; commit;;
esac
{IDLES}
"""
        )
        done = project.run("3")
        titles = [event.task.title for event in told(done, "iterationStarted")]
        assert titles == ["Mend the part", "Mend the very part", "Another thing"]
        (aside,) = told(done, "taskSetAside")
        assert (aside.task.title, aside.attempts) == ("Mend the very very part", 2)
        plan = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert ("- [ ] [BLOCKED] Mend the very very part\n" in plan) == (settings == "")

    def test_the_one_task_of_a_run_may_be_reworded(self, project: Project) -> None:
        project.plan("Mend the part", "Another thing", files={".ralph/config.toml": PATIENT})
        (task, _) = parse_markdown(
            project.file("@fix_plan.md").read_text(encoding="utf-8")
        ).plan.tasks
        project.agent(
            f"""\
case $RALPH_START in
3) work; sed -i 's/\\[ \\] Mend/[x] Mend/' @fix_plan.md; commit;;
*) sed -i 's/Mend the/Mend the very/' @fix_plan.md;;
esac
{IDLES}
"""
        )
        done = project.run("9", "--task", task.id)
        assert done.exit_code == 0
        titles = [event.task.title for event in told(done, "iterationStarted")]
        assert titles == ["Mend the part", "Mend the very part", "Mend the very very part"]

    def test_after_its_attempts_a_task_is_marked_and_the_next_one_is_taken(
        self, project: Project
    ) -> None:
        project.plan("First task", "Second task", files={".ralph/config.toml": ATTEMPTS + PATIENT})
        plan = project.file("@fix_plan.md")
        plan.chmod(0o600)
        project.agent(
            f"""\
case $RALPH_START in
3) work; sed -i 's/\\[ \\] Second/[x] Second/' @fix_plan.md; commit;;
esac
{IDLES}
"""
        )
        done = project.run("9")
        assert done.exit_code == 2
        assert plan.read_text(encoding="utf-8") == (
            "# Plan\n\n- [ ] [BLOCKED] First task\n  - Blocked by: "
            + told(done, "taskSetAside")[0].reason
            + "\n  - Needs: "
            + plan.read_text(encoding="utf-8").partition("Needs: ")[2].partition("\n")[0]
            + "\n- [x] Second task\n"
        )
        assert [(event.task.title, event.attempt) for event in told(done, "attemptCounted")] == [
            ("First task", 1),
            ("First task", 2),
            ("Second task", 1),
        ]
        ended = told(done, "iterationEnded")
        assert [tuple(event.attempts.values()) for event in ended] == [(1,), (), ()]
        (aside,) = told(done, "taskSetAside")
        assert (aside.iteration, aside.attempts, aside.marked) == (2, 2, True)
        # Our own edit is nobody's progress and no change of the agent's.
        assert [event.evidence.progress for event in told(done, "evidenceGathered")] == [
            False,
            False,
            True,
        ]
        assert [event.iteration for event in told(done, "planChanged")] == [3]
        assert "blocked by" in told(done, "runEnded")[0].message

    def test_without_a_mark_the_plan_stays_and_the_task_is_passed_over(
        self, project: Project
    ) -> None:
        settings = ATTEMPTS + "mark = false\n" + PATIENT
        project.plan("First task", "Second task", files={".ralph/config.toml": settings})
        done = project.agent(IDLES).run("9")
        assert done.exit_code == 2
        titles = [event.task.title for event in told(done, "iterationStarted")]
        assert titles == ["First task"] * 2 + ["Second task"] * 2
        assert [event.marked for event in told(done, "taskSetAside")] == [False, False]
        message = told(done, "runEnded")[0].message
        assert "First task" in message
        assert "set aside after 2 attempts" in message
        assert git(project.repository, "status", "--porcelain") == ""

    def test_two_set_aside_in_a_row_open_the_breaker(self, project: Project) -> None:
        settings = (
            ATTEMPTS.replace("2", "1")
            + "[breaker]\nno_progress_half_open = 0\nno_progress_open = 0\n"
        )
        project.plan("One", "Two", "Three", files={".ralph/config.toml": settings})
        done = project.agent(IDLES).run("9")
        assert done.exit_code == 4
        assert [event.task.title for event in told(done, "taskSetAside")] == ["One", "Two"]
        assert (
            project.file("@fix_plan.md").read_text(encoding="utf-8").count("- [ ] [BLOCKED]") == 2
        )

    def test_status_blocked_sets_the_task_aside_at_once(self, project: Project) -> None:
        project.plan(
            "First task", "Second task", files={".ralph/config.toml": 'on_blocked = "set-aside"\n'}
        )
        project.agent(
            f"""\
if [ $RALPH_START = 1 ]; then report 'STATUS: BLOCKED' 'RECOMMENDATION: get a key'; exit; fi
work; sed -i 's/\\[ \\] Second/[x] Second/' @fix_plan.md; commit; {IDLES}
"""
        )
        done = project.run("9")
        assert done.exit_code == 2
        titles = [event.task.title for event in told(done, "iterationStarted")]
        assert titles == ["First task", "Second task"]
        plan = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert "- [ ] [BLOCKED] First task\n  - Blocked by: " in plan
        assert "get a key" in plan

    def test_a_plan_that_cannot_be_marked_ends_the_run(self, project: Project) -> None:
        settings = ATTEMPTS.replace("2", "1") + PATIENT
        project.plan("First task", "Second task", files={".ralph/config.toml": settings})
        outside = project.kept / "plan.md"
        plan = project.file("@fix_plan.md")
        outside.write_bytes(plan.read_bytes())
        plan.unlink()
        plan.symlink_to(outside)
        done = project.agent(IDLES).run("9")
        assert done.exit_code == 5
        assert "leads out of the work tree" in told(done, "runEnded")[0].message
        assert plan.is_symlink()
        assert "BLOCKED" not in outside.read_text(encoding="utf-8")


LATER = "# Plan\n\n- [x] Now\n\n## Future work\n\n- [ ] Dark mode\n"


def source_for(**settings: object) -> MarkdownSource:
    config = Config.model_validate({"optional_sections": ["Future"], **settings})
    return MarkdownSource(Path(), config, "plan.md", {})


def test_optional_tasks_are_taken_where_that_is_wanted() -> None:
    assert source_for().facts(LATER).next_task is None
    wanted = source_for(optional="do").facts(LATER).next_task
    assert wanted is not None
    assert wanted.title == "Dark mode"


def test_one_that_alone_is_to_be_done_is_required() -> None:
    (_, later) = parse_markdown(LATER).plan.tasks
    facts = source_for(task=later.id).facts(LATER)
    assert facts.counts.open_required == 1
    assert facts.next_task == TaskRef(id=later.id, title="Dark mode")


@pytest.mark.slow
def test_tasks_for_the_future_hold_no_run_open_and_are_listed(project: Project) -> None:
    project.plan(files={"@fix_plan.md": LATER})
    project.agent("say 'done, complete'; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'")
    done = project.run("9", "--profile", "fixplan")
    assert done.exit_code == 0
    assert "Optional:    1 task left alone: Dark mode" in done.stdout
