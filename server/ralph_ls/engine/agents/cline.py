"""Cline, headless: the prompt on stdin, JSON lines on stdout (SPEC §10; S, Multi-Agent)."""

from __future__ import annotations

from types import MappingProxyType

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

CLINE = Description(
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
