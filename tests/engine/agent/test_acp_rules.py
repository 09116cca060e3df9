"""What the client of the Agent Client Protocol answers, chooses, serves and takes for a message."""

from __future__ import annotations

import asyncio
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.agent.acp import policy
from ralph_ls.engine.agent.acp.command_line import MOST_NOISE_LINES, RecordWriter, read_options
from ralph_ls.engine.agent.acp.conversation import mode_to_choose, offer_of, permission_requests
from ralph_ls.engine.agent.acp.policy import PermissionPolicy, call_of, option_for
from ralph_ls.engine.agent.acp.transport import AgentPipes
from ralph_ls.engine.agent.selection import choose_agent, flags_for
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.own_python import own_command

GIT = {"kind": "execute", "rawInput": {"command": "git log"}}
SEVERAL = {"kind": "execute", "rawInput": {"command": "git log; rm -rf ."}}
EDIT = {"kind": "edit", "title": "Edit a", "locations": [{"path": "/w/src/a.py"}]}
BASH = {"kind": "execute", "title": "rm -rf x", "_meta": {"claudeCode": {"toolName": "Bash"}}}
GREP = {"_meta": {"toolName": "grep"}, "rawInput": {"cmd": ["a", "b"]}, "locations": 7}


class TestPolicy:
    @pytest.mark.parametrize(
        ("allow", "deny", "tool_call", "permits"),
        [
            (None, (), EDIT, True),
            ((), (), EDIT, False),
            (("edit",), (), EDIT, True),
            (("EDIT",), (), EDIT, True),
            (("edit(/w/src/*)",), (), EDIT, True),
            (("edit(/w/docs/*)",), (), EDIT, False),
            (("edit(Edit a)",), (), EDIT, True),
            (("execute(git *)",), (), GIT, True),
            (("execute(git *)",), (), SEVERAL, False),
            (("execute",), (), SEVERAL, True),
            (("*",), (), SEVERAL, True),
            (None, ("execute(rm *)",), SEVERAL, False),
            (None, ("execute(rm *)",), GIT, True),
            (("*",), ("execute",), GIT, False),
            (None, ("bash",), BASH, False),
            (("Bash(rm *)",), (), BASH, True),
            (("grep(a b)",), (), GREP, True),
            (("",), (), EDIT, False),
            (("()",), (), EDIT, False),
            (("read",), (), {}, False),
        ],
    )
    def test_a_rule_names_a_tool_or_a_kind_and_perhaps_what_it_is_used_on(
        self,
        allow: tuple[str, ...] | None,
        deny: tuple[str, ...],
        tool_call: dict[str, Any],
        permits: bool,
    ) -> None:
        assert PermissionPolicy(allow=allow, deny=deny).permits(call_of(tool_call)) is permits

    def test_an_option_is_chosen_by_its_kind_and_for_once_where_it_can_be(self) -> None:
        kinds = ("allow_always", "allow_once", "reject_always")
        options = [{"optionId": kind[:7], "kind": kind} for kind in kinds]
        assert option_for(options, allowed=True) == "allow_o"
        assert option_for(options, allowed=False) == "reject_"
        assert option_for([7, {"kind": "allow_once"}], allowed=True) is None
        assert option_for(None, allowed=False) is None

    def test_a_call_is_shown_by_what_is_known_of_it(self) -> None:
        shown = [call_of(one).shown for one in (BASH, EDIT, {"title": "T"}, {"rawInput": "x"})]
        assert shown == ["Bash", "edit", "T", "a tool"]


MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "plan"}, {"id": "bypassX"}, {}],
}


class TestChoices:
    def test_the_mode_that_asks_nothing_is_chosen_unless_a_list_has_to_be_obeyed(self) -> None:
        offer = offer_of({"modes": MODES}, "mode")
        assert offer is not None
        assert mode_to_choose(offer, asks=False) == "bypassX"
        assert mode_to_choose(offer, asks=True) is None
        free = offer_of({"modes": {**MODES, "currentModeId": "bypassX"}}, "mode")
        assert free is not None
        assert mode_to_choose(free, asks=False) is None
        assert mode_to_choose(free, asks=True) == "ask"
        for modes, chosen in (
            (["auto", "default", "bypassX"], "default"),
            (["agent", "read-only"], "read-only"),
            (["build", "plan"], None),
            (["yolo", "plan", "build"], "build"),
        ):
            listed = {"currentModeId": modes[0], "availableModes": [{"id": one} for one in modes]}
            other = offer_of({"modes": listed}, "mode")
            assert other is not None
            assert mode_to_choose(other, asks=True) == chosen
        assert offer.request("mode", "s", "ask") == (
            "session/set_mode",
            {"sessionId": "s", "modeId": "ask"},
        )

    def test_an_option_comes_before_a_list_and_its_values_may_be_grouped(self) -> None:
        group = {"name": "G", "options": [{"value": "big", "name": "Large"}]}
        option = {"id": "m", "category": "model", "currentValue": "x", "options": [group]}
        session = {"configOptions": [{"id": 7}, option], "models": {"availableModels": []}}
        offer = offer_of(session, "model")
        assert offer is not None
        found = [offer.find(word) for word in ("big", "LARGE", "gone")]
        assert found == ["big", "big", None]
        assert offer.request("model", "s", "big") == (
            "session/set_config_option",
            {"sessionId": "s", "configId": "m", "value": "big"},
        )

    @pytest.mark.parametrize(
        "session",
        [
            {},
            {"models": 7},
            {"models": {"availableModels": [{"modelId": 7}]}},
            {"configOptions": [{"id": "model", "options": []}]},
        ],
    )
    def test_where_nothing_is_offered_nothing_can_be_chosen(self, session: dict[str, Any]) -> None:
        assert offer_of(session, "model") is None

    def test_questions_are_turned_off_where_that_is_a_separate_option(self) -> None:
        row = {"category": "permissions"}
        switch = {"options": [{"value": "on"}, {"value": "off"}]}
        session = {
            "configOptions": [
                {**row, "id": "allow_all", "currentValue": "off", **switch},
                {**row, "id": "allow-all-urls", "currentValue": False},
                {**row, "id": "allow_all_paths", "currentValue": "on", **switch},
                {**row, "id": "sound", "currentValue": False},
                {**row, "id": 7},
                {"category": "model", "id": "allow_all", "currentValue": False},
            ]
        }
        asked = [params for _, params in permission_requests(session, "s")]
        assert asked == [
            {"sessionId": "s", "configId": "allow_all", "value": "on"},
            {"sessionId": "s", "configId": "allow-all-urls", "type": "boolean", "value": True},
        ]


class TestFiles:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "root"
        (root / ".git").mkdir(parents=True)
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        (root / "way-out").symlink_to(tmp_path)
        (root / "a").write_bytes("1\n2\né\n".encode() + b"\xff")
        return root

    @pytest.mark.parametrize(
        "path",
        ["../secret", "way-out/secret", "/etc/passwd", "", None, 7, "a\0b", ".", ".git/config"],
    )
    def test_nothing_outside_of_the_work_tree_is_served(self, root: Path, path: object) -> None:
        with pytest.raises(policy.FileAccessRefused):
            policy.read_text(root, {"path": path})
        with pytest.raises(policy.FileAccessRefused):
            policy.write_text(root, {"path": path, "content": "x"})

    @pytest.mark.parametrize(
        ("params", "text"),
        [
            ({}, "1\n2\né\n\ufffd"),
            ({"line": 2}, "2\né\n\ufffd"),
            ({"line": 2, "limit": 1}, "2\n"),
            ({"limit": 1}, "1\n"),
        ],
    )
    def test_a_file_is_read_from_a_line_on(
        self, root: Path, params: dict[str, Any], text: str
    ) -> None:
        assert policy.read_text(root, {"path": str(root / "a"), **params}) == text

    def test_a_file_is_written_with_its_folders(self, root: Path) -> None:
        path = policy.write_text(root, {"path": "b/c", "content": "é"})
        assert path.read_text(encoding="utf-8") == "é"
        for params in ({"path": "b/c"}, {"path": "b", "content": "x"}):
            with pytest.raises(policy.FileAccessRefused):
                policy.write_text(root, params)
        with pytest.raises(policy.FileAccessRefused, match="is a folder, not a regular file"):
            policy.read_text(root, {"path": "b"})


class TestPipes:
    async def received(self, *lines: bytes, is_prompted: bool = True) -> tuple[Any, list[Any]]:
        """The messages that have to be dealt with, and the lines that are reported."""
        reader, out = asyncio.StreamReader(), io.BytesIO()
        pipes = AgentPipes(reader, None, RecordWriter(out))  # type: ignore[arg-type]
        pipes.is_prompted = is_prompted
        reader.feed_data(b"\n".join(lines))
        reader.feed_eof()
        found = []
        while (message := await pipes.receive()) is not None:
            found.append(message)
        return found, [json.loads(line) for line in out.getvalue().splitlines()]

    @pytest.mark.parametrize(
        ("line", "read"),
        [
            (b'{"id":1,"result":{}}', {"id": 1, "result": {}}),
            (b'{"id":"a","method":"m"}', {"id": "a", "method": "m"}),
            (b'{"id":1,"error":"bad"}', {"id": 1, "error": {"message": "bad"}}),
        ],
    )
    async def test_what_somebody_waits_for_is_passed_on_and_reported(
        self, line: bytes, read: dict[str, Any]
    ) -> None:
        found, told = await self.received(line)
        assert found == [read]
        assert told == [json.loads(line)]

    @pytest.mark.parametrize(
        "line",
        [
            b"Welcome!",
            b"[1]",
            b'{"id":[1],"result":{}}',
            b'{"method":7}',
            b'{"result":{}}',
            b'{"client":"denied","id":1}',
            b'{"id":1,',
        ],
    )
    async def test_what_is_no_message_is_reported_as_noise(self, line: bytes) -> None:
        found, told = await self.received(line, b'{"id":1,"result":{}}')
        assert len(found) == 1
        assert told[0] == {"client": "noise", "text": line.decode()}

    async def test_noise_comes_to_an_end(self) -> None:
        _, told = await self.received(*([b"no"] * (MOST_NOISE_LINES + 10)))
        assert len(told) == MOST_NOISE_LINES

    async def test_an_earlier_conversation_and_what_says_nothing_are_not_reported(self) -> None:
        lines = [
            json.dumps({"method": "session/update", "params": params}).encode()
            for params in (
                {"update": {"sessionUpdate": "agent_message_chunk"}},
                {"update": {"sessionUpdate": "available_commands_update"}},
                {"update": 7},
                7,
            )
        ]
        assert await self.received(*lines, is_prompted=False) == ([], [])
        found, told = await self.received(*lines, b'{"method":"_own"}')
        assert found == []
        assert told == [json.loads(line) for line in (lines[0], lines[2], lines[3])] + [
            {"method": "_own"}
        ]


class TestDescription:
    def chosen(self, name: str = "gemini-acp", **settings: Any) -> tuple[str, ...]:
        tools = settings.pop("tools", None)
        given = {"agent": name, "agents": {name: settings}, "tools": tools}
        agent = choose_agent(Config.model_validate(given))
        assert agent.argv[:4] == tuple(own_command("-m", "ralph_ls.engine.agent.acp"))
        assert (agent.name, agent.dialect) == (name, Dialect.ACP)
        return (*agent.argv[4:], *flags_for(agent, session="s1", model=None))

    @pytest.mark.parametrize("name", ACP_VARIANTS)
    def test_those_that_are_known_by_name_need_no_settings(self, name: str) -> None:
        agent = choose_agent(Config.model_validate({"agent": name}))
        assert agent.program == ACP_VARIANTS[name].argv[0]
        assert agent.login
        assert self.chosen(name) == ("--session", "s1", "--", *ACP_VARIANTS[name].argv)

    def test_all_settings_reach_the_client(self) -> None:
        argv = self.chosen(
            "mine",
            adapter="acp",
            argv=["my-agent", "--acp"],
            args=["-v"],
            model="-m",
            session_mode="yolo",
            login_method="key",
            tools={"allow": ["edit", "-x"], "deny": ["execute(rm *)"]},
        )
        options = read_options(argv)
        assert options.argv == ("my-agent", "--acp", "-v")
        assert (options.model, options.session) == ("-m", "s1")
        assert (options.mode, options.login) == ("yolo", "key")
        assert options.policy == PermissionPolicy(allow=("edit", "-x"), deny=("execute(rm *)",))
        assert read_options(self.chosen(tools={"allow": []})).policy == PermissionPolicy(allow=())
        assert read_options(self.chosen()).policy == PermissionPolicy()

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({}, "the agent 'mine' has no command; set argv"),
            (
                {"argv": ["x"], "prompt": "argument"},
                "prompt is 'argument', but the Agent Client Protocol",
            ),
            ({"argv": ["x", "{prompt_file}"]}, "delivers the prompt; remove that"),
        ],
    )
    def test_what_cannot_be_started_says_what_to_set(
        self, settings: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ConfigError, match=said):
            self.chosen("mine", adapter="acp", **settings)

    def test_only_root_says_that_it_is_in_a_sandbox(self, monkeypatch: pytest.MonkeyPatch) -> None:
        quiet = {"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
        for user, env in ((0, {**quiet, "IS_SANDBOX": "1"}), (1000, quiet)):
            monkeypatch.setattr(os, "geteuid", lambda user=user: user)
            assert choose_agent(Config(agent="claude-acp")).env == env
            assert choose_agent(Config(agent="gemini-acp")).env == {}

    def test_one_without_a_mode_that_asks_gets_a_variable_for_it(self) -> None:
        asks = Config.model_validate({"agent": "opencode-acp", "tools": {"allow": []}})
        assert choose_agent(asks).env == {"OPENCODE_PERMISSION": '{"*": "ask"}'}
        assert choose_agent(Config(agent="opencode-acp")).env == {}
