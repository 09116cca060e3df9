"""What the demo agent answers when it is asked for a plan: items made of the description's lines.

It is scripted, and says so. It must never touch a file.
"""

from __future__ import annotations

import re

MOST_CRITERIA = 8

SCRIPTED = "These items come from the scripted demo agent; no model was asked."


def propose(description: str) -> str:
    """Its answer, in the form that the prompt asks for."""
    lines = [line.strip() for line in description.splitlines() if line.strip()]
    criteria = [found[1].strip() for line in lines if (found := _ITEM.match(line))]
    prose = [line.lstrip("# ") for line in lines if not _ITEM.match(line)]
    named = next((line for line in prose if not line.endswith(":")), "".join(prose[:1]))
    task = named.partition(". ")[0].rstrip(".: ") or "the task"
    checks = [f"- [ ] Make sure of this, with a test: {one}" for one in criteria[:MOST_CRITERIA]]
    return "\n".join(
        [
            SCRIPTED,
            "",
            "## High Priority (P0)",
            "",
            f"- [ ] Write a test that fails until this is done: {task}",
            "  - The test fails today, for the right reason",
            f"- [ ] Do it: {task}",
            "  - The new test and all others pass",
            "",
            "## Standard (P1)",
            "",
            *(checks or ["- [ ] Cover wrong input and edge cases with tests"]),
            "",
            "## Nice to Have (P2)",
            "",
            "- [ ] Write down how it is used, with an example that was tried",
        ]
    )


_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")
