"""Stop hook in the settings of an agent's program.

Which programs have such a hook, where their settings are, and how the hook is merged into existing
settings without changing any other byte. The hook is an absolute command, since an agent's PATH may
not contain ``ralph``. Reads and writes no file.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.formats.json_text import (
    JsonFault,
    JsonNode,
    last_members,
    scan_json,
)
from ralph_ls.protocol.config.agent_catalog import CATALOG
from ralph_ls.protocol.config.agent_facts import HookPlace

HOOK_COMMAND = "ralph hook stop"
"""Forms of earlier releases and of manual set-up."""
HookEntry = dict[str, object]
_ARGUMENTS = ["hook", "stop"]
_MODULE = ["-m", "ralph_ls"]

HOOK_PLACES: Mapping[str, HookPlace] = {
    agent.name: agent.hook for agent in CATALOG.values() if agent.hook is not None
}
"""By the agent's name; all have the same shape of settings."""

AGENTS_WITHOUT_HOOK: Mapping[str, str] = {
    **{agent.name: agent.without_hook for agent in CATALOG.values() if agent.hook is None},
    "demo": "it is a script",
}
"""Agents that cannot run ``ralph hook stop``, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedHooks:
    """The settings with the hook."""

    text: str
    """Unchanged where the hook exists or cannot be merged."""
    problem: str = ""
    """Why it cannot be merged, as words that follow the file's name; empty for success."""
    line: int | None = None
    """Line of the problem, from 1."""


def launcher(own_command: Callable[..., Sequence[str]]) -> str:
    """The command that runs the hook.

    ``own_command`` builds a command line for the interpreter that ``ralph`` runs in, which imports
    nothing from the work tree.
    """
    return shlex.join(own_command(*_MODULE, *_ARGUMENTS))


def words_of_hook(command: str) -> tuple[str, ...] | None:
    """The words of a command that is just our hook; None for any other."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    head = words[: -len(_ARGUMENTS)]
    is_module = len(head) == 4 and head[1] in {"-I", "-P"} and head[2:] == _MODULE
    is_ours = is_module or [one.rpartition("/")[2] for one in head] == ["ralph"]
    return tuple(words) if is_ours and words[len(head) :] == _ARGUMENTS else None


def hook_in(text: str, place: HookPlace) -> str | None:
    """The command of our hook in the settings; None where there is none or they are unreadable."""
    event = _event_in(scan_json(text).root, place)
    commands = () if event is None else (str(one.scalar) for one in _command_nodes(event))
    return next((one for one in commands if words_of_hook(one) is not None), None)


def with_stop_hook(text: str, place: HookPlace, command: str) -> MergedHooks:
    """The settings with the hook exactly once; an empty text becomes a new file.

    Hooks of earlier releases, and those that name another ``ralph``, are replaced by this command.
    """
    entry = _entry(place, command)
    if not text.strip("\ufeff \t\r\n"):
        whole = {"hooks": {place.event: [entry]}}
        return MergedHooks(text=json.dumps(whole, indent=2) + "\n")
    scanned = scan_json(text)
    faults = [fault for fault in scanned.faults if not (place.comments and _is_comment(fault))]
    root = scanned.root
    if faults or root is None:
        return _cannot(text, f"this is not JSON: {faults[0].message}", faults[0].start)
    if root.members is None:
        return _cannot(text, "this is not a JSON object", root.start)
    found = last_members(root).get("hooks")
    if found is None:
        return _put(text, root, root, f'"hooks": {{"{place.event}": [{{}}]}}', entry)
    if found.node.members is None:
        return _cannot(text, "hooks is not a JSON object", found.start)
    event = last_members(found.node).get(place.event)
    if event is None:
        return _put(text, root, found.node, f'"{place.event}": [{{}}]', entry)
    if event.node.items is None:
        return _cannot(text, f"hooks.{place.event} is not a list", event.start)
    return _replace_or_add(text, root, event.node, command, entry)


def _replace_or_add(
    text: str, root: JsonNode, hooks: JsonNode, command: str, entry: HookEntry
) -> MergedHooks:
    """The settings with the hook exactly once in the list of its event."""
    known = list(_command_nodes(hooks))
    ours = [one for one in known if words_of_hook(str(one.scalar)) is not None]
    if ours:
        return MergedHooks(text=_with_command(text, ours, command))
    if any(HOOK_COMMAND in str(one.scalar) for one in known):
        # A hook command that the user wrapped in another one.
        return MergedHooks(text=text)
    return _put(text, root, hooks, "{}", entry)


def _entry(place: HookPlace, command: str) -> HookEntry:
    return {"hooks": [{"type": "command", "command": command, "timeout": place.timeout}]}


def _with_command(text: str, nodes: Sequence[JsonNode], command: str) -> str:
    for node in sorted(nodes, key=lambda one: one.start, reverse=True):
        if node.scalar != command:
            text = text[: node.start] + json.dumps(command) + text[node.end :]
    return text


def _event_in(root: JsonNode | None, place: HookPlace) -> JsonNode | None:
    for key in ("hooks", place.event):
        if root is None or root.members is None or key not in (members := last_members(root)):
            return None
        root = members[key].node
    return root


def _is_comment(fault: JsonFault) -> bool:
    return fault.message.startswith("JSON has no comments")


def _cannot(text: str, problem: str, at: int) -> MergedHooks:
    return MergedHooks(text=text, problem=problem, line=text.count("\n", 0, at) + 1)


def _command_nodes(node: JsonNode) -> Iterator[JsonNode]:
    """Every command in the hooks of an event."""
    for item in node.items or ():
        yield from _command_nodes(item)
    members = {} if node.members is None else last_members(node)
    if "command" in members and isinstance(members["command"].node.scalar, str):
        yield members["command"].node
    if "hooks" in members:
        yield from _command_nodes(members["hooks"].node)


def _put(text: str, root: JsonNode, inside: JsonNode, frame: str, entry: HookEntry) -> MergedHooks:
    """Insert a member or item at the end of ``inside``; ``{}`` is the hook."""
    children = [*(member.node for member in inside.members or ()), *inside.elements]
    newline = "\r\n" if "\r\n" in text else "\n"
    around = inside if children else root
    is_one_line = "\n" not in text[around.start : around.end]
    written = json.dumps(entry, indent=None if is_one_line else 2)
    made = frame.replace("{}", written)
    if is_one_line:
        at = children[-1].end if children else inside.start + 1
        put = f", {made}" if children else made
        return MergedHooks(text=text[:at] + put + text[at:])
    unit = _indent_of(text, _first_of(root)) if (root.members or root.items) else "  "
    outer = _indent_of(text, inside.start)
    deep = outer + unit
    lines = _laid_out(frame, entry, unit).split("\n")
    made = newline.join([lines[0], *(deep + line for line in lines[1:])])
    if children:
        at = children[-1].end
        return MergedHooks(text=f"{text[:at]},{newline}{deep}{made}{text[at:]}")
    at = inside.start + 1
    rest = text[at:].lstrip(" \t\r\n")
    return MergedHooks(text=f"{text[:at]}{newline}{deep}{made}{newline}{outer}{rest}")


def _laid_out(frame: str, entry: HookEntry, unit: str) -> str:
    """The frame with the hook in it, on several lines, of which the first is not indented."""
    if frame == "{}":
        return json.dumps(entry, indent=unit)
    whole = json.dumps(json.loads("{" + frame.replace("{}", json.dumps(entry)) + "}"), indent=unit)
    inner = whole.split("\n")[1:-1]
    return "\n".join(line.removeprefix(unit) for line in inner)


def _first_of(root: JsonNode) -> int:
    return root.members[0].start if root.members else root.start


def _indent_of(text: str, at: int) -> str:
    """The white space at the beginning of the line at this offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    found = re.match(r"[ \t]*", line)
    return "" if found is None else found[0]
