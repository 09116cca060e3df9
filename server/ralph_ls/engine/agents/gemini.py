"""Gemini CLI, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

from ralph_ls.engine.agent_description import Description, ToolFlags
from ralph_ls.protocol.config.agent import Dialect

GEMINI = Description(
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
