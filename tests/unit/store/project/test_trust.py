from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.config.config import Config, PathsConfig, ProfileName
from ralph_ls.protocol.errors import NotAllowed, StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.trust import (
    Claim,
    allow,
    claims_of,
    claims_of_run,
    read_record,
    require_allowed,
    require_unchanged_command,
    unapproved_claims,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A work tree with nothing in it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state" / "worktrees" / "0123456789ab")


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"what {name} holds\n", encoding="utf-8")


def keys(root: Path, config: Config | None = None, **agents: dict[str, Any]) -> list[str]:
    from_file = {"agents": agents} if agents else {}
    return [claim.key for claim in claims_of(root, config or Config(), from_file)]


def claim(key: str, digest: str = "1", agent: str | None = None) -> Claim:
    return Claim(key=key, text="text", digest=digest, agent=agent)


class TestClaims:
    def test_a_bare_tree_makes_none(self, root: Path) -> None:
        put(root, "README.md", ".ralph/prompts/notes.md", "PROMPT_build.md")
        assert keys(root) == []

    def test_scripts_and_prompts_are_claims_wherever_they_are_set(self, root: Path) -> None:
        put(root, ".ralph/validate.sh", ".ralph/prompts/PROMPT_build.md", "a/v.sh", "a/PROMPT_x.md")
        assert keys(root) == [".ralph/prompts/PROMPT_build.md", ".ralph/validate.sh"]
        paths = PathsConfig(validate_script="a/v.sh", prompts="./a/")
        assert keys(root, Config(paths=paths)) == ["a/PROMPT_x.md", "a/v.sh"]

    def test_an_agents_table_is_shown_as_it_is(self, root: Path) -> None:
        table = {"argv": ["run", "漢字"], "env": {"A": "1"}}
        (found,) = claims_of(root, Config(), {"agents": {"mine": table}})
        assert (found.key, found.agent) == ("agents.mine", "mine")
        assert found.text == (
            '{\n  "argv": [\n    "run",\n    "漢字"\n  ],\n  "env": {\n    "A": "1"\n  }\n}'
        )

    @pytest.mark.parametrize(
        ("table", "files"),
        [
            pytest.param({"argv": ["./agent.sh", "--fast"]}, ["./agent.sh"], id="program"),
            pytest.param({"argv": ["python", "tools/a.py"]}, ["tools/a.py"], id="argument"),
            pytest.param({"argv": ["x", "agent.sh", "agent.sh"]}, ["agent.sh"], id="once"),
            pytest.param(
                {"argv": ["sh", "-c", "exec ./agent.sh <tools/a.py; true"]},
                ["./agent.sh", "tools/a.py"],
                id="words-of-a-shell",
            ),
            pytest.param({"argv": ["bash", "-lc", "'agent.sh'"]}, ["agent.sh"], id="login-shell"),
            pytest.param(
                {"argv": ["x", "-p", "Read agent.sh first"]}, [], id="no-words-of-a-prompt"
            ),
            pytest.param(
                {"argv": ["x"], "env": {"LD_PRELOAD": "./agent.sh:tools/a.py"}},
                ["./agent.sh", "tools/a.py"],
                id="variables",
            ),
            pytest.param({"argv": ["x"], "env": {"A": "agent.sh"}}, ["agent.sh"], id="variable"),
            pytest.param(
                {"argv": ["/bin/sh", "../outside", "tools", "a\0b", "y" * 5000]}, [], id="none"
            ),
            pytest.param({}, [], id="empty"),
        ],
    )
    def test_files_that_a_table_names_are_claims_of_its_agent(
        self, root: Path, table: dict[str, Any], files: list[str]
    ) -> None:
        put(root, "agent.sh", "tools/a.py", "../outside")
        expected = sorted(["agents.mine", *(f"agents.mine: {name}" for name in files)])
        assert keys(root, mine=table) == expected

    def test_a_file_counts_by_its_content_through_a_link_inside_the_tree(self, root: Path) -> None:
        put(root, "real.sh", "../outside.sh")
        (root / "link.sh").symlink_to("real.sh")
        (root / "away.sh").symlink_to("../outside.sh")
        table = {"argv": ["./link.sh", "./away.sh"]}
        found = {
            claim.key: claim.text for claim in claims_of(root, Config(), {"agents": {"a": table}})
        }
        assert found["agents.a: ./link.sh"] == "what real.sh holds\n"
        # The target outside is not the repository's, but the link to it is.
        assert found["agents.a: ./away.sh"] == f"a link to {root.parent / 'outside.sh'}"

    def test_a_change_changes_the_digest_and_nothing_else(self, root: Path) -> None:
        put(root, ".ralph/validate.sh")
        (before,) = claims_of(root, Config(), {})
        (root / ".ralph/validate.sh").write_text("other\n", encoding="utf-8")
        (after,) = claims_of(root, Config(), {})
        assert before.key == after.key
        assert before.digest != after.digest
        assert len(after.digest) == 64

    def test_bytes_that_are_no_text_are_no_trouble(self, root: Path) -> None:
        (root / ".ralph/prompts").mkdir(parents=True)
        (root / ".ralph/prompts" / "PROMPT_\udcff.md").write_bytes(b"\xff\x00")
        (found,) = claims_of(root, Config(), {})
        assert found.key == ".ralph/prompts/PROMPT_\\xff.md"
        assert found.text == "\ufffd\0"

    def test_a_script_that_cannot_be_shown_is_reported(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ralph_ls.store.project.trust.LARGEST_FILE", 5)
        put(root, ".ralph/validate.sh")
        with pytest.raises(StateUnusable, match="is larger than 5 bytes"):
            claims_of(root, Config(), {})


class TestClaimsOfARun:
    CLAIMS = (
        claim(".ralph/validate.sh"),
        claim("agents.claude", agent="claude"),
        claim("agents.command", agent="command"),
    )

    @pytest.mark.parametrize(
        ("agent", "given", "expected"),
        [
            ("claude", [], [".ralph/validate.sh", "agents.claude"]),
            ("claude", ["agent"], [".ralph/validate.sh", "agents.claude"]),
            ("command", ["agents.command"], [".ralph/validate.sh"]),
            ("claude", ["agents.command"], [".ralph/validate.sh", "agents.claude"]),
            ("demo", [], [".ralph/validate.sh"]),
        ],
    )
    def test_only_what_it_would_use_needs_leave(
        self, agent: str, given: list[str], expected: list[str]
    ) -> None:
        used = claims_of_run(self.CLAIMS, Config(agent=agent), given)
        assert [one.key for one in used] == expected


class TestRecord:
    def test_what_was_allowed_is_remembered_as_it_was(self, root: Path, state: StateFolder) -> None:
        allow(state, root, [claim("a"), claim("b")])
        assert unapproved_claims(state, [claim("a"), claim("b", "2"), claim("c")]) == (
            claim("b", "2"),
            claim("c"),
        )
        require_allowed(state, [claim("a")])

    def test_it_holds_what_was_shown_last_and_no_more(self, root: Path, state: StateFolder) -> None:
        allow(state, root, [claim("a")])
        allow(state, root, [claim("b")])
        assert read_record(state).allowed == {"b": "1"}
        assert read_record(state).root == str(root)

    def test_it_is_its_owners_alone(self, root: Path, state: StateFolder) -> None:
        allow(state, root, [claim("a")])
        assert (state.folder / "trust.json").stat().st_mode & 0o777 == 0o600
        assert state.folder.stat().st_mode & 0o777 == 0o700

    def test_every_key_is_named_in_the_refusal(self, state: StateFolder) -> None:
        many = [claim(f"agents.a{number}") for number in range(12)]
        with pytest.raises(NotAllowed) as caught:
            require_allowed(state, many)
        assert caught.value.exit_code == 78
        assert all(f"{one.key}" in caught.value.message for one in many)
        assert caught.value.message.endswith("ralph allow")

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"allowed": {"a": 1}}', b"\xff"])
    def test_an_unreadable_record_allows_nothing(self, state: StateFolder, data: bytes) -> None:
        state.folder.mkdir(parents=True)
        (state.folder / "trust.json").write_bytes(data)
        assert unapproved_claims(state, [claim("a")]) == (claim("a"),)


class TestHooksOfBd:
    def test_are_claims_where_bd_is_used(self, root: Path) -> None:
        put(root, ".beads/hooks/on_update", ".beads/hooks/more/on_close", ".beads/issues.jsonl")
        assert keys(root, Config(profile=ProfileName.BEADS)) == [
            ".beads/hooks/more/on_close",
            ".beads/hooks/on_update",
        ]

    def test_are_none_elsewhere(self, root: Path) -> None:
        put(root, ".beads/hooks/on_update")
        assert keys(root) == []


class TestCommands:
    """Commands that the settings of the repository have run beside the agent."""

    def claims(self, root: Path, *argv: str) -> list[Claim]:
        return list(claims_of(root, Config(), {"on_pr_ready": list(argv)}))

    def test_a_command_is_a_claim_and_so_is_each_file_of_the_tree_that_it_names(
        self, root: Path
    ) -> None:
        put(root, "pr.sh", "other.sh")
        found = self.claims(root, "./pr.sh", "--draft")
        assert [(claim.key, claim.path) for claim in found] == [
            ("on_pr_ready", None),
            ("on_pr_ready: ./pr.sh", "./pr.sh"),
        ]
        assert found[0].text == '["./pr.sh", "--draft"]'
        assert found[1].text == "what ./pr.sh holds\n".replace("./", "")

    def test_none_is_none(self, root: Path) -> None:
        assert claims_of(root, Config(), {"on_pr_ready": [], "notify": {"command": ()}}) == ()

    def test_every_run_would_use_it(self, root: Path) -> None:
        claims = self.claims(root, "make", "pr")
        assert list(claims_of_run(claims, Config(), ())) == claims

    def test_what_is_as_it_was_may_run(self, root: Path) -> None:
        put(root, "pr.sh")
        require_unchanged_command(root, "on_pr_ready", ("./pr.sh",), self.claims(root, "./pr.sh"))

    def test_what_changed_since_may_not(self, root: Path) -> None:
        put(root, "pr.sh")
        claims = self.claims(root, "./pr.sh")
        (root / "pr.sh").write_text("something else", encoding="utf-8")
        with pytest.raises(NotAllowed, match=r"on_pr_ready: \./pr\.sh changed since.*ralph allow"):
            require_unchanged_command(root, "on_pr_ready", ("./pr.sh",), claims)

    def test_the_users_own_command_needs_no_approval(self, root: Path) -> None:
        put(root, "pr.sh")
        require_unchanged_command(root, "on_pr_ready", ("./pr.sh",), ())
