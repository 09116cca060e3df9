from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ralph_ls.core.views.text.event_lines import INFORMATION, event_line, log_lines
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.summary import header_lines
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.report import AgentFailure, Claims, Report, ReportKind
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    INFERRED,
    Breaker,
    BreakerState,
    EndReason,
    LessonRef,
    Mode,
    Origin,
    Outcome,
    Phase,
    PlanCountsView,
    RunChoices,
)
from tests.unit.core.views.run_states import (
    COMMIT,
    GOLDEN,
    NOON,
    TASK,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    phase,
    report,
    run_started,
    state_after,
)

SILENT = {
    "runStarted": "the header tells it",
    "agentStarted": "the iteration's line tells it",
    "promiseRead": "what follows from it is told: a question, a blocker, an end",
    "planChanged": "the next iteration's line counts the tasks",
    "waitStarted": "the phase tells it",
    "waitEnded": "the next iteration tells it",
    "phaseChanged": "most phases have a line of their own; the waiting ones are told",
    "attemptCounted": "the first attempt at a task is no news",
    "agentExited": "a plain end is told by the iteration's end",
    "laneRunStarted": "the lane's line is there since it got its task",
    "mergeStarted": "the merge is told when it is done or refused",
}
"""Kinds that may say nothing on their own, and why."""


def check(told: e.EventBase, text: str, weight: Weight = Weight.NORMAL) -> None:
    assert event_line(told) == EventLine(text=text, weight=weight)


@pytest.mark.parametrize("kind", sorted(e.EVENT_KINDS))
def test_every_kind_has_a_line_or_is_silent_on_purpose(kind: str) -> None:
    told = e.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    line = event_line(told)
    if line is None:
        assert kind in SILENT
    else:
        assert line.text
        assert "None" not in line.text
        assert not line.text.endswith("\n")


def test_an_event_of_a_newer_engine_says_nothing() -> None:
    told = e.UnknownEvent(seq=1, at=NOON, run="20260131T120000Z-0a1b", kind="somethingNew")
    assert event_line(told) is None


def chosen(*, config: dict[str, Any] | None = None, **fields: Any) -> RunState:
    choices = RunChoices(**{"profile": Origin.FILE, "agent": Origin.FILE, **fields})
    started = run_started(**(config or {})).model_copy(update={"choices": choices})
    return state_after(started)


class TestHeader:
    def test_it_names_run_profile_agent_plan_branch_state_and_limits(self) -> None:
        assert header_lines(state_after(run_started())) == [
            "Run: 20260131T120000Z-0a1b",
            "Profile: fixplan   Agent: command   Plan: @fix_plan.md",
            "Branch: main",
            "Pushes: no",
            "State: /state/worktrees/0123456789ab",
            "Limits: at most 15 iterations, 30m an iteration",
            "Complete: EXIT_SIGNAL true and 2 completion indicators",
        ]

    def test_it_says_what_completes_this_run(self) -> None:
        state = state_after(run_started(gate={"rule": "marker", "marker": "ALL_DONE"}))
        assert header_lines(state)[-1] == "Complete: ALL_DONE on its own line in the plan"
        alone = state_after(run_started(gate={"rule": "status"}, task="US-001"))
        assert header_lines(alone)[-1] == (
            "Complete: the task US-001 done, or STATUS COMPLETE or PR_READY true"
        )

    @pytest.mark.parametrize(
        ("config", "limits"),
        [
            pytest.param({"max_iterations": None, "timeout": 0}, "no limit", id="none"),
            pytest.param(
                {
                    "max_iterations": 1,
                    "timeout": 90,
                    "max_duration": 7200,
                    "max_tokens": 200_000,
                    "max_cost_usd": 5,
                    "max_tokens_per_iteration": 50_000,
                    "max_cost_per_iteration_usd": 0.5,
                    "max_calls_per_minute": 20,
                },
                "at most 1 iteration, 2h in all, 200k tokens, $5.00, 1m 30s an iteration, "
                "50k tokens an iteration, $0.50 an iteration, 20 calls a minute",
                id="all",
            ),
        ],
    )
    def test_only_limits_that_are_set_are_named(self, config: dict[str, Any], limits: str) -> None:
        assert header_lines(state_after(run_started(**config)))[-2] == f"Limits: {limits}"

    @pytest.mark.parametrize(
        ("by", "words"),
        [
            (Origin.GIVEN, "chosen for this run"),
            (Origin.ENVIRONMENT, "RALPH_PROFILE"),
            (Origin.FILE, ".ralph/config.toml"),
            (Origin.USER, "your own settings"),
            (Origin.FOUND, "found by specs"),
            (Origin.DEFAULT, "the default"),
        ],
    )
    def test_it_says_how_the_profile_was_chosen(self, by: Origin, words: str) -> None:
        lines = header_lines(chosen(profile=by, sign="specs"))
        assert lines[1].startswith(f"Profile: fixplan ({words})   Agent: command   Plan: ")
        advice = [line for line in lines if "ralph init --profile fixplan" in line]
        assert len(advice) == (by in INFERRED)
        assert all("ralph rollback 1" in line for line in advice)

    def test_a_profile_that_an_earlier_version_found_has_no_sign(self) -> None:
        lines = header_lines(chosen(profile=Origin.FOUND, sign=None))
        assert lines[1].startswith("Profile: fixplan (found)   ")

    @pytest.mark.parametrize(
        ("by", "words"),
        [
            (Origin.FILE, ""),
            (Origin.GIVEN, ""),
            (Origin.PROFILE, " (the profile's own)"),
            (Origin.FOUND, " (the only one on PATH)"),
            (Origin.RUN, " (as before)"),
        ],
    )
    def test_it_says_how_the_agent_was_chosen_where_nobody_named_it(
        self, by: Origin, words: str
    ) -> None:
        assert f"   Agent: command{words}   " in header_lines(chosen(agent=by))[1]

    @pytest.mark.parametrize(
        ("push", "remote", "words"),
        [
            (False, None, "no"),
            (True, "origin", "origin/main"),
            (True, None, "no, since there is no remote"),
        ],
    )
    def test_it_says_where_it_pushes(self, push: bool, remote: str | None, words: str) -> None:
        assert f"Pushes: {words}" in header_lines(chosen(remote=remote, config={"push": push}))

    @pytest.mark.parametrize(
        ("known", "network", "words"),
        [
            ({"sandbox": "none"}, True, "none"),
            ({"sandbox": "none", "sandbox_problem": "why"}, True, "none (why)"),
            ({"sandbox": "bwrap"}, True, "bubblewrap"),
            ({"sandbox": "bwrap"}, False, "bubblewrap, no network"),
            ({"sandbox": "docker"}, True, "docker sandbox"),
            ({"sandbox": "command"}, True, "the prefix of its settings"),
        ],
    )
    def test_it_says_what_keeps_the_agent_to_its_tree(
        self, known: dict[str, Any], network: bool, words: str
    ) -> None:
        settings = {"sandbox": {"network": network}}
        assert f"Sandbox: {words}" in header_lines(chosen(config=settings, **known))

    def test_of_an_earlier_version_no_sandbox_is_known(self) -> None:
        assert not any(line.startswith("Sandbox") for line in header_lines(chosen()))

    def test_of_an_earlier_version_only_whether_it_pushes_is_known(self) -> None:
        assert "Pushes: yes" in header_lines(state_after(run_started(push=True)))

    @pytest.mark.parametrize(
        ("known", "words"),
        [
            ({}, "$5.00"),
            ({"overshoots": True}, "$5.00 (known after an iteration, so one may exceed it)"),
            ({"unmetered": True}, "$5.00 (if the agent reports it; not all do)"),
        ],
    )
    def test_a_limit_that_may_be_passed_says_so(self, known: dict[str, Any], words: str) -> None:
        config = {"max_iterations": None, "max_cost_usd": 5, "timeout": 0}
        assert f"Limits: {words}" in header_lines(chosen(config=config, **known))

    def test_a_detached_head_is_reported(self) -> None:
        state = state_after(run_started()).model_copy(update={"branch": None})
        assert "Branch: (detached HEAD)" in header_lines(state)

    def test_the_folder_of_the_project_is_named_where_there_is_one(self) -> None:
        lines = header_lines(state_after(run_started()), project="/state/projects/abc")
        assert lines[4:6] == [
            "State: /state/worktrees/0123456789ab",
            "Project state: /state/projects/abc",
        ]


class TestIterations:
    @pytest.mark.parametrize(
        ("profile", "fields", "told"),
        [
            ("fixplan", {}, "Round half a cent up (2/5 tasks done, mode build, 12m 3s so far)"),
            (
                "stories",
                {},
                "Round half a cent up (2/5 tasks done, mode implement, 12m 3s so far)",
            ),
            (
                "stories",
                {"mode": Mode.REVIEW},
                "review Round half a cent up (2/5 tasks done, mode review, 12m 3s so far)",
            ),
            (
                "issue",
                {"task": None, "counts": PlanCountsView()},
                "work on the request (mode build, 12m 3s so far)",
            ),
        ],
    )
    def test_with_the_run_before_it_a_start_shows_mode_and_time(
        self, profile: str, fields: dict[str, Any], told: str
    ) -> None:
        before = state_after(run_started(profile=profile))
        before = before.model_copy(update={"active_seconds": 723.0, "at": None})
        line = event_line(iteration_started(3, max_iterations=15, **fields), before=before)
        assert line == EventLine(text=f"Iteration 3 of 15: {told}")

    def test_a_start_names_number_task_and_plan(self) -> None:
        check(
            iteration_started(3, max_iterations=15),
            "Iteration 3 of 15: Round half a cent up (2/5 tasks done)",
        )

    def test_lessons_in_its_prompt_are_counted(self) -> None:
        lessons = (LessonRef(id="use-uv", sha256="0" * 64),)
        check(
            iteration_started(3, lessons=lessons),
            "Iteration 3: Round half a cent up (2/5 tasks done, 1 lesson)",
        )

    def test_without_a_task_it_confirms(self) -> None:
        check(
            iteration_started(7, task=None, confirming=True),
            "Iteration 7: confirm that nothing is left to do (2/5 tasks done)",
        )

    def test_one_that_plans_says_so(self) -> None:
        check(
            iteration_started(1, task=None, mode=Mode.PLAN),
            "Iteration 1: make the plan (2/5 tasks done)",
        )

    @pytest.mark.parametrize("mode", [Mode.REVIEW, Mode.REVIEW_FIX])
    def test_one_of_a_review_says_so(self, mode: Mode) -> None:
        check(
            iteration_started(4, max_iterations=15, mode=mode),
            f"Iteration 4 of 15: {mode.value} Round half a cent up (2/5 tasks done)",
        )

    @pytest.mark.parametrize(
        ("outcome", "commit", "text", "weight"),
        [
            (Outcome.PROGRESS, COMMIT, "progress in 2m 32s, commit abc1234", Weight.QUIET),
            (Outcome.NO_PROGRESS, None, "no progress in 2m 32s, no commit", Weight.WARNING),
            (Outcome.STOPPED, None, "stopped in 2m 32s, no commit", Weight.WARNING),
            (
                Outcome.LOST,
                None,
                "engine died in 2m 32s, no commit; not counted",
                Weight.WARNING,
            ),
        ],
    )
    def test_an_end_names_outcome_time_and_commit(
        self, outcome: Outcome, commit: str | None, text: str, weight: Weight
    ) -> None:
        check(iteration_ended(4, outcome=outcome, commit=commit), f"Iteration 4: {text}", weight)

    def test_one_that_does_not_count_says_so(self) -> None:
        text = "Iteration 4: at the usage limit in 2m 32s, no commit; not counted"
        check(iteration_ended(4, outcome=Outcome.LIMITED, commit=None), text, Weight.WARNING)

    def test_a_confirming_iteration_that_came_to_its_end_is_no_lack_of_progress(self) -> None:
        ended = iteration_ended(4, outcome=Outcome.NO_PROGRESS, commit=None, confirmed=True)
        text = "Iteration 4: confirmed that nothing is left to do in 2m 32s, no commit"
        check(ended, text, Weight.QUIET)

    def test_an_agent_that_worked_in_silence_did_not_crash(self) -> None:
        ended = iteration_ended(4, failure=AgentFailure.NO_OUTPUT)
        text = "Iteration 4: progress, no output in 2m 32s, commit abc1234"
        check(ended, text, Weight.QUIET)

    def test_a_further_attempt_is_reported_and_the_first_one_is_none(self) -> None:
        first = event(e.AttemptCounted, iteration=4, task=TASK, attempt=1, limit=3)
        assert event_line(first) is None
        again = first.model_copy(update={"attempt": 2})
        check(again, "Attempt 2 of 3", Weight.QUIET)

    def test_a_task_set_aside_is_reported_with_its_reason(self) -> None:
        told = event(e.TaskSetAside, iteration=4, task=TASK, attempts=3, reason="no progress")
        text = "Round half a cent up: set aside after 3 attempts: no progress"
        check(told, text, Weight.WARNING)
        why = "3 attempts without success; the agent's last words: no rule for half a cent"
        quoted = told.model_copy(update={"reason": why})
        check(quoted, f"Round half a cent up: set aside after {why}", Weight.WARNING)


class TestPutBack:
    @pytest.mark.parametrize(
        ("what", "n_tasks", "text"),
        [
            ("dropped", 1, "1 open task dropped from p.md: Round half a cent up"),
            ("skipped", 2, "2 open tasks marked skipped in p.md: Round half a cent up, …"),
            ("criteria", 1, "criteria of 1 task changed in p.md: Round half a cent up"),
            ("review", 1, "review of 1 task moved against the cycle in p.md: Round half a cent up"),
            ("priority", 2, "priority of 2 tasks changed in p.md: Round half a cent up, …"),
            ("dependency", 1, "dependencies of 1 task dropped from p.md: Round half a cent up"),
            ("type", 1, "type of 1 task changed in p.md: Round half a cent up"),
            ("verify", 0, "the commands that verify the work, changed in p.md"),
            ("changed", 0, "p.md, which was changed"),
            ("deleted", 0, "p.md, which was deleted"),
            ("created", 0, "p.md, which was created (now removed)"),
        ],
    )
    def test_it_says_what_and_where(self, what: str, n_tasks: int, text: str) -> None:
        tasks = (TASK,) if n_tasks else ()
        told = event(
            e.GuardReverted, iteration=4, path="p.md", what=what, tasks=tasks, n_tasks=n_tasks
        )
        check(told, f"Restored: {text}", Weight.WARNING)


class TestAgent:
    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            (
                {"timed_out": True, "seconds": 1800, "signal": 15},
                "The agent timed out after 30m 0s and was ended",
            ),
            ({"idle": True, "signal": 15}, "The agent printed nothing for too long and was ended"),
            (
                {"overspent": True, "signal": 15},
                "The agent reached a limit and was ended after that turn",
            ),
            ({"stopped": True, "signal": 15}, "The agent was ended"),
            ({"exit_code": 3}, "The agent ended with code 3"),
            ({"signal": 9}, "The agent ended with signal 9"),
            (
                {"exit_code": 0, "leftovers": 1},
                "The agent left 1 process running; ralph ended them",
            ),
            (
                {"exit_code": 0, "leftovers": 2},
                "The agent left 2 processes running; ralph ended them",
            ),
        ],
    )
    def test_an_end_out_of_the_ordinary_is_reported(
        self, fields: dict[str, Any], text: str
    ) -> None:
        check(event(e.AgentExited, iteration=1, **fields), text, Weight.WARNING)

    def test_a_plain_end_is_not(self) -> None:
        assert event_line(event(e.AgentExited, iteration=1, exit_code=0)) is None

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({}, "Report: IN_PROGRESS, 2 files, tests passing"),
            (
                {"STATUS": "BLOCKED", "FILES_MODIFIED": "1", "TESTS_STATUS": "NOT_RUN"},
                "Report: BLOCKED, 1 file, tests not run",
            ),
            (
                {"RECOMMENDATION": "Next: the tax line"},
                "Report: IN_PROGRESS, 2 files, tests passing. Next: the tax line",
            ),
        ],
    )
    def test_a_report_is_shown_in_one_line(self, fields: dict[str, str], text: str) -> None:
        check(report(**fields), text)

    def test_a_report_is_shown_by_the_fields_that_it_has(self) -> None:
        fields = {"STATUS": "COMPLETE", "PR_READY": "true"}
        given = Report(kind=ReportKind.CLARITY_STATUS, fields=fields)
        check(event(e.RalphStatusUpdate, iteration=1, report=given), "Report: COMPLETE")

    def test_claims_are_shown_below_what_the_evidence_decided(self) -> None:
        claims = Claims(summary="Fixed rounding", pr_ready=True, confidence=60)
        check(
            iteration_ended(4, claims=claims),
            "Iteration 4: progress in 2m 32s, commit abc1234\n"
            '  the agent claims: "Fixed rounding", ready for a pull request, confidence 60',
            Weight.QUIET,
        )

    @pytest.mark.parametrize("progress", [True, False])
    def test_evidence_says_why(self, progress: bool) -> None:
        weight = Weight.GOOD if progress else Weight.WARNING
        check(evidence(progress=progress, why="1 commit"), "Evidence: 1 commit", weight)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("old", "new", "weight"),
        [
            (BreakerState.CLOSED, BreakerState.HALF_OPEN, Weight.WARNING),
            (BreakerState.HALF_OPEN, BreakerState.OPEN, Weight.BAD),
            (BreakerState.HALF_OPEN, BreakerState.CLOSED, Weight.GOOD),
        ],
    )
    def test_the_breaker_shows_from_where_to_where_and_why(
        self, old: BreakerState, new: BreakerState, weight: Weight
    ) -> None:
        told = event(
            e.CircuitBreakerStateChange,
            from_state=old,
            to_state=new,
            reason="No progress in 2 iterations",
            breaker=Breaker(),
        )
        text = f"Breaker: {old.value} → {new.value}: No progress in 2 iterations"
        check(told, text, weight)

    def test_a_refused_completion_says_why(self) -> None:
        told = event(e.CompletionRefused, iteration=1, why="3 required tasks are open")
        check(told, "Completion refused: 3 required tasks are open", Weight.WARNING)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"ok": True, "exit_code": 0, "tail": "42 passed"}, "Validation passed"),
            ({"ok": False, "exit_code": 2}, "Validation failed with code 2"),
            (
                {"ok": False, "timed_out": True, "seconds": 600.0},
                "Validation timed out after 10m 0s",
            ),
            ({"ok": False}, "Validation was ended"),
            (
                {"ok": False, "exit_code": 1, "tail": "1\n2\n3\n4\n5\n6\n\n"},
                "Validation failed with code 1\n  2\n  3\n  4\n  5\n  6",
            ),
            ({"ok": True, "scripts": ("a", "b")}, "Validation passed (2 scripts)"),
            (
                {"ok": False, "exit_code": 1, "script": ".ralph/validate.d/10-a"},
                "Validation failed with code 1 in .ralph/validate.d/10-a",
            ),
        ],
    )
    def test_a_validation_shows_how_it_went_and_the_end_of_what_it_reported(
        self, fields: dict[str, Any], text: str
    ) -> None:
        weight = Weight.GOOD if fields["ok"] else Weight.BAD
        check(event(e.Validated, iteration=1, **fields), text, weight)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            (
                {"ok": True, "backup": "ralph/backup-1", "commits": 2, "files": 1},
                "Rolled back 2 commits, 1 file; a copy is on ralph/backup-1",
            ),
            (
                {"ok": True, "backup": "ralph/backup-1", "files": 2, "kept": ("a", "b")},
                ("Rolled back 2 files; a copy is on ralph/backup-1\n  kept as you saved it: a, b"),
            ),
            ({"ok": True}, "Nothing to roll back: the iteration changed nothing"),
            ({"ok": False, "refused": "it was pushed"}, "Not rolled back: it was pushed"),
        ],
    )
    def test_a_rollback_says_where_it_all_is(self, fields: dict[str, Any], text: str) -> None:
        weight = Weight.WARNING if fields["ok"] else Weight.BAD
        check(event(e.RolledBack, iteration=1, **fields), text, weight)

    def test_a_commit_of_the_loop_is_named(self) -> None:
        told = event(e.Committed, iteration=1, commit="c0ffee12" * 5, subject="ralph: a", files=2)
        check(told, "Committed c0ffee1: ralph: a", Weight.QUIET)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({}, "Pushed main to origin"),
            ({"created": True}, "Pushed main to origin, which had no such branch"),
            ({"tries": 3}, "Pushed main to origin on try 3"),
            ({"ok": False, "tries": 3}, "Pushing main to origin failed 3 times"),
            (
                {"ok": False, "rejected": True, "tail": "1\n2\n"},
                "Pushing main to origin was rejected\n  1\n  2",
            ),
        ],
    )
    def test_a_push_shows_how_it_went(self, fields: dict[str, Any], text: str) -> None:
        told = event(
            e.Pushed, iteration=1, remote="origin", branch="main", **{"ok": True, **fields}
        )
        check(told, text, Weight.GOOD if told.ok else Weight.BAD)

    @pytest.mark.parametrize("reason", list(EndReason))
    def test_the_end_has_its_name_and_why(self, reason: EndReason) -> None:
        told = event(e.RunEnded, reason=reason, exit_code=0, message="all 5 tasks are done")
        weight = Weight.GOOD if reason is EndReason.COMPLETE else Weight.BAD
        check(told, f"Ended: {reason.value}: all 5 tasks are done", weight)


class TestUsers:
    @pytest.mark.parametrize(
        ("told", "text", "weight"),
        [
            (
                event(e.RunResumed, version="0", pid=1, by="Ada", config=run_started().config),
                "Run 20260131T120000Z-0a1b continues, resumed by Ada",
                Weight.QUIET,
            ),
            (
                event(
                    e.RunResumed,
                    version="0",
                    pid=1,
                    by="Ada",
                    config=run_started().config,
                    orphans_ended=2,
                ),
                (
                    "Run 20260131T120000Z-0a1b continues, resumed by Ada; ended 2 processes of "
                    "its dead engine"
                ),
                Weight.QUIET,
            ),
            (
                event(
                    e.QuestionAsked, question="Which one?", path=".ralph/decide.txt", asked_at=NOON
                ),
                "Decision needed: Which one?\n  ralph answer …, or write it into .ralph/decide.txt",
                Weight.WARNING,
            ),
            (
                event(e.QuestionAnswered, question="Which one?", answer="The first", by="Ada"),
                "Answered by Ada: The first",
                Weight.GOOD,
            ),
            (
                event(e.BlockedRaised, reason="no key", path=".ralph/blocked.txt"),
                (
                    "Blocked: no key\n  once it is resolved: ralph resume, or remove "
                    ".ralph/blocked.txt"
                ),
                Weight.BAD,
            ),
            (event(e.BlockedResolved, by="Ada"), "Blocker resolved by Ada", Weight.GOOD),
            (
                event(e.CommandAccepted, command="1", command_kind="pause", by="Ada", text="later"),
                "Ada: pause: later",
                Weight.QUIET,
            ),
            (
                event(e.CommandRejected, command="1", by="Ada", code="twice", reason="asked twice"),
                "Ada: rejected: asked twice",
                Weight.QUIET,
            ),
            (
                event(e.CommandRejected, command="1", code="unreadable", reason="no JSON"),
                "A command: rejected: no JSON",
                Weight.QUIET,
            ),
            (event(e.NoteAdded, text="mind the tax", by="Ada"), "Note by Ada", Weight.QUIET),
            (
                event(e.Warned, code="report-missing", message="no report in 3 iterations"),
                "Warning (report-missing): no report in 3 iterations",
                Weight.WARNING,
            ),
        ],
    )
    def test_what_users_did_or_have_to_do_is_reported(
        self, told: e.EventBase, text: str, weight: Weight
    ) -> None:
        check(told, text, weight)

    @pytest.mark.parametrize(
        ("told", "text"),
        [
            (phase(Phase.PARKED, "decide"), "Parked: decide"),
            (phase(Phase.PAUSED), "Paused"),
            (phase(Phase.WAITING, "cooldown"), "Waiting: cooldown"),
            (phase(Phase.STOPPING), "Stopping"),
        ],
    )
    def test_phases_in_which_nothing_continues_are_reported(
        self, told: e.EventBase, text: str
    ) -> None:
        check(told, text, Weight.WARNING)

    def test_ctrl_c_says_when_it_stops_the_run(self) -> None:
        first = phase(Phase.STOPPING, "Ctrl-C")
        later = "Stopping after this iteration; press Ctrl-C again to stop now"
        running = state_after(run_started(), phase(Phase.RUNNING))
        for before in (None, running):
            assert event_line(first, before=before) == EventLine(text=later, weight=Weight.WARNING)
        stopping = state_after(run_started(), first)
        now = EventLine(text="Stopping now: Ctrl-C", weight=Weight.WARNING)
        assert event_line(first, before=stopping) == now
        by_term = EventLine(text="Stopping: SIGTERM", weight=Weight.WARNING)
        assert event_line(phase(Phase.STOPPING, "SIGTERM"), before=running) == by_term

    @pytest.mark.parametrize("name", [Phase.PREPARING, Phase.RUNNING, Phase.SETTLING, Phase.ENDED])
    def test_other_phases_are_not(self, name: Phase) -> None:
        assert event_line(phase(name)) is None


@pytest.mark.parametrize(
    ("agent", "model", "before", "text"),
    [
        ("claude", None, RunState(), None),
        ("claude", "haiku", RunState(), "Agent: claude, model haiku"),
        ("codex", None, RunState(), "Agent: codex"),
        ("codex", None, None, None),
        ("codex", "m", None, "Agent: codex, model m"),
    ],
)
def test_who_works_is_reported_where_it_is_not_the_runs_agent_as_it_is(
    agent: str, model: str | None, before: RunState | None, text: str | None
) -> None:
    event = e.AgentStarted(
        seq=1,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        run="r",
        iteration=1,
        agent=agent,
        argv=(agent,),
        pid=1,
        process_start_time=0.0,
        model=model,
    )
    line = event_line(event, before=before)
    assert (line and line.text) == text


@pytest.mark.parametrize("code", sorted(INFORMATION))
def test_information_is_no_warning(code: str) -> None:
    line = event_line(event(e.Warned, code=code, message="added to it"))
    assert line == EventLine(text="Added to it", weight=Weight.QUIET)


def test_a_line_in_a_log_has_a_time_and_steers_nothing() -> None:
    assert log_lines("Blocked: a\x1b[2J\n  b", "16:30:15") == (
        "▸ 16:30:15 Blocked: a\\x1b[2J\n    b\n"
    )
