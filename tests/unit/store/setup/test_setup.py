"""Setting up: every file is shown first, then all are written, or none."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.prompt.template import PromptContext, render
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import (
    ConfigError,
    PlanMissing,
    RalphError,
    StateUnusable,
    UsageError,
    WorkspaceBusy,
)
from ralph_ls.protocol.lsp.setup import DraftItem, SetupFileAction, SetupParams
from ralph_ls.protocol.task_words import Priority
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import find_specs
from ralph_ls.store.project.prompt_texts import built_in_texts
from ralph_ls.store.run.lock import EngineLock
from ralph_ls.store.setup.setup import SetupPlan, plan_setup, write_setup
from tests.engine.project_builder import git

TODAY = date(2026, 1, 31)
DESCRIPTION = "Let people reset a password by mail.\n\nDone when:\n- [ ] a test shows it"
ITEMS = (
    DraftItem(title="Send a mail", priority=Priority.P0, detail="A test passes"),
    DraftItem(title="Write it down", priority=Priority.P2),
)
SPEC_FILE = "specs/let-people-reset-a-password-by-mail.md"


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    return find_worktree(root)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


def order(**said: Any) -> SetupParams:
    return SetupParams(**{"description": DESCRIPTION, "items": ITEMS, **said})


def everything(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def actions(planned: SetupPlan) -> dict[str, SetupFileAction]:
    return {file.path: file.action for file in planned.files}


def set_up(tree: Worktree, state: StateFolder, wanted: SetupParams) -> SetupPlan:
    planned = plan_setup(tree.root, wanted, environment={}, today=TODAY)
    write_setup(tree, state, planned, wanted)
    return planned


class TestShowing:
    def test_nothing_is_written_and_every_file_is_shown_with_its_text(self, tree: Worktree) -> None:
        planned = plan_setup(tree.root, order(), environment={}, today=TODAY)
        assert everything(tree.root) == {}
        assert actions(planned) == dict.fromkeys(
            [SPEC_FILE, "@fix_plan.md", ".gitignore", ".ralph/config.toml"], SetupFileAction.CREATE
        )
        texts = {file.path: file.to_wire().text for file in planned.files}
        assert texts[SPEC_FILE].endswith(f"\n{DESCRIPTION}\n")
        assert "- [ ] Send a mail\n  - A test passes\n" in texts["@fix_plan.md"]
        assert texts[".ralph/config.toml"].endswith('RALPH_*.\nprofile = "fixplan"\n')

    def test_what_is_written_is_what_was_shown(self, tree: Worktree, state: StateFolder) -> None:
        planned = set_up(tree, state, order())
        (tree.root / ".ralph/config.schema.json").unlink()
        assert everything(tree.root) == {file.path: file.after for file in planned.files}

    def test_a_second_time_everything_stays(self, tree: Worktree, state: StateFolder) -> None:
        set_up(tree, state, order())
        before = everything(tree.root)
        again = set_up(tree, state, order(existing_plan="@fix_plan.md", items=()))
        assert set(actions(again).values()) == {SetupFileAction.KEEP}
        assert everything(tree.root) == before


class TestDescription:
    @pytest.mark.parametrize("profile", [ProfileName.FIXPLAN, ProfileName.SPEC])
    def test_the_agent_of_an_iteration_knows_its_path(
        self, tree: Worktree, state: StateFolder, profile: ProfileName
    ) -> None:
        set_up(tree, state, order(profile=profile))
        (name,) = find_specs(tree.root)
        plan_path = profile_of(profile).plan_files[0]
        context = PromptContext(
            iteration=1,
            max_iterations=20,
            profile=profile,
            plan_path=plan_path,
            decide_path=".ralph/decide.txt",
            blocked_path=".ralph/blocked.txt",
            task="Send a mail",
        )
        told = render(context, built_in_texts())
        assert f"Read `{plan_path}`, the specifications in `specs/`" in told
        assert DESCRIPTION in (tree.root / "specs" / name).read_text(encoding="utf-8")
        assert f"specs/{name}" in (tree.root / plan_path).read_text(encoding="utf-8")

    def test_its_list_of_criteria_makes_no_tasks(self, tree: Worktree, state: StateFolder) -> None:
        set_up(tree, state, order())
        text = (tree.root / "@fix_plan.md").read_text(encoding="utf-8")
        assert [task.title for task in parse_markdown(text).plan.tasks] == [
            "Send a mail",
            "Write it down",
        ]

    def test_another_of_the_same_title_gets_another_name(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        set_up(tree, state, order())
        set_up(tree, state, order(description=f"{DESCRIPTION} of a phone", items=ITEMS[:1]))
        assert len(find_specs(tree.root)) == 2

    def test_the_index_of_specifications_gets_an_entry(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        set_up(tree, state, order(profile=ProfileName.SPEC))
        index = (tree.root / "specs" / "README.md").read_text(encoding="utf-8")
        assert f"({Path(SPEC_FILE).name})" in index


class TestPlan:
    def test_somebodys_own_is_added_to_where_it_is(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        (tree.root / "TODO.md").write_bytes(b"# Mine\r\n\r\n* [ ] old \xff\r\n")
        set_up(tree, state, order(existing_plan="TODO.md"))
        plan = (tree.root / "TODO.md").read_bytes()
        assert plan.startswith(b"# Mine\r\n\r\n* [ ] old \xff\r\n* [ ] [P0] Send a mail\r\n")
        config = load_settings(tree.root, {}, {}).config
        assert config.paths.plan == "TODO.md"
        assert not (tree.root / "@fix_plan.md").exists()

    def test_one_that_is_there_is_used_without_being_named(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        (tree.root / "fix_plan.md").write_text("- [ ] Send a mail\n", encoding="utf-8")
        planned = set_up(tree, state, order())
        assert actions(planned)["fix_plan.md"] is SetupFileAction.CHANGE
        assert planned.notes == (
            "the plan already has the item 'Send a mail', so it was not added again",
        )
        assert load_settings(tree.root, {}, {}).config.paths.plan is None

    def test_one_that_is_not_there_is_reported(self, tree: Worktree) -> None:
        with pytest.raises(PlanMissing, match=r"there is no plan .*TODO\.md"):
            plan_setup(tree.root, order(existing_plan="TODO.md"), environment={}, today=TODAY)

    def test_with_a_plan_neither_items_nor_a_description_are_needed(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        (tree.root / "@fix_plan.md").write_text("- [ ] a\n", encoding="utf-8")
        wanted = SetupParams(existing_plan="@fix_plan.md")
        assert actions(set_up(tree, state, wanted)) == {
            "@fix_plan.md": SetupFileAction.KEEP,
            ".gitignore": SetupFileAction.CREATE,
            ".ralph/config.toml": SetupFileAction.CREATE,
        }


class TestSettings:
    def test_what_was_chosen_is_in_them_and_comments_stay(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        (tree.root / ".ralph").mkdir()
        (tree.root / ".ralph" / "config.toml").write_text(
            '# Ours.\nprofile = "fixplan"  # for now\n\n[breaker]\nno_progress_open = 5\n'
        )
        chosen = order(
            completion_phrase="ALL_DONE",
            agent="claude",
            max_iterations=7,
            timeout="10m",
            max_cost_usd=2.5,
        )
        set_up(tree, state, chosen)
        text = (tree.root / ".ralph" / "config.toml").read_text(encoding="utf-8")
        assert text.startswith('# Ours.\nprofile = "fixplan"  # for now\n')
        config = load_settings(tree.root, {}, {}).config
        assert (config.promise.complete, config.agent, config.timeouts.iteration) == (
            "ALL_DONE",
            "claude",
            600,
        )
        assert (config.max_iterations, config.max_cost_usd) == (7, 2.5)
        assert config.breaker.no_progress_open == 5

    def test_only_what_differs_from_the_profile_is_written(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        chosen = {"agent": "claude", "max_iterations": 20, "timeout": "30m"}
        wanted = order(completion_phrase="COMPLETE", **chosen)
        config = set_up(tree, state, wanted).config
        # The agent too: a run would else take what it finds on PATH.
        kept = {"profile": "fixplan", "agent": "claude"}
        assert load_settings(tree.root, {}, {}).from_file == kept
        seconds = config.timeouts.iteration
        assert (config.agent, config.max_iterations, seconds) == ("claude", 20, 1800)
        path = tree.root / ".ralph" / "config.toml"
        path.write_text('profile = "fixplan"\nmax_iterations = 5\n', encoding="utf-8")
        set_up(tree, state, wanted)
        written = load_settings(tree.root, {}, {}).from_file
        assert written == {**kept, "max_iterations": 20}

    def test_a_profile_is_set_up_so_that_it_can_run(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        config = set_up(tree, state, order(profile=ProfileName.SPEC)).config
        assert (config.commits.value, config.push, config.agent) == ("loop", True, "cline")
        assert load_settings(tree.root, {}, {}).config == config

    def test_the_profile_that_is_there_is_taken(self, tree: Worktree, state: StateFolder) -> None:
        (tree.root / "IMPLEMENTATION_PLAN.md").write_text("- [ ] a\n", encoding="utf-8")
        assert set_up(tree, state, order()).config.profile is ProfileName.SPEC

    def test_a_command_that_was_given_needs_no_second_leave_and_others_do(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        script = tree.root / "agent.sh"
        script.write_text("#!/bin/sh\n")
        (tree.root / ".ralph").mkdir()
        validate = tree.root / ".ralph" / "validate.sh"
        validate.write_text("#!/bin/sh\n")
        wanted = order(agent_command=("./agent.sh", "a b"), agent_prompt="file")
        planned = plan_setup(tree.root, wanted, environment={}, today=TODAY)
        (note,) = write_setup(tree, state, planned, wanted)
        assert "(.ralph/validate.sh): ralph allow" in note
        settings = load_settings(tree.root, {}, {})
        assert settings.from_file["agents"] == {
            "command": {"argv": ["./agent.sh", "a b"], "prompt": "file"}
        }
        claims = trust.claims_of(tree.root, settings.config, settings.from_file)
        missing = trust.unapproved_claims(state, claims)
        assert [claim.key for claim in missing] == [".ralph/validate.sh"]

    def test_what_was_allowed_stays_allowed(self, tree: Worktree, state: StateFolder) -> None:
        (tree.root / ".ralph").mkdir()
        (tree.root / ".ralph" / "validate.sh").write_text("#!/bin/sh\n")
        settings = load_settings(tree.root, {}, {})
        trust.allow(state, tree.root, trust.claims_of(tree.root, settings.config, {}))
        wanted = order(agent_command=("agent",))
        planned = plan_setup(tree.root, wanted, environment={}, today=TODAY)
        assert write_setup(tree, state, planned, wanted) == ()


class TestRefused:
    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"description": " ", "items": ()}, "A task description is needed"),
            ({"items": ()}, "No plan item is selected"),
            ({"timeout": 60}, "from 5 to 60 minutes"),
            ({"agent": "claude", "agent_command": ("x",)}, "not both"),
        ],
    )
    def test_an_order_with_errors(self, tree: Worktree, said: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            plan_setup(tree.root, order(**said), environment={}, today=TODAY)
        assert everything(tree.root) == {}

    def test_an_item_that_is_no_task(self, tree: Worktree) -> None:
        wanted = order(items=(DraftItem(title="[x] done"),))
        with pytest.raises(RalphError, match="would not be read as an open task"):
            plan_setup(tree.root, wanted, environment={}, today=TODAY)

    def test_settings_that_cannot_be_read(self, tree: Worktree) -> None:
        (tree.root / ".ralph").mkdir()
        (tree.root / ".ralph" / "config.toml").write_text("profile = ")
        with pytest.raises(ConfigError, match=r"config\.toml:1: "):
            plan_setup(tree.root, order(), environment={}, today=TODAY)

    @pytest.mark.parametrize("name", ["@fix_plan.md", ".ralph", "specs", ".gitignore"])
    def test_a_link_out_of_the_tree(self, tree: Worktree, tmp_path: Path, name: str) -> None:
        outside = tmp_path / "outside"
        if "." in name[1:] or name == ".gitignore":
            outside.write_text("- [ ] a\n")
        else:
            outside.mkdir()
        (tree.root / name).symlink_to(outside)
        with pytest.raises(StateUnusable, match="leads out of the work tree"):
            plan_setup(tree.root, order(), environment={}, today=TODAY)

    def test_while_an_engine_owns_the_tree_nothing_is_written(
        self, tree: Worktree, state: StateFolder
    ) -> None:
        planned = plan_setup(tree.root, order(), environment={}, today=TODAY)
        with EngineLock(tree.git_dir), pytest.raises(WorkspaceBusy):
            write_setup(tree, state, planned, order())
        assert everything(tree.root) == {}

    @pytest.mark.parametrize("name", ["@fix_plan.md", ".ralph/config.toml"])
    def test_what_somebody_wrote_meanwhile_stays_and_the_rest_is_restored(
        self, tree: Worktree, state: StateFolder, name: str
    ) -> None:
        (tree.root / ".gitignore").write_text("mine\n")
        planned = plan_setup(tree.root, order(), environment={}, today=TODAY)
        (tree.root / name).parent.mkdir(exist_ok=True)
        (tree.root / name).write_text("# theirs\n")
        with pytest.raises(StateUnusable, match="changed in the meantime"):
            write_setup(tree, state, planned, order())
        assert everything(tree.root) == {".gitignore": b"mine\n", name: b"# theirs\n"}

    def test_a_folder_that_cannot_be_made(self, tree: Worktree, state: StateFolder) -> None:
        planned = plan_setup(tree.root, order(), environment={}, today=TODAY)
        (tree.root / ".ralph").write_text("in the way")
        with pytest.raises(StateUnusable, match="cannot be created"):
            write_setup(tree, state, planned, order())
        assert everything(tree.root) == {".ralph": b"in the way"}


def test_modes_of_files_stay(tree: Worktree, state: StateFolder) -> None:
    plan = tree.root / "@fix_plan.md"
    plan.write_text("- [ ] a\n")
    plan.chmod(0o600)
    set_up(tree, state, order())
    assert plan.stat().st_mode & 0o777 == 0o600
