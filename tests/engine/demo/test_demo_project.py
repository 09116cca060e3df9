from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.engine.demo import project as demo_project
from ralph_ls.engine.demo.project import lay_out, required_tasks_done, suite_passes
from ralph_ls.engine.demo.sample import edit_states, rewrite, run_suite
from ralph_ls.engine.demo.script import REPAIRS, EditState, SampleRepair, repair_for
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.engine.demo.sample_project import everything_in, git, subjects

EXPECTED_FILES = [
    ".gitignore",
    "@fix_plan.md",
    "README.md",
    "invoice/__init__.py",
    "invoice/letter.py",
    "invoice/lines.py",
    "invoice/money.py",
    "invoice/total.py",
    "specs/invoice.md",
    "tests/__init__.py",
    "tests/test_letter.py",
    "tests/test_lines.py",
    "tests/test_money.py",
    "tests/test_total.py",
]


def test_the_layout_is_a_clean_repository_with_one_commit(sample: Path) -> None:
    assert git(sample, "ls-files", "-z").split("\0")[:-1] == EXPECTED_FILES
    assert git(sample, "status", "--porcelain", "--ignored") == ""
    assert len(subjects(sample)) == 1
    assert git(sample, "symbolic-ref", "HEAD").strip() == "refs/heads/demo"


def test_the_identity_is_the_repository_s_own(sample: Path) -> None:
    assert git(sample, "log", "-1", "--format=%an <%ae>").strip() == (
        "Ralph Demo <demo@ralph.invalid>"
    )
    assert git(sample, "config", "--local", "user.name").strip() == "Ralph Demo"
    assert git(sample, "config", "--local", "commit.gpgsign").strip() == "false"
    hooks = sample / git(sample, "config", "--local", "core.hooksPath").strip()
    assert hooks.is_dir()
    assert list(hooks.iterdir()) == []


def test_the_tests_fail_at_first_and_running_them_leaves_nothing(sample: Path) -> None:
    result = run_suite(sample)
    assert not result.passed
    assert result.n_tests == 12
    assert set(result.failing) == {name for repair in REPAIRS[:3] for name in repair.tests}
    assert not suite_passes(sample)
    assert git(sample, "status", "--porcelain", "--ignored") == ""


def test_the_plan_has_five_open_tasks_in_two_priorities(sample: Path) -> None:
    parsed = parse_markdown((sample / "@fix_plan.md").read_text(encoding="utf-8"))
    assert parsed.problems == ()
    tasks = [task for task in parsed.plan.tasks if task.state is TaskState.TODO]
    assert [task.title for task in tasks] == [repair.title for repair in REPAIRS]
    assert [task.priority for task in tasks] == [Priority.P0] * 3 + [Priority.P1] * 2
    assert not required_tasks_done(sample)


def test_required_tasks_are_done_when_every_box_is_ticked(sample: Path) -> None:
    plan = sample / "@fix_plan.md"
    for repair in REPAIRS:
        assert not required_tasks_done(sample)
        text = plan.read_text(encoding="utf-8")
        plan.write_text(text.replace(f"[ ] {repair.title}", f"[x] {repair.title}"), "utf-8")
    assert required_tasks_done(sample)


@pytest.mark.parametrize("text", [None, "", "# Fix Plan\n"], ids=["missing", "empty", "no tasks"])
def test_without_tasks_nothing_is_done(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "@fix_plan.md").write_text(text, encoding="utf-8")
    assert not required_tasks_done(tmp_path)


def test_each_repair_makes_its_own_tests_pass_and_the_first_three_all(sample: Path) -> None:
    failing = set(run_suite(sample).failing)
    for repair in REPAIRS:
        assert set(edit_states(sample, repair)) == {EditState.OPEN}
        for edit in repair.edits:
            assert rewrite(sample, edit.file, edit.made_in)
            assert not rewrite(sample, edit.file, edit.made_in)
        assert set(edit_states(sample, repair)) == {EditState.MADE}
        failing -= set(repair.tests)
        result = run_suite(sample)
        assert set(result.failing) == failing
        assert result.passed == (repair in REPAIRS[2:])
    assert run_suite(sample).n_tests == 14


@pytest.mark.parametrize("repair", REPAIRS[3:], ids=lambda repair: repair.subject)
def test_a_test_that_a_later_task_brings_fails_without_its_repair(
    sample: Path, repair: SampleRepair
) -> None:
    test_edit = repair.edits[0]
    assert rewrite(sample, test_edit.file, test_edit.made_in)
    assert set(repair.tests) <= set(run_suite(sample).failing)


def test_a_repair_is_found_by_its_title_whatever_its_marks() -> None:
    assert repair_for("**ROUNDING:**  round `half` a cent up ") is REPAIRS[2]
    assert repair_for("Rounding") is None


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty") as raised:
        lay_out(tmp_path)
    assert str(tmp_path) in raised.value.message
    assert everything_in(tmp_path) == {"mine.txt": b"mine"}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written") as raised:
        lay_out(place)
    assert str(place) in raised.value.message


def test_an_empty_folder_and_a_path_with_spaces_are_fine(tmp_path: Path) -> None:
    folder = tmp_path / "a b" / "ü"
    folder.mkdir(parents=True)
    assert lay_out(folder) == folder.resolve()
    assert git(folder, "status", "--porcelain") == ""


def test_what_leads_git_elsewhere_in_the_environment_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = lay_out(tmp_path / "elsewhere")
    before = everything_in(elsewhere)
    with monkeypatch.context() as context:
        context.setenv("GIT_DIR", str(elsewhere / ".git"))
        context.setenv("GIT_WORK_TREE", str(elsewhere))
        context.setenv("GIT_INDEX_FILE", str(elsewhere / ".git" / "index"))
        context.setenv("GIT_AUTHOR_NAME", "Somebody Else")
        folder = lay_out(tmp_path / "sample")
    assert everything_in(elsewhere) == before
    assert git(folder, "log", "--format=%an").split("\n")[0] == "Ralph Demo"


def test_signing_hooks_and_ignores_of_the_user_do_not_matter(
    hostile_home: Path, tmp_path: Path
) -> None:
    folder = lay_out(tmp_path / "sample")
    assert git(folder, "ls-files", "-z").split("\0")[:-1] == EXPECTED_FILES
    assert git(folder, "status", "--porcelain") == ""
    assert not hostile_home.exists()


def test_a_missing_git_is_reported_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(RalphError, match="git could not be started"):
        lay_out(tmp_path / "sample")
    assert list((tmp_path / "sample").iterdir()) == []


def test_compiled_files_among_the_package_s_data_are_not_laid_out(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "invoice" / "__pycache__").mkdir(parents=True)
    (source / "invoice" / "__pycache__" / "lines.pyc").write_bytes(b"\0")
    (source / "invoice" / "lines.py").write_bytes(b"a = 1\r\n")
    (source / "gitignore").write_bytes(b"x\n")
    target.mkdir()
    assert demo_project._copy(source, target) == [".gitignore", "invoice/lines.py"]
    assert everything_in(target) == {".gitignore": b"x\n", "invoice/lines.py": b"a = 1\n"}


@pytest.mark.slow
def test_a_suite_that_hangs_is_ended_and_has_not_passed(tmp_path: Path) -> None:
    (tmp_path / "test_hang.py").write_text(
        "import threading\nthreading.Event().wait()\n", encoding="utf-8"
    )
    result = run_suite(tmp_path, timeout_seconds=0.5)
    assert (result.passed, result.n_tests) == (False, 0)
    assert "took longer than 0.5 s" in result.output


def test_a_folder_without_tests_has_not_passed(tmp_path: Path) -> None:
    assert not suite_passes(tmp_path)
    assert "could not be started" in run_suite(tmp_path / "nowhere").output


def test_a_broken_module_counts_as_failing(sample: Path) -> None:
    (sample / "tests" / "test_money.py").write_text("import nothing_like_it\n", encoding="utf-8")
    assert "tests.test_money" in run_suite(sample).failing
