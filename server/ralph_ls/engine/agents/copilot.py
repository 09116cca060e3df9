"""GitHub Copilot's command line: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

COPILOT = Description(
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
