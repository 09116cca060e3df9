"""``ralph status``: the state of the newest run here. It changes nothing."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_document, print_rows, print_text
from ralph_ls.cli.parameters import flag
from ralph_ls.core.views.model.words import one_line
from ralph_ls.core.views.text.run_end import agent_claims, has_trouble, last_words, trouble
from ralph_ls.core.views.text.status import needs_user, status_answers
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.run.values import LaneState
from ralph_ls.store.layout import state_root
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import FoundRun, read_texts, with_journals

if TYPE_CHECKING:
    from ralph_ls.core.views.model.decisions import Decision
    from ralph_ls.protocol.json_output import LaneRow, LaneTable


def status(
    why: Annotated[
        bool, flag("--why", text="Show the decision after each iteration, and its reason.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the state of the last run here, and what it needs."""
    place = current_worktree()
    found = place.find_run()
    if found is None:
        if as_json:
            _emit(place)
        else:
            print_text(f"No run in {place.worktree.root} yet. Start one: ralph run")
        return
    made = _decisions(found) if why else []
    if as_json:
        _emit(place, found, made if why else None)
    elif why:
        for one in made:
            print_text(f"Iteration {one.iteration}: {one.text}")
        if not made:
            print_text("No iteration has ended yet")
    else:
        show_status(found)


def _decisions(found: FoundRun) -> list[Decision]:
    # Most calls do not ask for them, and what explains them takes long to import.
    from ralph_ls.core.views.model.decisions import decisions

    return list(decisions(each_event(found.files.journal)))


def show_status(found: FoundRun) -> None:
    """Show the status, one line an answer; of a failed run, why before what is next."""
    pid = found.owner.pid if found.owner is not None and found.live else None
    clock = SystemClock()
    zone, now = clock.local().tzinfo, clock.now()
    answers = status_answers(found.state, found.phase, pid=pid, zone=zone, now=now)
    print_rows([*answers[:-1], *_branch(found), *_trouble(found), answers[-1]])
    if found.state.lanes:
        _show_lanes(found)


def _show_lanes(found: FoundRun) -> None:
    from ralph_ls.cli.output import SHOWN, print_table

    lanes = _lanes(found)
    if lanes is None:
        return
    print_text("")
    rows = [_lane_cells(row) for row in lanes.rows[:SHOWN]]
    print_table(f"Lanes: {lanes.words}, into {lanes.branch}", LANE_HEADINGS, rows)
    for row in lanes.rows:
        if row.state is LaneState.PARKED:
            files = f": {', '.join(row.conflicts)}" if row.conflicts else ""
            print_text(f"Lane {row.lane} is in {row.worktree}{files}")


SHOWN_WORDS = 60
"""Characters of what a lane does."""

LANE_HEADINGS = ("Lane", "Task", "State", "Iter", "Cost")


def _lane_cells(row: LaneRow) -> tuple[str, ...]:
    from ralph_ls.core.views.text.summary import dollar_words

    cost = "-" if row.cost_usd is None else dollar_words(row.cost_usd, estimated=row.estimated)
    words = one_line(row.words, limit=SHOWN_WORDS)
    return (str(row.lane), row.task.title, words, str(row.iterations or "-"), cost)


def _lanes(found: FoundRun) -> LaneTable | None:
    """Few runs are parallel, and what lists lanes takes long to import."""
    from ralph_ls.core.views.panel.lanes import lane_table

    shown = lane_table(found.state, found.phase, zone=SystemClock().local().tzinfo)
    return None if shown is None else with_journals(shown, found, state_root(os.environ))


def _branch(found: FoundRun) -> list[tuple[str, str]]:
    """The branch that the run works on, where it is not the one that was checked out."""
    if not found.files.work_branch.exists():
        return []
    # Few runs have one, and what reads it takes long to import.
    from ralph_ls.engine.git.work_branch import branch_words, load_branch

    branch = load_branch(found.files.folder)
    return [] if branch is None else [("Branch", branch_words(branch, live=found.live))]


def _trouble(found: FoundRun) -> list[tuple[str, str]]:
    """Of a stuck or failed run: counters, error lines, and what its agent claims and said last."""
    state = found.state
    if not has_trouble(state):
        return []
    claims = agent_claims(state)
    said = "\n".join(last_words(read_texts(found.files, state.start)))
    more = (("Agent says", claims), ("Last words", said))
    return [*trouble(state), *(one for one in more if one[1])]


def _emit(
    place: CommandWorktree, found: FoundRun | None = None, made: list[Decision] | None = None
) -> None:
    from ralph_ls.protocol.verb_output import ShownDecision, StatusOutput, TroubleLine

    workspace = str(place.worktree.root)
    if found is None:
        emit_document(StatusOutput(workspace=workspace))
        return
    state = found.state
    pid = found.owner.pid if found.owner is not None and found.live else None
    document = StatusOutput(
        run=state.run,
        workspace=workspace,
        phase=found.phase,
        live=found.live,
        pid=pid,
        needs_person=needs_user(state, found.phase),
        journal=str(found.files.journal),
        answers=dict(status_answers(state, found.phase, pid=pid)),
        branch=dict(_branch(found)).get("Branch"),
        trouble=tuple(TroubleLine(heading=one, text=text) for one, text in _trouble(found)),
        lanes=_lanes(found) if state.lanes else None,
        state=state.model_dump(mode="json", by_alias=True, exclude_none=True),
        why=None if made is None else tuple(ShownDecision(**asdict(one)) for one in made),
    )
    emit_document(document)
