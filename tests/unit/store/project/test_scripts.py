"""What a script runs of its work tree, found in real trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.core.loop.rules.agent_choice import other_agents
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import NotAllowed, StateUnusable
from ralph_ls.store.project.scripts import LARGEST_FOLLOWED, MOST_FILES, ScriptFiles, files_run_by
from ralph_ls.store.project.trust import (
    claims_of,
    claims_of_script,
    digest_of,
    require_unchanged_command,
)
from tests.engine.project_builder import git

SCRIPT = ".ralph/validate.sh"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A work tree with nothing in it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def found(root: Path, text: str, *approved: str, path: str = SCRIPT) -> ScriptFiles:
    return files_run_by(root, path, text.encode(), limit=1 << 20, approved=approved)


def names(root: Path, text: str, *approved: str, path: str = SCRIPT) -> list[str]:
    return sorted(found(root, text, *approved, path=path).files)


class TestFollowing:
    def test_what_is_sourced_is_read_in_turn(self, root: Path) -> None:
        put(root, {"a.sh": ". ./b.sh", "b.sh": ". a.sh\n. c.sh", "c.sh": "true", "d.sh": ""})
        assert names(root, "#!/bin/sh\n. ./a.sh") == ["a.sh", "b.sh", "c.sh"]

    @pytest.mark.parametrize(
        "text",
        [
            '. "$(dirname "$0")/lib.sh"',
            '. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lib.sh"',
            'HERE=${0%/*}\n. "$HERE/lib.sh"',
            "cd .ralph\n. ./lib.sh",
            'cd "$(dirname "$0")" || exit\nsource lib.sh',
            ". .ralph/lib.sh",
            ". $PWD/.ralph/../.ralph/lib.sh",
            ". .ralph/*.sh",
        ],
    )
    def test_it_is_found_wherever_it_is_named_from(self, root: Path, text: str) -> None:
        put(root, {".ralph/lib.sh": "true", SCRIPT: ""})
        assert ".ralph/lib.sh" in names(root, text)

    def test_an_absolute_path_into_the_tree_is_followed(self, root: Path) -> None:
        put(root, {"lib.sh": "true"})
        assert names(root, f". {root}/lib.sh") == ["lib.sh"]

    @pytest.mark.parametrize(
        "text",
        [". ../outside.sh", ". /etc/profile", ". ~/x.sh", ". sub/../../outside.sh", ". missing.sh"],
    )
    def test_nothing_outside_of_the_tree_is_read(self, root: Path, text: str) -> None:
        put(root, {"../outside.sh": "true", "sub/x": ""})
        assert names(root, text) == []

    def test_a_link_that_leads_out_counts_by_where_it_leads(self, root: Path) -> None:
        put(root, {"../outside.sh": ". more.sh", "more.sh": ""})
        (root / "link.sh").symlink_to("../outside.sh")
        files = found(root, ". ./link.sh").files
        assert list(files) == ["link.sh"]
        assert files["link.sh"].data == os.fsencode(f"a link to {root.parent / 'outside.sh'}")

    def test_a_link_within_the_tree_counts_by_its_content(self, root: Path) -> None:
        put(root, {"real.sh": "true"})
        (root / "link.sh").symlink_to("real.sh")
        (root / "loop.sh").symlink_to("loop.sh")
        assert found(root, ". ./link.sh; . ./loop.sh").files["link.sh"].data == b"true"

    def test_a_program_of_the_tree_is_followed_where_a_shell_reads_it(self, root: Path) -> None:
        put(
            root,
            {
                "shell": "#!/usr/bin/env bash\n. x.sh",
                "plain": ". y.sh",
                "other.py": "#!/usr/bin/env python3\n. z.sh",
                "x.sh": "",
                "y.sh": "",
                "z.sh": "",
            },
        )
        seen = found(root, "./shell; ./plain; ./other.py; python3 other.py")
        assert sorted(seen.files) == ["other.py", "plain", "shell", "x.sh", "y.sh"]
        assert "what other.py imports or runs in turn" in seen.not_covered

    def test_an_interpreter_of_the_tree_is_one_of_its_files(self, root: Path) -> None:
        put(root, {"tools/run": "#!/bin/sh\n. tools/more.sh", "tools/more.sh": ""})
        assert names(root, "#!tools/run -x\n") == ["tools/more.sh", "tools/run"]
        assert names(root, "#!/usr/bin/env ./tools/run\n") == ["tools/more.sh", "tools/run"]

    def test_scripts_of_a_package_are_parts_of_its_file(self, root: Path) -> None:
        package = '{"scripts": {"lint": "bash l.sh", "prelint": ". p.sh", "x": "./x.sh", "y": 1}}'
        put(root, {"package.json": package, "l.sh": "", "p.sh": "", "x.sh": ""})
        files = found(root, "npm run lint\nnpm run lint\nnpm run missing").files
        assert sorted(files) == ["l.sh", "p.sh", "package.json: scripts.lint"]
        assert files["package.json: scripts.lint"].path is None
        assert b"x.sh" not in files["package.json: scripts.lint"].data

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"scripts": []}', "[" * 100_000])
    def test_a_package_that_cannot_be_read_has_no_scripts(self, root: Path, text: str) -> None:
        put(root, {"package.json": text})
        assert names(root, "npm run lint") == []


class TestBounds:
    def test_the_number_of_files_is_bounded_and_that_is_reported(self, root: Path) -> None:
        put(root, {f"lib/{number:03d}.sh": "" for number in range(MOST_FILES + 20)})
        seen = found(root, ". lib/*.sh")
        assert len(seen.files) == MOST_FILES
        assert f"more than {MOST_FILES} files" in seen.not_covered

    def test_a_long_chain_ends(self, root: Path) -> None:
        put(root, {f"{number}.sh": f". {number + 1}.sh" for number in range(MOST_FILES * 3)})
        assert len(names(root, ". 0.sh")) == MOST_FILES

    def test_a_long_file_counts_and_is_not_read_for_names(self, root: Path) -> None:
        put(root, {"long.sh": ". x.sh\n" + "#" * LARGEST_FOLLOWED, "x.sh": ""})
        seen = found(root, ". ./long.sh")
        assert list(seen.files) == ["long.sh"]
        assert "what long.sh runs: it is longer than 256 KB" in seen.not_covered

    def test_one_that_cannot_be_read_is_refused(self, root: Path) -> None:
        put(root, {"large.sh": "#" * 100})
        with pytest.raises(StateUnusable, match="is larger than 50 bytes"):
            files_run_by(root, SCRIPT, b". ./large.sh", limit=50)

    def test_odd_names_are_no_trouble(self, root: Path) -> None:
        assert names(root, f". a\0b; . {'x' * 5000}; . '[**'; . **a; . ''; . /; . .") == []


class TestWhatTheProjectChanges:
    def test_what_is_built_is_named_and_no_claim(self, root: Path) -> None:
        put(root, {".gitignore": "target/\n", "target/app": "#!/bin/sh\n", "made": "\x7fELF\0"})
        seen = found(root, "./target/app; ./made; pytest; . $1")
        assert not seen.files
        assert list(seen.not_covered) == [
            "target/app: git ignores it, so it counts as built by the project",
            "made: it is not text, so it counts as built by the project",
            f"a file that line 1 of {SCRIPT} runs: its name is computed",
            "what pytest runs (conftest.py, and the project's own files)",
        ]

    def test_what_was_covered_stays_covered(self, root: Path) -> None:
        put(root, {".gitignore": "tool\n", "tool": "\x7fELF\0"})
        assert names(root, "./tool") == []
        assert names(root, "./tool", "tool") == ["tool"]

    def test_what_is_sourced_is_covered_also_where_git_ignores_it(self, root: Path) -> None:
        put(root, {".gitignore": ".env\n", ".env": "KEY=x"})
        file = found(root, "[ -f .env ] && . ./.env").files[".env"]
        assert file.is_ignored

    def test_what_the_script_says_may_change(self, root: Path) -> None:
        put(root, {"src/main.py": "", "tools/check.py": ""})
        text = "#!/bin/sh\n# ralph: may-change = src/**\npython src/main.py; python tools/check.py"
        seen = found(root, text)
        assert list(seen.files) == ["tools/check.py"]
        assert "src/main.py: the script may change it" in seen.not_covered

    def test_outside_of_a_repository_nothing_is_ignored(self, tmp_path: Path) -> None:
        put(tmp_path, {"a.sh": ""})
        assert names(tmp_path, "./a.sh") == ["a.sh"]


class TestClaims:
    def test_a_script_has_a_claim_for_each_of_its_files(self, root: Path) -> None:
        put(root, {SCRIPT: ". ./lib.sh\n./made", "lib.sh": "one", "made": "\0"})
        (own, lib) = claims_of(root, Config(), {})
        assert (own.key, lib.key) == (SCRIPT, f"{SCRIPT}: lib.sh")
        assert (lib.text, lib.path) == ("one", "lib.sh")
        assert own.not_covered
        put(root, {"lib.sh": "two"})
        (_, after) = claims_of_script(root, SCRIPT, (root / SCRIPT).read_bytes())
        assert after.digest != lib.digest

    def test_a_command_of_the_settings_is_covered_as_well(self, root: Path) -> None:
        put(root, {"notify.sh": ". ./lib.sh", "lib.sh": "one"})
        argv = ("./notify.sh",)
        claims = claims_of(root, Config(), {"notify": {"command": [*argv]}})
        assert [claim.key for claim in claims] == [
            "notify.command",
            "notify.command: ./notify.sh",
            "notify.command: lib.sh",
        ]
        require_unchanged_command(root, "notify.command", argv, claims)
        put(root, {"lib.sh": "two"})
        with pytest.raises(
            NotAllowed, match=r"notify\.command: lib\.sh changed since the run began"
        ):
            require_unchanged_command(root, "notify.command", argv, claims)

    def test_a_file_that_appears_later_was_never_allowed(self, root: Path) -> None:
        put(root, {"notify.sh": "[ -f local.sh ] && . ./local.sh"})
        claims = claims_of(root, Config(), {"notify": {"command": ["./notify.sh"]}})
        put(root, {"local.sh": "evil"})
        with pytest.raises(NotAllowed, match=r"notify\.command: local\.sh"):
            require_unchanged_command(root, "notify.command", ("./notify.sh",), claims)

    def test_one_that_became_something_built_is_not_forgotten(self, root: Path) -> None:
        put(root, {"notify.sh": "./tool", "tool": "#!/bin/sh\n"})
        claims = claims_of(root, Config(), {"notify": {"command": ["./notify.sh"]}})
        put(root, {"tool": "\x7fELF\0"})
        with pytest.raises(NotAllowed, match=r"notify\.command: tool"):
            require_unchanged_command(root, "notify.command", ("./notify.sh",), claims)

    def test_an_agents_scripts_are_claims_of_that_agent(self, root: Path) -> None:
        put(root, {"agent.sh": ". ./lib.sh", "lib.sh": ""})
        config = Config(agent="mine")
        assert "mine" in (config.agent, *other_agents(config))
        claims = claims_of(root, config, {"agents": {"mine": {"argv": ["./agent.sh"]}}})
        assert {claim.agent for claim in claims} == {"mine"}
        assert [claim.key for claim in claims][-1] == "agents.mine: lib.sh"

    def test_all_that_is_shown_has_one_hash(self, root: Path) -> None:
        put(root, {SCRIPT: ". ./lib.sh", "lib.sh": "one"})
        before = claims_of(root, Config(), {})
        assert digest_of(before) == digest_of(reversed(before))
        put(root, {"lib.sh": "two"})
        assert digest_of(claims_of(root, Config(), {})) != digest_of(before)
        assert digest_of([]) != digest_of(before[:1])
