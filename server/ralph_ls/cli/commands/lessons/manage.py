"""``ralph lessons``: list and show lessons, decide on them, exchange them with a team.

A lesson is shown before it is accepted, and what was shown is what is accepted. Everything but
listing, showing and exporting is refused inside an iteration.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.commands.lessons.place import lessons_here, lines_of_lesson, settings_here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_document, print_text, write_json
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.lessons import (
    LessonDecided,
    LessonList,
    LessonPlace,
    LessonScope,
    LessonStatus,
    LessonView,
)
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.lessons import decisions
from ralph_ls.store.lessons.lesson_files import LessonFile, LessonFolders, read_lessons
from ralph_ls.store.lessons.listing import list_lessons, view_of

ACTIONS = ("list", "show", "accept", "reject", "remove", "export", "import")

HEADINGS = {
    LessonPlace.PROPOSED: "Proposed, and in no prompt until you accept them",
    LessonPlace.REPOSITORY: "Of this repository, in .ralph/lessons/",
    LessonPlace.USER: "Yours, for all projects that they fit",
}


def lessons_verb(
    action: Annotated[
        str,
        argument(
            "[ORDER]", "list, show, accept, reject, remove, export or import.", default="list"
        ),
    ] = "list",
    names: Annotated[
        list[str] | None, argument("ID...", "Ids of lessons, or a file to import.", default="none")
    ] = None,
    scope: Annotated[
        str | None,
        option(
            "SCOPE",
            "Accept it for repository, language, framework or everywhere.",
            default="as proposed",
        ),
    ] = None,
    match: Annotated[list[str] | None, option("NAME", "Language or framework; repeatable.")] = None,
    output: Annotated[
        Path | None, option("FILE", "Export to this file.", default="standard output")
    ] = None,
    yes: Annotated[bool, flag("--yes", text="Accept without asking.")] = False,
    shown: Annotated[
        str | None,
        option("SHA256", "Accept only if the file still has this `sha256`.", default="any"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List lessons of earlier runs, and decide which of them prompts have.

    No prompt has a lesson that you did not accept.
    """
    from ralph_ls.store.run.launch import reporting_refusals

    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}{did_you_mean(action, ACTIONS)}")
    folders, given = lessons_here(), tuple(names or ())
    order = _Order(
        folders=folders,
        names=given,
        scope=_scope(scope),
        match=tuple(word.lower() for word in match or ()),
        yes=yes,
        shown=shown,
        as_json=as_json,
    )
    match action:
        case "list":
            _list(order)
        case "show":
            _show(order)
        case "export":
            _export(order, output)
        case _:
            if as_json:
                # A program that asked reads the kind of the error from its first line.
                with reporting_refusals():
                    _decide(action, order)
            else:
                _decide(action, order)


class _Order:
    """What was asked for."""

    def __init__(
        self,
        *,
        folders: LessonFolders,
        names: Sequence[str],
        scope: LessonScope | None,
        match: tuple[str, ...],
        yes: bool,
        shown: str | None,
        as_json: bool,
    ) -> None:
        self.folders, self.names, self.scope, self.match = folders, names, scope, match
        self.yes, self.shown, self.as_json = yes, shown, as_json

    def require_names(self, action: str, what: str = "ID") -> Sequence[str]:
        if not self.names:
            raise UsageError(f"name what to {action}: ralph lessons {action} {what}")
        return self.names


def _scope(written: str | None) -> LessonScope | None:
    if written is None:
        return None
    known = [one.value for one in LessonScope]
    if written not in known:
        listed = f"write one of: {', '.join(known)}"
        raise UsageError(
            f"unknown scope {written!r}{did_you_mean(written, known, otherwise=listed)}"
        )
    return LessonScope(written)


def _views(order: _Order) -> tuple[list[LessonView], list[str], int]:
    config = settings_here(order.folders).lessons
    today = SystemClock().local().date()
    views, problems = list_lessons(order.folders, today=today, stale_days=config.stale_days)
    return views, problems, config.max_tokens


def _list(order: _Order) -> None:
    if order.names:
        raise UsageError(f"to see a lesson: ralph lessons show {order.names[0]}")
    views, problems, max_tokens = _views(order)
    if order.as_json:
        _write_list(order, views, max_tokens)
        return
    for line in (*(f"Note: {problem}" for problem in problems), *_lines_of(views)):
        print_text(line)
    if not views:
        print_text("There are no lessons yet. Have some proposed: ralph learn")
    elif not max_tokens:
        print_text("\nNo prompt has lessons, since lessons.max_tokens is 0")
    waiting = [one for one in views if one.status is not LessonStatus.ACCEPTED]
    if waiting:
        print_text(f"\nNext: ralph lessons show {waiting[0].id}")


def _write_list(order: _Order, views: Sequence[LessonView], max_tokens: int) -> None:
    worktree = order.folders.worktree
    shown = LessonList(
        workspace=None if worktree is None else str(worktree.root),
        user_folder=str(order.folders.user),
        max_tokens=max_tokens,
        lessons=tuple(views),
    )
    write_json(shown.model_dump_json(by_alias=True, exclude_none=True, indent=2))


def _lines_of(views: Sequence[LessonView]) -> Iterator[str]:
    for place, heading in HEADINGS.items():
        here = [view for view in views if view.place is place]
        if here:
            yield f"{heading}:"
        for view in here:
            yield from lines_of_lesson(view)


def _show(order: _Order) -> None:
    views, _, max_tokens = _views(order)
    found = []
    for name in order.require_names("show"):
        file = decisions.find_lesson(order.folders, name)
        found.append(
            next(
                (one for one in views if one.path == str(file.path)),
                view_of(file, None),
            )
        )
    if order.as_json:
        _write_list(order, found, max_tokens)
        return
    for view in found:
        _print_whole(view)
        step = "accept" if view.status is not LessonStatus.ACCEPTED else "remove"
        print_text(f"Next: ralph lessons {step} {view.id}")


def _print_whole(view: LessonView) -> None:
    """All of a lesson, so that nothing hides behind what is shown."""
    from ralph_ls.core.views.model.control_chars import escape_nonprintable

    for line in lines_of_lesson(view):
        print_text(escape_nonprintable(line))
    print_text(f"      {escape_nonprintable(view.path)}\n")
    for line in view.text.splitlines():
        print_text(f"   {escape_nonprintable(line)}".rstrip())
    print_text("")


# -------------------------------------------------------------------------------------- deciding


def _decide(action: str, order: _Order) -> None:
    if action == "import":
        path = Path(order.require_names("import", "FILE")[0])
        made, left_out = decisions.import_lessons(order.folders, path)
    else:
        files = [_find(action, order, name) for name in order.require_names(action)]
        made = [one for file in files if (one := _one(action, order, file)) is not None]
        left_out = []
    notes = [
        *(f"left out: {one}" for one in left_out),
        *(note for one in made for note in one.notes),
    ]
    if order.as_json:
        emit_document(
            LessonDecided(
                action=action,
                lessons=tuple(one.lesson.id for one in made),
                paths=tuple(str(one.path) for one in made) if action != "remove" else (),
                notes=tuple(notes),
            )
        )
        return
    lines = [f"{_DONE[action]}: {one.lesson.id} ({one.path})" for one in made]
    for line in dict.fromkeys((*lines, *(f"Note: {note}" for note in notes))):
        print_text(line)
    if action == "import" and made:
        print_text("Next: read them, then accept what you want: ralph lessons")


_DONE = {
    "accept": "Accepted",
    "reject": "Rejected, and not proposed again",
    "remove": "Removed",
    "import": "Imported as a proposal",
}


_USER = LessonPlace.USER


def _find(action: str, order: _Order, name: str) -> LessonFile:
    places = {
        "reject": (LessonPlace.PROPOSED,),
        "remove": (LessonPlace.REPOSITORY, LessonPlace.USER),
    }
    return decisions.find_lesson(order.folders, name, *places.get(action, ()))


def _one(action: str, order: _Order, file: LessonFile) -> decisions.LessonDecision | None:
    scope = order.scope or file.lesson.scope
    is_proposed = file.place is LessonPlace.PROPOSED
    is_for_user = scope is not LessonScope.REPOSITORY if is_proposed else file.place is _USER
    if is_for_user and action != "reject":
        from ralph_ls.store.run.ancestry import require_no_iteration

        # The user's lessons are in the prompts of all runs, whatever their state folder is.
        require_no_iteration(f"ralph lessons {action}")
    match action:
        case "reject":
            return decisions.reject_lesson(order.folders, file)
        case "remove":
            return decisions.remove_lesson(order.folders, file)
        case _:
            return _accept(order, file)


def _accept(order: _Order, file: LessonFile) -> decisions.LessonDecision | None:
    if not order.as_json:
        _print_whole(view_of(decisions.with_scope(file, order.scope, order.match), None))
    if not order.yes and order.shown is None:
        if not sys.stdin.isatty():
            raise UsageError("accepting a lesson needs a terminal to ask in, or --yes")
        if not typer.confirm("Put this into the prompts that it fits?", default=False):
            print_text("It was not accepted")
            return None
    return decisions.accept_lesson(
        order.folders,
        file,
        today=SystemClock().local().date().isoformat(),
        ask_runs=_ask_runs(order.folders),
        scope=order.scope,
        match=order.match,
        shown=order.shown or file.sha256,
    )


def _ask_runs(folders: LessonFolders) -> decisions.AskRuns:
    """Have the live runs accept it first: they read acceptances at their start alone."""

    def ask(approvals: Mapping[str, str]) -> tuple[str, ...]:
        from ralph_ls.cli.commands.runs.everywhere import live_runs
        from ralph_ls.store.lessons.lesson_files import USER_KEY

        is_for_all = all(key.startswith(USER_KEY) for key in approvals)
        here = None if folders.worktree is None else folders.worktree.root
        concerned = [
            (worktree, state)
            for worktree, state, _ in live_runs()
            if is_for_all or worktree.root == here
        ]
        answers = (_ask_run(worktree, state, approvals) for worktree, state in concerned)
        return tuple(filter(None, answers))

    return ask


def _ask_run(worktree: Worktree, state: StateFolder, approvals: Mapping[str, str]) -> str:
    """Why a live run does not use it; empty where it does."""
    from ralph_ls.store.run import steering

    context = steering.CommandContext(
        worktree=worktree, state=state, by="ralph lessons", now=SystemClock().now()
    )
    try:
        reply = steering.allow(context, approvals)
    except RalphError as error:
        return f"the run in {worktree.root} was not asked: {error.message}"
    if reply is None or reply.accepted:
        return ""
    return f"the run in {worktree.root} does not use it: {reply.text}"


# ------------------------------------------------------------------------------------- exporting


def _export(order: _Order, output: Path | None) -> None:
    from ralph_ls.store.files import write_atomic
    from ralph_ls.store.lessons.listing import hits_of, iterations_everywhere

    files, _ = read_lessons(order.folders, LessonPlace.REPOSITORY, LessonPlace.USER)
    if order.names:
        files = [decisions.find_lesson(order.folders, name) for name in order.names]
    accepted = [file for file in files if file.status is LessonStatus.ACCEPTED]
    if not accepted:
        raise UsageError("there is no accepted lesson to export; see them: ralph lessons")
    hits = hits_of(iterations_everywhere(order.folders.record.parent))
    text = decisions.export_lessons(accepted, hits)
    if output is None:
        write_json(text.rstrip("\n"))
        return
    write_atomic(output, text.encode(), mode=0o644)
    print_text(f"Wrote {len(accepted)} to {output}. Others read it with: ralph lessons import")
