"""Detection: the profile and the plans that a repository has, and the specifications in it.

Only names are checked, never contents, so detection takes a few system calls
(docs/rules.md#profiles). The signs of a profile are the profile's own data, the places of a plan
those of its format. The loop and the editor both find specifications here, so that they agree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanStorage
from ralph_ls.core.plan.formats.registry import FORMATS, plan_name
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plan.specs import ARCHIVE, FOLDER, is_spec
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import names_in


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedProfile:
    """A profile that fits, and the path that shows it."""

    profile: ProfileName
    sign: str
    """Path relative to the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedPlan:
    """A plan of another tool."""

    kind: PlanKind
    path: str
    """Relative to the root."""
    tag: str = ""
    """Which of the plans in a file of Task Master it is; empty where that is not known."""
    is_current: bool = True
    """Whether it is the one that its tool takes by default."""

    @property
    def name(self) -> str:
        """What the user calls it: the folder of a feature or change, a tag, else its path."""
        return self.tag or plan_name(self.path, FORMATS[self.kind])

    @property
    def address(self) -> str:
        """What ``paths.plan`` calls it: its path, with the tag of one that is not current."""
        return self.path if self.is_current else f"{self.path}#{self.tag}"


def detect_profiles(root: Path) -> tuple[DetectedProfile, ...]:
    """The profiles that fit ``root``, each once, in the order of docs/rules.md#profiles.

    Specifications alone are a sign of ``spec`` only without any other sign, as other tools use
    the same folder. An unreadable folder is no sign.
    """
    found = [
        DetectedProfile(profile=profile.name, sign=sign)
        for profile in PROFILES.values()
        if (sign := _first_present(root, profile.signs)) is not None
    ]
    if not found and not detect_formats(root):
        found = [
            DetectedProfile(profile=profile.name, sign=sign)
            for profile in PROFILES.values()
            if (sign := _first_present(root, profile.faint_signs)) is not None
        ]
    return tuple(found)


def detect_plans(root: Path) -> tuple[DetectedPlan, ...]:
    """The plans of other tools in ``root``, in the order of the formats, then by path."""
    return tuple(
        DetectedPlan(kind=known.name, path=path)
        for known in FORMATS.values()
        if not known.signs or any(_is_there(root / sign) for sign in known.signs)
        for path in _plans_of(root, known)
    )


def likely_plans(root: Path) -> tuple[str, ...]:
    """The files that are probably plans by their names; no run takes one that is not named."""
    found = []
    for folder in ("", "docs", "doc"):
        try:
            names = names_in(root / folder)
        except StateUnusable:
            continue
        paths = (
            f"{folder}/{name}" if folder else name for name in names if _LIKELY.fullmatch(name)
        )
        found += [path for path in paths if (root / path).is_file()]
    return tuple(found)


def how_to_begin(root: Path, otherwise: str) -> str:
    """The end of a message that there is no plan: what to do, and files that may be one.

    ``otherwise`` is what to do where no other tool is to write it.
    """
    otherwise = why_of_tool(root) or otherwise
    found = likely_plans(root)
    if not found:
        return f"; {otherwise}"
    named = ", ".join(found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return (
        f"; {otherwise}; {named}{more} may be one: check it with ralph plan {found[0]}, then work "
        f"on it with ralph run --plan {found[0]}"
    )


_LIKELY = re.compile(
    r"(?:fix[-_]?|implementation[-_]?|project[-_]?|work[-_]?|dev(?:elopment)?[-_]?)?plan\.md"
    r"|(?:to-?dos?|tasks?|task[-_]?list|road-?map|backlog|milestones)\.md",
    re.IGNORECASE,
)
_MOST_NAMED = 3


def detect_formats(root: Path) -> tuple[PlanFormat, ...]:
    """The formats of other tools that ``root`` shows, with or without a plan."""
    return tuple(
        known
        for known in FORMATS.values()
        if known.storage is not PlanStorage.MIRROR
        and any(True for shown in (*known.shows, *known.files) for _ in expand(root, shown))
    )


def why_of_tool(root: Path) -> str:
    """Why another tool, and not the loop, writes the plan here, and how; empty where none does."""
    tools = [known for known in detect_formats(root) if known.begin]
    if not tools:
        return ""
    if any("/" in one.path for one in detect_plans(root)):
        return f"this is a project of {tools[0].title}; see its plans with: ralph plan --all"
    return f"this is a project of {tools[0].title} without a plan yet; {tools[0].begin}"


def places_without_plan(root: Path, known: PlanFormat) -> tuple[str, ...]:
    """The folders of features or changes of a format that have no plan yet."""
    found = set(_plans_of(root, known))
    return tuple(
        folder
        for pattern in known.files
        if "*" in (place := pattern.rpartition("/")[0])
        for folder in expand(root, place, known.not_in)
        if f"{folder}/{pattern.rpartition('/')[2]}" not in found and (root / folder).is_dir()
    )


def expand(
    root: Path, pattern: str, not_in: tuple[str, ...] = (), *, folder: str = ""
) -> Iterator[str]:
    """The paths below ``root`` that a pattern names, sorted; ``*`` is for a part of one name.

    ``{folder}`` at its beginning is ``folder``, read literally.
    """
    below = pattern.removeprefix("{folder}/")
    yield from _expanded(root, folder if below != pattern else "", below.split("/"), not_in)


def _expanded(root: Path, folder: str, parts: list[str], not_in: tuple[str, ...]) -> Iterator[str]:
    first, *rest = parts
    for name in _names_like(root / folder, first, not_in):
        path = f"{folder}/{name}" if folder else name
        if rest:
            yield from _expanded(root, path, rest, not_in)
        elif _is_there(root / path):
            yield path


def _names_like(folder: Path, pattern: str, not_in: tuple[str, ...]) -> list[str]:
    if "*" not in pattern:
        return [pattern]
    try:
        names = names_in(folder)
    except StateUnusable:
        return []
    return [one for one in names if fnmatchcase(one, pattern) and one not in not_in]


def _plans_of(root: Path, known: PlanFormat) -> Iterator[str]:
    """Every plan of a format; of several fixed places the first."""
    for pattern in known.files:
        found = list(expand(root, pattern, known.not_in))
        yield from found
        if found and "*" not in pattern:
            return


def _first_present(root: Path, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _is_there(root / name)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


MOST_SPECS = 1000
"""Most specifications that are read."""

MOST_ENTRIES = 100_000
"""Most files and folders below ``specs/`` that are visited."""


def find_specs(root: Path) -> tuple[str, ...]:
    """Names of specifications within ``specs/``, sorted; links to folders are not followed."""
    found: list[str] = []
    top, n_entries = root / FOLDER, 0
    for folder, folders, files in os.walk(top):
        n_entries += len(folders) + len(files)
        below = Path(folder).relative_to(top)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and (below / name).as_posix() != ARCHIVE
        ]
        found += (name for file in files if is_spec(name := (below / file).as_posix()))
        if len(found) > MOST_SPECS or n_entries > MOST_ENTRIES:
            break
    return tuple(sorted(found)[:MOST_SPECS])
