"""What the client has told about itself: its name, and its options (``protocol.options``).

Options that make no sense are told in the log and left out one by one, so that a wrong setting of
one thing never takes away another. It must never know what an option is used for.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.workspaces import UNKNOWN_CLIENT

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.options import EditorOptions

logger = logging.getLogger(__name__)

SECTION = "ralph"
"""Under which ``workspace/didChangeConfiguration`` carries the options."""

LONGEST_NAME = 60

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""As in ``protocol.options``, whose models are imported only after ``initialize``."""
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Settings:
    """The options as the client last told them; they are read when they are first needed."""

    def __init__(self, *, read_only: bool = False) -> None:
        """``read_only`` holds whatever the client tells: whoever started this server said so."""
        self._read_only = read_only
        self._told: dict[str, Any] = {}
        self._options: EditorOptions | None = None

    @property
    def has_prefix(self) -> bool:
        """Whether the client has commands of its own, so that the server registers none."""
        prefix = self._told.get("commandPrefix")
        return isinstance(prefix, str) and _PREFIX.fullmatch(prefix) is not None

    def begin(self, told: object) -> None:
        """``initializationOptions``."""
        self._told = dict(told) if isinstance(told, Mapping) else {}
        self._options = None

    def change(self, settings: object) -> bool:
        """``didChangeConfiguration``; whether anything differs. The prefix stays what it was."""
        section = settings.get(SECTION) if isinstance(settings, Mapping) else None
        if not isinstance(section, Mapping):
            return False
        fixed = {"commandPrefix": self._told.get("commandPrefix")}
        before = self.options()
        self._told = {**self._told, **section, **fixed}
        self._options = None
        return self.options() != before

    def options(self) -> EditorOptions:
        """All of them, with the defaults where nothing was told."""
        if self._options is None:
            told = {**self._told, "readOnly": True} if self._read_only else self._told
            self._options = _read(told)
        return self._options


def name_of(client: types.ClientInfo | None) -> str:
    """Who asks, in words for a person."""
    name = "" if client is None else _UNSHOWABLE.sub(" ", client.name).strip()
    return name[:LONGEST_NAME] or UNKNOWN_CLIENT


def _read(told: Mapping[str, Any]) -> EditorOptions:
    from pydantic import ValidationError

    from ralph_ls.protocol.lsp.options import EditorOptions

    wanted = {key: value for key, value in told.items() if value is not None}
    while True:
        try:
            return EditorOptions.model_validate(wanted, by_alias=True, by_name=False)
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                key = str(problem["loc"][0])
                logger.warning("The option %s is left out: %s", key, problem["msg"])
                wanted.pop(key, None)
