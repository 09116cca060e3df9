"""Specifications in the work tree: found, read, and compared with the plan.

See docs/rules.md#specifications. The user writes them; nothing here changes one. They also decide,
with the progress log, whether an agent is started on a markdown plan without tasks: the finished
tasks may all be in the log or its archive, and the work in specifications or requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.completion import records_finished
from ralph_ls.core.plan.edit.progress_log import archive_path
from ralph_ls.core.plan.parse.front_matter import FrontMatterProblem
from ralph_ls.core.plan.specs import (
    ALL_DONE,
    FOLDER,
    INDEX,
    OPEN_TASKS,
    UNPLANNED,
    IndexEntry,
    Spec,
    read_index,
    read_spec,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.core.setup.documents import is_untouched_spec
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import content_hash, read_regular, resolve_inside
from ralph_ls.store.project.detection import find_specs
from ralph_ls.store.setup.documents import LARGEST_FILE

LARGEST = 1 << 20
"""Bytes; a larger file is skipped."""

SHOWN = 3
SHOWN_UNPLANNED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecsSnapshot:
    """The specifications at one moment, without unreadable files."""

    specs: tuple[Spec, ...]
    hashes: Mapping[str, str]
    """Of each text, by name within ``specs/``."""
    index: tuple[IndexEntry, ...] | None
    """None where there is none."""


def read_specs(root: Path) -> SpecsSnapshot:
    """Read them all, once."""
    texts = {name: text for name in find_specs(root) if (text := _text(root, name)) is not None}
    index = _text(root, INDEX)
    return SpecsSnapshot(
        specs=tuple(read_spec(name, text) for name, text in texts.items()),
        hashes={name: content_hash(text.encode()) for name, text in texts.items()},
        index=None if index is None else read_index(index),
    )


def has_specifications(root: Path) -> bool:
    """Whether something could be built: an unedited template asks for nothing."""
    return any(is_written(root, name) for name in find_specs(root))


def is_written(root: Path, name: str) -> bool:
    """Whether a specification asks for something; an unedited template does not."""
    text = _text(root, name)
    return text is None or not is_untouched_spec(text)


def changes_of(earlier: SpecsSnapshot, later: SpecsSnapshot) -> tuple[Notice, ...]:
    """Notices of an iteration's changes to specifications (docs/rules.md#specifications).

    An agent may correct them; a change of status asks the user for approval in its message.
    """
    before, after = (
        {spec.name: (spec.status, snapshot.hashes[spec.name]) for spec in snapshot.specs}
        for snapshot in (earlier, later)
    )
    statuses = [
        f"{FOLDER}/{name}: {before[name][0].value} is now {status.value}"
        for name, (status, _) in after.items()
        if name in before and before[name][0] is not status
    ]
    statuses += [f"{FOLDER}/{name} is gone" for name in before if name not in after]
    texts = [
        f"{FOLDER}/{name}" + ("" if name in before else " (new)")
        for name, entry in after.items()
        if before.get(name) != entry and (name not in before or before[name][0] is entry[0])
    ]
    notices: list[Notice] = []
    if statuses:
        message = f"{_shown(statuses)}; check that this is right, or revert it"
        notices.append(Notice(code="spec-status-changed", message=message))
    if texts:
        notices.append(Notice(code="specs-changed", message=f"changed: {_shown(texts)}"))
    return tuple(notices)


def unplanned_notice(names: Sequence[str]) -> Notice:
    """Notice of active specifications that no task names, where no task is left."""
    shown = ", ".join(f"{FOLDER}/{name}" for name in names[:SHOWN_UNPLANNED])
    n_more = len(names) - SHOWN_UNPLANNED
    more = f" and {n_more} more" if n_more > 0 else ""
    message = (
        f"no required task is open, but no task names {shown}{more}; plan what is missing with "
        "ralph replan, or mark finished ones as implemented"
    )
    return Notice(code=UNPLANNED, message=message)


def notices_of(remarks: Mapping[str, tuple[FrontMatterProblem, ...]]) -> tuple[Notice, ...]:
    """Notices of a run: one for specifications that claim too much, one for those that claim too
    little, one for all others.
    """
    shown: dict[str, list[str]] = {OPEN_TASKS: [], ALL_DONE: [], "specs-unclear": []}
    for name, of_one in remarks.items():
        for remark in of_one:
            code = remark.code if remark.code in shown else "specs-unclear"
            if code != ALL_DONE or name != INDEX:
                text = f"{FOLDER}/{name}, line {remark.line + 1}: {remark.message}"
                shown[code].append(text)
    return tuple(Notice(code=code, message=_shown(texts)) for code, texts in shown.items() if texts)


def _shown(remarks: list[str]) -> str:
    more = [f"and {count_of(len(remarks) - SHOWN, 'more remark')}"] if len(remarks) > SHOWN else []
    return "; ".join(remarks[:SHOWN] + more)


def _text(root: Path, name: str) -> str | None:
    try:
        data = read_regular(root / FOLDER / name, LARGEST)
    except StateUnusable:
        return None
    return None if data is None else data.decode("utf-8", errors="replace")


REQUIREMENTS = ("PRD.md", "prd.md")
"""Documents in the root that say what is to be built."""


def has_finished_tasks(root: Path, config: Config) -> bool:
    """Whether the progress log, or its archive, records a finished task."""
    return any(records_finished(log) for log in finished_logs(root, config))


def finished_logs(root: Path, config: Config) -> tuple[str, str]:
    """The progress log and its archive."""
    log = config.paths.progress
    return _text_or_empty(root, log), _text_or_empty(root, archive_path(log))


def has_text_to_plan_from(root: Path) -> bool:
    """Whether something says what is to be built: a specification or the requirements."""
    return has_specifications(root) or any(
        _text_or_empty(root, name).strip() for name in REQUIREMENTS
    )


def _text_or_empty(root: Path, path: str) -> str:
    """The file's text; empty where it cannot be read."""
    try:
        data = read_regular(resolve_inside(root, path), LARGEST_FILE)
    except StateUnusable:
        return ""
    return "" if data is None else data.decode("utf-8", errors="replace")
