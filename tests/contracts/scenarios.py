"""The pieces that are played on both stages, and recorded as histories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contracts.real_run import People
from tests.unit.core.loop import user_behaviours
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    Turn,
    asks,
    claims_all,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    progress,
    promise,
    silence,
    timeout,
    turn,
)
from tests.unit.core.loop.simulated_run import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A script, its settings, and who looks after the run."""

    script: tuple[Turn, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As ``play`` takes them."""
    config: str = ""
    """The same for the real engine, as far as its flags do not say it."""
    people: People = People()
    person: Person | None = None

    @property
    def flags(self) -> list[str]:
        """The settings that have a flag, for the real engine."""
        settings = {"max_iterations": 9, **self.settings}
        flags = [str(settings["max_iterations"])]
        if "max_stuck" in settings:
            flags += ["--max-stuck", str(settings["max_stuck"])]
        if "timeout" in settings:
            flags += ["--timeout", f"{settings['timeout']}s"]
        return flags


def commands(*given: tuple[int, str], then_helpful: bool = False) -> dict[str, Any]:
    """Commands during turns, and on both stages somebody who resumes what is paused."""
    people = [
        user_behaviours.during_turn(number, "stop", now=True)
        if kind == "stop-now"
        else user_behaviours.during_turn(number, kind)
        for number, kind in given
    ]
    return {
        "people": People(commands=given),
        "person": user_behaviours.together(*people, user_behaviours.helpful),
    }


HELPFUL: dict[str, Any] = {"people": People(helpful=True), "person": user_behaviours.helpful}
EDITING: dict[str, Any] = {"people": People(editing=True), "person": user_behaviours.editing}
same_error = turn(STATUS="IN_PROGRESS", files=1, commit=True, errors=("Error: no such table",))
failing = turn(STATUS="IN_PROGRESS", TESTS_STATUS="FAILING", files=1, commit=True)
ticks = turn(STATUS="IN_PROGRESS", files=1, commit=True, ticks=ONE_TASK)
reports_blocked = turn(STATUS="BLOCKED", RECOMMENDATION="rest", files=1)
validated = (True, False)
ticks_and_says = turn(files=1, commit=True, ticks=ONE_TASK, promises=(promise("complete"),))
says_complete = turn(files=1, commit=True, promises=(promise("complete"),))
marks_its_last = turn(STATUS="COMPLETE", files=1, commit=True, ticks=ONE_TASK)
asks_back = turn(
    STATUS="NEEDS_CLARIFICATION", EXIT_SIGNAL="true", CLARIFICATION_QUESTIONS="Which port?"
)


def gate(rule: str) -> dict[str, Any]:
    """The same gate on both stages."""
    return {"settings": {"gate_rule": rule}, "config": f'[gate]\nrule = "{rule}"\n'}


SCENARIOS = {
    "finishes": Scenario(script=(progress, finishes)),
    "confirmed": Scenario(script=(ticks,)),
    "adds-a-task-when-confirming": Scenario(
        script=(ticks, turn(STATUS="IN_PROGRESS", adds=("one more",)), progress),
        settings={"max_iterations": 3},
    ),
    "limit": Scenario(script=(progress, edits_only), settings={"max_iterations": 2}),
    "no-progress": Scenario(script=(no_progress,) * 3),
    "half-open-and-back": Scenario(script=(no_progress, no_progress, progress, finishes)),
    "back-to-an-earlier-state": Scenario(
        script=(edits_only, turn(STATUS="IN_PROGRESS", reverts=True), finishes)
    ),
    "a-tick-alone": Scenario(
        script=(turn(STATUS="IN_PROGRESS", TASKS_COMPLETED_THIS_LOOP="1", ticks=ONE_TASK),)
    ),
    "claims-without-evidence": Scenario(
        script=(turn(STATUS="IN_PROGRESS", FILES_MODIFIED="3", WORK_TYPE="TESTING"), finishes)
    ),
    "the-same-error": Scenario(script=(same_error,) * 5),
    "failing-tests": Scenario(script=(failing,) * 5),
    "refused-completions": Scenario(
        script=(claims_all,) * 3,
        settings={"breaker_no_progress_open": 9},
        config="[breaker]\nno_progress_open = 9\n",
    ),
    "reports-blocked": Scenario(script=(reports_blocked,)),
    "reports-blocked-and-is-reset": Scenario(script=(reports_blocked, finishes), **HELPFUL),
    "stuck": Scenario(script=(edits_only,) * 2, settings={"max_stuck": 2}),
    "reports-are-missing": Scenario(
        script=(turn(fields=None, files=1, commit=True),) * 3 + (finishes,)
    ),
    "crashes-once": Scenario(script=(crash, progress, finishes)),
    "crashes": Scenario(script=(crash,) * 6),
    "says-nothing": Scenario(script=(silence,) * 6),
    "completes-by-the-marker": Scenario(
        script=(turn(STATUS="IN_PROGRESS", files=1, commit=True, marks=True), marks_its_last),
        **gate("marker"),
    ),
    "is-confirmed-without-the-marker": Scenario(script=(ticks,), **gate("marker")),
    "completes-verified": Scenario(script=(says_complete, ticks_and_says), **gate("verified")),
    "verified-without-a-word": Scenario(script=(progress, ticks), **gate("verified")),
    "empties-the-queue": Scenario(script=(progress, ticks), **gate("queue")),
    "completes-by-its-status": Scenario(
        script=(
            turn(STATUS="COMPLETE", files=1, commit=True),
            turn(STATUS="COMPLETE", files=1, commit=True, ticks=ONE_TASK),
        ),
        **gate("status"),
    ),
    "has-its-pull-request-ready": Scenario(
        script=(turn(PR_READY="true", files=1, commit=True, ticks=ONE_TASK),), **gate("status")
    ),
    "needs-clarification": Scenario(script=(asks_back,)),
    "needs-clarification-and-gets-it": Scenario(script=(asks_back, finishes), **HELPFUL),
    "asks-without-a-signal": Scenario(
        script=(
            turn(fields=None, files=1, commit=True, question="Shall I paint the door red?"),
            finishes,
        )
    ),
    "sets-a-task-aside": Scenario(
        script=(
            turn(STATUS="IN_PROGRESS", files=1, commit=True, adds=("post it",)),
            no_progress,
            no_progress,
            turn(STATUS="IN_PROGRESS", files=1, commit=True, ticks=("post it",)),
        ),
        settings={"attempts_limit": 2, "breaker_no_progress_half_open": 0},
        config="[attempts]\nlimit = 2\n[breaker]\nno_progress_half_open = 0\n",
    ),
    "leaves-a-task-out": Scenario(
        script=(
            turn(STATUS="IN_PROGRESS", files=1, commit=True, adds=("post it",)),
            progress,
            turn(STATUS="IN_PROGRESS", files=1, commit=True, ticks=("post it",)),
        ),
        settings={
            "attempts_limit": 2,
            "attempts_counts": "not-done",
            "attempts_mark": False,
            "gate_rule": "queue",
        },
        config='[attempts]\nlimit = 2\ncounts = "not-done"\nmark = false\n[gate]\nrule = "queue"\n',
    ),
    "reports-blocked-and-moves-on": Scenario(
        script=(
            turn(STATUS="IN_PROGRESS", files=1, commit=True, adds=("post it",)),
            reports_blocked,
            turn(STATUS="IN_PROGRESS", files=1, commit=True, ticks=("post it",)),
        ),
        settings={"on_blocked": "set-aside"},
        config='on_blocked = "set-aside"\n',
    ),
    "two-tasks-set-aside": Scenario(
        script=(
            turn(STATUS="IN_PROGRESS", files=1, commit=True, adds=("post it", "wait")),
            *(turn(STATUS="BLOCKED", RECOMMENDATION="the disk is read-only"),) * 2,
        ),
        settings={"on_blocked": "set-aside"},
        config='on_blocked = "set-aside"\n',
    ),
    "nears-its-limit": Scenario(script=(progress,) * 5, settings={"max_iterations": 5}),
    "takes-too-long": Scenario(
        script=(turn(fields=None, files=1, commit=True, end=timeout.end), finishes),
        settings={"timeout": 8.0},
    ),
    "takes-too-long-and-stops": Scenario(
        script=(timeout,),
        settings={"timeout": 1.0, "on_timeout": "stop"},
        config='on_timeout = "stop"\n',
    ),
    "validated": Scenario(
        script=(
            turn(STATUS="IN_PROGRESS", files=1, commit=True, validates=validated),
            turn(STATUS="IN_PROGRESS", files=1, validates=validated),
        )
    ),
    "cools-down": Scenario(
        script=(progress, finishes), settings={"cooldown": 0.05}, config='cooldown = "50ms"\n'
    ),
    "asks": Scenario(script=(asks("which?"),)),
    "asks-and-is-answered": Scenario(script=(asks("which?"), finishes), **HELPFUL),
    "asks-and-is-answered-in-the-file": Scenario(
        script=(asks("which?", deletes_decide=False), turn(deletes_decide=False), finishes),
        **EDITING,
    ),
    "is-blocked": Scenario(script=(is_blocked("no network"),)),
    "is-blocked-and-resumed": Scenario(script=(is_blocked("no network"), finishes), **HELPFUL),
    "is-reviewed": Scenario(
        script=(progress, finishes),
        settings={"review_points": {"every": 1}},
        config="[review_points]\nevery = 1\n",
        **HELPFUL,
    ),
    "is-blocked-until-the-file-goes": Scenario(
        script=(is_blocked("no network"), finishes), **EDITING
    ),
    "is-blocked-and-asks": Scenario(
        script=(
            turn(promises=(promise("decide", "which?"), promise("blocked", "no network"))),
            finishes,
        ),
        **HELPFUL,
    ),
    "blocks-its-last-task": Scenario(
        script=(turn(STATUS="IN_PROGRESS", files=1, commit=True, blocks=ONE_TASK),)
    ),
    "paused-and-resumed": Scenario(script=(progress, finishes), **commands((0, "pause"))),
    "stopped": Scenario(script=(progress, progress), **commands((1, "stop"))),
    "stopped-at-once": Scenario(script=(progress, progress), **commands((1, "stop-now"))),
    "reset": Scenario(script=(no_progress,) * 2 + (progress, finishes), **commands((1, "reset"))),
}
