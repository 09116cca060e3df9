"""The end of an iteration: its commit and push, and the event with all its counters.

Commit and push come after the validation and before attempts, breaker and gate, so that the
finishing iteration is committed and pushed too (docs/rules.md#commits). An iteration that was cut
off is not committed: its work stays in the work tree, and the next commit includes it. There are
two exceptions. Where the agent's timeout ends the run, its work is evidence and is committed,
though not validated or pushed. And where the iteration lost its engine, the work that is known to
be its agent's is validated and committed under its task, and pushed with the next valid iteration.

``iterationEnded`` carries everything from which the next iteration counts, so that an engine which
dies next to it leaves nothing half counted.
"""

from __future__ import annotations

from ralph_ls.core.agent.failures import FAILURE_TEXTS
from ralph_ls.core.loop.effects import CloseIteration, CommitWork, PushWork
from ralph_ls.core.loop.fold.iteration_changes import warning_name
from ralph_ls.core.loop.inputs import IterationRead, WorkCommitted, WorkPushed
from ralph_ls.core.loop.machine import unfinished_tasks
from ralph_ls.core.loop.machine.iteration_events import gate_inputs, warn_once
from ralph_ls.core.loop.machine.verdict import (
    COMMIT_FAILED,
    CRASHES_TO_FATAL,
    SettledIteration,
    is_confirmation,
    limit_of,
    verdict,
)
from ralph_ls.core.loop.rules.commits import commit_message
from ralph_ls.core.loop.rules.failure_policy import (
    AGENT_FAILURE_WORDS,
    FALLBACK,
    agent_crash_words,
    agent_hold_words,
)
from ralph_ls.core.loop.rules.gate import gate_finding
from ralph_ls.core.loop.rules.validation import is_invalid
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.protocol.config.config import Committer, EvidenceKind, OnTimeout
from ralph_ls.protocol.run.events import Committed, IterationEnded, Pushed
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Evidence


def kinds_of_evidence(run: RunState) -> tuple[EvidenceKind, ...]:
    """The kinds of evidence that count; where the loop commits, the work tree replaces HEAD."""
    kinds = run.config.progress.evidence
    if run.config.commits is Committer.LOOP and EvidenceKind.HEAD in kinds:
        return (*kinds, EvidenceKind.WORKTREE)
    return kinds


def ends_by_timeout(run: RunState, current: CurrentIteration) -> bool:
    """Whether the agent ran out of time, and the run ends for it."""
    exit_event = current.exit
    timed_out = exit_event is not None and exit_event.timed_out
    return timed_out and run.config.on_timeout is OnTimeout.STOP


def commit_due(
    run: RunState,
    current: CurrentIteration,
    given: IterationRead,
    evidence: Evidence,
    *,
    stopped: bool,
    set_aside: str = "",
    is_last: bool = False,
) -> CommitWork | None:
    """The order to commit what the iteration changed; None where it is not the loop's to commit.

    ``set_aside`` is why its task is set aside; ``is_last`` that no other iteration is foreseen.
    """
    is_ours = run.config.commits is Committer.LOOP and run.commit_base is not None
    if not is_ours or current.committed is not None or not _may_commit(current, given, stopped):
        return None
    return CommitWork(
        start=current.started.start,
        iteration=current.started.iteration,
        base=run.commit_base or current.started.baseline,
        since=current.started.baseline.head,
        message=commit_message(run, current, given, evidence, set_aside=set_aside),
        is_last=is_last,
    )


def push_due(
    run: RunState, current: CurrentIteration, given: IterationRead, *, stopped: bool
) -> PushWork | None:
    """The order to push; None where nothing is to be pushed."""
    wanted = run.config.push and current.pushed is None and not ends_by_timeout(run, current)
    if current.exit is None:
        # The end of its agent was not observed: it is pushed with the next iteration that is valid.
        return None
    if not wanted or not _may_commit(current, given, stopped):
        return None
    started = current.started
    return PushWork(start=started.start, iteration=started.iteration, held=run.held or ())


def emit_commit(draft: StepDraft, current: CurrentIteration, given: WorkCommitted) -> None:
    """Report the commit, or why it failed; the work is in the tree in either case."""
    iteration = current.started.iteration
    for notice in given.notices:
        warn_once(draft, notice.code, notice.message)
    if given.commit is not None:
        draft.emit(
            Committed(
                **draft.iteration_stamp,
                commit=given.commit,
                subject=given.subject,
                files=given.files,
            )
        )
        if current.exit is None and draft.config.push:
            message = (
                f"the commit of iteration {iteration}, whose engine died, is not pushed on its "
                "own; it goes out with the next valid iteration, or with your git push"
            )
            warn_once(draft, "lost-not-pushed", message)
    elif given.problem and not draft.state.stopping_agent:
        message = (
            f"the work of iteration {iteration} is not committed; it is still in the work tree"
        )
        warn_once(draft, COMMIT_FAILED, f"{message}: {given.problem}")


def emit_push(draft: StepDraft, given: WorkPushed) -> None:
    """Report the push, if there was one; one that the user interrupted proves nothing of the
    remote.
    """
    for notice in given.notices:
        warn_once(draft, notice.code, notice.message)
    if not given.tries or (not given.ok and draft.state.stopping_agent):
        return
    draft.emit(
        Pushed(
            **draft.iteration_stamp,
            ok=given.ok,
            remote=given.remote,
            branch=given.branch,
            commit=given.commit,
            tries=given.tries,
            created=given.created,
            rejected=given.rejected,
            tail=given.problem,
        )
    )


def is_uncommitted(run: RunState, current: CurrentIteration, *, cut_short: bool) -> bool:
    """Whether work of the iteration may be left that the loop was to commit and did not."""
    if run.config.commits is not Committer.LOOP or current.committed is not None:
        return False
    undone = current.rolled_back
    if undone is not None and undone.ok:
        # Nothing of this iteration is left, but there may be something of earlier ones.
        return run.commit_base != current.started.baseline
    return cut_short or is_invalid(current) or warning_name(COMMIT_FAILED) in current.told


def uncommitted_work(
    run: RunState, current: CurrentIteration, given: IterationRead, *, cut_short: bool
) -> dict[str, str] | None:
    """The work that the next commit includes, by path; None where there is none, or it is not
    known.
    """
    if not is_uncommitted(run, current, cut_short=cut_short):
        return None
    undone = current.rolled_back
    if undone is not None and undone.ok:
        return run.owed
    return None if given.left is None else dict(given.left)


def _may_commit(current: CurrentIteration, given: IterationRead, stopped: bool) -> bool:  # noqa: FBT001
    """A lost iteration is committed as far as its work is known to be its own."""
    is_over = not stopped and limit_of(given) is None
    return is_over and not is_invalid(current)


KEPT_ERROR_LINES = 5


def emit_failure(draft: StepDraft, settlement: SettledIteration) -> None:
    """Warn of the agent's failure, and name the agent that replaces it."""
    run, given = draft.run, settlement.read
    hold, replaced, kind = settlement.hold, settlement.replaced, given.failure_kind
    held = None if hold is None else agent_hold_words(run, hold, given)
    if held is not None:
        warn_once(draft, *held)
    elif replaced is not None:
        message = agent_crash_words(replaced, given, times=CRASHES_TO_FATAL)
        warn_once(draft, FALLBACK, message)
    elif kind is not None and kind in AGENT_FAILURE_WORDS:
        code, advice = AGENT_FAILURE_WORDS[kind]
        reason = f": {given.failure}" if given.failure else ""
        warn_once(draft, code, f"the agent {FAILURE_TEXTS[kind]}{reason}; {advice}")


def end_iteration(draft: StepDraft, settlement: SettledIteration) -> None:
    """Report that the iteration is over, with all counters from which the next one counts."""
    run, given, current = draft.run, settlement.read, settlement.current
    cut_short = settlement.cut_short
    recommendation, missing = run.recommendation, run.missing_reports
    if given.report is not None and settlement.hold is None:
        recommendation, missing = given.report.recommendation, 0
    elif not cut_short:
        recommendation, missing = "", run.missing_reports + 1
    crashes = run.crashes if cut_short else 0
    if settlement.works_on:
        crashes = 0
    elif settlement.failed:
        crashes = run.crashes + 1
    denied = given.denied_tools
    # It is unknown how long an iteration ran before its engine died. Where the clock was set back
    # meanwhile, it took as long as its agent at least, which was timed otherwise.
    seconds = 0.0 if settlement.lost else (draft.now - current.started.at).total_seconds()
    seconds = max(seconds, 0.0 if current.exit is None else current.exit.seconds)
    ended = draft.emit(
        IterationEnded(
            **draft.iteration_stamp,
            mode=current.started.mode,
            outcome=settlement.outcome,
            counted=settlement.counted,
            seconds=round(seconds, 3),
            commit=settlement.commit,
            uncommitted=is_uncommitted(run, current, cut_short=cut_short),
            left=uncommitted_work(run, current, given, cut_short=cut_short),
            fingerprint=settlement.evidence.fingerprint,
            breaker=settlement.breaker,
            stuck_count=settlement.stuck_count,
            indicators=settlement.gate.indicators,
            missing_reports=missing,
            crashes=crashes,
            recommendation=recommendation,
            counts=given.plan.counts,
            usage=settlement.usage,
            failure=given.failure_kind if settlement.hold is None else settlement.hold.kind,
            agent_out=settlement.agent_out,
            permission_denials=None if denied is None else len(denied),
            denied_tools=tuple(dict.fromkeys(denied or ())),
            completion_words=given.completion_words,
            claims=given.claims,
            gate=None if cut_short else gate_finding(gate_inputs(run, given), settlement.gate),
            confirmed=is_confirmation(run, settlement) or None,
            attempts=dict(settlement.attempts),
            skipped=unfinished_tasks.skipped_after(run, settlement),
            session=given.session,
            errors=given.errors[:KEPT_ERROR_LINES],
            verdict=verdict(run, settlement, draft.now),
        )
    )
    draft.order(CloseIteration(ended=ended))
