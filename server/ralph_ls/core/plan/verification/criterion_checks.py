"""Criterion checks: the commands that must pass before a task counts as done, and their outcomes.

A criterion that names a command is verified by running it and checking the exit code
(docs/rules.md#verification). The plan is untrusted, so a command is run as separate words, never by
a shell, and only if it was allowed. Nothing is run here, and the format of the plan is irrelevant.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.verification.commands import words_of_command
from ralph_ls.core.plan.verification.criteria import (
    SUCCESS,
    CommandRun,
    EvidenceLine,
    command_of,
    criterion_key,
    exit_code_word,
    is_wanted,
    without_run,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.values import TaskRef

if TYPE_CHECKING:
    from ralph_ls.protocol.run.events import CriteriaVerified

NOT_ALLOWED = "it is not approved: ralph allow"
NEEDS_SHELL = "it needs a shell, and text from a plan is never given to one"
STOPPED = "the run was stopped"

NOT_FOUND = 127
"""The exit code of a program that does not exist, as in shells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionCheck:
    """One criterion of a task, and the command that it names."""

    criterion: str
    command: str
    """As the plan has it; white space is folded."""
    argv: tuple[str, ...] = ()
    """Its words; none where only a shell could run it."""
    wanted: int = SUCCESS
    """The exit code that the criterion names, or ``ANY_FAILURE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClosing:
    """A task that an iteration closed, with the commands to run for it."""

    task: TaskRef
    checks: tuple[CriterionCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """The outcome of one check."""

    check: CriterionCheck
    exit_code: int | None = None
    """None where it was not run, or did not end."""
    timed_out: bool = False
    seconds: float = 0.0
    tail: str = ""
    """The end of its output."""
    not_run: str = ""
    """Why it was not run, in words; empty if it was."""

    @property
    def ok(self) -> bool:
        return is_wanted(self.exit_code, self.check.wanted)

    @property
    def failed(self) -> bool:
        """It ran, and ended with an unexpected exit code."""
        return not self.ok and not self.not_run


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVerification:
    """The outcomes of all checks of one task."""

    task: TaskRef
    checked: tuple[CheckOutcome, ...]
    reopened: bool = False
    """The plan has the task open again."""

    @property
    def ok(self) -> bool:
        """All of them were run, and ended as they should."""
        return all(one.ok for one in self.checked)

    @property
    def failed(self) -> tuple[CheckOutcome, ...]:
        """Those that refute the task; a check without approval refutes nothing."""
        return tuple(one for one in self.checked if one.failed)


def checks_of(
    criteria: Iterable[str], commands: Iterable[str] = (), *, on_path: Container[str] = ()
) -> tuple[CriterionCheck, ...]:
    """The checks for criteria and commands; ``commands`` are those for the whole plan.

    ``on_path`` are the names of the programs that can be started.
    """
    named = [(fold_whitespace(one), command_of(one, on_path=on_path)) for one in criteria]
    asked = [(criterion, run) for criterion, run in named if run is not None]
    asked += [(fold_whitespace(one), CommandRun(one, SUCCESS)) for one in commands if one.strip()]
    found = {}
    for criterion, run in asked:
        folded = fold_whitespace(run.command)
        check = CriterionCheck(
            criterion=escape_surrogates(criterion),
            command=escape_surrogates(folded),
            argv=words_of_command(folded) or (),
            wanted=run.exit_code,
        )
        found[check.criterion, check.command] = check
    return tuple(found.values())


def runnable_commands(checks: Iterable[CriterionCheck]) -> tuple[str, ...]:
    """The commands that could be run, each once, in order, as ``ralph allow`` shows them."""
    return tuple(dict.fromkeys(one.command for one in checks if one.argv))


def evidence_of(verification: TaskVerification) -> tuple[EvidenceLine, ...]:
    """The evidence lines of a task's checks."""
    return tuple(evidence_line(one) for one in verification.checked if one.exit_code is not None)


def evidence_line(checked: CheckOutcome) -> EvidenceLine:
    """One line of evidence, without the remark that the criterion may have had before."""
    check = checked.check
    return EvidenceLine(
        criterion=bare_criterion(check.criterion),
        is_ticked=checked.ok,
        command=check.command,
        exit_code=checked.exit_code,
    )


def bare_criterion(criterion: str) -> str:
    """A criterion without the command and exit code in brackets behind it."""
    return without_run(criterion) or criterion


def is_same_criterion(one: str, other: str) -> bool:
    """Whether two texts are the same criterion, however its evidence is written."""
    return criterion_key(one) == criterion_key(other)


def describe_check_failures(verification: TaskVerification) -> str:
    """Why a task is open again, for its note; empty where nothing failed."""
    if not verification.failed:
        return ""
    judged = [one.check.criterion for one in verification.failed if not one.check.command]
    ran = [describe_check_failure(one) for one in verification.failed if one.check.command]
    return "; ".join([*judged, *([f"Verification failed: {'; '.join(ran)}"] if ran else [])])


def refuted_by_judge(task: TaskRef, words: str) -> TaskVerification:
    """A task that is to be open again without any command that failed: ``words`` are its note."""
    check = CriterionCheck(criterion=words, command="")
    return TaskVerification(task=task, checked=(CheckOutcome(check=check, exit_code=1),))


def describe_check_failure(checked: CheckOutcome) -> str:
    """The outcome of one criterion, in one line."""
    check = checked.check
    if checked.timed_out:
        how = "timed out"
    elif checked.exit_code is None:
        how = "was ended by a signal"
    elif checked.exit_code == NOT_FOUND and not checked.tail:
        how = "exit 127, program not found"
    else:
        how = f"exit {checked.exit_code}"
        how += f", expected {exit_code_word(check.wanted)}" if check.wanted else ""
    return f"{bare_criterion(check.criterion)} ({check.command} - {how})"


def describe_not_run(verification: TaskVerification) -> tuple[tuple[str, str], ...]:
    """The reasons why checks were not run, each with a text that names the checks."""
    why: dict[str, list[str]] = {}
    for one in verification.checked:
        if one.not_run:
            why.setdefault(one.not_run, []).append(one.check.command)
    return tuple(
        (reason, f"{count_of(len(commands), 'command')} not run ({', '.join(commands)}): {reason}")
        for reason, commands in why.items()
    )


def verification_of(event: CriteriaVerified) -> TaskVerification:
    """The verification of an event, which has no output of its commands."""
    return TaskVerification(
        task=event.task,
        reopened=event.reopened,
        checked=tuple(
            CheckOutcome(
                check=CriterionCheck(
                    criterion=one.criterion, command=one.command, wanted=one.wanted or SUCCESS
                ),
                exit_code=one.exit_code,
                timed_out=one.timed_out,
                seconds=one.seconds,
                tail=one.tail,
                not_run=one.not_run,
            )
            for one in event.checks
        ),
    )
