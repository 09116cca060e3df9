"""Filling a template: placeholders in, text out; an unknown placeholder is an error.

SPEC §9.2: the placeholders are RALPH_ITERATION, RALPH_MAX_ITERATIONS, TASK, ANSWER,
RECOMMENDATION and NOTE. A block that has nothing to say leaves no trace in the text.
"""

from __future__ import annotations

import re

from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.core.prompt.templates import BUILD_TEMPLATE, PLAN_TEMPLATE
from ralph_ls.protocol.run_words import Mode

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")


def render(context: PromptContext, template: str | None = None) -> str:
    """The prompt for one iteration, from the user's ``template`` or the built-in one.

    Raises ValueError naming the first unknown placeholder and its line.
    """
    built_in = PLAN_TEMPLATE if context.mode is Mode.PLAN else BUILD_TEMPLATE
    text = built_in if template is None else template
    values = values_of(context)

    def fill(match: re.Match[str]) -> str:
        name = match[1].upper()
        if name not in values:
            line = text.count("\n", 0, match.start()) + 1
            known = ", ".join(sorted(values))
            raise ValueError(f"unknown placeholder {match[0]} in line {line}; known are {known}")
        return values[name]

    filled = PLACEHOLDER.sub(fill, text)
    return re.sub(r"\n{3,}", "\n\n", filled).strip() + "\n"


def values_of(context: PromptContext) -> dict[str, str]:
    """What each placeholder stands for."""
    limit = context.max_iterations
    return {
        "RALPH_ITERATION": str(context.iteration),
        "RALPH_MAX_ITERATIONS": "no limit" if limit is None else str(limit),
        "PLAN": context.plan_path,
        "SPECS": _specs(context),
        "DECIDE_FILE": context.decide_path,
        "BLOCKED_FILE": context.blocked_path,
        "COMPLETE_WORD": context.complete_word,
        "COMPLETION": context.completion,
        "TASK": _task(context),
        "ANSWER": _answer(context),
        "RECOMMENDATION": _recommendation(context),
        "NOTE": _notes(context),
    }


def _specs(context: PromptContext) -> str:
    """Where specifications lie: other tools keep theirs beside the plan (SPEC §3)."""
    folder, _, _ = context.plan_path.rpartition("/")
    return f"`specs/` or `{folder}/specs/`" if folder else "`specs/`"


def _task(context: PromptContext) -> str:
    if context.mode is Mode.PLAN:
        return f"Task: write the plan, `{context.plan_path}`. Implement nothing."
    if context.task is None:
        return (
            "The plan names no required task that is open. Check that this is so: look for work "
            "that the specifications ask for and the plan does not name, and for tests that fail. "
            "If you find some, add it to the plan as a task and stop. If not, change nothing."
        )
    return f"Task: {' '.join(context.task.split())}"


def _answer(context: PromptContext) -> str:
    if context.question is None or context.answer is None:
        return ""
    who = f" by {context.answered_by}" if context.answered_by else ""
    return (
        "## A decision was made\n\n"
        f"An earlier iteration asked:\n\n{_quoted(context.question)}\n\n"
        f"It was answered{who}:\n\n{_quoted(context.answer)}\n\n"
        f"Act on this answer now, then delete `{context.decide_path}`."
    )


def _recommendation(context: PromptContext) -> str:
    if not context.recommendation:
        return ""
    return f"## The last iteration recommends\n\n{_quoted(context.recommendation)}"


def _notes(context: PromptContext) -> str:
    if not context.notes:
        return ""
    listed = "\n\n".join(_quoted(note) for note in context.notes)
    return f"## A person says\n\n{listed}"


def _quoted(text: str) -> str:
    """Set apart from the instructions, so that words in it are never read as ours."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
