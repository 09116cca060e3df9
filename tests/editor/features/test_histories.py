"""Everything that an editor is shown of recorded runs, wherever they waited, held or ended.

A changed word or line shows as a difference in ``tests/editor/features/shown``.
``UPDATE_SNAPSHOTS=1`` writes what is shown now; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lsprotocol import types

from ralph_ls.core.loop.decide_file import format_decide, read_halt_files
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.documents.snapshot import (
    DocumentSnapshot,
    DocumentSource,
    ParseCache,
    UnreadableDocument,
    read_document_snapshot,
)
from ralph_ls.editor.features import lenses
from ralph_ls.editor.lsp.conversion import DisplayCapabilities
from ralph_ls.editor.push import diagnostics
from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import (
    CompletionRefused,
    Event,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PhaseChanged,
    QuestionAnswered,
    RunStarted,
    UnknownEvent,
)
from ralph_ls.protocol.run.values import BreakerState, Phase, TaskRef
from ralph_ls.store.run.journal import read_journal
from tests.editor.in_process_editor import View, draw
from tests.histories import record
from tests.unit.core.plan.stories.story_builder import DONE, story, text_of

SHOWN = Path(__file__).resolve().parent / "shown"
ROOT = Path("/repo")
HELD = {Phase.PARKED, Phase.PAUSED, Phase.WAITING, Phase.STOPPING}


def read(name: str) -> list[Event]:
    events = read_journal(record.path_of(name)).events
    return [event for event in events if not isinstance(event, UnknownEvent)]


def moments(events: Sequence[Event]) -> Iterator[tuple[str, Sequence[Event]]]:
    """Where somebody would look: at each halt, when the breaker moves, and at the end."""
    for number, event in enumerate(events, start=1):
        what = ""
        match event:
            case PhaseChanged(phase=phase, reason=reason) if phase in HELD:
                what = phase.value if reason is None else f"{phase.value} ({reason})"
            case IterationEnded(breaker=breaker) if breaker.state is not BreakerState.CLOSED:
                what = f"breaker {breaker.state.value}"
            case QuestionAnswered(by=by):
                what = f"answered by {by}"
        if what:
            yield f"after event {number}: {what}", events[:number]
    yield "at the end", events


def plan_of(events: Sequence[Event], until: int) -> str | None:
    """A plan with every task that the whole run names, ticked as far as it had come by then.

    None where the plan is no document.
    """
    tasks: dict[str, TaskRef] = {}
    for event in events:
        if isinstance(event, IterationStarted) and event.task is not None:
            tasks.setdefault(event.task.id, event.task)
        if isinstance(event, CompletionRefused):
            tasks |= {task.id: task for task in event.open_tasks if task.id not in tasks}
    done = {
        task_id
        for event in events[:until]
        if isinstance(event, EvidenceGathered)
        for task_id in event.evidence.tasks_done
    }
    match kind_of(events):
        case PlanKind.MARKDOWN:
            boxes = (f"- [{'x' if one.id in done else ' '}] {one.title}" for one in tasks.values())
            return "\n".join(["# Plan", "", *boxes, ""])
        case PlanKind.STORIES:
            stories = (story(one.id, title=one.title) for one in tasks.values())
            return text_of(*({**one, **(DONE if one["id"] in done else {})} for one in stories))
        case _:
            return None


def kind_of(events: Sequence[Event]) -> PlanKind:
    (started,) = (event for event in events if isinstance(event, RunStarted))
    return profile_of(started.config.profile).plan_kind


def files_of(picture: WorkspaceSnapshot, plan: str | None) -> dict[FileKind, str | None]:
    """The texts as the engine would have left them."""
    state = picture.state
    assert state is not None
    asked, blocked = state.question, state.blocked
    decide = None
    if asked is not None:
        decide = format_decide(asked.question, asked.iteration, asked.asked_at, asked.answer)
    return {
        FileKind.PLAN: plan,
        FileKind.DECIDE: decide,
        FileKind.BLOCKED: None if blocked is None else f"{blocked.reason}\n",
    }


def show(name: str) -> str:
    events, lines, before = read(name), [f"# {name}"], ""
    for title, told in moments(events):
        live = title != "at the end"
        files = files_of(draw(told, live=live), plan_of(events, len(told)))
        halt = read_halt_files(files[FileKind.DECIDE], files[FileKind.BLOCKED])
        picture = draw(told, live=live, halt=halt)
        shown = "\n".join(
            line
            for kind, text in files.items()
            if text is not None
            for line in show_file(kind, text, picture, name_of(kind, events))
        )
        if shown != before:
            lines += ["", f"## {title}", shown]
        before = shown
    return "\n".join([*lines, ""])


def name_of(kind: FileKind, events: Sequence[Event]) -> str:
    is_json = kind is FileKind.PLAN and kind_of(events) is PlanKind.STORIES
    return "tasks.json" if is_json else kind.value


def show_file(kind: FileKind, text: str, picture: WorkspaceSnapshot, name: str) -> Iterator[str]:
    view = View(ROOT)
    source = DocumentSource(
        view=view, kind=kind, path=ROOT / name, uri="file:///f", text=text, picture=picture
    )
    sight = read_document_snapshot(source, ParseCache())
    assert not isinstance(sight, UnreadableDocument)
    assert sight is not None
    yield f"{kind.value}:"
    yield from (f"  {line}" for line in remarks(sight))
    yield from (f"  {line}" for line in lens_lines(sight, picture))
    yield from (f"  {line}" for line in hint_lines(sight))


def remarks(sight: DocumentSnapshot) -> Iterator[str]:
    for remark in diagnostics.diagnostics_of(sight, DisplayCapabilities()):
        assert remark.severity is not None
        severity = remark.severity.name.lower()
        where = f"{remark.range.start.line}:{remark.range.start.character}"
        assert remark.range.end.line == remark.range.start.line
        message = remark.message.replace("\n", "\\n")
        yield f"{where}-{remark.range.end.character} {severity} {remark.code}: {message}"


def lens_lines(sight: DocumentSnapshot, picture: WorkspaceSnapshot) -> Iterator[str]:
    assert picture.state is not None
    for lens in lenses.lenses_of(sight, EditorOptions(), picture.state.at):
        assert lens.command is not None
        yield f"{lens.range.start.line} [{lens.command.title}] {does(lens.command)}".rstrip()


def hint_lines(sight: DocumentSnapshot) -> Iterator[str]:
    for hint in lenses.hints_of(sight, EditorOptions()):
        where = f"{hint.position.line}:{hint.position.character}"
        yield f"{where} hint: {hint.label} ({hint.tooltip})"


def does(command: types.Command) -> str:
    if not command.command:
        return ""
    [arguments] = command.arguments or ()
    assert isinstance(arguments, dict)
    assert arguments.pop("workspace") == "file:///repo"
    return f"{command.command} {json.dumps(arguments, sort_keys=True)}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(record.HISTORIES))
def test_a_recorded_run_is_shown_as_it_was(name: str) -> None:
    path, shown = SHOWN / f"{name}.txt", show(name)
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def test_every_run_that_is_shown_was_recorded() -> None:
    assert sorted(path.stem for path in SHOWN.glob("*.txt")) == sorted(record.HISTORIES)
