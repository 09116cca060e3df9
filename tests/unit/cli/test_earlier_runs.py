"""Verbs about earlier runs: lists, details, exports, a report, and the pruning of output."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ralph_ls.protocol.json_output import IterationDetails, RunMetrics
from tests.engine.project_builder import copy_to_2024, newest_run, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import WORKER

OLD = "20240202T120000Z-0a1b"


@pytest.fixture
def old_run(ralph: Ralph, repository: Path, tmp_path: Path) -> Path:
    """A run, and a copy of it that ended in 2024."""
    command = write_agent(tmp_path, WORKER)
    assert ralph(repository, "run", "2", "--agent-command", command).code == 0
    found = newest_run(repository)
    assert found is not None
    return copy_to_2024(found.files.folder, OLD)


def test_output_is_pruned_and_the_numbers_stay(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    shown = ralph(repository, "prune", "--dry-run")
    assert shown.code == 0
    assert OLD in shown.out
    assert list(old_run.glob("iteration-*"))

    asked = ralph(repository, "prune")
    assert asked.code == 64
    assert "--yes" in asked.err

    done = ralph(repository, "prune", "--all", "--yes", "--json")
    assert done.code == 0
    assert OLD in done.out
    assert not list(old_run.glob("iteration-*"))

    again = ralph(repository, "prune", "--keep-days", "30", "--max-bytes", "5 GB", "--yes")
    assert again.code == 0
    assert OLD not in again.out

    numbers = ralph(repository, "stats", "--run", OLD)
    assert numbers.code == 0
    assert f"the output of run {OLD} was removed on " in numbers.out


def test_statistics_exports_and_reports_have_the_same_tasks(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    assert OLD in ralph(repository, "runs").out
    assert "First task" in ralph(repository, "show").out
    assert json.loads(ralph(repository, "stats", "--json").out)
    exported = json.loads(ralph(repository, "export", "--format", "json").out)
    assert exported["runs"][0]["run"] == OLD
    assert ralph(repository, "export", "--format", "csv").out.count("\n") > 2
    page = ralph(repository, "report")
    assert page.code == 0
    assert "First task" in page.out
    target = repository.parent / "page.html"
    assert ralph(repository, "report", OLD, "--output", str(target)).code == 0
    # Its charts are drawn by the scripts that its policy names by their digests, and by no others.
    html = target.read_text(encoding="utf-8")
    assert "First task" in html
    assert "script-src &#x27;sha256-" in html
    unknown = ralph(repository, "report", "20200101T000000Z-0000")
    assert unknown.code != 0
    assert "20200101T000000Z-0000" in unknown.err


def test_why_each_iteration_was_decided_as_it_was(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    shown = ralph(repository, "status", "--why")
    assert shown.code == 0
    assert re.search(r"^Iteration 1: progress: ", shown.out, re.MULTILINE)
    assert json.loads(ralph(repository, "status", "--why", "--json").out)


class TestNamesOfRuns:
    @pytest.mark.parametrize("verb", [("show",), ("report",), ("export", "--run")])
    def test_beginning_or_end_of_an_id_is_enough(
        self, ralph: Ralph, repository: Path, old_run: Path, verb: tuple[str, ...]
    ) -> None:
        for name in (OLD, OLD[:6], "0a1b"):
            assert OLD in ralph(repository, *verb, name).out

    def test_a_name_that_fits_several_or_none_is_refused(
        self, ralph: Ralph, repository: Path, old_run: Path
    ) -> None:
        several = ralph(repository, "show", "20", "1")
        assert (several.code, "'20' names 2 runs; write more of one of: " in several.err) == (
            64,
            True,
        )
        none = ralph(repository, "show", "nothing")
        assert f"there is no run nothing in {repository}; see all: ralph runs" in none.err

    def test_a_run_that_never_began_is_named(
        self, ralph: Ralph, repository: Path, old_run: Path
    ) -> None:
        old_run.with_name("20240101T120000Z-beef").mkdir()
        for arguments in (("show", "beef"), ("show", "beef", "1")):
            refused = ralph(repository, *arguments)
            assert (refused.code, "-beef ended before it began" in refused.err) == (64, True)

    def test_a_number_is_an_iteration_of_the_last_run(
        self, ralph: Ralph, repository: Path, old_run: Path
    ) -> None:
        assert OLD not in ralph(repository, "show", "2").out
        assert "write a number, such as 3" in ralph(repository, "show", "0a1b", "x").err
        assert "its last one is 2; see: ralph show" in ralph(repository, "show", "9").err


class TestAnIterationWhole:
    def test_it_has_decision_claims_changes_and_prompt(
        self, ralph: Ralph, repository: Path, old_run: Path
    ) -> None:
        shown = ralph(repository, "show", "1").out
        for row in (
            "Task:        First task [",
            "Agent:       command\n",
            "Cost:        not reported\n",
            "Decision:    progress: 1 commit, ",
            "Report:      STATUS: IN_PROGRESS\n",
            "             added     work  +1 -0\n",
            "\nPrompt:\n  # ",
        ):
            assert row in shown

    def test_its_json_is_of_one_type(self, ralph: Ralph, repository: Path, old_run: Path) -> None:
        found = IterationDetails.model_validate_json(ralph(repository, "show", "2", "--json").out)
        assert (found.iteration, found.agent, len(found.commits)) == (2, "command", 1)
        assert found.figures is not None
        assert found.figures.clean
        assert [(one.path, one.added, one.removed) for one in found.files] == [
            ("@fix_plan.md", 1, 1),
            ("work", 1, 0),
        ]
        run = RunMetrics.model_validate_json(ralph(repository, "show", OLD, "--json").out)
        assert run.run == OLD

    def test_without_its_files_and_commits_the_rest_is_shown(
        self, ralph: Ralph, repository: Path, old_run: Path
    ) -> None:
        journal = old_run / "journal.jsonl"
        gone = re.sub(r'"head":"[0-9a-f]{40}"', f'"head":"{"0" * 40}"', journal.read_text())
        journal.write_text(gone, encoding="utf-8")
        for prompt in old_run.glob("*.prompt.md"):
            prompt.unlink()
        shown = ralph(repository, "show", OLD, "1").out
        assert "Commits:     none\nChanges:     none\n" in shown
        assert shown.endswith("Prompt: it was deleted (ralph prune)\n")


def test_the_earlier_name_of_a_verb_is_the_verb(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    assert ralph(repository, "stats").out == ralph(repository, "runs").out
    assert ralph(repository, "help", "stats").out == ralph(repository, "runs", "--help").out
    pruned = ralph(repository, "stats", "--run", "0a1b")
    assert f"Iterations of run {OLD}" in pruned.out
