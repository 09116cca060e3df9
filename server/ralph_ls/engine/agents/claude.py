"""Claude Code, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

from types import MappingProxyType

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

CLAUDE = Description(
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
