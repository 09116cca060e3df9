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


PROSE = "Notes on the shop:\n\nNo pricing yet. No fluff.\nasset\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("todo.txt", PROSE),
        ("tasks/tasks.json", '{"tasks": [{"id": "T1", "name": "Case", "expected": {}}]}'),
    ],
)
def test_a_file_that_is_no_plan_is_taken_by_no_command(
    ralph: Ralph, shop: Path, path: str, text: str
) -> None:
    write(shop, path, text)
    for verb in (
        ["plan"],
        ["plan", "--all"],
        ["run", "--dry-run"],
        ["init", "--from-existing", "--yes"],
    ):
        said = ralph(shop, *verb)
        assert (said.code != 0, said.out) == (True, ""), verb
    assert "there is no plan in" in ralph(shop, "doctor").out
    named = ralph(shop, "plan", path).out.splitlines()
    assert named[0].startswith(f"{path} is not read: ")
    assert len(named) == 2
    assert f"{path}, " in ralph(shop, "run", "--dry-run", "--plan", path).err


def test_a_short_list_is_a_todo_txt(ralph: Ralph, shop: Path) -> None:
    write(shop, "todo.txt", "Buy milk\nCall the bank\n")
    first, *_, last = ralph(shop, "plan").out.splitlines()
    assert first == "0 of 2 tasks done. Next: Buy milk"
    assert "2 lines are read as tasks, and none has a mark such as: (A)" in last


def test_a_problem_of_every_story_is_shown_once(ralph: Ralph, shop: Path) -> None:
    stories = [{"id": f"US-{nth}", "title": f"Story {nth}", "passes": True} for nth in range(5)]
    write(shop, "prd.json", json.dumps({"branchName": "", "userStories": stories}, indent=1))
    (line,) = [one for one in ralph(shop, "plan").out.splitlines() if "unreviewed" in one]
    assert line.endswith("only a review may pass it (5 like this, on lines 7, 12, 17, 22, 27)")


class TestOutsideARepository:
    """A plan can be read anywhere."""

    def test_the_plan_of_the_folder_is_shown(self, ralph: Ralph, tmp_path: Path) -> None:
        write(tmp_path, "fix_plan.md", "- [ ] Log in\n")
        assert "Next: Log in" in ralph(tmp_path, "plan").out
        assert [one["title"] for one in ralph(tmp_path, "plan", "--json").json["tasks"]] == [
            "Log in"
        ]
        assert ralph(tmp_path, "plan", "--all").out == (
            "  fix_plan.md  0/1 tasks done    Markdown  fix_plan.md\n"
        )

    @pytest.mark.parametrize("given", [["TODO.md"], ["--plan", "TODO.md"], ["a/../TODO.md"]])
    def test_a_file_that_is_named_is_shown(
        self, ralph: Ralph, tmp_path: Path, given: list[str]
    ) -> None:
        write(tmp_path, "TODO.md", "- [ ] Log in\n")
        write(tmp_path, "a/b.md", "")
        assert "Next: Log in" in ralph(tmp_path, "plan", *given).out

    def test_the_only_plan_of_a_tool_is_shown(self, ralph: Ralph, tmp_path: Path) -> None:
        write(tmp_path, B, "- [ ] T001 Log out\n")
        assert "T001 Log out" in ralph(tmp_path, "plan").out
        write(tmp_path, A, "- [ ] T001 Log in\n")
        assert "several plans are here: 001-login" in ralph(tmp_path, "plan").err

    def test_files_that_may_be_one_are_named(self, ralph: Ralph, tmp_path: Path) -> None:
        write(tmp_path, "server/PLAN.md", "- [ ] Log in\n")
        for verb in (["plan"], ["plan", "--all"]):
            said = ralph(tmp_path, *verb)
            assert (said.code, said.out) == (5, "")
            assert "is not in a git work tree" in said.err
            assert (
                "; server/PLAN.md may be one: check it with ralph plan server/PLAN.md" in said.err
            )

    def test_a_profile_without_a_file_has_none(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RALPH_PROFILE", "beads")
        assert "is not in a git work tree" in ralph(tmp_path, "plan").err
