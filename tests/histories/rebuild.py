"""The inputs of a run, found again in its journal: what must have come in for this to be reported.

A journal holds what was reported, not what came in; most inputs are in their events whole. Of the
others enough is there to decide alike:

- *What the agent said*: the error lines are the keys of the breaker's streaks. That it ended with a
  question, or at its usage limit, is known from a warning and from the wait that follows.
- *A look at the plan* that ended the run: its counts are those reported last.
- *That the agent said nothing*: known from what followed, a second attempt or a crash counted.
- *Inputs that moved nothing* left no trace, and need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ralph_ls.core.agent.failures import FAILURE_TEXTS
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    EngineFacts,
    HaltFiles,
    HaltFilesChanged,
    HeldTask,
    Input,
    Interrupted,
    IterationRead,
    Notice,
    PendingNote,
    PlanFacts,
    Prepared,
    Resumed,
    RevertedChange,
    Started,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.machine.run_flow import untaken_tasks
from ralph_ls.core.loop.machine.verdict import COMMIT_FAILED
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.core.plan.verification.criterion_checks import verification_of
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.commands import COMMAND_ADAPTER
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    Committed,
    CriteriaVerified,
    Event,
    IterationEnded,
    IterationStarted,
    Pushed,
    RolledBack,
    RunResumed,
    RunStarted,
    Validated,
)
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.values import Baseline, Mode, Outcome, PlanCountsView, TaskRef

OWN_WARNINGS = frozenset(
    {
        "agent-budget",
        "agent-context-full",
        "agent-failed",
        "agent-fallback",
        "agent-max-turns",
        "agent-overloaded",
        "asked-without-signal",
        "breaker-half-open",
        "budget-cost",
        "budget-duration",
        "budget-iterations",
        "budget-tokens",
        "claim-without-evidence",
        COMMIT_FAILED,
        "completion-not-gate",
        "error-repeating",
        "task-without-end",
        "report-missing",
        "second-halt",
        "test-only",
        "tick-without-change",
        "unreadable-flag",
    }
)
"""Warnings which the loop itself gives; all others came in as notices."""

ASKED = "asked-without-signal"

NOTHING_READY = "nothing is ready; "
"""Begins the words of an end that the plan itself gives."""

SOMETHING = TaskRef(id="00000000", title="a task that nobody began")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One input, when it came, and all that was reported about it."""

    given: Input
    now: datetime
    told: tuple[Event, ...]


def replay(events: Sequence[Event]) -> Iterator[Move]:
    """Feed the inputs found in ``events`` to the loop, one after the other.

    Fails where nothing was reported about an input: then it cannot have been the one.
    """
    state, position = LoopState(), 0
    while position < len(events):
        given, now = _Finder(events, position, state).find(), events[position].at
        taken = take(state, given, now)
        moved = taken.events or taken.effects
        assert moved, f"{given} moved nothing before {events[position]}: {taken.ignored}"
        yield Move(given=given, now=now, told=taken.events)
        state, position = taken.state, position + len(taken.events)


def take(state: LoopState, given: Input, now: datetime) -> Step:
    """One step; a new engine knows no more than the journal."""
    return step(LoopState(run=state.run) if isinstance(given, Resumed) else state, given, now)


def _reverted(event: Any) -> RevertedChange:
    return RevertedChange(
        path=event.path,
        what=event.what,
        tasks=event.tasks,
        n_tasks=event.n_tasks,
        text=event.text,
        kept=event.kept,
        why=event.why,
        commit=event.commit,
    )


def _denied(end: Any) -> tuple[str, ...] | None:
    """The tools that were not permitted, as often as it happened."""
    if end.permission_denials is None:
        return None
    repeated = end.denied_tools[-1:] * (end.permission_denials - len(end.denied_tools))
    return (*end.denied_tools, *repeated)


def _moved(started: Any, mine: Sequence[Any], evidence: Any, report: Any) -> tuple[str, ...]:
    """Whose review advanced: known from progress, or from a warning that did not come."""
    if found := re.match(r"(\d+) tasks? moved on in review", evidence.why):
        return tuple(f"moved-{number}" for number in range(int(found[1])))
    codes = {event.code for event in mine if event.kind == "warned"}
    if started.mode is not Mode.BUILD and evidence.tasks_done:
        return () if "tick-without-change" in codes else evidence.tasks_done
    claims = report is not None and report.report.tasks_completed > 0 and not evidence.tasks_done
    return ("moved",) if claims and "claim-without-evidence" not in codes else ()


class _Finder:
    """What came in at one place of a journal."""

    def __init__(self, events: Sequence[Event], position: int, state: LoopState) -> None:
        self._next: Any = events[position]
        self._coming: Sequence[Any] = events[position:]
        self._events: Sequence[Any] = events
        self._state = state

    def find(self) -> Input:
        match self._next:
            case RunStarted():
                return Started(run=self._next.run, facts=self._facts(self._next))
            case RunResumed():
                return Resumed(
                    by=self._next.by,
                    facts=self._facts(self._next),
                    orphans_ended=self._next.orphans_ended,
                )
        answered = self._answered_command()
        if answered is not None:
            return self._command(answered)
        return self._from_outside() or self._awaited()

    # What people ask.

    def _answered_command(self) -> Any | None:
        """The answer to a command, where what is reported next belongs to one."""
        for event in self._coming:
            if event.kind in {"commandAccepted", "commandRejected"}:
                return event
            of_a_person = event.kind in {
                *("noteAdded", "questionAnswered", "blockedResolved", "judgeOverruled")
            }
            is_reset = event.kind == "circuitBreakerStateChange" and event.iteration is None
            if not of_a_person and not is_reset:
                return None
        return None

    def _command(self, answer: Any) -> Input:
        if answer.kind == "commandRejected" and not answer.command_kind:
            return CommandUnreadable(id=answer.command, code=answer.code, reason=answer.reason)
        given: dict[str, Any] = {
            "kind": answer.command_kind,
            "id": answer.command,
            "run": self._next.run,
            "at": answer.at,
            "by": answer.by,
        }
        if getattr(answer, "code", "") == "other-run":
            given["run"] = answer.reason.rpartition(" ")[2]
        if answer.command_kind in {"note", "answer"}:
            text = getattr(self._next, "text", "") or getattr(self._next, "answer", "")
            given["text"] = text if answer is not self._next else "a text that was refused"
        if answer.command_kind == "stop":
            given["now"] = getattr(answer, "text", "") == "ended the agent"
        return CommandArrived(command=COMMAND_ADAPTER.validate_python(given))

    # What comes whenever it likes.

    def _from_outside(self) -> Input | None:
        event = self._next
        if event.kind == "agentReported":
            names = ("start", "tool", "arguments", "output_bytes", "sub_agent")
            return AgentCalled(call=0, **{name: getattr(event, name) for name in names})
        if event.kind == "lessonRemembered":
            given = {"text": event.text}
            return AgentCalled(start=event.start, call=0, tool=ReportTool.REMEMBER, arguments=given)
        if event.kind == "warned" and self._state.awaits is Awaits.EXIT:
            return AnnouncementDone(code=event.code, message=event.message, start=event.start)
        if event.kind == "phaseChanged" and event.phase == "stopping":
            return Interrupted(by=event.reason)
        if event.kind == "runEnded" and event.by:
            return Interrupted(by=event.by)
        if event.kind == "runEnded" and event.reason == "fatal":
            return EffectFailed(message=event.message)
        if event.kind in {"questionAnswered", "blockedResolved"}:
            told = self._until("phaseChanged", "runEnded")
            return HaltFilesChanged(halt=self._halt_files(told))
        return None

    def _halt_files(self, told: Sequence[Any]) -> HaltFiles:
        """What was in them, where this was reported."""
        run, kinds = self._state.run, {event.kind: event for event in told}
        asked, answered = kinds.get("questionAsked"), kinds.get("questionAnswered")
        raised = kinds.get("blockedRaised")
        question = run.question.question if run.question is not None else None
        blocked = run.blocked.reason if run.blocked is not None else None
        if asked is not None:
            question = asked.question
        if raised is not None:
            blocked = raised.reason
        return HaltFiles(
            question=question,
            answer=None if answered is None else answered.answer,
            blocked=None if "blockedResolved" in kinds else blocked,
        )

    # What the loop waits for.

    def _awaited(self) -> Input:
        match self._state.awaits, self._next:
            case Awaits.PREPARED, _:
                return self._prepared()
            case Awaits.LAUNCH, AgentStarted():
                return AgentLaunched(
                    agent=self._next.agent,
                    argv=self._next.argv,
                    pid=self._next.pid,
                    process_start_time=self._next.process_start_time,
                    group=self._next.group,
                    prompt_bytes=self._next.prompt_bytes,
                    dialect=self._next.dialect,
                )
            case Awaits.EXIT, AgentExited():
                names = AgentFinished.__dataclass_fields__
                return AgentFinished(**{name: getattr(self._next, name) for name in names})
            case Awaits.READ, _:
                return self._read()
            case Awaits.VALIDATION, Validated():
                names = ValidationFinished.__dataclass_fields__
                return ValidationFinished(**{name: getattr(self._next, name) for name in names})
            case Awaits.VALIDATION, _:
                return ValidationFinished(
                    ok=False, exit_code=None, timed_out=False, seconds=0.0, tail=""
                )
            case Awaits.JUDGE, _:
                return self._judged()
            case Awaits.UNDO, RolledBack():
                return self._undone(self._next)
            case Awaits.COMMIT, _:
                return self._committed()
            case Awaits.PUSH, _:
                return self._pushed()
            case Awaits.TIME, _:
                return WaitElapsed()
            case awaits, event:
                raise AssertionError(f"nothing leads from waiting for {awaits} to {event}")

    def _judged(self) -> WorkJudged:
        told = self._until("judged")
        judged = self._coming[len(told)]
        ended = next(event for event in self._coming if isinstance(event, IterationEnded))
        names = ("verdict", "reason", "changes", "reopened", "agent", "model", "seconds")
        fields = {name: getattr(judged, name) for name in names}
        rest = self._until("iterationEnded")
        refused = next((event for event in rest if event.kind == "completionRefused"), None)
        plan = self._plan_after(ended.counts, refused)
        return WorkJudged(**fields, plan=plan, notices=self._notices(told))

    def _undone(self, told: RolledBack) -> WorkUndone:
        ended = next(event for event in self._coming if isinstance(event, IterationEnded))
        fields = {name: getattr(told, name) for name in ("backup", "commits", "files", "kept")}
        return WorkUndone(**fields, refused=told.refused, plan=PlanFacts(counts=ended.counts))

    def _committed(self) -> WorkCommitted:
        told = self._until("committed", "pushed", "iterationEnded")
        made = self._coming[len(told)]
        notices = self._notices(told)
        if isinstance(made, Committed):
            names = ("commit", "subject", "files")
            fields = {name: getattr(made, name) for name in names}
            return WorkCommitted(**fields, notices=notices)
        failed = [one.message for one in told if getattr(one, "code", "") == COMMIT_FAILED]
        problem = failed[0].partition("work tree: ")[2] if failed else ""
        return WorkCommitted(problem=problem, notices=notices)

    def _pushed(self) -> WorkPushed:
        told = self._until("pushed", "iterationEnded")
        made = self._coming[len(told)]
        notices = self._notices(told)
        if not isinstance(made, Pushed):
            return WorkPushed(notices=notices)
        names = ("ok", "remote", "branch", "commit", "tries", "created", "rejected")
        fields = {name: getattr(made, name) for name in names}
        return WorkPushed(**fields, problem=made.tail, notices=notices)

    def _prepared(self) -> Prepared:
        event = next(event for event in self._coming if event.kind != "warned")
        notices = self._notices(self._until(event.kind))
        if isinstance(event, IterationStarted):
            plan = PlanFacts(counts=event.counts, next_task=event.task)
            return Prepared(
                baseline=event.baseline,
                plan=plan,
                mode=event.mode,
                left_out=untaken_tasks(self._state.run),
                notices=notices,
            )
        counts = self._state.run.counts
        is_held = event.kind == "phaseChanged" or getattr(event, "reason", "") == "blocked"
        nothing_ready = is_held or counts.open_required == counts.blocked_required
        message = getattr(event, "message", "")
        if is_held and re.search(r"(?:is|are) blocked(?::|$)", message):
            # What the loop itself has marked meanwhile is counted by this last look.
            counts = counts.model_copy(update={"blocked_required": counts.open_required})
        plan = PlanFacts(
            counts=counts,
            next_task=None if nothing_ready else SOMETHING,
            held=self._held(event),
            left=message.partition(NOTHING_READY)[2],
        )
        return Prepared(
            baseline=Baseline(), plan=plan, left_out=untaken_tasks(self._state.run), notices=notices
        )

    def _read(self) -> IterationRead:
        current = self._state.run.current
        assert current is not None
        number = current.started.start
        if self._is_tried_again():
            return IterationRead(
                without_output=True,
                changes=Changes(fingerprint=current.started.baseline.fingerprint),
                notices=self._notices(self._until("phaseChanged")),
            )
        mine = [event for event in self._events if getattr(event, "start", None) == number]
        of_kind = {event.kind: event for event in mine}
        end, report = of_kind.get("iterationEnded"), of_kind.get("ralphStatusUpdate")
        evidence = of_kind["evidenceGathered"].evidence
        counts = current.started.counts if end is None else end.counts
        if {"rolledBack", "judged"} & of_kind.keys() and "planChanged" in of_kind:
            counts = of_kind["planChanged"].counts
        return IterationRead(
            report=None if report is None else report.report,
            promises=tuple(event.promise for event in mine if event.kind == "promiseRead"),
            completion_words=() if end is None else end.completion_words,
            claims=None if end is None else end.claims,
            errors=() if end is None else end.errors,
            error_patterns=() if end is None else self._error_patterns(end),
            without_output=self._said_nothing(end),
            **self._failure(mine, end),
            usage=None if end is None else end.usage,
            denied_tools=None if end is None else _denied(end),
            limit=self._limit(end),
            session=None if end is None else end.session,
            question=self._question(mine),
            plan_changed=current.started.mode is Mode.PLAN and evidence.progress,
            changes=Changes(
                commits=evidence.commits,
                files=evidence.files,
                paths=evidence.paths,
                fingerprint=evidence.fingerprint,
                again=evidence.again,
                cosmetic=evidence.cosmetic,
                advanced=evidence.advanced,
                engine_output=evidence.engine_output,
                own_files=evidence.own_files or 0,
            ),
            tasks_done=evidence.tasks_done,
            moved=_moved(current.started, mine, evidence, report),
            plan=self._plan_after(counts, of_kind.get("completionRefused")),
            verified=tuple(
                verification_of(event) for event in mine if isinstance(event, CriteriaVerified)
            ),
            must_validate=self._is_validated(),
            reverted=tuple(_reverted(event) for event in mine if event.kind == "guardReverted"),
            notices=self._notices([event for event in mine if event.kind == "warned"]),
        )

    def _is_tried_again(self) -> bool:
        first_part = self._until("phaseChanged", "evidenceGathered")
        return any(getattr(event, "code", "") == "agent-failed" for event in first_part)

    def _is_validated(self) -> bool:
        """Whether the script ran, or was running when somebody ended it."""
        rest = self._until("iterationEnded", "runEnded")
        kinds = [event.kind for event in rest]
        if "evidenceGathered" not in kinds:
            return "validated" in kinds
        after = kinds[kinds.index("evidenceGathered") :]
        return bool({"validated", "commandAccepted", "phaseChanged"}.intersection(after))

    def _failure(self, mine: Sequence[Any], end: Any) -> dict[str, Any]:
        """How the agent failed: its own words, and what to do, are in what is reported about it."""
        if end is None or end.failure is None:
            return {}
        texts = [event.message for event in mine if event.kind == "warned"]
        texts += [] if end.verdict is None else [end.verdict.message]
        known = FAILURE_TEXTS[end.failure]
        said = next((text.partition(known)[2] for text in texts if known in text), "")
        words, _, rest = (
            said.removeprefix(": ").partition("; ") if said[:1] == ":" else ("", "", "")
        )
        is_end = end.verdict is not None
        remedy = rest.removesuffix("; then continue with: ralph run --resume") if is_end else ""
        return {"failure_kind": end.failure, "failure": words, "remedy": remedy, "failed": True}

    def _limit(self, end: Any) -> AccountLimit | None:
        """The usage limit, where one was waited for."""
        if end is None or end.outcome is not Outcome.LIMITED:
            return None
        if end.failure not in {None, AgentFailure.LIMIT}:
            return None
        waits = (event for event in self._coming if event.kind == "waitStarted")
        return AccountLimit(resets_at=next((event.until for event in waits), None))

    def _question(self, mine: Sequence[Any]) -> str:
        said = (event.message for event in mine if event.kind == "warned" and event.code == ASKED)
        words = next(said, "").partition("instead of a signal: ")[2]
        return words.partition(" Answer it with")[0]

    def _held(self, event: Any) -> tuple[HeldTask, ...]:
        """The tasks that keep a run from continuing are in the words of its end."""
        message = getattr(event, "message", "")
        if getattr(event, "reason", "") != "blocked" or ": " not in message:
            return ()
        held = (one.rpartition(" (") for one in message.partition(": ")[2].split("; "))
        return tuple(
            HeldTask(task=TaskRef(id="", title=title), why=why[:-1])
            for title, _, why in held
            if title
        )

    def _error_patterns(self, end: Any) -> tuple[str, ...]:
        if end.outcome in {Outcome.PROGRESS, Outcome.NO_PROGRESS}:
            return tuple(end.breaker.error_streaks)
        known = self._state.run.breaker.error_history
        history = end.breaker.error_history
        return tuple(history[-1].split(" | ")) if history != known else ()

    def _said_nothing(self, end: Any) -> bool:
        run = self._state.run
        came_to_nothing = end is not None and end.crashes > run.crashes
        exited = run.current.exit if run.current is not None else None
        return came_to_nothing and exited is not None and exited.exit_code == 0

    def _plan_after(self, counts: PlanCountsView, refused: Any) -> PlanFacts:
        begun = (event for event in self._coming if event.kind == "iterationStarted")
        following = next(begun, None)
        return PlanFacts(
            counts=counts,
            next_task=None if following is None else following.task,
            open_tasks=() if refused is None else refused.open_tasks,
        )

    # Helpers of all of them.

    def _facts(self, begun: Any) -> EngineFacts:
        started = begun if isinstance(begun, RunStarted) else self._events[0]
        told = self._until("phaseChanged", "runEnded", beyond="starting")
        return EngineFacts(
            config=begun.config,
            overrides=begun.overrides,
            version=begun.version,
            pid=begun.pid,
            workspace=started.workspace,
            state_dir=started.state_dir,
            plan_path=started.plan,
            request=started.request,
            counts=begun.counts,
            branch=begun.branch,
            head=begun.head,
            choices=begun.choices,
            settings_digest=begun.settings_digest,
            halt=self._halt_files(told),
            notices=self._notices(told),
            notes=tuple(
                PendingNote(text=event.text, by=event.by)
                for event in told
                if event.kind == "noteAdded"
            ),
        )

    def _until(self, *kinds: str, beyond: str = "") -> list[Any]:
        """What is reported before the next event of one of the kinds, but for that one phase."""
        found = []
        for event in self._coming:
            if event.kind in kinds and getattr(event, "phase", None) != beyond:
                break
            found.append(event)
        return found

    def _notices(self, told: Sequence[Any]) -> tuple[Notice, ...]:
        return tuple(
            Notice(code=event.code, message=event.message, removed=event.removed)
            for event in told
            if event.kind == "warned" and event.code not in OWN_WARNINGS
        )
