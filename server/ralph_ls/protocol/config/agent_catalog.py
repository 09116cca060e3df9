"""Catalog of agents: one entry for each program that is known by name.

Everything that depends on which agent it is comes from here: names in the settings, command lines,
tool lists, metering, stop hooks, folders in a sandbox. Only data: the decoder of a dialect is in
``core/agent/decode``, command lines are composed in ``engine/agent``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from ralph_ls.protocol.config.agent_facts import (
    HOOK_TIMEOUT,
    AcpVariant,
    AgentHome,
    DialectMetering,
    HookPlace,
    JudgeFlags,
    McpPlace,
    McpWay,
    Metering,
    ToolFlags,
)


class Dialect(StrEnum):
    """How an agent writes what it prints."""

    TEXT = "text"
    """Plain text: all of it is the agent's words."""
    CLAUDE = "claude"
    """JSON lines, as ``claude -p --output-format stream-json --verbose`` writes them."""
    CODEX = "codex"
    """JSON lines, as ``codex exec --json`` writes them."""
    GEMINI = "gemini"
    """JSON lines, as ``gemini -o stream-json`` writes them."""
    QWEN = "qwen"
    """JSON lines, as ``qwen -o stream-json`` writes them."""
    OPENCODE = "opencode"
    """JSON lines, as ``opencode run --format json`` writes them."""
    CLINE = "cline"
    """JSON lines, as ``cline --json`` writes them."""
    COPILOT = "copilot"
    """JSON lines, as ``copilot --output-format json`` writes them."""
    ACP = "acp"
    """JSON lines: the messages of the Agent Client Protocol, as our own client writes them down."""
    JSONL = "jsonl"
    """JSON lines of any program, with a mapping from its fields to ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """One entry: what is known of an agent's program before any setting."""

    name: str
    program: str
    call: tuple[str, ...]
    """Arguments that make it work headless, without those that follow."""
    freely: tuple[str, ...]
    """Flags that let it work without asking for approval."""
    stream: tuple[str, ...]
    """Flags that make it print its records."""
    dialect: Dialect
    metering: DialectMetering
    model: tuple[str, ...]
    """Flags that give it a model, ``{model}`` for its name."""
    resume: tuple[str, ...] = ()
    """Flags that resume a session, ``{session}`` for its id; never "the latest".

    Behind the program alone, without ``call``, they open it interactively.
    See docs/rules.md#sessions.
    """
    tail: tuple[str, ...] = ()
    """Arguments behind all flags that make it read its prompt from standard input."""
    system: tuple[str, ...] = ()
    """Flags for a system prompt that is added to the agent's: ``{system}``, or ``{quoted}`` for a
    string of TOML; empty: it is put in front of the prompt."""
    tools: ToolFlags = ToolFlags()
    judge: JudgeFlags | None = None
    """How it is started as a judge; None: it has no mode in which it cannot write."""
    env_as_root: Mapping[str, str] = field(default_factory=dict)
    """Variables that it gets if, and only if, the user is root."""
    hides_own_git: bool = False
    """Whether it keeps the user's git settings from the commands that it runs."""
    install: str
    """The command that installs it."""
    login: str
    """How to log in with it, behind "log in with: "."""
    keys: tuple[str, ...] = ()
    """Variables that hold a key or a token for it."""
    accounts: tuple[str, ...] = ()
    """Files below the home folder that exist after a login."""
    homes: Mapping[str, str] = field(default_factory=dict)
    """Variables that move such a folder: the variable, and the folder as ``accounts`` has it."""
    acp: AcpVariant | None = None
    mcp: McpPlace | None = None
    """How it is offered the tools of an iteration; None: it is not."""
    hook: HookPlace | None = None
    """Where a stop hook can be installed; None: nowhere."""
    without_hook: str = ""
    """Why it cannot run ``ralph hook stop``."""
    in_containers: bool = False
    """``docker sandbox run`` and ``sbx run`` know its program."""
    folders: tuple[AgentHome, ...]
    """Its folders below the home folder, for a box."""


_NEVER, _AT_END, _EACH_TURN = Metering

CLAUDE = AgentDescription(
    name="claude",
    program="claude",
    call=("-p",),
    freely=("--dangerously-skip-permissions",),
    stream=("--output-format", "stream-json", "--verbose"),
    dialect=Dialect.CLAUDE,
    metering=DialectMetering(tokens=_EACH_TURN, cost=_AT_END, names_model=True),
    model=("--model", "{model}"),
    # Never --continue: the latest session may be the user's.
    resume=("--resume", "{session}"),
    system=("--append-system-prompt", "{system}"),
    tools=ToolFlags(
        # Its default mode would still read files and run harmless commands unasked.
        allow=("--permission-mode", "dontAsk", "--allowedTools", "{tools}"),
        deny=("--disallowedTools", "{tools}"),
    ),
    # No shell: a pattern that allows git diff lets git diff --output=FILE write.
    judge=JudgeFlags(
        flags=(
            *("--permission-mode", "dontAsk", "--tools", "Read,Grep,Glob"),
            *("--allowedTools", "Read,Grep,Glob", "--strict-mcp-config"),
        ),
        readers=frozenset({"read", "grep", "glob"}),
    ),
    # As root, which is the user in a container, it works without asking only in a sandbox.
    env_as_root=MappingProxyType({"IS_SANDBOX": "1"}),
    install="npm install -g @anthropic-ai/claude-code",
    login="claude auth login, or set ANTHROPIC_API_KEY",
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    accounts=(".claude/.credentials.json",),
    homes=MappingProxyType({"CLAUDE_CONFIG_DIR": ".claude"}),
    acp=AcpVariant(
        argv=("claude-agent-acp",),
        login="claude, and /login in it",
        reports_cost=True,
        hides_servers=True,
        # Otherwise it asks its model after each turn what a user might type next.
        env=MappingProxyType({"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}),
    ),
    mcp=McpPlace(
        way=McpWay.FLAG,
        tool="mcp__ralph__{tool}",
        flag="--mcp-config={json}",
        # Otherwise it hides them behind a search for tools.
        entry=MappingProxyType({"type": "stdio", "alwaysLoad": True}),
        allow=("--allowedTools", "mcp__ralph"),
    ),
    hook=HookPlace(path=".claude/settings.json", event="Stop"),
    in_containers=True,
    folders=(
        AgentHome(
            folder=".claude",
            moved_by="CLAUDE_CONFIG_DIR",
            why="other sessions run or trust its shell snapshots, restored files and lists of "
            "tasks, so a sandbox gets separate ones; settings, hooks, agents, commands, "
            "skills and plugins can be read; .claude.json may add a server to start, so it is "
            "a copy",
            sessions=("projects",),
            tokens=(".credentials.json",),
            copies=(".claude.json", ".config.json"),
            own=(
                *("shell-snapshots", "session-env", "sessions", "statsig", "todos", "tasks"),
                *("debug", "telemetry", "file-history", "plans", "cache", "backups", "ide"),
                *("paste-cache", "image-cache", "usage-data", "downloads", "history.jsonl"),
                *("teams", "stats-cache.json", "*.lock"),
            ),
        ),
    ),
)

CODEX = AgentDescription(
    name="codex",
    program="codex",
    call=("exec",),
    freely=("--dangerously-bypass-approvals-and-sandbox",),
    stream=("--json",),
    dialect=Dialect.CODEX,
    metering=DialectMetering(tokens=_AT_END, cost=_NEVER),
    model=("-m", "{model}"),
    # A sub-command, so it follows all flags; never --last.
    resume=("resume", "{session}"),
    tail=("-",),
    system=("-c", "developer_instructions={quoted}"),
    tools=ToolFlags(
        instead="it has a sandbox instead of a list of tools, which argv can choose: argv = "
        '["codex", "exec", "--json", "--sandbox", "workspace-write"]'
    ),
    # Its own sandbox keeps the commands that it runs from writing.
    judge=JudgeFlags(flags=("--sandbox", "read-only")),
    install="npm install -g @openai/codex",
    login="codex login, or set CODEX_API_KEY",
    keys=("CODEX_API_KEY",),
    accounts=(".codex/auth.json",),
    homes=MappingProxyType({"CODEX_HOME": ".codex"}),
    acp=AcpVariant(argv=("codex-acp",), login="codex login", names_calls=False),
    mcp=McpPlace(
        way=McpWay.OVERRIDES,
        tool="mcp__ralph__{tool}",
        flag="-c",
        key="mcp_servers",
        # It begins without a server that is slow, unless that is required; then it gives up on it.
        entry=MappingProxyType({"required": True, "startup_timeout_sec": 60}),
        timeout="tool_timeout_sec",
        timeout_unit=1.0,
    ),
    hook=HookPlace(
        path=".codex/hooks.json",
        event="Stop",
        note="codex runs only hooks that you trust, in projects that you trust: start codex here, "
        "and check /hooks",
    ),
    in_containers=True,
    folders=(
        AgentHome(
            folder=".codex",
            moved_by="CODEX_HOME",
            why="config.toml names programs to start, and rules and prompts are trusted; its "
            "shell snapshots are sourced and other sessions act on its databases, so a "
            "sandbox gets separate ones",
            sessions=("sessions", "archived_sessions"),
            tokens=("auth.json",),
            own=(
                *(
                    "log",
                    "tmp",
                    ".tmp",
                    "cache",
                    "shell_snapshots",
                    "memories",
                    "history.jsonl",
                ),
                *("models_cache.json", "version.json", "session_index.jsonl", "*.sqlite*"),
                *("*.db*", "internal_storage.json", "installation_id", "*.lock"),
            ),
        ),
    ),
)

CLINE = AgentDescription(
    name="cline",
    program="cline",
    call=(),
    freely=("--auto-approve", "true"),
    stream=("--json",),
    dialect=Dialect.CLINE,
    metering=DialectMetering(tokens=_EACH_TURN, cost=_EACH_TURN, names_model=True),
    model=("-m", "{model}"),
    # It prints records only where the prompt is an argument, to which it adds standard input.
    tail=("Follow the instructions on standard input:",),
    tools=ToolFlags(instead="leave the setting out"),
    install="npm install -g cline",
    login="cline auth",
    accounts=(".cline/data/settings/providers.json",),
    homes=MappingProxyType({"CLINE_DIR": ".cline"}),
    # Its login needs a browser.
    acp=AcpVariant(argv=("cline", "--acp"), login="cline auth", is_tried=False),
    mcp=McpPlace(
        way=McpWay.FILE,
        tool="ralph__{tool}",
        variable="CLINE_MCP_SETTINGS_PATH",
        timeout="timeout",
        timeout_unit=1.0,
        file=".cline/data/settings/cline_mcp_settings.json",
    ),
    without_hook="it has no settings for one project",
    folders=(
        AgentHome(
            folder=".cline",
            moved_by="CLINE_DIR",
            why="its settings name programs to start, and its hooks are run; its state and "
            "sessions are rewritten beside them, so a sandbox gets copies",
            tokens=("data/secrets.json",),
            copies=(
                *("data/globalState.json", "data/settings/providers.json"),
                *(
                    "data/settings/global-settings.json",
                    "data/settings/cline_mcp_settings.json",
                ),
            ),
            own=(
                *(
                    "data/tasks",
                    "data/sessions",
                    "data/logs",
                    "data/cache",
                    "data/db",
                    "data/state",
                ),
                *(
                    "data/workspaces",
                    "data/workspace",
                    "data/teams",
                    "data/locks",
                    "log",
                    "logs",
                ),
                *("data/*.db*", "data/*.lock", "data/checkpoints"),
            ),
        ),
    ),
)

GEMINI = AgentDescription(
    name="gemini",
    program="gemini",
    # Without --skip-trust it does nothing in a folder that the user has not opened with it.
    call=("-p", "", "--skip-trust"),
    freely=("--yolo",),
    stream=("-o", "stream-json"),
    dialect=Dialect.GEMINI,
    metering=DialectMetering(tokens=_AT_END, cost=_NEVER, names_model=True),
    model=("-m", "{model}"),
    # Only an id: it would also accept "latest", and numbers of a list.
    resume=("--resume", "{session}"),
    tools=ToolFlags(
        allow=("--allowed-tools={tool}",),
        instead='it denies tools with a policy file, which args can name: args = ["--policy", '
        '"FILE"]',
    ),
    # Without --yolo it refuses what it would have to ask for.
    judge=JudgeFlags(
        readers=frozenset(
            {"read_file", "read_many_files", "list_directory", "glob", "search_file_content"}
        )
    ),
    hides_own_git=True,
    install="npm install -g @google/gemini-cli",
    login="gemini (it asks at its first start), or set GEMINI_API_KEY",
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    accounts=(".gemini/oauth_creds.json", ".gemini/gemini-credentials.json"),
    acp=AcpVariant(argv=("gemini", "--acp"), login="gemini, and /auth in it"),
    mcp=McpPlace(
        way=McpWay.HOME,
        tool="mcp_ralph_{tool}",
        variable="GEMINI_CLI_HOME",
        entry=MappingProxyType({"trust": True}),
        timeout="timeout",
        file=".gemini/settings.json",
    ),
    hook=HookPlace(
        path=".gemini/settings.json",
        event="AfterAgent",
        timeout=HOOK_TIMEOUT * 1000,
        comments=True,
    ),
    in_containers=True,
    folders=(
        AgentHome(
            folder=".gemini",
            why="settings.json, extensions, commands and policies start programs; trusted folders "
            "decide about them",
            sessions=(),
            tokens=("oauth_creds.json", "google_accounts.json", "mcp-oauth-tokens.json"),
            own=("tmp", "history", "state.json", "projects.json", "cache", "acknowledgments"),
        ),
    ),
)

OPENCODE = AgentDescription(
    name="opencode",
    program="opencode",
    call=("run",),
    freely=("--auto",),
    stream=("--format", "json"),
    dialect=Dialect.OPENCODE,
    metering=DialectMetering(tokens=_EACH_TURN, cost=_EACH_TURN),
    model=("-m", "{model}"),
    # Never -c: the latest session may be the user's.
    resume=("-s", "{session}"),
    tools=ToolFlags(variable="OPENCODE_PERMISSION"),
    # Its agent "plan" can run commands that write.
    judge=JudgeFlags(
        env=MappingProxyType(
            {
                "OPENCODE_PERMISSION": '{"*": "deny", "read": "allow", "grep": "allow", '
                '"glob": "allow", "list": "allow"}'
            }
        ),
        readers=frozenset({"read", "grep", "glob", "list"}),
    ),
    install="npm install -g opencode-ai",
    login="opencode auth login",
    accounts=(".local/share/opencode/auth.json",),
    homes=MappingProxyType({"XDG_DATA_HOME": ".local/share"}),
    acp=AcpVariant(
        argv=("opencode", "acp"),
        login="opencode auth login",
        reports_cost=True,
        # It has no mode that asks.
        env_with_tools=MappingProxyType({"OPENCODE_PERMISSION": '{"*": "ask"}'}),
    ),
    mcp=McpPlace(
        way=McpWay.VARIABLE,
        tool="ralph_{tool}",
        variable="OPENCODE_CONFIG_CONTENT",
        key="mcp",
        entry=MappingProxyType({"type": "local", "enabled": True}),
        timeout="timeout",
        allow_rule="ralph_*",
    ),
    without_hook="it has plugins instead of hooks",
    in_containers=True,
    folders=(
        AgentHome(
            folder=".local/share/opencode",
            why="other sessions use its database of sessions, its snapshots (repositories with "
            "their hooks) and the programs in bin, so a sandbox gets separate ones; auth.json "
            "may name a server whose settings are loaded, so only a renewed token is taken "
            "back",
            tokens=("auth.json", "mcp-auth.json"),
            own=(
                *("storage", "snapshot", "log", "tool-output", "project", "worktree", "repos"),
                *("*.db*", "bin", "plans"),
            ),
        ),
        AgentHome(
            folder=".config/opencode",
            why="it installs its plugins beside its settings",
            own=("node_modules", "package.json", "bun.lock", "package-lock.json", ".gitignore"),
        ),
        AgentHome(folder=".local/state/opencode", why="input history", own=("*",)),
        AgentHome(folder=".cache/opencode", why="plugins that other sessions load", own=("*",)),
    ),
)

QWEN = AgentDescription(
    name="qwen",
    program="qwen",
    call=(),
    freely=("--yolo",),
    stream=("-o", "stream-json"),
    dialect=Dialect.QWEN,
    metering=DialectMetering(tokens=_EACH_TURN, cost=_NEVER, names_model=True),
    model=("-m", "{model}"),
    resume=("--resume", "{session}"),
    system=("--append-system-prompt", "{system}"),
    tools=ToolFlags(
        # Its --allowed-tools hides some of them nevertheless, and keeps all that only read.
        allow=("--core-tools={tool}",),
        deny=("--exclude-tools={tool}",),
        keeps_freely=True,
        only_names=True,
    ),
    judge=JudgeFlags(
        flags=("--approval-mode", "plan"),
        readers=frozenset(
            {"read_file", "read_many_files", "list_directory", "glob", "search_file_content"}
        ),
    ),
    install="npm install -g @qwen-code/qwen-code",
    login="qwen (then /auth), or set OPENAI_API_KEY",
    keys=("OPENAI_API_KEY",),
    accounts=(".qwen/oauth_creds.json",),
    homes=MappingProxyType({"QWEN_HOME": ".qwen"}),
    acp=AcpVariant(argv=("qwen", "--acp"), login="qwen, and /auth in it"),
    mcp=McpPlace(
        way=McpWay.FLAG,
        tool="mcp__ralph__{tool}",
        flag="--mcp-config={json}",
        entry=MappingProxyType({"alwaysLoadTools": True, "trust": True}),
        timeout="timeout",
    ),
    hook=HookPlace(
        path=".qwen/settings.json", event="Stop", timeout=HOOK_TIMEOUT * 1000, comments=True
    ),
    folders=(
        AgentHome(
            folder=".qwen",
            why="settings.json, extensions and commands start programs; the token is renewed by "
            "rename beside a lock",
            sessions=("projects",),
            tokens=("oauth_creds.json", "mcp-oauth-tokens.json"),
            own=("tmp", "debug", "todos", "history", "cache", "logs", "ide", "*.lock"),
        ),
    ),
)

COPILOT = AgentDescription(
    name="copilot",
    program="copilot",
    call=("--no-ask-user",),
    freely=("--allow-all",),
    # Its stream has no tokens: only that file has them.
    stream=("--output-format", "json", "--usage-output-file", "{usage_file}"),
    dialect=Dialect.COPILOT,
    metering=DialectMetering(tokens=_AT_END, cost=_NEVER, names_model=True),
    model=("--model", "{model}"),
    # One argument: as two, a missing id would open its list of sessions.
    resume=("--resume={session}",),
    tools=ToolFlags(allow=("--allow-tool={tool}",), deny=("--deny-tool={tool}",)),
    judge=JudgeFlags(
        flags=("--allow-all", "--available-tools=view,grep,glob,ralph-report_verdict"),
        readers=frozenset({"view", "grep", "glob"}),
    ),
    install="npm install -g @github/copilot",
    login="copilot login, or set COPILOT_GITHUB_TOKEN",
    keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    acp=AcpVariant(argv=("copilot", "--acp"), login="copilot login", takes_servers=False),
    mcp=McpPlace(
        way=McpWay.FLAG,
        tool="ralph-{tool}",
        flag="--additional-mcp-config={json}",
        entry=MappingProxyType({"type": "local", "tools": ("*",)}),
        timeout="timeout",
        allow=("--allow-tool=ralph",),
    ),
    without_hook="its answer to a hook that keeps it working is different",
    in_containers=True,
    folders=(
        AgentHome(
            folder=".copilot",
            moved_by="COPILOT_HOME",
            why="config.json contains settings and tokens in one file and is rewritten, so it is "
            "a copy; mcp-config.json, hooks, agents and the programs in pkg can be read",
            sessions=("session-state", "history-session-state"),
            copies=("config.json", "settings.json", "permissions-config.json"),
            own=(
                *("logs", "ide", "restart", "session-store.db*", "command-history-state.json"),
                *("*.db*", "tmp", "cache", "data"),
            ),
        ),
    ),
)


CATALOG: Mapping[str, AgentDescription] = MappingProxyType(
    {agent.name: agent for agent in (CLAUDE, CODEX, CLINE, GEMINI, OPENCODE, QWEN, COPILOT)}
)
"""Every agent that is known by name, in the order in which they are listed."""

_VARIANTS = {f"{agent.name}-acp": agent.acp for agent in CATALOG.values() if agent.acp is not None}

ACP_VARIANTS: Mapping[str, AcpVariant] = MappingProxyType(
    dict(sorted(_VARIANTS.items(), key=lambda item: not item[1].is_tried))
)
"""The same programs as agents of the Agent Client Protocol, by the names in the settings."""


class Adapter(StrEnum):
    """Which agent a table is about: how it is called, and what it takes."""

    _ignore_ = ["agent"]  # noqa: RUF012
    for agent in CATALOG:
        vars()[agent.upper()] = agent
    ACP = "acp"
    """Any program that speaks the Agent Client Protocol."""
    COMMAND = "command"
    """Any other program, of which nothing is known."""
