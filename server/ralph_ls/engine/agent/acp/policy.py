"""Permission policy: answers an agent's requests by the lists of ``[tools]``.

The protocol gives a call a title for display, a kind (``read``, ``edit``, ``delete``, ``move``,
``search``, ``execute``, ``think``, ``fetch``, ``switch_mode``, ``other``) and often the tool's name
and arguments. A rule names the tool or the kind, in any case, and may have a pattern in brackets,
which is matched against the command, the path or the title: ``execute(git *)``.

Files that an agent reads and writes through its client are served only from the work tree; symbolic
links are resolved first. We declare that we serve none, so that agents use the disk themselves, but
some ask nevertheless.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph_ls.core.agent.tools import own_tool
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.agent_tools import SERVER
from ralph_ls.store.files import read_regular, write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionCall:
    """A call of a tool, as far as it is known."""

    name: str = ""
    kind: str = ""
    title: str = ""
    command: str = ""
    paths: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Its name in reports."""
        return self.name or self.kind or self.title or "a tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionPolicy:
    """Rules for an agent's requests; they do not restrict an agent that asks nothing."""

    allow: tuple[str, ...] | None = None
    """When given, these and nothing else; None: everything."""
    deny: tuple[str, ...] = field(default=())
    """Never these."""

    @property
    def has_rules(self) -> bool:
        return self.allow is not None or bool(self.deny)

    def permits(self, call: PermissionCall) -> bool:
        """Whether the call may be made."""
        if any(_names(rule, call, in_parts=True) for rule in self.deny):
            return False
        if _is_own(call):
            # A list is about what changes something; to report is always permitted.
            return True
        return self.allow is None or any(_names(rule, call, in_parts=False) for rule in self.allow)


def _is_own(call: PermissionCall) -> bool:
    """Whether it is a call of the iteration's own tools (docs/rules.md#tools).

    Without a name the title says it, which is the model's words only for tools of other kinds.
    """
    title = call.title if call.kind == "other" else ""
    ours = title.removesuffix(f" ({SERVER} MCP Server)")
    is_titled = ours != title and own_tool(f"{SERVER}_{ours}") is not None
    return is_titled or own_tool(call.name or title) is not None


def call_of(tool_call: Mapping[str, Any]) -> PermissionCall:
    """The call that a request for permission is about; whatever is odd in it is left out."""
    given = tool_call.get("rawInput")
    arguments = given if isinstance(given, dict) else {}
    locations = tool_call.get("locations")
    rows = locations if isinstance(locations, list) else []
    paths = [row.get("path") for row in rows if isinstance(row, dict)]
    paths += [arguments.get(key) for key in ("file_path", "filePath", "path")]
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        command = " ".join(map(str, command))
    kind, title = _text(tool_call.get("kind")), _text(tool_call.get("title"))
    if not command and kind == "execute":
        # Some give nothing but the title there, which then is the command.
        command = title
    return PermissionCall(
        name=tool_name(tool_call),
        kind=kind,
        title=title,
        command=_text(command),
        paths=tuple(dict.fromkeys(path for path in paths if isinstance(path, str))),
    )


def tool_name(tool_call: Mapping[str, Any]) -> str:
    """The tool's own name, where the agent gives it; empty where not."""
    name = tool_call.get("name")
    if isinstance(name, str) and name:
        return name
    meta = tool_call.get("_meta")
    if not isinstance(meta, dict):
        return ""
    own = meta.get("claudeCode")
    return _text(own.get("toolName") if isinstance(own, dict) else meta.get("toolName"))


def option_for(options: object, *, allowed: bool) -> str | None:
    """The id of the option to choose, by its kind: what holds for once before what holds longer.

    None without an option of that kind; the request is then answered as cancelled.
    """
    rows = [row for row in options if isinstance(row, dict)] if isinstance(options, list) else []
    kinds = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
    for kind in kinds:
        for row in rows:
            if row.get("kind") == kind and isinstance(row.get("optionId"), str):
                return str(row["optionId"])
    return None


def _names(rule: str, call: PermissionCall, *, in_parts: bool) -> bool:
    """Whether a rule means a call.

    ``in_parts``: a pattern is also held against each command of a line that has several. Without
    it, a line that has several is never meant: ``git *`` must not let ``git log; rm -rf .`` pass.
    """
    found = _RULE.fullmatch(rule.strip())
    if found is None:
        return False
    word, pattern = found["word"].casefold(), found["pattern"]
    if word not in {"*", call.name.casefold(), call.kind.casefold()}:
        return False
    if pattern is None:
        return True
    texts: Sequence[str] = (*call.paths, call.title) if not call.command else (call.command,)
    if call.command and in_parts:
        texts = (call.command, *map(str.strip, _SEVERAL.split(call.command)))
    elif call.command and _SEVERAL.search(call.command) is not None:
        return False
    return any(fnmatch.fnmatchcase(text, pattern) for text in texts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_RULE = re.compile(r"(?P<word>[^()]+?)\s*(?:\((?P<pattern>.*)\))?", re.DOTALL)
_SEVERAL = re.compile(r"[;&|<>`\n]+|\$\(")
"""Characters that join or nest commands, or redirect output."""


class FileAccessRefused(Exception):
    """Error message for a file that is not read or written."""


def read_text(root: Path, params: Mapping[str, Any]) -> str:
    """Read a file, or a range of its lines; raises ``FileAccessRefused``."""
    path = inside(root, params.get("path"))
    try:
        data = read_regular(path)
    except StateUnusable as error:
        raise FileAccessRefused(error.message) from error
    if data is None:
        raise FileAccessRefused(f"{path} cannot be read: No such file or directory")
    text = data.decode("utf-8", errors="replace")
    first, count = params.get("line"), params.get("limit")
    if not isinstance(first, int) and not isinstance(count, int):
        return text
    lines = text.splitlines(keepends=True)
    start = max(0, first - 1) if isinstance(first, int) else 0
    end = start + max(0, count) if isinstance(count, int) else len(lines)
    return "".join(lines[start:end])


def write_text(root: Path, params: Mapping[str, Any]) -> Path:
    """Write a file, with its folders; raises ``FileAccessRefused``."""
    path, content = inside(root, params.get("path")), params.get("content")
    if not isinstance(content, str):
        raise FileAccessRefused(f"no text was given for {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content.encode("utf-8", errors="replace"))
    except StateUnusable as error:
        raise FileAccessRefused(error.message) from error
    except OSError as error:
        raise FileAccessRefused(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def inside(root: Path, given: object) -> Path:
    """Resolve the path with links followed; raises ``FileAccessRefused`` if it is outside."""
    if not isinstance(given, str) or not given or "\0" in given:
        raise FileAccessRefused("no path was given")
    try:
        top = root.resolve()
        path = (top / given).resolve()
    except (OSError, RuntimeError) as error:
        raise FileAccessRefused(f"{given} cannot be read: {error}") from error
    if not path.is_relative_to(top) or path == top:
        raise FileAccessRefused(
            f"{given} is outside the work tree {top}; only files in it are served"
        )
    if ".git" in path.relative_to(top).parts:
        raise FileAccessRefused(f"{given} belongs to git; use git to change it")
    return path
