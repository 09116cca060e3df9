"""Plans that other tools left in a repository: listed, named, chosen and taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.project_builder import git
from tests.unit.cli.cli_runner import Ralph

A, B = "specs/001-login/tasks.md", "specs/002-logout/tasks.md"
CHANGE = "openspec/changes/add-form/tasks.md"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def two(root: Path) -> Path:
    write(root, A, "- [x] T001 Log in\n- [ ] T002 Remember me\n")
    write(root, B, "- [ ] T001 Log out\n")
    return root


def test_all_plans_are_listed_with_their_progress(ralph: Ralph, shop: Path) -> None:
    write(two(shop), "@fix_plan.md", "- [ ] a\n")
    assert ralph(shop, "plan", "--all").out.splitlines() == [
        "▸ @fix_plan.md  0/1 tasks done    Markdown  @fix_plan.md",
        f"  001-login     1/2 tasks done    spec-kit  {A}",
        f"  002-logout    0/1 tasks done    spec-kit  {B}",
        "",
        "Choose one: ralph run --plan 001-login",
    ]
    rows = ralph(shop, "plan", "--all", "--json").json["plans"]
    assert [(one["name"], one["chosen"]) for one in rows] == [
        ("@fix_plan.md", True),
        ("001-login", False),
        ("002-logout", False),
    ]


def test_without_any_plan_there_is_nothing_to_list(ralph: Ralph, shop: Path) -> None:
    assert "create one: ralph init" in ralph(shop, "plan", "--all").err


@pytest.mark.parametrize("given", [["002-logout"], ["--plan", "002-logout"], [B]])
def test_one_is_shown_by_its_name_or_path(ralph: Ralph, shop: Path, given: list[str]) -> None:
    assert "T001 Log out" in ralph(two(shop), "plan", *given).out


def test_an_unknown_name_says_how_to_find_them(ralph: Ralph, shop: Path) -> None:
    assert "list the plans here: ralph plan --all" in ralph(two(shop), "plan", "x").err


def test_of_several_nobody_knows_which(ralph: Ralph, shop: Path) -> None:
    for arguments in (["plan"], ["run", "--dry-run"]):
        done = ralph(two(shop), *arguments)
        assert "001-login (spec-kit), 002-logout (spec-kit); choose one: ralph run" in done.err


def test_the_only_one_is_worked_on(ralph: Ralph, shop: Path) -> None:
    write(shop, CHANGE, "## 1. Form\n\n- [ ] 1.1 Add it\n")
    write(shop, "openspec/changes/add-form/proposal.md", "## Why\n\nA form.\n")
    done = ralph(shop, "run", "--dry-run", "--agent", "demo").out
    assert f"Profile: fixplan (found by {CHANGE})" in done
    assert "Task: 1.1 Add it" in done
    prompt = ralph(shop, "prompt").out
    assert "the tasks of the change `add-form`" in prompt
    assert "> A form." in prompt
    assert f"{CHANGE} (OpenSpec): 0 of 1 required task" in ralph(shop, "doctor").out


def test_a_set_up_takes_the_only_one_and_follows_the_next_feature(ralph: Ralph, shop: Path) -> None:
    write(shop, A, "- [ ] T001 Log in\n")
    found = ralph(shop, "init", "--from-existing", "--yes", "--json").json
    assert (found["profile"], found["plan"], found["settings"]) == ("fixplan", A, {})
    assert "profile" in (shop / ".ralph/config.toml").read_text(encoding="utf-8")
    write(shop, A, "- [x] T001 Log in\n")
    write(shop, B, "- [ ] T001 Log out\n")
    assert "T001 Log out" in ralph(shop, "plan").out


def test_a_set_up_of_several_asks(ralph: Ralph, shop: Path) -> None:
    done = ralph(two(shop), "init", "--from-existing", "--yes")
    assert "several plans are here" in done.err
    assert "choose one: ralph init --from-existing --plan 001-login\n" in done.err
    assert not (shop / ".ralph").exists()


def test_a_set_up_takes_the_one_that_is_named(ralph: Ralph, shop: Path) -> None:
    said = ralph(two(shop), "init", "--from-existing", "--yes", "--plan", "none")
    assert "none is no plan of another tool; see which there are: ralph plan --all" in said.err
    made = ralph(shop, "init", "--from-existing", "--yes", "--json", "--plan", B).json
    assert made["settings"] == {"paths.plan": B}
    assert f'plan = "{B}"' in (shop / ".ralph/config.toml").read_text(encoding="utf-8")


def test_a_folder_of_tasks_is_one_plan(ralph: Ralph, shop: Path) -> None:
    write(shop, "backlog/config.yml", 'statuses: ["To Do", "In Progress", "Done"]\n')
    task = "---\nid: TASK-1\ntitle: Pay\nstatus: {}\n---\n\n## Description\n\nBy card.\n"
    path = "backlog/tasks/task-1 - Pay.md"
    write(shop, path, task.format("In Progress"))
    assert "◐ Pay  [TASK-1]" in ralph(shop, "plan").out
    assert "is open in backlog/tasks" in ralph(shop, "reset-task", "TASK-1").out
    text = (shop / path).read_text(encoding="utf-8")
    assert "status: To Do" in text
    assert json.loads(ralph(shop, "plan", path, "--json").out)["tasks"][0]["id"] == "TASK-1"
