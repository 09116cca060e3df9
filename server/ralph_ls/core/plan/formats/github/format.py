"""GitHub queue as a plan format: a Markdown file that mirrors the issues (docs/rules.md#github).

The mirror is what agents and users read and tick. Ralph writes it before each iteration, and git
ignores it.
"""

from __future__ import annotations

from ralph_ls.core.plan.formats.markdown.format import load_markdown
from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanStorage
from ralph_ls.core.plan.model import PlanKind

MIRROR = ".ralph/github.md"
"""The file with the issues, relative to the root."""

LABEL = "ralph"
"""The label of the queue, where the settings name neither label nor milestone."""

QUEUE = "github"
"""What the user calls the queue."""

GITHUB = PlanFormat(
    name=PlanKind.GITHUB,
    title="GitHub issues",
    source="the issues of a label or milestone on GitHub",
    storage=PlanStorage.MIRROR,
    load=load_markdown,
    files=(MIRROR,),
    instructions="github",
    settings=(
        ("gate.rule", "queue"),
        # One issue that cannot be done must not keep the loop from the others.
        ("on_blocked", "set-aside"),
        ("attempts.limit", 3),
        ("attempts.counts", "no-progress"),
        ("attempts.mark", True),
    ),
)
