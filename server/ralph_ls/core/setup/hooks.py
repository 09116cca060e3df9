"""The stop hook in the settings of an agent's program (I 3.2; SPEC §10).

Which programs have such a hook, where it stands there, and how it is merged into what is there
already: every byte that is not part of the hook stays. It must never know where a file lies on a
disk, nor who asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ralph_ls.core.plan.stories.json_text import Fault, Node, last_members, scan, value_of

COMMAND = "ralph hook stop"

SECONDS = 60
"""How long the hook may take; it looks at a plan and asks git what is not committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPlace:
    """Where a program reads its hooks, relative to the work tree."""

    path: str
    event: str
    """What the program calls the moment at which its agent is about to stop."""
    timeout: int = SECONDS
    """In the program's own unit."""
    comments: bool = False
    """Whether its file may have comments."""
    note: str = ""
    """What a person has to know besides."""


PLACES: Mapping[str, HookPlace] = {
    "claude": HookPlace(path=".claude/settings.json", event="Stop"),
    "codex": HookPlace(
        path=".codex/hooks.json",
        event="Stop",
        note="codex runs a project's hooks only once you have trusted them: start codex here, "
        "and look at /hooks",
    ),
    "gemini": HookPlace(
        path=".gemini/settings.json",
        event="AfterAgent",
        timeout=SECONDS * 1000,
        comments=True,
    ),
    "qwen": HookPlace(
        path=".qwen/settings.json", event="Stop", timeout=SECONDS * 1000, comments=True
    ),
}
"""By the agent's name; all four have the same shape of settings."""

WITHOUT: Mapping[str, str] = {
    "cline": "it has no settings of a project for one",
    "copilot": "its answer to a hook that keeps it at work is another one",
    "opencode": "it has plugins in place of hooks",
    "demo": "it is a script",
}
"""Agents that cannot ask ``ralph hook stop``, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookMerged:
    """The settings with the hook."""

    text: str
    """As before where the hook is there, or where it cannot be merged."""
    problem: str = ""
    """Why it cannot be merged, in words that follow the file's name; empty where it was."""
    line: int | None = None
    """From 1: where that is."""


def with_stop_hook(text: str, place: HookPlace) -> HookMerged:
    """The settings with the hook in them, once; a text without anything is a file of its own."""
    if not text.strip("\ufeff \t\r\n"):
        whole = {"hooks": {place.event: [_entry(place)]}}
        return HookMerged(text=json.dumps(whole, indent=2) + "\n")
    scanned = scan(text)
    faults = [fault for fault in scanned.faults if not (place.comments and _is_comment(fault))]
    root = scanned.root
    if faults or root is None:
        return _cannot(text, f"this is no JSON: {faults[0].message}", faults[0].start)
    if root.members is None:
        return _cannot(text, "this is no JSON object", root.start)
    found = last_members(root).get("hooks")
    if found is None:
        return _put(text, root, root, f'"hooks": {{"{place.event}": [{{}}]}}', place)
    if found.node.members is None:
        return _cannot(text, "hooks is no JSON object", found.start)
    event = last_members(found.node).get(place.event)
    if event is None:
        return _put(text, root, found.node, f'"{place.event}": [{{}}]', place)
    if event.node.items is None:
        return _cannot(text, f"hooks.{place.event} is no list", event.start)
    if any(COMMAND in one for one in _commands(value_of(event.node))):
        return HookMerged(text=text)
    return _put(text, root, event.node, "{}", place)


def _entry(place: HookPlace) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": COMMAND, "timeout": place.timeout}]}


def _is_comment(fault: Fault) -> bool:
    return fault.message.startswith("JSON has no comments")


def _cannot(text: str, problem: str, at: int) -> HookMerged:
    return HookMerged(text=text, problem=problem, line=text.count("\n", 0, at) + 1)


def _commands(value: object) -> list[str]:
    """Every command in the hooks of an event, whatever else is in there."""
    if isinstance(value, list):
        return [command for one in value for command in _commands(one)]
    if not isinstance(value, dict):
        return []
    own = [value["command"]] if isinstance(value.get("command"), str) else []
    return [*own, *_commands(value.get("hooks"))]


def _put(text: str, root: Node, inside: Node, frame: str, place: HookPlace) -> HookMerged:
    """The text with one more member or item at the end of ``inside``; ``{}`` is the hook."""
    children = [*(member.node for member in inside.members or ()), *inside.elements]
    newline = "\r\n" if "\r\n" in text else "\n"
    around = inside if children else root
    is_one_line = "\n" not in text[around.start : around.end]
    entry = json.dumps(_entry(place), indent=None if is_one_line else 2)
    made = frame.replace("{}", entry) if "{}" in frame else entry
    if is_one_line:
        at = children[-1].end if children else inside.start + 1
        put = f", {made}" if children else made
        return HookMerged(text=text[:at] + put + text[at:])
    unit = _indent_of(text, _first_of(root)) if (root.members or root.items) else "  "
    outer = _indent_of(text, inside.start)
    deep = outer + unit
    lines = _laid_out(frame, place, unit).split("\n")
    made = newline.join([lines[0], *(deep + line for line in lines[1:])])
    if children:
        at = children[-1].end
        return HookMerged(text=f"{text[:at]},{newline}{deep}{made}{text[at:]}")
    at = inside.start + 1
    rest = text[at:].lstrip(" \t\r\n")
    return HookMerged(text=f"{text[:at]}{newline}{deep}{made}{newline}{outer}{rest}")


def _laid_out(frame: str, place: HookPlace, unit: str) -> str:
    """The frame with the hook in it, over several lines; the first one has no indent."""
    if frame == "{}":
        return json.dumps(_entry(place), indent=unit)
    whole = json.dumps(
        json.loads("{" + frame.replace("{}", json.dumps(_entry(place))) + "}"), indent=unit
    )
    inner = whole.split("\n")[1:-1]
    return "\n".join(line.removeprefix(unit) for line in inner)


def _first_of(root: Node) -> int:
    return root.members[0].start if root.members else root.start


def _indent_of(text: str, at: int) -> str:
    """The white space that the line begins with in which this stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    found = re.match(r"[ \t]*", line)
    return "" if found is None else found[0]
