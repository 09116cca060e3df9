"""The prompt of an iteration: the repository's own template, or the built-in one."""

from __future__ import annotations

from pathlib import Path

from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.core.prompt.render import render
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.files import read_if_there


def template_path(config: Config) -> str:
    """Where the template of a build iteration lies, relative to the root."""
    return f"{config.paths.prompts}/PROMPT_build.md"


def fill_template(root: Path, config: Config, context: PromptContext) -> str:
    """The prompt's text; raises ``ConfigError`` naming an unknown placeholder and its line."""
    path = template_path(config)
    data = read_if_there(root / path)
    if data is None:
        return render(context)
    try:
        return render(context, data.decode("utf-8", errors="replace"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
