"""Topics of the help: pages of the documentation, as they were when this version was built.

A terminal gets them set by rich, a pipe gets the Markdown. Links between pages become a list of
commands at the end, since a terminal cannot follow them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import ralph_ls
from ralph_ls.cli.output import reading_width
from ralph_ls.protocol.errors import StateUnusable

TOPICS: Mapping[str, str] = {
    # "logs" is a verb.
    "log-files": "logs.md",
    # So is "lessons".
    "learning": "lessons.md",
} | {
    PurePosixPath(page).stem: page
    for page in (
        *("quick-start.md", "overnight.md", "safety.md", "setting-up.md", "moving.md", "faq.md"),
        *("running.md", "plans.md", "profiles.md", "checks.md", "progress.md", "commits.md"),
        *(
            "limits.md",
            "notifications.md",
            "requests.md",
            "prompts.md",
            "configuration.md",
            "exit-codes.md",
        ),
        *("troubleshooting.md", "security.md", "sandbox.md", "redaction.md", "comparison.md"),
        *("profiles/fixplan.md", "profiles/spec.md", "profiles/stories.md", "profiles/beads.md"),
        *("profiles/issue.md", "agents.md", "agents/models.md", "agents/failures.md"),
        *("agents/hooks.md", "agents/acp.md", "agents/json-lines.md", "agents/containers.md"),
        *("editors.md", "editors/vscode.md", "editors/neovim.md", "editors/emacs.md"),
        *("editors/helix.md", "editors/kate.md", "editors/sublime.md", "editors/vim.md"),
        *("editors/jetbrains.md", "editors/zed.md"),
    )
}
"""Each topic with its page, which pyproject.toml puts into the wheel."""

IN_WHEEL = "docs"
"""Folder of the pages in the installed package."""

_PACKAGE = Path(ralph_ls.__file__).parent
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
_LEFT_OUT = re.compile(r"^(?:!\[.*\]\(.*\)|<!--.*?-->)\n+", re.MULTILINE)
"""Pictures, and comments for those who write the pages."""


def show_topic(name: str) -> None:
    """Print the page of a topic: set on a terminal, else as Markdown."""
    text = topic_text(name)
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=reading_width()).print(Markdown(text, hyperlinks=False))


def topic_text(name: str) -> str:
    """The page of a topic as Markdown that can be read in a terminal."""
    linked: set[str] = set()

    def as_text(link: re.Match[str]) -> str:
        if "://" in link[2]:
            return link[0]
        linked.update({PurePosixPath(link[2].partition("#")[0]).stem} & TOPICS.keys() - {name})
        return link[1]

    # Every other part is code, which stays as it is.
    parts = _CODE.split(_read(TOPICS[name]))
    parts[::2] = [_LINK.sub(as_text, _LEFT_OUT.sub("", part)) for part in parts[::2]]
    also = [f"- `ralph help {topic}`" for topic in TOPICS if topic in linked]
    return "".join([*parts, *(["\n## See also\n\n", "\n".join(also), "\n"] if also else [])])


def _read(page: str) -> str:
    # An editable install has the pages where they are written.
    for folder in (_PACKAGE / IN_WHEEL, _PACKAGE.parents[1] / "docs"):
        if (folder / page).is_file():
            return (folder / page).read_text(encoding="utf-8")
    raise StateUnusable(
        f"the documentation is missing from this installation ({page}); install it again"
    )
