"""Waits for the user: review points, and why a run does not continue without the user, in words.

Whether an iteration reached a review point (docs/rules.md#review-points) is computed from the run's
state: the loop parks for it, and viewers show it. Viewers need no more of the loop than this
module.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ralph_ls.core.loop.rules.budget import short_duration
from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import clock_minutes
from ralph_ls.protocol.run.state import Blocker, LaneView, RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, LaneState, Phase

REVIEW = "review"
"""The reason of a run that is parked for a review; it is no reason to end.

See docs/rules.md#review-points.
"""

BY_REVIEW_POINT = "a review point"
"""The name that ends a run which does not wait for the user."""


def review_due(run: RunState) -> str | None:
    """Why a review of the work up to the last iteration is due; None where it is not."""
    if run.last is None:
        return None
    points, is_last = run.config.review_points, run.evidence_start == run.last.start
    done = run.evidence.tasks_done if run.evidence is not None and is_last else ()
    wanted = [name for name in points.after_tasks if _names_one_of(name, done)]
    if wanted:
        return f"done: {', '.join(wanted)}"
    if points.every and run.last.counted and run.counted % points.every == 0:
        return f"{count_of(run.counted, 'iteration')} of this run {_are(run.counted)} done"
    return None


def _names_one_of(name: str, tasks: tuple[str, ...]) -> bool:
    """By an id, or by a title as the plan has it; of several tasks of one title, any."""
    of_title = title_id(name)
    return any(task == name or task.partition("-")[0] == of_title for task in tasks)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


WAIT_SUBJECTS = {
    "limit": "the usage limit",
    "retry": "the overloaded model",
    "unreachable": "the unreachable API",
    "calls": "the limit of calls a minute",
}
"""What a run waits for, by the reason of its phase."""

AGENT_WAITS = frozenset({"limit", "retry", "unreachable"})
"""Reasons of waits for the agent, which ``max_wait`` bounds."""


def end_of_hours(until: str, now: datetime) -> datetime | None:
    """The next time that the clock shows ``until``; ``now`` is local. None for an empty text."""
    minutes = clock_minutes(until)
    if minutes is None:
        return None
    end = now.replace(hour=minutes // 60, minute=minutes % 60, second=0, microsecond=0)
    return end if end > now else end + timedelta(days=1)


def hours_over(run: RunState, now: datetime) -> str | None:
    """That the run's allowed hours are over; None while they are not."""
    if run.ends_at is None or now < run.ends_at:
        return None
    return f"it is {run.config.run.until}, so no other iteration begins {BY_HOURS}"


def unbearable_wait(run: RunState, reason: str, until: datetime, now: datetime) -> str | None:
    """Why the run ends instead of waiting until then; None where it waits."""
    what = WAIT_SUBJECTS.get(reason, reason)
    seconds = (until - now).total_seconds()
    if run.ends_at is not None and until >= run.ends_at:
        how_long = short_duration(max(0.0, seconds))
        return f"waiting for {what} takes {how_long}, past {run.config.run.until} {BY_HOURS}"
    longest = run.config.max_wait
    if reason not in AGENT_WAITS or not longest or run.waited_seconds + seconds <= longest:
        return None
    how_long = f"takes {short_duration(seconds)}"
    if run.waited_seconds:
        how_long = (
            f"takes {short_duration(seconds)} more after {short_duration(run.waited_seconds)}"
        )
    allowed = f"at most {short_duration(longest)} are allowed {BY_LONGEST_WAIT}"
    return f"waiting for {what} {how_long}; {allowed}"


def is_ended_by_clock(run: RunState) -> bool:
    """Whether the run ended at a limit that is none of its budgets: it can be resumed as it is."""
    end = run.end
    is_limit = end is not None and end.reason is EndReason.LIMIT
    return end is not None and is_limit and end.message.endswith((BY_HOURS, BY_LONGEST_WAIT))


BY_HOURS, BY_LONGEST_WAIT = "(run.until)", "(max_wait)"
"""The last words of the message of a run that ended at its hours, or instead of a long wait."""


def can_end_wait(run: RunState) -> bool:
    """Whether the user may end the wait that the run is in, and have it continue now."""
    return run.phase is Phase.WAITING and run.phase_reason != "calls"


GIT_LOCKED = "git-locked"
"""The code of the warning about lock files that block the next iteration."""


def parked_words(run: RunState) -> str:
    """What a parked run needs, in words."""
    if run.lanes:
        return _lane_words(run)
    if run.phase_reason == EndReason.DECIDE.value and run.question is not None:
        return f"an answer to: {run.question.question}"
    if run.phase_reason == EndReason.BLOCKED.value:
        if run.blocked is not None:
            return f"the blocker to be resolved: {run.blocked.reason}"
        if run.current is not None:
            number = run.current.started.iteration
            return (
                f"your decision about the changes that iteration {number} left: commit or discard "
                "them, then: ralph resume; or: ralph stop, then ralph run --resume with "
                "--take-all or --leave"
            )
        if run.warnings and run.warnings[-1].code == GIT_LOCKED:
            return f"git to be unlocked, then: ralph resume; {run.warnings[-1].message}"
        return "a task in the plan that is not blocked"
    if run.phase_reason == REVIEW:
        due = review_due(run)
        return "your review" if due is None else f"your review: {due}"
    why = stuck_words(run.breaker, run.stuck_count, run.config)
    return f"a reset: {why}" if why else "a reset"


def question_of_lane(lane: LaneView) -> str | None:
    """What a lane asks, also where its run has ended with the question; None where it does not."""
    if lane.state is LaneState.PARKED and lane.end is EndReason.DECIDE:
        return lane.question or lane.message
    return lane.question if lane.end is None else None


def is_parked_for_user(lane: LaneView) -> bool:
    """Whether a lane is parked for something else than an answer."""
    return lane.state is LaneState.PARKED and question_of_lane(lane) is None


def asking_lanes(run: RunState) -> tuple[LaneView, ...]:
    """The lanes of a parallel run that ask something, in the order of their tasks."""
    return tuple(one for one in run.lanes if question_of_lane(one) is not None)


def lanes_need_user(run: RunState) -> bool:
    """Whether a lane asks or is parked, while the others may continue."""
    return any(
        one.state is LaneState.PARKED or question_of_lane(one) is not None for one in run.lanes
    )


def _lane_words(run: RunState) -> str:
    """What the lanes of a parallel run need."""
    asking = asking_lanes(run)
    if asking:
        words = f"an answer to: {question_of_lane(asking[0])} (lane {asking[0].lane})"
        return words if len(asking) == 1 else f"{words}, and {len(asking) - 1} more"
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    if parked:
        more = "" if len(parked) == 1 else f", and {len(parked) - 1} more"
        return f"a parked lane: {parked[0].task.title}: {parked[0].message}{more}"
    return "its lanes"


def stuck_words(breaker: Breaker, stuck_count: int, config: Config) -> str | None:
    """Why the run must wait for the user: the breaker is OPEN, or the stuck count is full."""
    if breaker.state is BreakerState.OPEN:
        return breaker.reason
    if config.max_stuck is not None and stuck_count >= config.max_stuck:
        several = f"{stuck_count} iterations in a row"
        return f"{'an iteration' if stuck_count == 1 else several} without a commit"
    return None


def is_breaker_of(blocker: Blocker, run: RunState) -> bool:
    """Whether the breaker opened for the report that raised this blocker: both are one thing."""
    reported = run.report is not None and run.report.status == "BLOCKED"
    is_last = run.last is not None and blocker.start == run.last.start
    same = is_last and run.report_start == blocker.start
    return run.breaker.state is BreakerState.OPEN and reported and same
