"""Detection: the profile and the plans that a repository has, and the specifications in it.

Only names are checked, never contents, so detection takes a few system calls
(docs/rules.md#profiles). The exceptions are the places of a format where other programs have files
too, such as ``tasks/tasks.json``: there the text decides. The signs of a profile are the profile's
own data, the places of a plan those of its format. The loop and the editor both find specifications
here, so that they agree.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from pathlib import Path

from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanStorage
from ralph_ls.core.plan.formats.registry import (
    FORMATS,
    format_of_plan,
    is_at,
    matches,
    plan_name,
)
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plan.specs import ARCHIVE, FOLDER, is_spec
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.files import names_in, resolve_inside
from ralph_ls.store.project.plan_folder import read_plan_file

_MOST_TEXTS = 64
"""Most texts that are read for a format's sign, and of which it is remembered whose they are."""


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
    is_finished: bool = False
    """Whether it is known that all its tasks are done."""

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
        DetectedPlan(kind=_kind_at(root, path, known), path=path)
        for known in FORMATS.values()
        for path in _plans_of(root, known)
    )


def likely_plans(root: Path) -> tuple[str, ...]:
    """The files that are probably plans by their names; no run takes one that is not named.

    Without one in the root or its ``docs``, those one folder below the root, of which the first
    hundred are looked into; then those of the features in ``specs``.
    """
    if near := _likely_among(root, ("", "docs", "doc")):
        return near
    below = _likely_among(root, (one for one in _names_in(root) if _is_own_folder(root, one)))
    if below:
        return below
    features = _likely_among(root, expand(root, "specs/*", not_in=tuple(_FILLED_BY_TOOLS)))
    return tuple(one for one in features if not is_of_tool(root, one))


def _likely_among(root: Path, folders: Iterable[str]) -> tuple[str, ...]:
    some = islice(folders, _MOST_FOLDERS)
    return tuple(one for folder in some for one in _likely_in(root, folder))


def _likely_in(root: Path, folder: str) -> list[str]:
    known = _ANY_MARKDOWN if folder.casefold() in _PLAN_FOLDERS else _LIKELY
    names = [one for one in _names_in(root / folder) if known.fullmatch(one) and one.isprintable()]
    paths = (f"{folder}/{name}" if folder else name for name in names)
    return [path for path in paths if _is_file(root / path)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _names_in(folder: Path) -> list[str]:
    """The names in a folder; none where it cannot be listed or has too many."""
    try:
        return names_in(folder, _MOST_LISTED)
    except StateUnusable:
        return []


def _is_own_folder(root: Path, name: str) -> bool:
    """Whether people write plans there: no link, and nothing that a tool fills."""
    is_shown = not name.startswith(".") or name in _HIDDEN_WITH_PLANS
    if not is_shown or name.casefold() in _FILLED_BY_TOOLS or not name.isprintable():
        return False
    try:
        return (root / name).is_dir() and not (root / name).is_symlink()
    except OSError:
        return False


def how_to_begin(root: Path, otherwise: str) -> str:
    """The end of a message that there is no plan: what to do, and files that may be one.

    ``otherwise`` is what to do where no other tool is to write it.
    """
    return f"; {why_of_tool(root) or otherwise}{name_likely_plans(root)}"


def name_likely_plans(root: Path) -> str:
    """The files that may be a plan, as the end of a message; empty without any.

    Without any, also why a file with the name of a plan is none.
    """
    found = likely_plans(root)
    if not found:
        return "".join(f"; {path} is no plan: {why}" for path, why in foreign_plans(root))
    named = ", ".join(found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    first = shlex.quote(found[0])
    return (
        f"; {named}{more} may be one: check it with ralph plan {first}, then work on it with "
        f"ralph run --plan {first}"
    )


_LIKELY = re.compile(
    r"(?:(?:fix[-_]?|implementation[-_]?|project[-_]?|work[-_]?|dev(?:elopment)?[-_]?)?plan"
    r"|(?:to-?dos?|tasks?|task[-_]?list|road-?map|backlog|milestones))\.(?:md|org)",
    re.IGNORECASE,
)
_ANY_MARKDOWN = re.compile(r"(?!(?:readme|index|template)\.).+\.md", re.IGNORECASE)
_PLAN_FOLDERS = frozenset({"plan", "plans"})
"""Folders where every Markdown file may be a plan."""
_HIDDEN_WITH_PLANS = frozenset(
    {".agents", ".ai", ".claude", ".codex", ".cursor", ".github", ".plans"}
)
_FILLED_BY_TOOLS = frozenset(
    {"node_modules", "vendor", "third_party", "venv", "env", "dist", "build", "out", "target"}
)
_MOST_FOLDERS = 100
_MOST_LISTED = 5000
"""Entries of a folder that is looked into."""
_MOST_NAMED = 3


def detect_formats(root: Path) -> tuple[PlanFormat, ...]:
    """The formats of other tools that ``root`` shows, with or without a plan."""
    return tuple(
        known
        for known in FORMATS.values()
        if known.storage is not PlanStorage.MIRROR
        and (
            any(True for shown in known.shows for _ in expand(root, shown))
            or any(True for pattern in known.files for _ in _paths_like(root, pattern, known))
        )
    )


def is_of_tool(root: Path, path: str) -> bool:
    """Whether a file of the repository is a plan of another tool, or a part of one."""
    return any(
        is_at(path, known) and _has_sign(root, known) and _is_own(root, path, known)
        for known in FORMATS.values()
        if known.files
    )


def foreign_plans(root: Path) -> tuple[tuple[str, str], ...]:
    """The files in the root that are no plan in spite of their names: the path and the reason."""
    return tuple(
        (path, why)
        for known in FORMATS.values()
        for pattern in known.shared
        if "/" not in pattern
        for path in expand(root, pattern, any_case=known.any_case)
        if (why := _why_foreign(root, path, known))
    )


def _paths_like(root: Path, pattern: str, known: PlanFormat) -> Iterator[str]:
    """The paths of a format that a pattern names, without those of other programs."""
    if _has_sign(root, known):
        paths = expand(root, pattern, known.not_in, any_case=known.any_case)
        yield from (path for path in paths if _is_own(root, path, known))


def _is_own(root: Path, path: str, known: PlanFormat) -> bool:
    """Whether a file in a place of a format that has its sign is not another program's."""
    return not (_is_shared(path, known) and _why_foreign(root, path, known))


def _has_sign(root: Path, known: PlanFormat) -> bool:
    """Whether a format that needs a sign has one, or a file that surely is a plan of it.

    Only the first few files are read for that.
    """
    if not known.signs or any(_is_there(root / sign) for sign in known.signs):
        return True
    paths = (path for pattern in known.files for path in expand(root, pattern, known.not_in))
    some = islice(paths, _MOST_TEXTS)
    return any(_is_sure_text(text_at(root, path), known.name) for path in some)


def _is_shared(path: str, known: PlanFormat) -> bool:
    """Whether other programs have files there, too, and no place of the format's own names it."""
    place = path.casefold() if known.any_case else path
    own = (one for one in known.files if one not in known.shared)
    return any(matches(place, one, known.not_in) for one in known.shared) and not any(
        matches(place, one, known.not_in) for one in own
    )


def format_at(root: Path, path: str | None, kind: PlanKind) -> PlanFormat:
    """The format of a run's plan by its path and the text that is there now.

    As ``format_of_plan``, and ``format_of_text`` of what can be read.
    """
    known = format_of_plan(path, kind)
    return known if path is None else FORMATS[_kind_at(root, path, known)]


def _kind_at(root: Path, path: str, known: PlanFormat) -> PlanKind:
    return known.name if known.written_as is None else known.written_as(text_at(root, path) or "")


def _why_foreign(root: Path, path: str, known: PlanFormat) -> str:
    """Why a file is no plan of the format; one that cannot be read is, so that it is reported."""
    text = text_at(root, path)
    return "" if text is None else _why_foreign_text(text, known.name)


def text_at(root: Path, path: str) -> str | None:
    """The text of a file; empty where there is none, None where it cannot be read."""
    try:
        data = read_plan_file(resolve_inside(root, path))
    except RalphError:
        return None
    return (data or b"").decode("utf-8", errors="replace")


@lru_cache(maxsize=_MOST_TEXTS)
def _why_foreign_text(text: str, kind: PlanKind) -> str:
    return FORMATS[kind].load().why_foreign(text)


@lru_cache(maxsize=_MOST_TEXTS)
def _is_sure_text(text: str | None, kind: PlanKind) -> bool:
    return text is not None and FORMATS[kind].load().is_sure(text)


def executed_tasks(plan: Path, known: PlanFormat) -> frozenset[str]:
    """The ids of the tasks that a tool has executed, by the names of its files beside a plan."""
    ending = known.executed.rpartition("*")[2]
    found = expand(plan.parent, known.executed) if known.executed else ()
    return frozenset(path.rpartition("/")[2].removesuffix(ending) for path in found)


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
    root: Path,
    pattern: str,
    not_in: tuple[str, ...] = (),
    *,
    folder: str = "",
    any_case: bool = False,
) -> Iterator[str]:
    """The paths below ``root`` that a pattern names, sorted; ``*`` is for a part of one name.

    ``{folder}`` at its beginning is ``folder``, read literally. In ``any_case`` capitals count as
    small letters; a path is as the folder spells it, so that each file is there once.
    """
    if any_case:
        yield from _in_any_case(root, pattern)
        return
    below = pattern.removeprefix("{folder}/")
    yield from _expanded(root, folder if below != pattern else "", below.split("/"), not_in)


def _in_any_case(root: Path, name: str) -> list[str]:
    """The spellings of a name in the root; the name itself where the root cannot be listed."""
    try:
        return [one for one in names_in(root) if one.casefold() == name and _is_there(root / one)]
    except StateUnusable:
        return [name] if _is_there(root / name) else []


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
    """Every plan of a format, once; of several fixed places the first."""
    earlier: set[str] = set()
    for pattern in known.files:
        found = [one for one in _paths_like(root, pattern, known) if one not in earlier]
        earlier.update(found)
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
