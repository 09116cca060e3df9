"""Every agent whose command line is known: what it is started with, setting by setting.

The real programs are tried by ``make agents``; this says what they are given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ralph_ls.engine.agent import selection
from ralph_ls.engine.agent.description import Agent, install_of
from ralph_ls.engine.agent.selection import choose_agent, fill_argv, flags_for, prompt_for
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG, Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import AgentUnavailable, ConfigError
from ralph_ls.store.setup.setup import KNOWN_AGENTS

STANDING = {
    "claude": "claude -p --dangerously-skip-permissions --output-format stream-json --verbose",
    "codex": "codex exec --dangerously-bypass-approvals-and-sandbox --json",
    "cline": "cline --auto-approve true --json",
    "gemini": "gemini -p  --skip-trust --yolo -o stream-json",
    "opencode": "opencode run --auto --format json",
    "qwen": "qwen --yolo -o stream-json",
    "copilot": (
        "copilot --no-ask-user --allow-all --output-format json --usage-output-file {usage_file}"
    ),
}
MODEL = {"claude": "--model", "copilot": "--model"}
RESUME = {
    "claude": "--resume s1",
    "codex": "resume s1",
    "cline": "",
    "gemini": "--resume s1",
    "opencode": "-s s1",
    "qwen": "--resume s1",
    "copilot": "--resume=s1",
}
TAIL = {"codex": ("-",), "cline": ("Follow the instructions on standard input:",)}


@pytest.fixture(autouse=True)
def _as_nobody_special(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)


def chosen(agent: str, **settings: object) -> Agent:
    return choose_agent(Config.model_validate({"agent": agent, **settings}))


def told(agent: Agent, session: str | None = None, model: str | None = None) -> tuple[str, ...]:
    """The whole command line of an iteration."""
    more = flags_for(agent, session=session, model=model)
    return fill_argv(agent, "Do it.", Path("prompt.md"), more)


def test_every_known_agent_is_in_the_tables_here() -> None:
    assert list(STANDING) == list(CATALOG) == list(RESUME)
    assert {*CATALOG, *ACP_VARIANTS, "demo"} == KNOWN_AGENTS


@pytest.mark.parametrize("name", STANDING)
class TestEach:
    def test_it_works_without_asking_and_reads_its_prompt_from_standard_input(
        self, name: str
    ) -> None:
        agent = chosen(name)
        assert " ".join(agent.argv) == STANDING[name]
        assert told(agent) == (*agent.argv, *TAIL.get(name, ()))
        assert (agent.name, agent.prompt, agent.env) == (name, "stdin", {})
        assert agent.dialect is Dialect(name)
        assert agent.login == CATALOG[name].login

    def test_a_model_and_a_session_follow_its_flags(self, name: str) -> None:
        agent = chosen(name, agents={name: {"model": "small"}})
        flag = MODEL.get(name, "-m")
        resume = tuple(RESUME[name].split())
        tail = TAIL.get(name, ())
        assert told(agent) == (*agent.argv, flag, "small", *tail)
        expected = (*agent.argv, flag, "large", *resume, *tail)
        assert told(agent, session="s1", model="large") == expected

    def test_a_custom_command_replaces_its_usual_flags(self, name: str) -> None:
        table = {"argv": ["box", name], "args": ["--mine"], "env": {"A": "b"}, "dialect": "text"}
        agent = chosen(name, agents={name: table})
        assert told(agent) == ("box", name, "--mine", *TAIL.get(name, ()))
        assert (agent.env, agent.dialect) == ({"A": "b"}, Dialect.TEXT)

    def test_a_table_of_another_name_can_use_it(self, name: str) -> None:
        table = {"adapter": name, "model": "small", "args": ["--mine"]}
        agent = chosen("cheap", agents={"cheap": table})
        own = chosen(name)
        assert agent.argv == (*own.argv, "--mine")
        assert (agent.name, agent.model, agent.dialect) == ("cheap", "small", own.dialect)

    def test_a_prompt_as_argument_takes_the_place_of_what_reads_standard_input(
        self, name: str
    ) -> None:
        agent = chosen(name, agents={name: {"prompt": "argument"}})
        assert told(agent) == (*agent.argv, "Do it.")

    def test_sessions_are_refused_where_it_has_none(self, name: str) -> None:
        settings = {"session": {"resume": True}}
        if RESUME[name]:
            assert chosen(name, **settings).resume
            return
        with pytest.raises(ConfigError, match="such as --agent claude, codex, gemini"):
            chosen(name, **settings)


@pytest.mark.parametrize(
    ("name", "tools", "flags"),
    [
        (
            "claude",
            {"allow": ["Edit", "Bash(git *)"], "deny": ["WebFetch"]},
            (
                "-p --output-format stream-json --verbose --permission-mode dontAsk "
                "--allowedTools|Edit|Bash(git *)|--disallowedTools|WebFetch"
            ),
        ),
        (
            "gemini",
            {"allow": ["write_file", "run_shell_command(git)"]},
            (
                "-p  --skip-trust -o stream-json "
                "--allowed-tools=write_file|--allowed-tools=run_shell_command(git)"
            ),
        ),
        ("gemini", {"allow": []}, "-p  --skip-trust -o stream-json"),
        (
            "qwen",
            {"allow": ["edit"], "deny": ["run_shell_command"]},
            "--yolo -o stream-json --core-tools=edit --exclude-tools=run_shell_command",
        ),
        (
            "copilot",
            {"allow": ["write", "shell(git:*)"], "deny": ["shell(git push)"]},
            (
                "--no-ask-user --output-format json --usage-output-file {usage_file} "
                "--allow-tool=write|--allow-tool=shell(git:*)|--deny-tool=shell(git push)"
            ),
        ),
        (
            "copilot",
            {"deny": ["url"]},
            f"{STANDING['copilot'].removeprefix('copilot ')} --deny-tool=url",
        ),
        ("codex", {"deny": []}, STANDING["codex"].removeprefix("codex ")),
    ],
)
def test_lists_of_tools_become_what_the_agent_offers(
    name: str, tools: dict[str, list[str]], flags: str
) -> None:
    before, _, listed = flags.partition("|")
    expected = [*before.split(" "), *(listed.split("|") if listed else ())]
    agent = chosen(name, tools=tools)
    assert list(agent.argv) == [name, *expected]
    assert agent.env == {}


@pytest.mark.parametrize(
    ("tools", "permissions"),
    [
        ({"allow": ["edit", "read"]}, '{"*": "deny", "edit": "allow", "read": "allow"}'),
        ({"allow": []}, '{"*": "deny"}'),
        ({"deny": ["bash"]}, '{"bash": "deny"}'),
        ({"deny": ["bash(rm *)"]}, '{"bash": {"*": "allow", "rm *": "deny"}}'),
        (
            {"allow": ["bash", "edit"], "deny": ["bash"]},
            '{"*": "deny", "edit": "allow", "bash": "deny"}',
        ),
        (
            {"allow": ["bash"], "deny": ["bash(rm *)"]},
            '{"*": "deny", "bash": {"*": "allow", "rm *": "deny"}}',
        ),
        (
            {"allow": ["bash(git *)", "bash(ls *)"], "deny": ["bash(git *)"]},
            '{"*": "deny", "bash": {"*": "deny", "ls *": "allow", "git *": "deny"}}',
        ),
    ],
)
def test_opencode_reads_its_lists_from_its_environment_and_the_last_rule_wins(
    tools: dict[str, list[str]], permissions: str
) -> None:
    agent = chosen("opencode", tools=tools)
    assert agent.env == {"OPENCODE_PERMISSION": permissions}
    assert ("--auto" in agent.argv) is ("allow" not in tools)


@pytest.mark.parametrize(
    ("name", "tools", "told_so"),
    [
        ("codex", {"allow": ["shell"]}, r"'codex' .* tools\.allow; it has a sandbox"),
        ("codex", {"deny": ["shell"]}, r"tools\.deny; .* \"workspace-write\""),
        ("cline", {"deny": ["x"]}, r"'cline' does not support tools\.deny"),
        ("gemini", {"deny": ["x"]}, r"tools\.deny; .* args = \[\"--policy\", \"FILE\"\]"),
        ("qwen", {"allow": ["run_shell_command(git)"]}, "names; write 'run_shell_command', or"),
        ("qwen", {"deny": ["edit(a)"]}, r"tools\.deny contains 'edit\(a\)'"),
        ("qwen", {"allow": []}, r"tools\.allow is empty"),
    ],
)
def test_a_list_that_the_agent_would_not_obey_is_refused(
    name: str, tools: dict[str, list[str]], told_so: str
) -> None:
    with pytest.raises(ConfigError, match=told_so):
        chosen(name, tools=tools)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("claude", ("--append-system-prompt", 'Say "hi"\nü')),
        ("qwen", ("--append-system-prompt", 'Say "hi"\nü')),
        ("codex", ("-c", 'developer_instructions="Say \\"hi\\"\\nü"')),
    ],
)
def test_a_system_prompt_becomes_a_flag(name: str, flags: tuple[str, ...]) -> None:
    agent = chosen(name, agents={name: {"system_prompt": 'Say "hi"\nü'}})
    assert agent.argv == (*chosen(name).argv, *flags)
    assert prompt_for(agent, "Do it.") == "Do it."


@pytest.mark.parametrize("name", ["cline", "gemini", "opencode", "copilot", "mine"])
def test_without_a_flag_a_system_prompt_is_in_front_of_the_prompt(name: str) -> None:
    table = {"argv": ["./it"], "system_prompt": "Be brief.\n"}
    agent = chosen(name, agents={name: table})
    assert agent.argv == ("./it",)
    assert prompt_for(agent, "Do it.") == "Be brief.\n\nDo it."


class TestCommand:
    def test_its_own_flags_are_added(self) -> None:
        agent = chosen("mine", agents={"mine": {"argv": ["./it"], "args": ["-v"]}})
        assert (agent.argv, agent.login) == (("./it", "-v"), "")

    def test_a_name_that_is_known_can_be_a_plain_command(self) -> None:
        table = {"adapter": "command", "argv": ["codex", "exec", "-"]}
        agent = chosen("codex", agents={"codex": table})
        assert (agent.argv, agent.dialect) == (("codex", "exec", "-"), Dialect.TEXT)

    @pytest.mark.parametrize("agents", [{}, {"mine": {"model": "small"}}])
    def test_a_table_with_nothing_to_start_says_what_to_set(
        self, agents: dict[str, dict[str, str]]
    ) -> None:
        name = next(iter(agents), "command")
        with pytest.raises(ConfigError, match=rf"set argv under \[agents\.{name}\].* adapter = "):
            chosen(name, agents=agents)

    def test_an_unknown_name_is_reported_with_all_that_there_are(self) -> None:
        with pytest.raises(
            ConfigError, match=r"there is no agent 'gpt'\nAgents: claude, codex, cline, .*x1"
        ):
            chosen("gpt", agents={"x1": {"argv": ["x"]}})


def test_a_prompt_that_is_too_long_for_an_argument_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection, "_LONGEST_ARGUMENT", {sys.platform: 1000})
    agent = chosen("mine", agents={"mine": {"argv": ["./it"], "prompt": "argument"}})
    fits = fill_argv(agent, "ü" * 500, Path("p"))
    assert len(fits[1]) == 500
    with pytest.raises(AgentUnavailable, match=r"of 1001 bytes, .* 1000; set prompt = \"stdin\""):
        fill_argv(agent, "ü" * 500 + "x", Path("p"))
    monkeypatch.setattr(selection, "_LONGEST_ARGUMENT", {})
    assert fill_argv(agent, "x" * 1001, Path("p"))[1] == "x" * 1001


def test_how_a_program_is_installed_is_known_by_its_name() -> None:
    assert install_of("codex") == "npm install -g @openai/codex"
    assert install_of("sh") is None
