"""``ralph learn``: findings and proposed lessons from the history of this repository.

No model is needed; with ``--agent`` an agent proposes more. Nothing that is proposed is in a prompt
before the user has accepted it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from ralph_ls.cli.commands.lessons.place import lines_of_lesson, settings_here
from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import AgentCommand, AgentPrompt, Json, agent_words
from ralph_ls.cli.output import print_text, write_json
from ralph_ls.cli.parameters import flag, option
from ralph_ls.core.lessons.distil import distil, source_words
from ralph_ls.core.lessons.lesson import Lesson
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.redaction.redactor import Redactor, secrets_of
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import NoEngine
from ralph_ls.protocol.lessons import (
    Finding,
    FindingKind,
    Learned,
    LessonPlace,
    LessonStatus,
    LessonView,
)
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.lessons.lesson_files import (
    LessonFile,
    LessonFolders,
    digest_of,
    lesson_folders,
    proposal_folder,
    read_lessons,
    read_proposals,
    write_proposal,
)
from ralph_ls.store.lessons.listing import MOST_RUNS, list_lessons, read_records, view_of

if TYPE_CHECKING:
    from ralph_ls.core.lessons.history import RunRecord

HEADINGS = {
    FindingKind.VALIDATION: "Validations that fail",
    FindingKind.SET_ASIDE: "Tasks set aside",
    FindingKind.SETTING: "Settings changed by hand",
    FindingKind.TASKS: "Kinds of tasks",
    FindingKind.REMEMBERED: "Remembered by agents",
}

SHOWN = 5
"""Names in a note."""


def learn_verb(
    runs: Annotated[int, option("N", "Read the N newest runs.", min=1)] = MOST_RUNS,
    agent: Annotated[
        str | None, option("NAME", "Have this agent propose lessons too.", default="no agent")
    ] = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would be proposed, and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what the runs here have taught, and propose lessons for the next ones.

    Reads which validations fail, tasks set aside, settings changed by hand, and what tasks cost.
    """
    place = current_worktree()
    folders = lesson_folders(os.environ, place.worktree, place.state)
    records = read_records(place.worktree, place.state, most=runs)
    wants_agent = agent is not None or agent_command is not None
    if wants_agent and not any(one.iterations for one in records):
        root = place.worktree.root
        raise NoEngine(f"no run in {root} to learn from yet; start one: ralph run")
    distilled = distil(records)
    proposals: list[Lesson] = list(distilled.proposals)
    notes: list[str] = []
    if wants_agent:
        more, notes = _ask_agent(records, distilled.findings, agent, agent_command, agent_prompt)
        proposals += more
    today = SystemClock().local().date()
    redact = Redactor(secrets_of(os.environ)).redact
    made = [
        replace(one, date=today.isoformat(), title=redact(one.title), text=redact(one.text).strip())
        for one in proposals
    ]
    waiting, more_notes = _propose(folders, place.state, made, dry_run=dry_run)
    views, _ = list_lessons(
        folders, today=today, stale_days=settings_here(folders).lessons.stale_days
    )
    learned = Learned(
        workspace=str(place.worktree.root),
        runs=len(records),
        iterations=sum(len(one.iterations) for one in records),
        done=not dry_run,
        findings=tuple(
            one.model_copy(update={"text": redact(one.text)}) for one in distilled.findings
        ),
        proposals=tuple(
            waiting if dry_run else (one for one in views if one.place is LessonPlace.PROPOSED)
        ),
        stale=tuple(one for one in views if one.stale is not None),
        notes=(*notes, *more_notes),
    )
    if as_json:
        write_json(learned.model_dump_json(by_alias=True, exclude_none=True, indent=2))
    else:
        _print(learned)


def _propose(
    folders: LessonFolders, state: StateFolder, lessons: Iterable[Lesson], *, dry_run: bool
) -> tuple[list[LessonView], list[str]]:
    """Write the proposals on which the user has not decided; nothing in a dry run."""
    decided, _ = read_lessons(folders, LessonPlace.REPOSITORY, LessonPlace.USER)
    known = {*read_proposals(state).rejected, *(file.lesson.id for file in decided)}
    written, left_out, edited = [], [], []
    for lesson in lessons:
        if lesson.id in known:
            left_out.append(lesson.id)
        elif dry_run or write_proposal(state, lesson):
            written.append(view_of(_proposed(state, lesson), None))
        else:
            edited.append(lesson.id)
    notes = []
    if left_out:
        notes.append(f"you have decided on these before: {some_of(left_out, SHOWN)}")
    if edited:
        notes.append(f"you edited these proposals, so they stay: {some_of(edited, SHOWN)}")
    return written, notes


def _proposed(state: StateFolder, lesson: Lesson) -> LessonFile:
    return LessonFile(
        lesson=lesson,
        place=LessonPlace.PROPOSED,
        status=LessonStatus.PROPOSED,
        path=proposal_folder(state) / f"{lesson.id}.md",
        sha256=digest_of(b""),
    )


def _ask_agent(
    records: Sequence[RunRecord],
    findings: Sequence[Finding],
    agent: str | None,
    command: str | None,
    prompt: str | None,
) -> tuple[list[Lesson], list[str]]:
    from ralph_ls.cli.commands.wizard import Stoppable, agent_overrides
    from ralph_ls.engine.run.proposals import LearningRequest, ask_for_lessons

    argv, way = agent_words(command, prompt, agent) or (None, None)
    request = LearningRequest(
        environment=dict(os.environ),
        records=tuple(records),
        findings=tuple(findings),
        overrides=agent_overrides(agent, argv, way),
    )
    found = ask_for_lessons(
        request,
        place=current_worktree().worktree.root,
        now=SystemClock().now(),
        on_stopper=Stoppable(attached=False).take,
    )
    return list(found.lessons), list(found.notes)


def _print(learned: Learned) -> None:
    read = f"{count_of(learned.runs, 'run')}, {count_of(learned.iterations, 'iteration')}"
    print_text(f"Read {read} in {learned.workspace}")
    notes = (f"Note: {note}" for note in learned.notes)
    for line in (*_lines_of_findings(learned), *_lines_of_proposals(learned), *notes):
        print_text(line)
    if learned.proposals and learned.done:
        print_text(f"\nNext: ralph lessons show {learned.proposals[0].id}")


def _lines_of_findings(learned: Learned) -> Iterator[str]:
    for kind, heading in HEADINGS.items():
        found = [one for one in learned.findings if one.kind is kind]
        if found:
            yield f"\n{heading}:"
        for one in found:
            yield from _lines_of_finding(one)
    if not learned.findings:
        yield "Nothing happened often enough to be a finding yet"


def _lines_of_finding(finding: Finding) -> Iterator[str]:
    yield f"- {finding.text}"
    from_where = source_words(finding.iterations)
    if about := " · ".join(filter(None, (from_where, finding.next))):
        yield f"    {about}"


def _lines_of_proposals(learned: Learned) -> Iterator[str]:
    if learned.proposals:
        would = "" if learned.done else ", which a run without --dry-run would write"
        yield f"\nProposed lessons{would}:"
    for view in learned.proposals:
        yield from lines_of_lesson(view)
    for view in learned.stale:
        yield f"\nProposed for removal: {view.id}: {view.stale}"
        yield f"    ralph lessons remove {view.id}"
