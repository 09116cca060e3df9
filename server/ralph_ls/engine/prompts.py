"""The prompt of an iteration: somebody's own template or the built-in one, filled."""

from __future__ import annotations

from ralph_ls.core.prompt.template import PromptContext, render
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.project.prompt_texts import FoundTemplate, built_in_texts


def fill_template(found: FoundTemplate, context: PromptContext) -> str:
    """The prompt's text.

    Raises ``ConfigError`` naming an unknown placeholder, its file and its line, or a mode that the
    profile does not have.
    """
    try:
        return render(context, built_in_texts(), found.text)
    except ValueError as error:
        where = "" if found.path is None else f"{found.path}: "
        raise ConfigError(f"{where}{error}") from error


def which_wins(found: FoundTemplate) -> str | None:
    """That other templates were passed over for this one, in words; None: there were none."""
    if not found.passed_over:
        return None
    return f"the prompt is made from {found.path}, and not from {', '.join(found.passed_over)}"
