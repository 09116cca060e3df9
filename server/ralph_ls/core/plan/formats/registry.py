"""Registry of plan formats: one entry for each, and the format of a file by its path.

See docs/rules.md#plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from ralph_ls.core.plan.formats.backlog_md.format import BACKLOG
from ralph_ls.core.plan.formats.bmad.format import BMAD, BMAD_STORY
from ralph_ls.core.plan.formats.github.format import GITHUB, MIRROR, QUEUE
from ralph_ls.core.plan.formats.gsd.format import GSD
from ralph_ls.core.plan.formats.markdown.format import MARKDOWN
from ralph_ls.core.plan.formats.markdown.tools import KIRO, OPENSPEC, SPEC_KIT
from ralph_ls.core.plan.formats.org.format import ORG
from ralph_ls.core.plan.formats.plan_format import PlanFormat
from ralph_ls.core.plan.formats.stories.format import STORIES
from ralph_ls.core.plan.formats.superpowers.format import SUPERPOWERS
from ralph_ls.core.plan.formats.task_master.format import TASK_MASTER
from ralph_ls.core.plan.formats.todo_txt.format import TODO_TXT
from ralph_ls.core.plan.formats.without_text import BEADS, REQUEST
from ralph_ls.core.plan.model import PlanKind

FORMATS: Mapping[PlanKind, PlanFormat] = MappingProxyType(
    {
        one.name: one
        for one in (
            SPEC_KIT,
            KIRO,
            OPENSPEC,
            TASK_MASTER,
            BACKLOG,
            SUPERPOWERS,
            GSD,
            BMAD,
            BMAD_STORY,
            TODO_TXT,
            ORG,
            GITHUB,
            MARKDOWN,
            STORIES,
            BEADS,
            REQUEST,
        )
    }
)
"""By name; where several have files in a repository, they are offered in this order."""


def format_of(kind: PlanKind) -> PlanFormat:
    """The format of that name."""
    return FORMATS[kind]


def format_of_text(kind: PlanKind, text: str) -> PlanFormat:
    """The format that a text is written in, of a plan whose path says ``kind``.

    A ``todo.txt`` may be a list in Markdown. The operations on a text already follow this
    (``formats.dispatch``); others ask for it where the format itself makes a difference.
    """
    known = FORMATS[kind]
    return known if known.written_as is None else FORMATS[known.written_as(text)]


def format_of_file(path: str, kind: PlanKind) -> PlanFormat:
    """The format of a plan at ``path``, relative to the root, where a profile expects ``kind``.

    Its place decides, also below a folder of the repository, then its ending: JSON is never
    Markdown, nor the other way round. A file with any other name has the format that the profile
    expects. Where the format is ``written_as`` its text says, see ``format_of_text``.
    """
    name = path.casefold()
    for one in FORMATS.values():
        if is_at(path, one):
            return one
    for one in FORMATS.values():
        if _is_nested(path, one):
            return one
    for one in FORMATS.values():
        if name.endswith(one.suffixes):
            return one
    expected = FORMATS[kind]
    return expected if expected.is_text else MARKDOWN


def format_of_plan(path: str | None, kind: PlanKind) -> PlanFormat:
    """The format of a run's plan: that of the profile, unless the path is another tool's.

    ``path`` is None where the plan is not a file.
    """
    expected = FORMATS[kind]
    if path is None or not expected.is_text:
        return expected
    found = format_of_file(path, kind)
    return expected if found.name in {PlanKind.MARKDOWN, PlanKind.STORIES} else found


def plan_name(path: str, known: PlanFormat) -> str:
    """What the user calls a plan: the folder of a feature or change, else its path."""
    if path == MIRROR:
        return QUEUE
    pattern = _pattern_of(path, known)
    *folders, file = zip(_end_of(path, pattern).split("/"), pattern.split("/"), strict=False)
    return next((name for name, part in (*reversed(folders), file) if "*" in part), path)


def project_of(path: str, known: PlanFormat) -> str:
    """The folder in which a tool has a plan, relative to the root; empty where that is the root."""
    pattern = _pattern_of(path, known)
    return path.removesuffix(_end_of(path, pattern)).rstrip("/") if pattern else ""


def _pattern_of(path: str, known: PlanFormat) -> str:
    """The place of the format that a path ends with; empty where it is none."""
    return next((one for one in known.files if matches(_end_of(path, one), one, known.not_in)), "")


def is_at(path: str, known: PlanFormat) -> bool:
    """Whether a path is a place of a format: of its plan, or of a file in its folder."""
    folder, _, name = path.rpartition("/")
    places = {path, folder} if known.members and fnmatchcase(name, known.members) else {path}
    places |= {one.casefold() for one in places if known.any_case}
    return any(matches(place, pattern, known.not_in) for pattern in known.files for place in places)


def _is_nested(path: str, known: PlanFormat) -> bool:
    """Whether it is a file in a place of a tool alone, below any folder of the repository.

    That is a hidden folder, or one for each feature or change.
    """
    alone = (one for one in known.files if one not in known.shared)
    own = (one for one in alone if one.startswith(".") or "*" in one.rpartition("/")[0])
    return known.is_file and any(matches(_end_of(path, one), one, known.not_in) for one in own)


def _end_of(path: str, pattern: str) -> str:
    """As many parts of a path as a pattern has."""
    return "/".join(path.split("/")[-1 - pattern.count("/") :])


def matches(path: str, pattern: str, not_in: tuple[str, ...] = ()) -> bool:
    """Whether a path relative to the root is one of a format's files."""
    names, wanted = path.split("/"), pattern.split("/")
    return len(names) == len(wanted) and all(
        fnmatchcase(name, part) and not ("*" in part and name in not_in)
        for name, part in zip(names, wanted, strict=True)
    )
