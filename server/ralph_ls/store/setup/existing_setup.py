"""Existing set-up: what another loop tool left in a repository that this loop can use
(docs/rules.md#files).

Its files are only read and stay as they are, so that the other tool still works. Commands in them
are not taken over, nor settings that this version does not have.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.prompt.template import PLACEHOLDER
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import read_regular, resolve_inside
from ralph_ls.store.project.config_file import CAREFUL_ITERATIONS
from ralph_ls.store.project.detection import DetectedPlan, detect_profiles
from ralph_ls.store.project.environment_settings import validated

RC_FILE = ".ralphrc"
LARGEST = 1 << 20
"""Most bytes of a file that is read."""
_PROMPTS = (".ralph/PROMPT.md", "PROMPT.md", "scripts/ralph/prompt.md")
_OTHERS = (
    RC_FILE,
    *_PROMPTS,
    ".circuit_breaker_state",
    ".exit_signals",
    ".ralph/.circuit_breaker_state",
    ".ralph/.exit_signals",
    "ralph.sh",
    "scripts/ralph/ralph.sh",
    ".last-branch",
    "scripts/ralph/.last-branch",
)
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Z][A-Z0-9_]*)=(.*)")
_BLOCK = "RALPH_STATUS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSetup:
    """The set-up of another tool, and what of it can be used."""

    profile: ProfileName
    plan: str
    """Path relative to the root, like the others."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Dotted key to value, as in a config file."""
    prompt: str | None = None
    """File that can be the prompt of an iteration."""
    not_taken: tuple[str, ...] = ()
    """What is not used and why, one sentence each."""
    kept: tuple[str, ...] = ()
    """The other tool's files, which stay as they are."""


def find_existing_setup(
    root: Path, plan: DetectedPlan | None = None, *, remembers: bool = False
) -> ExistingSetup | None:
    """The set-up of another tool at ``root``; None without one.

    ``plan`` is another tool's plan, which is used where no profile fits or the settings are to name
    it (``remembers``). Raises ``StateUnusable`` for a file that is not regular, or leads out of
    the work tree.
    """
    kept = tuple(name for name in _OTHERS if (root / name).is_file())
    detected = detect_profiles(root)
    if plan is not None and (remembers or not detected):
        named = {"paths.plan": plan.address} if remembers else {}
        return ExistingSetup(profile=ProfileName.FIXPLAN, plan=plan.path, settings=named)
    if not detected:
        return None
    settings, not_taken = _settings_of(_read(root, RC_FILE)) if RC_FILE in kept else ({}, [])
    if profile_of(detected[0].profile).settings.get("push"):
        # Nothing here says that a loop may push, or work without an end.
        settings = {"push": False, "max_iterations": CAREFUL_ITERATIONS, **settings}
    prompt, hindrances = _prompt_of(root, kept)
    not_taken += hindrances
    return ExistingSetup(
        profile=detected[0].profile,
        plan=detected[0].sign,
        settings=settings,
        prompt=prompt,
        not_taken=tuple(not_taken),
        kept=kept,
    )


def _prompt_of(root: Path, kept: Sequence[str]) -> tuple[str | None, list[str]]:
    """The first usable prompt, and why those before it are not."""
    hindrances: list[str] = []
    for name in _PROMPTS:
        if name in kept:
            hindrance = _why_no_prompt(_read(root, name))
            if hindrance is None:
                return name, hindrances
            hindrances.append(f"{name}: {hindrance}")
    return None, hindrances


def _read(root: Path, name: str) -> str:
    data = read_regular(resolve_inside(root, name), LARGEST)
    if data is None:
        raise StateUnusable(f"{root / name} is gone; try again")
    return data.decode("utf-8-sig", errors="replace")


def _why_no_prompt(text: str) -> str | None:
    if _BLOCK not in text:
        return f"it does not ask for a {_BLOCK} block, so the loop would get no report"
    found = PLACEHOLDER.search(text)
    return None if found is None else f"it contains {found[0]}, which is a placeholder here"


def _settings_of(text: str) -> tuple[dict[str, object], list[str]]:
    settings: dict[str, object] = {}
    not_taken: list[str] = []
    for line in text.splitlines():
        match = _ASSIGNMENT.fullmatch(line.strip())
        if match is None:
            continue
        name, written = match[1], match[2]
        value = _literal(written)
        if name not in _MEANINGS:
            not_taken.append(f"{name}: there is no such setting")
        elif value is None:
            not_taken.append(f"{name}: only a shell can compute {written.strip()}")
        elif value:
            key, read = _MEANINGS[name]
            try:
                settings[key] = read(value)
                validated({key: settings[key]})
            except (ValueError, ValidationError):
                settings.pop(key, None)
                not_taken.append(f"{name}: {value!r} is not a valid value for {key}")
    return settings, not_taken


def _literal(written: str) -> str | None:
    """A value as the shell would expand it; None where that depends on more than its text."""
    single = written.lstrip().startswith("'")
    if not single and re.search(r"[$`]", written):
        return None
    try:
        words = shlex.split(written, comments=True)
    except ValueError:
        return None
    return None if len(words) > 1 else "".join(words)


def _flag(value: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if value.lower() not in known:
        raise ValueError(value)
    return known[value.lower()]


def _tools(value: str) -> list[str]:
    """``Write,Bash(git add *),Bash(npm run a,b)``: a comma within brackets belongs to the tool."""
    return [tool.strip() for tool in re.findall(r"(?:[^,(]|\([^)]*\))+", value) if tool.strip()]


_MEANINGS: Mapping[str, tuple[str, Callable[[str], object]]] = MappingProxyType(
    {
        "CLAUDE_TIMEOUT_MINUTES": ("timeouts.iteration", lambda value: f"{int(value)}m"),
        "ALLOWED_TOOLS": ("tools.allow", _tools),
        "SESSION_CONTINUITY": ("session.resume", _flag),
        "SESSION_EXPIRY_HOURS": ("session.max_age", lambda value: f"{int(value)}h"),
        "CB_NO_PROGRESS_THRESHOLD": ("breaker.no_progress_open", int),
        "CB_SAME_ERROR_THRESHOLD": ("breaker.same_error_open", int),
        "CB_PERMISSION_DENIAL_THRESHOLD": ("breaker.denials_open", int),
    }
)
