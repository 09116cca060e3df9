"""Prompt for a proposed plan: the task, the existing plan, and the form of the answer.

The agent breaks the task down; the user edits and chooses (docs/rules.md#set-up). The description
is the user's text, quoted so that nothing in it is taken as an instruction of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The demo agent reads such prompts and starts too often to wait for the import of models.
    from ralph_ls.protocol.lsp.setup import PlanItem

FIRST_LINE = "# Propose a plan"
TASK_HEADING = "## The task"

HEADINGS = {
    "P0": "## High Priority (P0)",
    "P1": "## Standard (P1)",
    "P2": "## Nice to Have (P2)",
}
"""Priority to heading."""


def proposal_prompt(
    description: str, *, plan_path: str | None = None, example: Sequence[PlanItem] = ()
) -> str:
    """Render the prompt; ``plan_path`` names an existing plan."""
    existing = (
        f"- Read `{plan_path}`: it already has tasks. Propose none of them again.\n"
        if plan_path
        else ""
    )
    return f"""\
{FIRST_LINE}

Break the task below down into the items of a plan. Later an agent works through the plan, one \
item at a time, each time without memory of the last. The user first reviews, edits and selects \
your items.

{TASK_HEADING}

{_quoted(description)}

## Look first

{existing}- Look at the code base: what is there, what is missing, how it is built and tested.
- Change nothing: write, move and delete no file, commit nothing. Only read, and answer.

## Answer

Answer with these three headings and a list of open boxes below each, and with nothing else. Leave \
a heading without items out.

{_form(example)}

- One item is what can be done in one sitting, with its tests. Split what is larger.
- Put first what others depend on. High Priority is what the task cannot do without; Nice to Have \
is what it can be finished without.
- Say what to do, and in an indented line below how to verify it, such as a command that must pass.
- Write 3 to 15 items in all.
"""


def description_in(prompt: str) -> str | None:
    """The description in a prompt of this kind; None for any other prompt."""
    if not prompt.startswith(FIRST_LINE):
        return None
    lines = prompt.partition(f"\n{TASK_HEADING}\n")[2].lstrip("\n").split("\n")
    quoted = []
    for line in lines:
        if not line.startswith(">"):
            break
        quoted.append(line[1:].removeprefix(" "))
    return "\n".join(quoted)


def _form(example: Sequence[PlanItem]) -> str:
    """The form of the answer, filled with a template's items where there are some."""
    parts = []
    for priority, heading in HEADINGS.items():
        fitting = [item.title for item in example if item.priority == priority]
        titles = fitting or ([] if example else ["<what should be done>"])
        if titles:
            listed = "\n".join(f"- [ ] {title}" for title in titles)
            parts.append(f"{heading}\n\n{listed}")
    filled = "\n\n".join(parts)
    introduction = "For a task of this kind it may look like this; fit it to this task:\n\n"
    return f"{introduction if example else ''}```\n{filled}\n```"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines()) or ">"
