"""``ralph ps`` and ``ralph inbox``: runs in all repositories, and what of them waits for users."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_table, print_text, write_json
from ralph_ls.cli.parameters import argument
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import RalphError, StateUnusable, UsageError
from ralph_ls.protocol.json_output import OpenItem, OpenItems, OpenKind, RunAnywhere, RunsEverywhere
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.fleet_waiting import resume_task, waiting_runs
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.run import runs
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import FoundRun, lane_origin
from ralph_ls.store.run.state_index import every_worktree, find_state

HEADINGS = ("Where", "State", "Iter", "Task", "Plan", "Cost", "Needs you")

SHOWN_PATH = 32
"""Characters of a path; its end says more than its beginning."""


def ps_verb(as_json: Json = False) -> None:
    """List your runs that are live or wait for you, in all repositories."""
    zone = SystemClock().local().tzinfo
    found = runs.runs_anywhere(every_worktree(state_root(os.environ)), zone=zone)
    found += waiting_runs(os.environ)
    if as_json:
        shown = RunsEverywhere(runs=tuple(found))
        write_json(shown.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    if not found:
        print_text("No run is live, and none waits for you. Start one: ralph run")
        return
    print_table("Your runs", HEADINGS, [_cells(run) for run in found])
    for run in (one for one in found if one.needs):
        print_text(f"{_place_of(run)}: {run.next}")


def newest_runs() -> Iterator[tuple[Worktree, StateFolder, FoundRun]]:
    """The newest run of each work tree."""
    yield from runs.newest_runs(every_worktree(state_root(os.environ)))


def live_runs() -> Iterator[tuple[Worktree, StateFolder, FoundRun]]:
    """Those that an engine has now; no other journal is read."""
    places = every_worktree(state_root(os.environ))
    yield from runs.newest_runs(place for place in places if is_held(place[0].git_dir))


def short_path(path: str) -> str:
    """A path with ``~`` for the home folder."""
    with contextlib.suppress(ValueError, RuntimeError):
        return f"~/{Path(path).relative_to(Path.home())}".removesuffix("/.")
    return path


def place_words(path: str, lane: int | None, lane_of: str | None) -> str:
    """The path of a work tree; of a lane ``lane 2 of`` that of its parallel run."""
    return short_path(path) if lane_of is None else f"lane {lane} of {short_path(lane_of)}"


def _place_of(run: RunAnywhere) -> str:
    """As ``place_words``; of a fleet its task."""
    if run.fleet_task is not None:
        return f"fleet {run.fleet_task}"
    return place_words(run.workspace, run.lane, run.lane_of)


def _shortened(path: str, lane_of: str | None) -> str:
    start = "" if lane_of is None else path[: path.index(" of ") + 4]
    return f"{start}…{path[1 + len(start) - SHOWN_PATH :]}"


def _cells(run: RunAnywhere) -> tuple[str, ...]:
    from ralph_ls.core.views.model.control_chars import escape_control_chars
    from ralph_ls.core.views.text.summary import dollar_words

    path = _place_of(run)
    limit = "" if run.max_iterations is None else f"/{run.max_iterations}"
    cells = (
        path if len(path) <= SHOWN_PATH else _shortened(path, run.lane_of),
        run.phase.value,
        f"{run.iteration}{limit}",
        "-" if run.task is None else run.task.title,
        f"{run.done}/{run.required}",
        "-" if run.cost_usd is None else dollar_words(run.cost_usd, estimated=run.estimated),
        run.needs or "-",
    )
    return tuple(" ".join(escape_control_chars(cell).split()) for cell in cells)


# ``ralph inbox``: what waits for the user in every repository, and answers to it.
#
# A number names what the list showed under it last, whatever has come since: an answer never goes
# to another question.


LISTED = "inbox.json"
"""File in the state root with the keys that were listed last, in the order of their numbers."""

ACTIONS = ("list", "answer")

LONGEST_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def inbox_verb(
    action: Annotated[str, argument("[list|answer]", "What to do.", default="list")] = "list",
    number: Annotated[
        int | None, argument("[N]", "Number of the question in the list.", default="none")
    ] = None,
    text: Annotated[
        list[str] | None,
        argument("[TEXT]...", "The answer, or the number of an option.", default="none"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what waits for you in all repositories, or answer a question.

    Lists questions, blockers, reviews and approvals, newest first.
    """
    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}{did_you_mean(action, ACTIONS)}")
    if action == "answer":
        _answer(number, " ".join(text or ()).strip(), as_json=as_json)
        return
    if number is not None:
        raise UsageError(f"to answer question {number}: ralph inbox answer {number} TEXT")
    items = _open_items()
    _remember(items)
    if as_json:
        shown = OpenItems(items=items)
        write_json(shown.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    for item in items:
        _show(item)
    if not items:
        print_text("Nothing waits for you. See your runs: ralph ps")


def _show(item: OpenItem) -> None:
    from ralph_ls.core.views.panel.question import question_lines

    when = ""
    if item.since is not None:
        from ralph_ls.core.views.text.status import clock_words

        now = SystemClock().local()
        when = f" · {clock_words(item.since, since=now, zone=now.tzinfo)}"
    iteration = "" if item.iteration is None else f" · iteration {item.iteration}"
    where = item.fleet_task or place_words(item.workspace, item.lane, item.lane_of)
    print_text(f"{item.number}  {item.kind.value} · {where}{iteration}{when}")
    is_question = item.kind is OpenKind.QUESTION
    for line in question_lines(item.text) if is_question else item.text.splitlines():
        print_text(f"   {line}".rstrip())
    print_text(f"   → {item.command}\n")


def _open_items() -> tuple[OpenItem, ...]:
    from ralph_ls.cli.fleet_inbox import fleet_items

    found = [item for place in newest_runs() for item in _items_of(*place)]
    found += fleet_items()
    found.sort(key=lambda item: item.since or LONGEST_AGO, reverse=True)
    return tuple(
        item.model_copy(
            update={
                "number": number,
                "command": item.command.replace("{number}", str(number), 1),
            }
        )
        for number, item in enumerate(found, 1)
    )


def _items_of(worktree: Worktree, state: StateFolder, found: FoundRun) -> Iterator[OpenItem]:
    from ralph_ls.cli.overview import open_question, unapproved_keys
    from ralph_ls.core.loop.rules.waits import REVIEW, is_parked_for_user, parked_words
    from ralph_ls.core.views.panel.question import listed_choices
    from ralph_ls.protocol.run.values import Phase
    from ralph_ls.store.run.halt_files import load_halt_files

    run, root = found.state, str(worktree.root)
    since = run.end.at if run.end is not None else run.phase_since
    inside = f"cd {shlex.quote(root)} && ralph"

    of_lane = _origin_fields(worktree, state)

    def item(kind: OpenKind, text: str, command: str, **more: object) -> OpenItem:
        values = {"iteration": run.iteration or None, "since": since, **of_lane, **more}
        key = f"{run.run} {kind.value} {values['since'] or text}"
        return OpenItem.model_validate(
            {"number": 0, "key": key, "kind": kind, "workspace": root, "run": run.run}
            | {"text": text, "command": command}
            | values
        )

    with contextlib.suppress(RalphError, OSError):
        # That of a lane is listed with the lane.
        question = None if run.lanes else open_question(worktree.root, found)
        if question is not None:
            asked = run.question
            yield item(
                OpenKind.QUESTION,
                question,
                "ralph inbox answer {number} TEXT",
                options=listed_choices(question),
                since=since if asked is None else asked.asked_at,
                iteration=None if asked is None else asked.iteration,
            )
        blocked = load_halt_files(worktree.root, run.config.paths).blocked
        if blocked is not None:
            yield item(OpenKind.BLOCKER, blocked, f"{inside} resume")
    if found.phase is Phase.PARKED and run.phase_reason == REVIEW:
        yield item(OpenKind.REVIEW, parked_words(run), f"{inside} resume")
    command = f"{inside} resume" if found.live else f"{inside} run --resume"
    for lane in filter(is_parked_for_user, run.lanes):
        of = {"since": lane.ended_at, "iteration": None, "lane": lane.lane, "lane_of": root}
        yield item(OpenKind.PARKED, _parked_words(lane), command, **of)
    missing = unapproved_keys(worktree, state)
    if missing:
        text = ", ".join(missing)
        yield item(OpenKind.APPROVAL, text, f"{inside} allow", iteration=None, since=None)


def _parked_words(lane: LaneView) -> str:
    """Why a lane is parked, and its folder, which most reasons name."""
    text = f"{lane.task.title}: {lane.message}"
    return text if lane.worktree in text else f"{text}\nin {lane.worktree}"


def _origin_fields(worktree: Worktree, state: StateFolder) -> dict[str, object]:
    """Of the work tree of a lane: its number and the work tree of its parallel run."""
    origin = lane_origin(worktree, state)
    return {} if origin is None else {"lane": origin.number, "lane_of": str(origin.root)}


def _remember(items: tuple[OpenItem, ...]) -> None:
    data = json.dumps([item.key for item in items]).encode() + b"\n"
    # Without the list, numbers are those of now.
    with contextlib.suppress(StateUnusable, OSError):
        write_atomic(state_root(os.environ) / LISTED, data, mode=PRIVATE_FILE)


def _listed_keys() -> list[object] | None:
    try:
        found = json.loads(read_if_there(state_root(os.environ) / LISTED) or b"")
    except (ValueError, OSError):
        return None
    return found if isinstance(found, list) else None


def _answer(number: int | None, text: str, *, as_json: bool) -> None:
    from ralph_ls.core.views.panel.question import answer_of
    from ralph_ls.store.run.ancestry import require_outside_all

    require_outside_all(state_root(os.environ) / "worktrees", "ralph inbox answer")
    if number is None or not text:
        raise UsageError("write the number of the question and the answer: ralph inbox answer 1 …")
    item = _item_at(number)
    if item.kind is not OpenKind.QUESTION:
        raise UsageError(f"{number} is not a question ({item.kind.value}); type: {item.command}")
    if item.fleet_task is not None:
        print_text(resume_task(os.environ, item.fleet_task, text))
        return
    words = answer_of(item.options, text)
    _send(Path(item.workspace), words, lane_of=item.lane_of, as_json=as_json)


def _item_at(number: int) -> OpenItem:
    """What the list showed under this number; raises ``UsageError`` where that is settled."""
    items = _open_items()
    keys = _listed_keys()
    if keys is None:
        keys = [item.key for item in items]
    if not 0 < number <= len(keys):
        raise UsageError(f"there is no number {number} in the list; see it: ralph inbox")
    found = [item for item in items if item.key == keys[number - 1]]
    if not found:
        raise UsageError(f"{number} is no longer waiting for you; see what does: ralph inbox")
    return found[0]


def _send(root: Path, words: str, *, lane_of: str | None, as_json: bool) -> None:
    from ralph_ls.cli.commands.steer import report_reply
    from ralph_ls.store.run import steering
    from ralph_ls.store.run.steering import CommandContext

    worktree = find_worktree(root)
    context = CommandContext(
        worktree=worktree,
        state=find_state(state_root(os.environ), worktree),
        by="ralph inbox",
        now=SystemClock().now(),
    )
    done = steering.answer(context, words)
    report_reply(done.reply, as_json=as_json)
    if done.waits and not as_json:
        # A lane is continued by its parallel run.
        command = done.hint.partition(": ")[2] if lane_of is None else "ralph run --resume"
        print_text(f"Continue: cd {shlex.quote(lane_of or str(root))} && {command}")
