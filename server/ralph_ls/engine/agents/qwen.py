"""Qwen Code, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

from types import MappingProxyType

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

QWEN = Description(
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
