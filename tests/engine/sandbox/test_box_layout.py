"""What a box consists of: its home folder, its copies of tokens, and the socket that leads out."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.sandbox.box import Box, require_usable
from ralph_ls.engine.sandbox.cleanup import copy_in, is_renewed, take_back
from ralph_ls.engine.sandbox.home import HomeLayout, agent_of, lay_out_home
from ralph_ls.engine.sandbox.home_places import SECRETS
from ralph_ls.engine.sandbox.hook_socket import MOST_CONNECTIONS, HookSocket
from ralph_ls.engine.sandbox.selection import agent_in_box
from ralph_ls.protocol.config.agent import SandboxConfig
from ralph_ls.protocol.config.agent_catalog import CATALOG, Dialect
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.iteration_socket import LONGEST_REQUEST
from ralph_ls.store.layout import StateFolder, Worktree


def write(home: Path, *names: str) -> None:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def layout_of(
    home: Path,
    private: Path,
    *,
    agent: str | None = None,
    environment: Mapping[str, str] | None = None,
    shown: tuple[Path, ...] = (),
) -> HomeLayout:
    return lay_out_home(home, private, environment or {}, agent=agent, shown=shown)


def visible(layout: HomeLayout) -> dict[str, str]:
    """What is mounted, and how."""
    return {mount.arguments[-1]: mount.option for mount in layout.mounts}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    home, private = tmp_path / "home", tmp_path / "private"
    home.mkdir()
    private.mkdir()
    return home, private


class TestHome:
    def test_no_secret_of_the_table_is_mounted(self, place: tuple[Path, Path]) -> None:
        home, private = place
        names = [secret.path for secret in SECRETS]
        inner = [name for name in names if any(other.startswith(f"{name}/") for other in names)]
        write(home, *(name for name in names if name not in inner), "kept", ".config/kept/file")
        mounted = visible(layout_of(home, private))
        for name in names:
            path = str(home / name)
            assert not any(
                path == one or path.startswith(f"{one}/") for one in mounted if one != str(home)
            ), name
        assert mounted[str(home / "kept")] == "--ro-bind"
        assert mounted[str(home / ".config/kept")] == "--ro-bind"

    def test_a_secret_behind_a_link_and_a_moved_one_are_not_mounted(
        self, place: tuple[Path, Path], tmp_path: Path
    ) -> None:
        home, private = place
        write(home, "dotfiles/ssh/id", "dotfiles/vimrc", ".config/gh/hosts.yml")
        (home / ".ssh").symlink_to("dotfiles/ssh")
        moved = tmp_path / "settings"
        write(moved, "gh/hosts.yml", "other")
        layout = layout_of(home, private, environment={"XDG_CONFIG_HOME": str(moved)})
        mounted = visible(layout)
        assert str(home / "dotfiles/ssh") not in mounted
        assert str(home / "dotfiles") not in mounted
        assert mounted[str(home / "dotfiles/vimrc")] == "--ro-bind"
        assert str(home / ".config/gh") not in mounted
        assert str(moved / "gh") not in mounted
        assert mounted[str(moved / "other")] == "--ro-bind"

    def test_what_is_shown_is_not_hidden(self, place: tuple[Path, Path]) -> None:
        home, private = place
        write(home, ".npmrc")
        assert str(home / ".npmrc") not in visible(layout_of(home, private))
        assert str(home / ".npmrc") in visible(layout_of(home, private, shown=(home / ".npmrc",)))

    @pytest.mark.parametrize("agent", sorted(CATALOG))
    def test_an_agent_has_its_own_folder_and_no_others(
        self, place: tuple[Path, Path], agent: str
    ) -> None:
        home, private = place
        for known in CATALOG.values():
            for row in known.folders:
                write(home, f"{row.folder}/settings.x")
                write(home, *(f"{row.folder}/{name}" for name in (*row.tokens, *row.copies)))
                for name in row.sessions:
                    (home / row.folder / name).mkdir()
        layout = layout_of(home, private, agent=agent)
        mounted = visible(layout)
        for known in CATALOG.values():
            for row in known.folders:
                of_row = [one for one in mounted if one.startswith(str(home / row.folder))]
                if known.name != agent:
                    assert of_row == []
                    continue
                if row.own != ("*",):
                    assert mounted[str(home / row.folder / "settings.x")] == "--ro-bind"
                for session in row.sessions:
                    assert mounted[str(home / row.folder / session)] == "--bind"
                copied = {file.source: file.is_token for file in layout.copies}
                for token in row.tokens:
                    assert copied[home / row.folder / token]
                for copy in row.copies:
                    assert not copied[home / row.folder / copy]

    def test_each_row_says_why(self) -> None:
        assert all(row.why for agent in CATALOG.values() for row in agent.folders)
        assert all(secret.why for secret in SECRETS)

    def test_claude_has_a_copy_of_its_settings_in_its_own_folder(
        self, place: tuple[Path, Path]
    ) -> None:
        home, private = place
        write(home, ".claude.json", ".claude/settings.json")
        layout = layout_of(home, private, agent="claude")
        assert layout.variables == {"CLAUDE_CONFIG_DIR": str(home / ".claude")}
        copy_in(layout.copies)
        assert (private / "home/.claude/.claude.json").read_text() == ".claude.json"
        assert str(home / ".claude.json") not in visible(layout)

    def test_what_a_program_left_in_the_private_folder_is_not_followed(
        self, place: tuple[Path, Path], tmp_path: Path
    ) -> None:
        home, private = place
        write(home, ".codex/auth.json", ".codex/config.toml")
        outside = tmp_path / "outside"
        outside.mkdir()
        (private / "home").mkdir()
        (private / "home" / ".codex").symlink_to(outside)
        (private / "home" / "empty").touch()
        (private / "home" / "written").write_text("x")
        copy_in(layout_of(home, private, agent="codex").copies)
        assert list(outside.iterdir()) == []
        assert (private / "home/.codex/auth.json").read_text() == ".codex/auth.json"
        assert sorted(path.name for path in (private / "home").iterdir()) == [".codex", "written"]

    def test_sockets_and_pipes_are_left_out(self, place: tuple[Path, Path]) -> None:
        home, private = place
        os.mkfifo(home / "pipe")
        assert list(visible(layout_of(home, private))) == [str(home)]

    @pytest.mark.parametrize(
        ("argv", "dialect", "agent"),
        [
            (("claude", "-p"), Dialect.CLAUDE, "claude"),
            (("/opt/x/codex", "exec"), Dialect.CODEX, "codex"),
            (("python", "-m", "client", "--", "claude-agent-acp"), Dialect.ACP, "claude"),
            (("python", "-m", "client", "--", "gemini", "--acp"), Dialect.ACP, "gemini"),
            (("./agent.sh",), Dialect.TEXT, "agent.sh"),
        ],
    )
    def test_an_agent_is_known_by_its_program(
        self, argv: tuple[str, ...], dialect: Dialect, agent: str
    ) -> None:
        assert agent_of(agent_in_box(argv, dialect)) == agent


OLD: dict[str, Any] = {
    "type": "oauth",
    "access": "a" * 40,
    "refresh": "r" * 40,
    "expires": 1,
    "scopes": ["a", "b"],
}


class TestTokens:
    @pytest.mark.parametrize(
        ("new", "taken"),
        [
            ({"access": "b" * 40, "refresh": "s" * 40, "expires": 2}, True),
            ({"account": "new"}, True),
            ({"type": "wellknown"}, False),
            ({"access": "https://evil.example/" + "b" * 40}, False),
            ({"scopes": ["a", "b", "c"]}, False),
            ({"access": None}, False),
            ({"expires": "2"}, False),
        ],
    )
    def test_only_a_renewed_token_is_taken_back(self, new: dict[str, Any], taken: bool) -> None:
        before = json.dumps({"https://api.example": OLD}).encode()
        after = json.dumps({"https://api.example": {**OLD, **new}}).encode()
        assert is_renewed(before, after) is taken

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"[]",
            b"no",
            b"{}",
            b"[" * 100_000,
            json.dumps({"https://evil.example": OLD}).encode(),
            json.dumps({"https://api.example": OLD, "https://evil.example": OLD}).encode(),
        ],
        ids=["empty", "list", "no JSON", "nothing", "deep", "other", "one more"],
    )
    def test_another_file_is_not(self, data: bytes) -> None:
        assert not is_renewed(json.dumps({"https://api.example": OLD}).encode(), data)

    def copied(self, place: tuple[Path, Path]) -> tuple[Path, Path, Any]:
        home, private = place
        token = home / ".codex" / "auth.json"
        token.parent.mkdir()
        token.write_text(json.dumps({"tokens": OLD}))
        token.chmod(0o600)
        taken = copy_in(layout_of(home, private, agent="codex").copies)
        return token, private / "home" / ".codex" / "auth.json", taken

    def test_a_token_renewed_by_rename_reaches_its_file(self, place: tuple[Path, Path]) -> None:
        token, copy, taken = self.copied(place)
        fresh = copy.with_name("new")
        fresh.write_text(json.dumps({"tokens": {**OLD, "access": "n" * 40}}))
        fresh.replace(copy)
        take_back(taken)
        assert json.loads(token.read_text())["tokens"]["access"] == "n" * 40
        assert stat.S_IMODE(token.stat().st_mode) == 0o600

    def test_one_that_was_written_outside_meanwhile_stays(self, place: tuple[Path, Path]) -> None:
        token, copy, taken = self.copied(place)
        copy.write_text(json.dumps({"tokens": {**OLD, "access": "n" * 40}}))
        token.write_text("{}")
        take_back(taken)
        assert token.read_text() == "{}"

    def test_a_link_or_a_pipe_in_its_place_is_not_read(
        self, place: tuple[Path, Path], tmp_path: Path
    ) -> None:
        token, copy, taken = self.copied(place)
        before = token.read_text()
        other = tmp_path / "other"
        other.write_text(json.dumps({"tokens": {**OLD, "access": "n" * 40}}))
        copy.unlink()
        copy.symlink_to(other)
        take_back(taken)
        copy.unlink()
        os.mkfifo(copy)
        take_back(taken)
        assert token.read_text() == before


class TestSocket:
    def ask(self, tmp_path: Path, *lines: bytes) -> list[Any]:
        """The answers of one connection; None where it was closed."""
        asked: list[bool] = []

        async def answer(params: dict[str, Any]) -> dict[str, Any]:
            goes_on = params == {"continued": True}
            asked.append(goes_on)
            return {"stops": None, "goesOn": goes_on}

        async def talk() -> list[Any]:
            hook = HookSocket(tmp_path / ("long" * 30) / "hook", {"stopState": answer})
            await hook.open()
            found: list[Any] = []
            here = os.open(hook.folder, os.O_RDONLY)
            try:
                reader, writer = await asyncio.open_unix_connection(
                    f"/proc/self/fd/{here}/hook.sock"
                )
                for line in lines:
                    writer.write(line)
                    data = await reader.readline()
                    found.append(json.loads(data) if data else None)
                writer.close()
            except OSError:
                found.append(None)
            finally:
                os.close(here)
                await hook.close()
            assert not (hook.folder / "hook.sock").exists()
            return found

        return asyncio.run(talk())

    def test_it_says_how_the_iteration_is(self, tmp_path: Path) -> None:
        plain, goes_on = self.ask(
            tmp_path,
            b'{"method": "stopState"}\n',
            b'{"method": "stopState", "params": {"continued": true}}\n',
        )
        assert plain == {"result": {"stops": None, "goesOn": False}}
        assert goes_on == {"result": {"stops": None, "goesOn": True}}

    @pytest.mark.parametrize("method", ["answer", "allow", "stop", "resume", "", None, [], {}])
    def test_nothing_else_is_answered(self, tmp_path: Path, method: Any) -> None:
        (found,) = self.ask(tmp_path, json.dumps({"method": method}).encode() + b"\n")
        assert found["error"]["code"] == "from-inside"
        assert found["error"]["exitCode"] == 77

    @pytest.mark.parametrize("line", [b"\n", b"no\n", b"[]\n", b"\xff\xfe\n", b"[" * 9999 + b"\n"])
    def test_what_is_no_request_costs_the_next_one_nothing(
        self, tmp_path: Path, line: bytes
    ) -> None:
        bad, good = self.ask(tmp_path, line, b'{"method": "stopState"}\n')
        assert bad["error"]["code"] == "bad-request"
        assert "result" in good

    def test_a_request_without_end_is_not_read_on(self, tmp_path: Path) -> None:
        assert self.ask(tmp_path, b"a" * (LONGEST_REQUEST * 3)) == [None]

    def test_more_connections_than_it_takes_are_closed(self, tmp_path: Path) -> None:
        async def nothing(_: dict[str, Any]) -> dict[str, Any]:
            return {}

        async def talk() -> tuple[int, bytes]:
            hook = HookSocket(tmp_path / "hook", {"stopState": nothing})
            await hook.open()
            path = str(tmp_path / "hook" / "hook.sock")
            links = [await asyncio.open_unix_connection(path) for _ in range(MOST_CONNECTIONS + 4)]
            for _, writer in links:
                writer.write(b'{"method": "stopState"}\n')
            answers = []
            for reader, _ in links:
                try:
                    answers.append(await reader.readline())
                except OSError:
                    answers.append(b"")
            for _, writer in links:
                writer.close()
            await hook.close()
            return sum(map(bool, answers)), answers[0]

        n_answered, first = asyncio.run(talk())
        assert n_answered == MOST_CONNECTIONS
        assert first == b'{"result": {}}\n'


class TestUsable:
    def box(self, root: Path, home: Path) -> Box:
        return Box(
            program="bwrap",
            config=SandboxConfig(),
            worktree=Worktree(root=root, git_dir=root / ".git", common_dir=root / ".git"),
            state=StateFolder(folder=root.parent / "state"),
            state_root=root.parent,
            environment={"HOME": str(home)},
        )

    def test_a_work_tree_around_the_home_folder_is_refused(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        home.mkdir()
        with pytest.raises(ConfigError, match="contains your home folder"):
            require_usable(self.box(tmp_path, home))

    def test_a_git_directory_behind_a_link_is_refused(self, tmp_path: Path) -> None:
        root, home = tmp_path / "tree", tmp_path / "home"
        root.mkdir()
        home.mkdir()
        (root / ".git").symlink_to(home)
        with pytest.raises(ConfigError, match="is a link"):
            require_usable(self.box(root, home))
