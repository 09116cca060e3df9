"""OpenAI Codex, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

from types import MappingProxyType

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

CODEX = Description(
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
