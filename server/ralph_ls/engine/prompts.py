"""The prompt of an iteration: the repository's own template, or the built-in one."""

from __future__ import annotations

from pathlib import Path

from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.core.prompt.render import render
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.protocol.run_words import Mode
from ralph_ls.store.files import read_if_there


def template_path(config: Config, mode: Mode = Mode.BUILD) -> str:
    """Where the template of an iteration of that mode lies, relative to the root."""
    return f"{config.paths.prompts}/PROMPT_{mode.value}.md"


def fill_template(root: Path, config: Config, context: PromptContext) -> str:
    """The prompt's text; raises ``ConfigError`` naming an unknown placeholder and its line."""
    path = template_path(config, context.mode)
    data = read_if_there(root / path)
    if data is None:
        return render(context)
    try:
        return render(context, data.decode("utf-8", errors="replace"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
