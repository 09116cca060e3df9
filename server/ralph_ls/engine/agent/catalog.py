"""Claude Code, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

OpenAI Codex, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

Gemini CLI, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

Qwen Code, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

opencode, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

GitHub Copilot's command line: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

Cline, headless: the prompt on stdin, JSON lines on stdout (docs/rules.md#agents).

Any agent that speaks the Agent Client Protocol, through our own client of it
(docs/rules.md#agents).

What is started is the client, which starts the agent; the agent's command line is the last of it.

Any program as agent: prompt on stdin, as an argument, or in a file (docs/rules.md#agents).

The built-in ``demo`` agent: scripted, offline, and for the sample project only
(docs/rules.md#agents).

Every agent whose command line is known, by its name, in the order in which they are shown.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

from ralph_ls.core.agent.decode.dialects import DIALECTS_WITH_USAGE_FILE, USAGE_FILE_PLACEHOLDER
from ralph_ls.engine.agent.description import Agent, AgentDescription, ToolFlags
from ralph_ls.protocol.config.agent import AgentConfig, Dialect, PromptBy, ToolsConfig
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.own_python import own_command

CLAUDE = AgentDescription(
    name="claude",
    program="claude",
    call=("-p",),
    freely=("--dangerously-skip-permissions",),
    stream=("--output-format", "stream-json", "--verbose"),
    dialect=Dialect.CLAUDE,
    model=("--model", "{model}"),
    # Never --continue: the latest session there may be a person's own.
    resume=("--resume", "{session}"),
    system=("--append-system-prompt", "{system}"),
    tools=ToolFlags(
        # Its own default mode would still read files and run harmless commands unasked.
        allow=("--permission-mode", "dontAsk", "--allowedTools", "{tools}"),
        deny=("--disallowedTools", "{tools}"),
    ),
    # As root it refuses to work without asking, unless it is told that it is in a sandbox: root is
    # what one is in a container, and there it says no word about what it wants.
    as_root=MappingProxyType({"IS_SANDBOX": "1"}),
    install="npm install -g @anthropic-ai/claude-code",
    login="claude auth login, or set ANTHROPIC_API_KEY",
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    accounts=(".claude/.credentials.json",),
    homes=MappingProxyType({"CLAUDE_CONFIG_DIR": ".claude"}),
)


CODEX = AgentDescription(
    name="codex",
    program="codex",
    call=("exec",),
    freely=("--dangerously-bypass-approvals-and-sandbox",),
    stream=("--json",),
    dialect=Dialect.CODEX,
    model=("-m", "{model}"),
    # A sub-command, so it stands behind all flags; never --last.
    resume=("resume", "{session}"),
    tail=("-",),
    system=("-c", "developer_instructions={quoted}"),
    tools=ToolFlags(
        instead="it has no list of tools but a sandbox, which argv can choose: "
        'argv = ["codex", "exec", "--json", "--sandbox", "workspace-write"]'
    ),
    install="npm install -g @openai/codex",
    login="codex login, or set CODEX_API_KEY",
    keys=("CODEX_API_KEY",),
    accounts=(".codex/auth.json",),
    homes=MappingProxyType({"CODEX_HOME": ".codex"}),
)


GEMINI = AgentDescription(
    name="gemini",
    program="gemini",
    # Without --skip-trust it does nothing in a folder where nobody has worked with it by hand.
    call=("-p", "", "--skip-trust"),
    freely=("--yolo",),
    stream=("-o", "stream-json"),
    dialect=Dialect.GEMINI,
    model=("-m", "{model}"),
    # An id alone: it would take "latest", and numbers of a list.
    resume=("--resume", "{session}"),
    tools=ToolFlags(
        allow=("--allowed-tools={tool}",),
        instead="it denies by a policy file of its own, which args can name: "
        'args = ["--policy", "FILE"]',
    ),
    hides_own_git=True,
    install="npm install -g @google/gemini-cli",
    login="gemini (it asks at its first start), or set GEMINI_API_KEY",
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    accounts=(".gemini/oauth_creds.json", ".gemini/gemini-credentials.json"),
)


QWEN = AgentDescription(
    name="qwen",
    program="qwen",
    call=(),
    freely=("--yolo",),
    stream=("-o", "stream-json"),
    dialect=Dialect.QWEN,
    model=("-m", "{model}"),
    resume=("--resume", "{session}"),
    system=("--append-system-prompt", "{system}"),
    tools=ToolFlags(
        # Its --allowed-tools hides some of them nevertheless, and leaves all that only read.
        allow=("--core-tools={tool}",),
        deny=("--exclude-tools={tool}",),
        keeps_freely=True,
        only_names=True,
    ),
    install="npm install -g @qwen-code/qwen-code",
    login="qwen (then /auth), or set OPENAI_API_KEY",
    keys=("OPENAI_API_KEY",),
    accounts=(".qwen/oauth_creds.json",),
    homes=MappingProxyType({"QWEN_HOME": ".qwen"}),
)


_PATTERN = re.compile(r"(?P<tool>[^()]+)\((?P<pattern>.+)\)")
"""``bash(git *)``: a tool, and what it may be used for."""


def permissions(tools: ToolsConfig) -> Mapping[str, str]:
    """Both lists as opencode reads them from its environment; there, the last rule that fits wins.

    So what is general comes first, and what is denied after what is allowed.
    """
    rules: dict[str, str | dict[str, str]] = {} if tools.allow is None else {"*": "deny"}
    for word in tools.allow or ():
        _add(rules, word, "allow", otherwise="deny")
    for word in tools.deny or ():
        _add(rules, word, "deny", otherwise="allow" if tools.allow is None else "deny")
    return {"OPENCODE_PERMISSION": json.dumps(rules, ensure_ascii=False)}


def _add(
    rules: dict[str, str | dict[str, str]], word: str, verdict: str, *, otherwise: str
) -> None:
    parts = _PATTERN.fullmatch(word)
    if parts is None:
        # It goes behind what was said of others, also where this tool was named before.
        rules.pop(word, None)
        rules[word] = verdict
        return
    tool, pattern = parts["tool"], parts["pattern"]
    before = rules.get(tool, otherwise)
    inner = before if isinstance(before, dict) else {"*": before}
    inner.pop(pattern, None)
    rules[tool] = {**inner, pattern: verdict}


OPENCODE = AgentDescription(
    name="opencode",
    program="opencode",
    call=("run",),
    freely=("--auto",),
    stream=("--format", "json"),
    dialect=Dialect.OPENCODE,
    model=("-m", "{model}"),
    # Never -c: the latest session there may be a person's own.
    resume=("-s", "{session}"),
    tools=ToolFlags(env=permissions),
    install="npm install -g opencode-ai",
    login="opencode auth login",
    accounts=(".local/share/opencode/auth.json",),
    homes=MappingProxyType({"XDG_DATA_HOME": ".local/share"}),
)


COPILOT = AgentDescription(
    name="copilot",
    program="copilot",
    call=("--no-ask-user",),
    freely=("--allow-all",),
    # Its stream has no tokens: they stand in that file alone.
    stream=("--output-format", "json", "--usage-output-file", "{usage_file}"),
    dialect=Dialect.COPILOT,
    model=("--model", "{model}"),
    # One argument: apart, an id that is missing would open its list of sessions.
    resume=("--resume={session}",),
    tools=ToolFlags(allow=("--allow-tool={tool}",), deny=("--deny-tool={tool}",)),
    install="npm install -g @github/copilot",
    login="copilot login, or set COPILOT_GITHUB_TOKEN",
    keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
)


CLINE = AgentDescription(
    name="cline",
    program="cline",
    call=(),
    freely=("--auto-approve", "true"),
    stream=("--json",),
    dialect=Dialect.CLINE,
    model=("-m", "{model}"),
    # It prints records for a prompt that is an argument alone, and joins standard input to it.
    tail=("Do what is said on standard input:",),
    tools=ToolFlags(instead="it has no list of tools; leave the setting out"),
    install="npm install -g cline",
    login="cline auth",
    accounts=(".cline/data/settings/providers.json",),
    homes=MappingProxyType({"CLINE_DIR": ".cline"}),
)


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude-acp": ("claude-agent-acp",),
    "codex-acp": ("codex-acp",),
    "gemini-acp": ("gemini", "--acp"),
    "opencode-acp": ("opencode", "acp"),
    "qwen-acp": ("qwen", "--acp"),
    "copilot-acp": ("copilot", "--acp"),
    "cline-acp": ("cline", "--acp"),
}
"""What those are called with that are known by name."""

REPORT_COST = frozenset({"claude-agent-acp", "opencode"})
"""Programs that report what a session costs; the protocol lets an agent leave that out."""

CLIENT = "ralph_ls.engine.agent.acp"
"""The module of our client of the protocol."""


def describe_acp_agent(name: str, config: AgentConfig, tools: ToolsConfig | None = None) -> Agent:
    """The agent with the settings of ``[agents.NAME]`` and ``[tools]``.

    Raises ``ConfigError`` where there is nothing to start, or where the prompt is to go elsewhere.
    """
    argv = config.argv or COMMANDS.get(name, ())
    if not argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            ".ralph/config.toml to what starts it as an agent of the Agent Client Protocol, "
            'such as ["gemini", "--acp"]'
        )
    if config.prompt is not PromptBy.STDIN:
        raise ConfigError(
            f"agents.{name}.prompt is {config.prompt.value!r}, but an agent of the Agent Client "
            "Protocol is given its prompt by the protocol; remove the setting"
        )
    return Agent(
        name=name,
        argv=(*own_command("-m", CLIENT), *_settings(config), *_rules(tools)),
        program=argv[0],
        env={**_around(argv[0], tools), **config.env},
        dialect=config.dialect or Dialect.ACP,
        reports_cost=argv[0] in REPORT_COST,
        resume=("--session", "{session}"),
        login=_LOGINS.get(argv[0], ""),
        preface=config.system_prompt or "",
        model=config.model,
        model_flags=("--model={model}",),
        tail=("--", *argv, *config.args),
    )


_LOGINS = {
    "claude-agent-acp": "claude, and /login in it",
    "codex-acp": "codex login",
    "gemini": "gemini, and /auth in it",
    "opencode": "opencode auth login",
    "qwen": "qwen, and /auth in it",
    "copilot": "copilot login",
    "cline": "cline auth",
}
"""How one logs in with the account that the agent of a program uses."""


def _settings(config: AgentConfig) -> tuple[str, ...]:
    mode, login = config.session_mode, config.login_method
    return (
        *(() if mode is None else (f"--mode={mode}",)),
        *(() if login is None else (f"--login={login}",)),
    )


def _rules(tools: ToolsConfig | None) -> tuple[str, ...]:
    """What the client answers when it is asked for permission."""
    if tools is None:
        return ()
    only = () if tools.allow is None else ("--only", *(f"--allow={one}" for one in tools.allow))
    return (*only, *(f"--deny={one}" for one in tools.deny or ()))


def _around(program: str, tools: ToolsConfig | None) -> Mapping[str, str]:
    """What some have to be told by variables.

    That of ``claude`` asks its model what a person might say next, after each turn, and nobody
    reads that. As root it does not work without asking, unless it is told of a sandbox.
    That of ``opencode`` has no mode that asks: with rules, it is told to ask for all that it does.
    """
    if program == COMMANDS["opencode-acp"][0] and tools is not None:
        return {"OPENCODE_PERMISSION": '{"*": "ask"}'}
    if program != COMMANDS["claude-acp"][0]:
        return {}
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    quiet = {"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
    return {**quiet, "IS_SANDBOX": "1"} if is_root else quiet


def describe_command_agent(name: str, config: AgentConfig) -> Agent:
    """An agent from its table; raises ``ConfigError`` where there is nothing to start."""
    if not config.argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            '.ralph/config.toml, or adapter = "claude" or another that is known, '
            "or give --agent-command"
        )
    if config.model is not None:
        raise ConfigError(
            f"agents.{name}.model is set, but a command of your own is given no model; "
            f"put it into argv under [agents.{name}], and remove the setting"
        )
    dialect = config.dialect or Dialect.TEXT
    if dialect not in DIALECTS_WITH_USAGE_FILE and any(
        USAGE_FILE_PLACEHOLDER in part for part in config.argv
    ):
        readable = " or ".join(sorted(f'"{one}"' for one in DIALECTS_WITH_USAGE_FILE))
        raise ConfigError(
            f"agents.{name}.argv has {USAGE_FILE_PLACEHOLDER}, but such a file is not read with "
            "the dialect "
            f"{dialect.value!r}; set dialect = {readable}, or take it out"
        )
    return Agent(
        name=name,
        argv=(*config.argv, *config.args),
        prompt=config.prompt,
        env=config.env,
        dialect=dialect,
        preface=config.system_prompt or "",
    )


def describe_demo_agent() -> Agent:
    """The demo agent as a separate process."""
    return Agent(name="demo", argv=tuple(own_command("-m", "ralph_ls.engine.demo.agent")))


DESCRIPTIONS: Mapping[str, AgentDescription] = MappingProxyType(
    {one.name: one for one in (CLAUDE, CODEX, CLINE, GEMINI, OPENCODE, QWEN, COPILOT)}
)


def install_of(program: str) -> str | None:
    """The command that installs a program of that name; None where none is known."""
    found = (one.install for one in DESCRIPTIONS.values() if one.program == program)
    return next(found, None)
