"""The plays of the unit tests on a real stage: the same script, as a program that does it.

``tests.unit.core.loop.simulated_project`` simulates everything outside the loop. Here its turns
become an agent in sh, its people write files and commands, and what is reported is brought into one
form with it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_ls.protocol.run.commands import COMMAND_ADAPTER
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.store.layout import state_folder, state_root
from ralph_ls.store.run import inbox
from tests.engine.project_builder import Completed, Running, git, worktree_of
from tests.engine.ralph_runner import Project
from tests.unit.core.loop.simulated_project import ONE_TASK, Turn, nothing_left
from tests.unit.core.loop.simulated_run import BEGIN

SENTENCES = {
    "done": "I am done.",
    "finished": "The work is finished.",
    "nothing-left": "Nothing is left to do.",
    "complete": "All tasks are complete.",
}
"""What an agent says so that just one phrase is found."""

OF_THE_TREE = (("warned", "excluded"), ("warned", "left-uncommitted"))
"""Warnings that come from looking at a real tree, and that no loop decides."""

VALIDATE = ".ralph/validate.sh"
MARK = "printf '\\nPROJECT_COMPLETE\\n' >>@fix_plan.md"
UNMARK = "sed -i.bak /PROJECT_COMPLETE/d @fix_plan.md; rm @fix_plan.md.bak"
DECIDE, BLOCKED = ".ralph/decide.txt", ".ralph/blocked.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who looks after the run: what ``persons`` of the unit tests do, with real means."""

    commands: tuple[tuple[int, str], ...] = ()
    """Given while the agent plays that turn, counted from 0."""
    helpful: bool = False
    """Answers, resolves, resets and resumes by command."""
    editing: bool = False
    """Answers and resolves in the halt files; resumes by command."""


def play_for_real(
    project: Project, script: Sequence[Turn], people: People, *arguments: str, config: str = ""
) -> Completed:
    """Play the script with the real engine, to its end."""
    project.plan(*ONE_TASK, files={".ralph/config.toml": config} if config else {})
    git(project.repository, "switch", "-q", "-c", "letters")
    project.agent(_as_agent(script, waits={number for number, _ in people.commands}))
    if script[0].validates:
        _bring_validation(project, script[0].validates)
    if people.commands:
        project.make_gate()
    if people.helpful or people.editing:
        arguments = (*arguments, "--on-halt", "wait")
    running = project.start(*arguments)
    _look_after(project, running, people)
    return running.wait()


def _look_after(project: Project, running: Running, people: People) -> None:
    n_turns = n_unanswered = 0
    given: list[str] = []
    for event in running.follow():
        told: Any = event
        match told.kind:
            case "agentStarted":
                given = [kind for number, kind in people.commands if number == n_turns]
                for kind in given:
                    _command(project, told.run, kind)
                n_turns, n_unanswered = n_turns + 1, len(given)
            case "commandAccepted" | "commandRejected" if n_unanswered:
                n_unanswered -= 1
                if not n_unanswered and "stop-now" not in given:
                    project.open_gate()
            case "phaseChanged":
                _help(project, told, people)


def _help(project: Project, told: Any, people: People) -> None:
    match told.phase.value, told.reason:
        case "parked", "decide" if people.editing:
            path = project.file(DECIDE)
            path.write_text(path.read_text(encoding="utf-8") + "polling\n", encoding="utf-8")
        case "parked", "blocked" if people.editing:
            project.file(BLOCKED).unlink()
        case "parked", "decide" if people.helpful:
            _command(project, told.run, "answer", text="polling")
        case "parked", "blocked" | "review" if people.helpful:
            _command(project, told.run, "resume")
        case "parked", "stuck" if people.helpful:
            _command(project, told.run, "reset")
        case "paused", _:
            _command(project, told.run, "resume")


def _command(project: Project, run: str, kind: str, **fields: Any) -> None:
    if kind == "stop-now":
        kind, fields = "stop", {"now": True}
    given = {"kind": kind, "id": os.urandom(8).hex(), "run": run, "at": BEGIN, "by": "Ada"}
    worktree = worktree_of(project.repository)
    folder = state_folder(state_root(os.environ), worktree).inbox
    inbox.post_command(folder, COMMAND_ADAPTER.validate_python({**given, **fields}))


def _as_agent(script: Sequence[Turn], *, waits: set[int]) -> str:
    """One program that knows which turn it is by what it has kept."""
    cases = [
        f"{number}) {'wait_here; ' if number in waits else ''}{_as_sh(turn)} ;;"
        for number, turn in enumerate(script)
    ]
    return "\n".join(
        [
            'turn=$(cat "$kept/turn" 2>/dev/null || echo 0); echo $((turn + 1)) >"$kept/turn"',
            "case $turn in",
            *cases,
            f"*) {_as_sh(nothing_left)} ;;",
            "esac",
        ]
    )


def _as_sh(turn: Turn) -> str:
    deeds = ['echo "$turn" >work.txt'] if turn.files else []
    deeds += ["rm -f work.txt"] if turn.reverts else []
    deeds += [f"mark x {shlex.quote(title)}" for title in turn.ticks]
    deeds += [f"mark '!' {shlex.quote(title)}" for title in turn.blocks]
    deeds += [f"echo {shlex.quote(f'- [ ] {title}')} >>@fix_plan.md" for title in turn.adds]
    deeds += [MARK if turn.marks else UNMARK] if turn.marks is not None else []
    deeds += [f"rm -f {DECIDE}"] if turn.deletes_decide else []
    deeds += ["commit change"] if turn.commit else []
    deeds += [f"echo {shlex.quote(error)} >&2" for error in turn.errors]
    deeds += [f"say {shlex.quote(SENTENCES[word])}" for word in turn.words]
    deeds += [f"say {shlex.quote(_as_tag(promise))}" for promise in turn.promises]
    if turn.fields is not None:
        block = [f"{name}: {value}" for name, value in turn.fields.items()]
        deeds.append(f"report {shlex.join(block)}")
    elif turn.question:
        deeds.append(f"say {shlex.quote(turn.question)}")
    elif not turn.silent and not turn.promises:
        deeds.append("say 'Well.'")
    deeds.append("exec sleep 600" if turn.end.timed_out else f"exit {turn.end.exit_code}")
    return "; ".join(deeds)


def _as_tag(promise: Any) -> str:
    text = f":{promise.text}" if promise.text else ""
    return f"<promise>{promise.kind.value.upper()}{text}</promise>"


def _bring_validation(project: Project, answers: Sequence[bool]) -> None:
    """A script that gives these answers in turn, the last one for ever."""
    codes = " ".join("0" if ok else "1" for ok in answers)
    path = project.file(VALIDATE)
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!/bin/sh\nset -- {codes}\nn=$(cat .git/validated 2>/dev/null || echo 0)\n"
        "echo $((n + 1)) >.git/validated\n"
        "while [ $n -gt 0 ] && [ $# -gt 1 ]; do shift; n=$((n - 1)); done\necho tested\nexit $1\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-q", "-m", "Validate")
    assert project.tell("allow", "--yes").exit_code == 0


def shapes(events: Iterable[EventBase]) -> list[tuple[object, ...]]:
    """What was reported, without what differs between stages: times, pids, hashes, ids, paths."""
    found = [_shape(event) for event in events]
    return [shape for shape in found if shape[:2] not in OF_THE_TREE]


def _shape(event: Any) -> tuple[object, ...]:
    names = _COMPARED.get(event.kind, ())
    values = [getattr(event, name) for name in names]
    match event.kind:
        case "iterationStarted":
            values += [event.task is None, event.counts]
        case "agentExited":
            values.append(None if event.timed_out or event.stopped else event.exit_code)
        case "ralphStatusUpdate":
            values.append(event.report.fields)
        case "promiseRead":
            values += [event.promise.kind, event.promise.text]
        case "evidenceGathered":
            seen = event.evidence
            values += [seen.progress, seen.why, seen.files, len(seen.tasks_done)]
            values.append([commit.files for commit in seen.commits])
        case "planChanged":
            values += [event.counts, len(event.done)]
        case "completionRefused":
            values.append([task.title for task in event.open_tasks])
        case "attemptCounted" | "taskSetAside":
            values.append(event.task.title)
        case "iterationEnded":
            values.append(sorted(event.attempts.values()))
            values += [event.commit is None, event.breaker.state, event.breaker.reason]
        case "warned" if event.code == "tick-without-change":
            values.pop()
    return (event.kind, *values)


_COMPARED: dict[str, tuple[str, ...]] = {
    "phaseChanged": ("phase", "reason"),
    "iterationStarted": ("iteration", "max_iterations", "confirming"),
    "agentStarted": ("iteration", "attempt", "agent"),
    "agentExited": ("iteration", "attempt", "timed_out", "stopped", "leftovers"),
    "circuitBreakerStateChange": ("iteration", "from_state", "to_state", "reason"),
    "completionRefused": ("iteration", "why"),
    "attemptCounted": ("iteration", "attempt", "limit"),
    "taskSetAside": ("iteration", "attempts", "reason", "marked"),
    "validated": ("iteration", "ok", "exit_code", "timed_out"),
    "waitStarted": ("reason",),
    "waitEnded": ("reason",),
    "questionAsked": ("iteration", "question", "path"),
    "questionAnswered": ("question", "answer", "by"),
    "blockedRaised": ("iteration", "reason", "path"),
    "blockedResolved": ("by",),
    "commandAccepted": ("command_kind", "by", "text"),
    "commandRejected": ("command_kind", "by", "code", "reason"),
    "noteAdded": ("text", "by"),
    "warned": ("code", "iteration", "message"),
    "iterationEnded": (
        "iteration",
        "outcome",
        "stuck_count",
        "indicators",
        "missing_reports",
        "crashes",
        "recommendation",
        "completion_words",
        "denied_tools",
        "counts",
        "errors",
        "verdict",
    ),
    "runEnded": ("reason", "exit_code", "message", "by", "iterations"),
}
