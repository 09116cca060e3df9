"""Plans that other tools left in a repository: listed, named, chosen and taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.project_builder import git
from tests.unit.cli.cli_runner import Ralph

A, B = "specs/001-login/tasks.md", "specs/002-logout/tasks.md"
CHANGE = "openspec/changes/add-form/tasks.md"
KIRO, FORM = ".kiro/specs/form/tasks.md", "openspec/changes/form/tasks.md"


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


def test_groups_are_named_by_what_they_are_in_and_parts_finish_the_task_around(
    ralph: Ralph, shop: Path
) -> None:
    write(
        shop,
        KIRO,
        "# Plan\n## Cart\n### Tasks\n- [ ] 1. Fill\n  - [x] 1.1 Add\n"
        "## Pay\n### Tasks\n- [ ] 2. Pay\n",
    )
    shown = [line.partition("  [")[0] for line in ralph(shop, "plan").out.splitlines()]
    assert shown[:6] == [
        "2 of 3 tasks done. Next: 2. Pay",
        "Cart > Tasks",
        "  ○ 1. Fill",
        "    ✓ 1.1 Add",
        "Pay > Tasks",
        "  ○ 2. Pay",
    ]
    assert "(all parts are done)" in ralph(shop, "plan").out


def test_without_any_plan_there_is_nothing_to_list(ralph: Ralph, shop: Path) -> None:
    assert "create one: ralph init" in ralph(shop, "plan", "--all").err


@pytest.mark.parametrize("given", [["002-logout"], ["--plan", "002-logout"], [B]])
def test_one_is_shown_by_its_name_or_path(ralph: Ralph, shop: Path, given: list[str]) -> None:
    assert "T001 Log out" in ralph(two(shop), "plan", *given).out


def test_an_unknown_name_says_how_to_find_them(ralph: Ralph, shop: Path) -> None:
    assert "list the plans here: ralph plan --all" in ralph(two(shop), "plan", "x").err


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("logut", "there is no plan logut; did you mean 002-logout?"),
        ("002", "there is no plan 002; did you mean 002-logout?"),
        ("specs/001-login/task.md", f"there is no plan specs/001-login/task.md; did you mean {A}?"),
        ("todo.md", "there is no plan todo.md; did you mean TODO.md?"),
        ("specs", "specs is a folder, and no plan; list the plans here: ralph plan --all"),
        ("form", f"several plans are named form: {KIRO}, {FORM}; name one by its path"),
        ("003-bare", "003-bare has no plan yet; write its tasks with /speckit.tasks"),
        ("./specs/003-bare/", "has no plan yet; write its tasks with /speckit.tasks"),
        ("add-mail", "add-mail has no plan yet; propose a change with /opsx:propose"),
    ],
)
def test_a_name_that_fits_none_or_two_says_what_is_meant(
    ralph: Ralph, shop: Path, named: str, said: str
) -> None:
    for path in (KIRO, FORM, "TODO.md", "specs/003-bare/spec.md"):
        write(two(shop), path, "- [ ] 1.1 a\n")
    write(shop, "openspec/changes/add-mail/proposal.md", "## Why\n")
    for command in (
        ["plan", named],
        ["run", "--dry-run", "--agent", "demo", "--plan", named],
        ["init", "--from-existing", "--yes", "--plan", named],
    ):
        assert said in ralph(shop, *command).err


def test_a_feature_is_named_by_its_folder(ralph: Ralph, shop: Path) -> None:
    for place, named in ((two(shop), "specs/002-logout/"), (shop / "specs", "002-logout")):
        assert "T001 Log out" in ralph(place, "plan", named).out


@pytest.mark.parametrize("named", ["002-logout/tasks.md", "002-logout", "../specs/002-logout", B])
def test_a_run_and_a_set_up_take_a_path_from_the_working_folder(
    ralph: Ralph, shop: Path, named: str
) -> None:
    inside = two(shop) / "specs"
    done = ralph(inside, "run", "--dry-run", "--agent", "demo", "--plan", named)
    assert f"Plan: {B}" in done.out
    made = ralph(inside, "init", "--from-existing", "--json", "--plan", named).json
    assert made["settings"] == {"paths.plan": B}
    done = ralph(inside, "run", "--dry-run", "--agent", "demo", "--plan", "..")
    assert (done.code, done.out) == (64, "")


@pytest.mark.parametrize("command", ["run --dry-run", "init --yes", "init --from-existing --yes"])
def test_an_empty_name_is_no_name(ralph: Ralph, shop: Path, command: str) -> None:
    done = ralph(two(shop), *command.split(), "--plan", "")
    assert (done.code, done.out) == (64, "")
    assert "--plan is empty; name a plan, or leave the option out" in done.err


def test_a_plan_is_named_without_its_ending(ralph: Ralph, shop: Path) -> None:
    write(shop, "docs/superpowers/plans/2026-01-05-pay.md", "### Task 1: Pay\n\n- [ ] Step\n")
    assert "Pay  [1]" in ralph(shop, "plan", "2026-01-05-pay").out


@pytest.mark.parametrize("command", ["plan", "run --plan"])
def test_of_several_nobody_knows_which(ralph: Ralph, shop: Path, command: str) -> None:
    verb = command.partition(" ")[0]
    said = ralph(two(shop), verb).err
    assert "several plans are here: 001-login (spec-kit), 002-logout (spec-kit); choose" in said
    assert f"choose one: ralph {command} 001-login, or for every run: ralph config set" in said
    # What two are called names neither.
    write(shop, ".kiro/specs/002-logout/tasks.md", "- [ ] 1. Log out\n")
    assert f"{B} (spec-kit), .kiro/specs/002-logout/tasks.md (Kiro)" in ralph(shop, verb).err


def test_the_list_names_one_with_open_tasks(ralph: Ralph, shop: Path) -> None:
    write(two(shop), A, "- [x] T001 Log in\n")
    write(shop, ".kiro/specs/002-logout/tasks.md", "- [ ] 1. Log out\n")
    write(shop, "@fix_plan.md", "- [ ] a\n")
    assert ralph(shop, "plan", "--all").out.endswith(f"\nChoose one: ralph run --plan {B}\n")


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
    assert "there is no plan none; list the plans here: ralph plan --all" in said.err
    made = ralph(shop, "init", "--from-existing", "--yes", "--json", "--plan", B).json
    assert made["settings"] == {"paths.plan": B}
    assert f'plan = "{B}"' in (shop / ".ralph/config.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("yes", [[], ["--yes"], ["--json"], ["--yes", "--json"]])
def test_a_set_up_on_trial_writes_nothing(ralph: Ralph, shop: Path, yes: list[str]) -> None:
    write(shop, A, "- [ ] T001 Log in\n")
    done = ralph(shop, "init", "--from-existing", "--dry-run", *yes)
    assert (done.code, done.err) == (0, "")
    assert "specs/001-login/tasks.md" in done.out
    if "--json" in yes:
        assert done.json["written"] == []
    else:
        assert done.out.startswith(f"Found: {A} (spec-kit), a plan for the profile fixplan\n")
        assert done.out.endswith("Nothing was written: this was a dry run\n")
    assert [one.name for one in shop.iterdir() if one.name != ".git"] == ["specs"]


@pytest.mark.parametrize("named", ["TODO.md", "./TODO.md", "001-login"])
def test_a_set_up_takes_any_plan_that_is_named(ralph: Ralph, shop: Path, named: str) -> None:
    write(two(shop), "@fix_plan.md", "- [ ] a\n")
    write(shop, "TODO.md", "- [ ] b\n")
    made = ralph(shop, "init", "--from-existing", "--yes", "--json", "--plan", named).json
    path = A if named == "001-login" else "TODO.md"
    assert (made["profile"], made["settings"]) == ("fixplan", {"paths.plan": path})


def test_a_set_up_takes_a_plan_outside_of_the_repository_for_none(
    ralph: Ralph, shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "TODO.md").write_text("- [ ] a\n", encoding="utf-8")
    done = ralph(shop, "init", "--from-existing", "--yes", "--plan", "../TODO.md")
    assert done.code != 0
    assert not (shop / ".ralph").exists()


@pytest.mark.parametrize(
    ("path", "profile", "settings"),
    [
        ("IMPLEMENTATION_PLAN.md", "spec", {"push": False, "max_iterations": 20}),
        ("prd.json", "stories", {}),
    ],
)
def test_a_set_up_of_a_plan_in_the_root_does_not_push(
    ralph: Ralph, shop: Path, path: str, profile: str, settings: dict[str, object]
) -> None:
    write(shop, path, "- [ ] a\n")
    made = ralph(shop, "init", "--from-existing", "--yes", "--json").json
    assert (made["profile"], made["plan"], made["settings"]) == (profile, path, settings)


JSON = '{"master": {"tasks": [{"id": 1, "title": "Pay", "status": "pending"}]}}\n'
TASK_MASTER = ".taskmaster/tasks/tasks.json"


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        (TASK_MASTER, JSON, "Task Master"),
        ("todo.txt", "(A) Pay\n", "todo.txt"),
        ("backlog/tasks/task-1 - Pay.md", "---\nid: TASK-1\ntitle: Pay\n---\n", "Backlog.md"),
    ],
)
def test_a_first_set_up_writes_no_markdown_into_a_plan_of_another_form(
    ralph: Ralph, shop: Path, path: str, text: str, title: str
) -> None:
    write(shop, path, text)
    write(shop, "backlog/config.yml", "{}\n") if path.startswith("backlog") else None
    done = ralph(shop, "init", "--yes", "--agent", "demo", "--item", "Fix the login")
    assert done.code == 64
    assert f"is a plan of {title}, to which ralph adds no tasks" in done.err
    assert "ralph run -p 'Fix the login'" in done.err
    done = ralph(shop, "init", "--yes", "--agent", "demo")
    assert (done.code, done.err) == (0, "")
    assert "1 open task" in done.out
    assert "write your tasks" not in done.out
    assert (shop / path).read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("named", "path"),
    [("002-logout", B), ("specs/002-logout", B), (B, B), ("auth", f"{TASK_MASTER}#auth")],
)
def test_settings_and_a_first_set_up_name_a_plan_as_a_run_does(
    ralph: Ralph, shop: Path, named: str, path: str
) -> None:
    write(two(shop), TASK_MASTER, JSON.replace("}]}}", '}]}, "auth": {"tasks": []}}'))
    done = ralph(shop, "init", "--yes", "--agent", "demo", "--plan", named)
    assert (done.code, done.err) == (0, "")
    config = shop / ".ralph/config.toml"
    assert f'plan = "{path}"' in config.read_text(encoding="utf-8")
    config.write_text(f'[paths]\nplan = "{named}"\n', encoding="utf-8")
    assert f"▸ {named.rpartition('/')[2] if named != B else '002-logout'}" in (
        ralph(shop, "plan", "--all").out
    )
    assert ralph(shop, "plan").code == 0
    said = ralph(shop, "init", "--yes", "--agent", "demo", "--plan", "logut").err
    assert "there is no plan logut; did you mean 002-logout?" in said


@pytest.mark.parametrize("specs", [1, 2])
def test_a_first_set_up_writes_no_second_plan(ralph: Ralph, shop: Path, specs: int) -> None:
    write(shop, ".specify/memory/constitution.md", "Be kind.\n")
    words = "of spec-kit without a plan yet; write its tasks with /speckit.tasks"
    if specs == 2:
        two(shop)
        words = "of spec-kit; see its plans with: ralph plan --all"
    done = ralph(shop, "init", "--yes", "--agent", "demo")
    assert f"no plan was written: this is a project {words}" in done.out
    assert f"Plan:     none yet; this is a project {words}" in done.out
    assert ralph(shop, "run").code in {5, 64}
    assert not (shop / "@fix_plan.md").exists()
    ralph(shop, "init", "--yes", "--agent", "demo", "--item", "Fix the login")
    assert (shop / "@fix_plan.md").is_file()


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
    stories = [
        {"id": f"US-{nth}", "title": f"Story {nth}", "passes": True, "reviewStatus": None}
        for nth in range(5)
    ]
    write(shop, "prd.json", json.dumps({"branchName": "", "userStories": stories}, indent=1))
    (line,) = [one for one in ralph(shop, "plan").out.splitlines() if "unreviewed" in one]
    assert line.endswith("only a review may pass it (5 like this, on lines 7, 13, 19, 25, 31)")


ORG = """* TODO Heap
:PROPERTIES:
:ID: heap
:END:
** TODO Strings
* TODO Collect
:PROPERTIES:
:BLOCKER: heap
:END:
"""
WAITING_TASKS = [
    {"id": nth, "title": "abcdef"[nth], "dependencies": needs}
    for nth, needs in enumerate([[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]])
]
WAITING_TASKS[1]["subtasks"] = [{"id": 1, "title": "part"}, {"id": 2, "dependencies": [1]}]
WAITING_STORIES = [
    {"id": "A", "title": "a", "passes": False},
    {"id": "B", "title": "b", "passes": False, "dependsOn": ["A"]},
    {"id": "C", "title": "c", "passes": True, "dependsOn": ["A"]},
]


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("TODO.org", ORG, {"heap": "", "e967d16d": "", "81824c90": "heap"}),
        (
            TASK_MASTER,
            json.dumps({"tasks": WAITING_TASKS}),
            {"0": "", "1": "0", "1.1": "", "1.2": "1.1", "2": "0, 1", "3": "0, 1, 2",
             "4": "0, 1, 2 and 1 more"},
        ),
        ("prd.json", json.dumps({"stories": WAITING_STORIES}), {"A": "", "B": "A", "C": ""}),
        (
            "@fix_plan.md",
            "- [ ] A1. Pay\n- [ ] A2. Log in (depends on A1)\n- [ ] 1. a\n- [ ] 1.1 b\n",
            None,
        ),
    ],
)  # fmt: skip
def test_a_task_that_waits_says_for_which(
    ralph: Ralph, shop: Path, path: str, text: str, shown: dict[str, str] | None
) -> None:
    write(shop, path, text)
    lines = [one for one in ralph(shop, "plan").out.splitlines() if one.startswith("  ")]
    found = {
        line.partition("[")[2].partition("]")[0]: line.partition("waits for: ")[2].rstrip(")")
        for line in lines
    }
    if shown is None:
        first, second, whole, part = found
        assert found == {first: "", second: "“A1. Pay”", whole: "", part: ""}
    else:
        assert found == shown


def test_a_plan_elsewhere_has_the_format_of_its_place(
    ralph: Ralph, shop: Path, tmp_path: Path
) -> None:
    write(tmp_path / "other", TASK_MASTER, JSON)
    shown = ralph(shop, "plan", str(tmp_path / "other" / TASK_MASTER)).out
    assert "  ○ Pay  [1]" in shown
    assert "criteria" not in shown


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


def test_an_open_plan_of_gsd_with_a_summary_is_reported(ralph: Ralph, shop: Path) -> None:
    phases = "- [ ] **Phase 1: Pay**\n\n- [ ] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n"
    write(shop, ".planning/ROADMAP.md", phases)
    assert "SUMMARY" not in ralph(shop, "plan").out
    write(shop, ".planning/phases/01-pay/01-01-SUMMARY.md", "Done.\n")
    said = "line 3: summary-of-open-plan: 1 open plan has a SUMMARY beside it (01-01)"
    assert said in ralph(shop, "plan").out
    assert said in ralph(shop / ".planning", "plan", "ROADMAP.md").out
    counted = f"{phases}\n| 1. Pay | 1/2 | In Progress | |\n"
    write(shop, ".planning/ROADMAP.md", counted)
    assert "1 of 3 tasks done. Next: Plan 01-02" in ralph(shop, "plan").out
    assert "SUMMARY" not in ralph(shop, "plan").out
