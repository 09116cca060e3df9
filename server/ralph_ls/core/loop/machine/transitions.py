"""The transition table: the phases to which each input may lead from each phase, as data.

The reducer decides; the table limits what it may decide. Scripts draw it and tests count it: every
(phase, input) pair has an entry, a set of phases or the reason why the input is ignored, and no
generated run leaves the table. A phase in its own set means that the run may stay in it.

Three facts hold in every row. ``starting`` is where a run is between two engines: only ``Started``
and ``Resumed`` find it there, and ``Resumed`` continues from whatever phase an engine died in. Any
failing effect ends a run. And an ended run still answers commands, so its row is not empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    AnswerOverdue,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    HaltFilesChanged,
    Input,
    Interrupted,
    IterationRead,
    Prepared,
    Resumed,
    Started,
    TaskClaimed,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.protocol.run.values import Phase

LeadsTo = frozenset[Phase]
"""Phases the run may be in afterwards."""

Ignored = str
"""Why the input moves nothing: it follows "ignored, because"."""

INPUTS: tuple[type[Input], ...] = Input.__args__
"""Every kind of input."""

LIVE_PHASES: tuple[Phase, ...] = (
    Phase.PREPARING,
    Phase.RUNNING,
    Phase.SETTLING,
    Phase.WAITING,
    Phase.PAUSED,
    Phase.PARKED,
    Phase.STOPPING,
    Phase.ENDED,
)
"""Phases of a run under a living engine; ``crashed`` is for viewers alone."""

_SETTLED = frozenset({Phase.PREPARING, Phase.WAITING, Phase.PAUSED, Phase.PARKED, Phase.ENDED})
"""Where a closed iteration can lead."""

_SET_OUT = frozenset({Phase.PREPARING, Phase.WAITING, Phase.PARKED, Phase.ENDED})
"""Where the start of an engine can lead, with no iteration open."""

_HAS_ENGINE = "the run already has an engine"
_NOT_CLAIMING = "no task is being claimed"
_NO_AGENT_DUE = "no agent is being started"
_NO_AGENT = "no agent runs"
_NOBODY_ASKS = "no agent waits for an answer"
_NOTHING_TO_READ = "no iteration is waiting to be read"
_NOT_VALIDATING = "nothing is being validated"
_NOT_JUDGING = "no judge is at work"
_NOT_UNDOING = "nothing is being rolled back"
_NOT_COMMITTING = "nothing is being committed"
_NOT_PUSHING = "nothing is being pushed"
_NOT_WAITING = "nothing is being waited for"
_NOT_PREPARING = "no iteration is being prepared"
_NO_PERSON_AWAITED = "the run is not waiting for you"
_HAS_ENDED = "the run has ended"


def _to(*phases: Phase) -> LeadsTo:
    return frozenset(phases)


def _row(
    phase: Phase, answers: Mapping[type[Input], LeadsTo | Ignored]
) -> dict[type[Input], LeadsTo | Ignored]:
    """One phase: inputs that are not named are ignored for the default reason."""
    defaults: dict[type[Input], LeadsTo | Ignored] = {
        Started: _HAS_ENGINE,
        Resumed: _HAS_ENGINE,
        Prepared: _NOT_PREPARING,
        TaskClaimed: _NOT_CLAIMING,
        AgentLaunched: _NO_AGENT_DUE,
        AgentFinished: _NO_AGENT,
        AgentCalled: _NO_AGENT,
        AnswerOverdue: _NOBODY_ASKS,
        IterationRead: _NOTHING_TO_READ,
        ValidationFinished: _NOT_VALIDATING,
        WorkJudged: _NOT_JUDGING,
        WorkUndone: _NOT_UNDOING,
        WorkCommitted: _NOT_COMMITTING,
        WorkPushed: _NOT_PUSHING,
        CommandArrived: _to(phase),
        CommandUnreadable: _to(phase),
        HaltFilesChanged: _NO_PERSON_AWAITED,
        WaitElapsed: _NOT_WAITING,
        Interrupted: _to(Phase.ENDED),
        AnnouncementDone: _to(phase),
        EffectFailed: _to(Phase.ENDED),
    }
    return {**defaults, **answers}


TRANSITIONS: Mapping[Phase, Mapping[type[Input], LeadsTo | Ignored]] = MappingProxyType(
    {
        Phase.PREPARING: _row(
            Phase.PREPARING,
            {
                Prepared: _SET_OUT | {Phase.RUNNING, Phase.PAUSED},
                TaskClaimed: _to(Phase.PREPARING, Phase.WAITING, Phase.RUNNING, Phase.PAUSED),
                CommandArrived: _to(Phase.PREPARING, Phase.ENDED),
            },
        ),
        Phase.RUNNING: _row(
            Phase.RUNNING,
            {
                AgentLaunched: _to(Phase.RUNNING),
                AgentFinished: _to(Phase.SETTLING),
                AgentCalled: _to(Phase.RUNNING, Phase.PARKED),
                CommandArrived: _to(Phase.RUNNING, Phase.STOPPING),
                Interrupted: _to(Phase.STOPPING),
            },
        ),
        Phase.SETTLING: _row(
            Phase.SETTLING,
            {
                IterationRead: _SETTLED | {Phase.SETTLING, Phase.RUNNING},
                ValidationFinished: _SETTLED | {Phase.SETTLING},
                WorkJudged: _SETTLED | {Phase.SETTLING},
                WorkUndone: _SETTLED,
                WorkCommitted: _SETTLED | {Phase.SETTLING},
                WorkPushed: _SETTLED,
                CommandArrived: _to(Phase.SETTLING, Phase.STOPPING),
                Interrupted: _to(Phase.STOPPING),
            },
        ),
        Phase.WAITING: _row(
            Phase.WAITING,
            {
                WaitElapsed: _to(Phase.PREPARING, Phase.WAITING, Phase.ENDED),
                CommandArrived: _to(Phase.WAITING, Phase.PAUSED, Phase.PREPARING, Phase.ENDED),
            },
        ),
        Phase.PAUSED: _row(
            Phase.PAUSED,
            {CommandArrived: _to(Phase.PAUSED, Phase.PREPARING, Phase.WAITING, Phase.ENDED)},
        ),
        Phase.PARKED: _row(
            Phase.PARKED,
            {
                CommandArrived: _SETTLED | {Phase.SETTLING, Phase.RUNNING, Phase.STOPPING},
                HaltFilesChanged: (_SETTLED | {Phase.SETTLING, Phase.RUNNING}) - {Phase.ENDED},
                AgentCalled: _to(Phase.PARKED),
                AgentFinished: _to(Phase.SETTLING),
                AnswerOverdue: _to(Phase.RUNNING),
                Interrupted: _to(Phase.ENDED, Phase.STOPPING),
            },
        ),
        Phase.STOPPING: _row(
            Phase.STOPPING,
            {
                AgentLaunched: _to(Phase.STOPPING),
                AgentFinished: _to(Phase.STOPPING),
                AgentCalled: _to(Phase.STOPPING),
                IterationRead: _to(Phase.STOPPING, Phase.ENDED),
                ValidationFinished: _to(Phase.STOPPING, Phase.ENDED),
                WorkJudged: _to(Phase.STOPPING, Phase.ENDED),
                WorkUndone: _to(Phase.ENDED),
                WorkCommitted: _to(Phase.STOPPING, Phase.ENDED),
                WorkPushed: _to(Phase.ENDED),
                Interrupted: _to(Phase.STOPPING),
            },
        ),
        Phase.ENDED: _row(
            Phase.ENDED,
            {
                kind: _HAS_ENDED
                for kind in INPUTS
                if kind
                not in {Started, Resumed, CommandArrived, CommandUnreadable, AnnouncementDone}
            },
        ),
    }
)
"""By phase and input, under an engine that has started the run: the phases that may follow."""

TAKE_UP: Mapping[type[Input], LeadsTo | Ignored] = MappingProxyType(
    {
        **dict.fromkeys(INPUTS, "the engine has not started this run yet"),
        Started: _SET_OUT,
        Resumed: _SET_OUT | {Phase.SETTLING},
    }
)
"""The same for an engine's first input, whatever phase the journal ends in."""


def allows(before: Phase | None, given: type[Input], after: Phase) -> bool:
    """Whether an input that is not ignored may lead there; ``before`` None: an engine's first."""
    answer = TAKE_UP[given] if before is None else TRANSITIONS[before][given]
    return not isinstance(answer, str) and after in answer
