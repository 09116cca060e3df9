"""opencode, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect, ToolsConfig

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


OPENCODE = Description(
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
