"""Pruning by ``ralph run`` and ``ralph prune`` (docs/rules.md#pruning)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.project_builder import copy_to_2024
from tests.engine.ralph_runner import Project, told, warnings
from tests.unit.cli.terminal import in_terminal

pytestmark = pytest.mark.slow

OLD, OLDER = "20240202T120000Z-0a1b", "20240201T120000Z-0a1b"
BODY = "mark x First; work; commit; echo EXIT_SIGNAL"


def add_old_run(project: Project, run: str) -> Path:
    """A copy of the newest run that ended in 2024, under another id."""
    return copy_to_2024(project.run_folder(), run)


def output_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("iteration-*"))


def test_a_start_announces_the_first_pruning_and_a_later_one_does_it(project: Project) -> None:
    project.agent(BODY).run("1")
    folder = add_old_run(project, OLD)
    output = output_of(folder)
    assert output
    first = project.run("1", "--json")
    (announced,) = [one for one in told(first, "warned") if one.code == "pruning-announced"]
    assert "the output of 1 run (" in announced.message
    assert "by [state] keep_days = 90" in announced.message
    assert output_of(folder) == output
    (line,) = [line for line in project.tell("doctor").stdout.splitlines() if "kept-runs" in line]
    assert "3 runs of this work tree: " in line
    assert "of which ralph prune frees" in line

    second = project.run("1", "--json")
    (done,) = [one for one in told(second, "warned") if one.code == "pruned"]
    assert done.message.startswith("removed the output of 1 run (")
    assert output_of(folder) == []

    why = f"the output of run {OLD} was removed on 20"
    read = project.tell("read", str(folder / "iteration-001.out"))
    assert read.exit_code == 64
    assert why in read.stderr
    assert f"ralph show {OLD}" in read.stderr
    assert why in project.tell("stats", "--run", OLD).stdout
    assert "The output of 1 run was deleted (" in project.tell("stats").stdout
    runs = json.loads(project.tell("export", "--json").stdout)["runs"]
    assert [one.get("pruned", {}).get("setting") for one in runs] == [
        *("[state] keep_days = 90", None, None, None)
    ]
    assert runs[0]["iterations"][0]["commit"] == runs[1]["iterations"][0]["commit"]


def test_limits_that_were_not_announced_are_announced_first(project: Project) -> None:
    files = {".ralph/config.toml": "[state]\nkeep_days = 0\n"}
    project.plan(files=files).agent(BODY).run("1")
    folder = add_old_run(project, OLD)
    assert "pruning-announced" not in warnings(project.run("1", "--json"))
    settings = project.file(".ralph/config.toml")
    settings.write_text('[state]\nkeep_days = 0\nmax_bytes = "1 kB"\n')
    assert "pruning-announced" in warnings(project.run("1", "--json"))
    settings.write_text("[state]\nkeep_days = 30\n")
    assert "pruning-announced" in warnings(project.run("1", "--json"))
    assert output_of(folder)


def test_the_user_prunes_after_looking(project: Project) -> None:
    project.agent(BODY).run("1")
    older, old = (add_old_run(project, run) for run in (OLDER, OLD))
    last = output_of(project.run_folder())
    shown = project.tell("prune", "--dry-run").stdout
    assert [line.split()[0] for line in shown.splitlines()[2:4]] == [OLDER, OLD]
    assert "[state] keep_days = 90" in shown
    assert shown.endswith("Nothing was deleted: this was a dry run\n")
    refused = project.tell("prune")
    assert refused.exit_code == 64
    assert "needs a terminal to ask on, or --yes" in refused.stderr
    assert project.tell("prune", "--json").exit_code == 64
    assert "is not a size; write 5 GB" in project.tell("prune", "--max-bytes", "much").stderr
    planned = json.loads(project.tell("prune", "--all", "--dry-run", "--json").stdout)
    assert [one["run"] for one in planned["runs"]] == [OLDER, OLD]
    assert {one["workspace"] for one in planned["runs"]} == {str(project.repository)}
    assert (planned["done"], planned["freed"]) == (False, 0)
    assert output_of(old) == output_of(older) == last

    done = json.loads(project.tell("prune", "--max-bytes", "1kB", "--yes", "--json").stdout)
    assert done["freed"] == sum(one["bytes"] for one in planned["runs"])
    assert output_of(old) == output_of(older) == []
    assert output_of(project.run_folder()) == last
    again = project.tell("prune", "--yes", "--keep-days", "1").stdout
    assert "Nothing to delete: output is kept for 1 day and up to 5 GB in all" in again
    marked = json.loads((older / "pruned.json").read_text())
    assert marked["setting"] == "[state] keep_days = 90"


def test_in_a_terminal_it_asks_first(project: Project) -> None:
    project.agent(BODY).run("1")
    folder = add_old_run(project, OLD)
    with in_terminal(project.repository, "prune") as terminal:
        terminal.wait_for("Delete this output? [y/N]")
        terminal.type("n\n")
        assert terminal.wait() == 1
    assert "Nothing was deleted" in terminal.text
    assert output_of(folder)
    with in_terminal(project.repository, "prune") as terminal:
        terminal.wait_for("Delete this output? [y/N]")
        terminal.type("y\n")
        assert terminal.wait() == 0
    assert "Deleted the output of 1 run: " in terminal.text
    assert output_of(folder) == []


def test_every_work_tree_is_pruned_by_its_own_settings(project: Project) -> None:
    project.agent(BODY).run("1")
    folder = add_old_run(project, OLD)
    settings = project.file(".ralph/config.toml")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("[state]\nkeep_days = 0\n")
    assert "Nothing to delete" in project.tell("prune", "--all", "--yes").stdout
    settings.write_text("[state]\nkeep_days = -1\n")
    left_alone = project.tell("prune", "--all", "--yes")
    assert f"the runs of {project.repository} are skipped: " in left_alone.stderr
    assert output_of(folder)
    newest = project.run_folder()
    project.repository.rename(project.repository.with_name("moved"))
    elsewhere = project.ralph(project.kept, "prune", "--all", "--yes", "--keep-days", "5")
    assert f"{project.repository} (gone)" in elsewhere.stdout
    assert "ralph prune --keep-days 5" in elsewhere.stdout
    assert "Deleted the output of 1 run: " in elsewhere.stdout
    assert output_of(folder) == []
    inside = {"RALPH_ITERATION_ID": f"{newest.name}/1"}
    small = ("prune", "--all", "--yes", "--max-bytes", "1kB")
    refused = project.ralph(project.kept, *small, env=inside)
    assert refused.exit_code != 0
    assert "ralph prune --all was refused: it was started from inside an iter" in refused.stderr
    assert output_of(newest)
    assert "Deleted the output of 1 run: " in project.ralph(project.kept, *small).stdout
    assert output_of(newest) == []
