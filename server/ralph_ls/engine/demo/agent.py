"""Demo agent: ``python -I -m ralph_ls.engine.demo.agent``, a separate process like any agent.

It reads the prompt on stdin, works in the current folder, prints what it does and ends with a
status block (docs/rules.md#demo). It is a script: it repairs what it recognises in the sample
project. In any other repository it changes nothing and reports BLOCKED. Asked for a plan, it
proposes one.

It knows neither journal nor inbox, and imports little, since every iteration starts it again.

It may be killed after any step, so each iteration first checks what an earlier one left: an edit
that is half made, made but not ticked, ticked but not committed, or a lock of a killed git.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.plurals import some_of
from ralph_ls.core.prompt.proposal import description_in
from ralph_ls.engine.demo.repository import (
    DemoRepository,
    GitBusy,
    changed_files,
    commit,
    committed_text,
    open_repository,
    remove_left_locks,
)
from ralph_ls.engine.demo.sample import (
    PLAN_NAME,
    SamplePlanItem,
    SuiteResult,
    does_ask,
    edit_states,
    is_sample,
    is_ticked,
    plan_items,
    read_plan,
    read_text,
    rewrite,
    run_suite,
    tick,
)
from ralph_ls.engine.demo.script import (
    FILES,
    REPAIRS,
    DemoOutcome,
    EditState,
    SampleEdit,
    SampleRepair,
    fold_title,
    print_at_once,
    print_paced,
    propose_items,
    repair_for,
    to_text,
)
from ralph_ls.protocol.errors import RalphError

N_STUDIES = 2
"""Iterations that change nothing for the studied task: enough for a HALF_OPEN breaker.

One fewer than open it (docs/rules.md#breaker).
"""
STUDY_ITERATIONS = (3, 4)
"""The iterations that only look, where there is no folder to count in."""
COUNTER_NAME = "demo-agent-looks"
ASKED_NAME = "demo-agent-asked"

_ANSWER_LINE = re.compile(r"^It was answered\b.*:\n\n> (.*)$", re.MULTILINE)
_OTHER_ANSWER = re.compile(r"\(b\)|^b\b|amount due", re.IGNORECASE)
_TASK_LINE = re.compile(r"^[ \t*#-]*Task:\s*(\S.*)$", re.MULTILINE | re.IGNORECASE)


class DemoStopped(RalphError):
    """The agent cannot continue; the message is the report's recommendation."""


@dataclass(slots=True, kw_only=True)
class WorkTally:
    """Actual work of this iteration so far."""

    files: set[str] = field(default_factory=set)
    n_tasks: int = 0
    suite: SuiteResult | None = None

    def outcome(
        self,
        status: str,
        recommendation: str,
        *,
        exit_signal: bool = False,
        closing_lines: tuple[str, ...] = (),
    ) -> DemoOutcome:
        """The report on what was done."""
        return DemoOutcome(
            status=status,
            recommendation=recommendation,
            n_tasks=self.n_tasks,
            n_files=len(self.files),
            tests_status=_tests_status(self.suite),
            exit_signal=exit_signal,
            closing_lines=closing_lines,
        )


def main() -> int:
    """Run one iteration in the current folder and return the exit code.

    0 whenever there is a report, also a blocked one; 1 where the reader is gone; 130 after
    an interrupt.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    try:
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""
        description = description_in(prompt)
        if description is not None:
            print_at_once(propose_items(description))
            return 0
        print_at_once(to_text(work(Path.cwd(), prompt, os.environ)))
    except OSError as error:
        _drop_stdout()
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"The demo agent cannot continue: {error}\n")
        return 1
    except KeyboardInterrupt:
        _drop_stdout()
        return 130
    return 0


def work(root: Path, prompt: str, environment: Mapping[str, str]) -> DemoOutcome:
    """Do one iteration's work in ``root`` and return what is to be reported.

    Raises only ``OSError``, where output can no longer be written.
    """
    if not is_sample(root):
        return DemoOutcome(
            status="BLOCKED",
            recommendation="The demo agent only knows the sample project of ralph demo; "
            "start a real one here with ralph run --agent NAME, such as ralph run --agent claude",
            closing_lines=("This is not the sample project. I changed nothing.",),
        )
    tally = WorkTally()
    try:
        return _work_in_sample(root, prompt, environment, tally)
    except GitBusy as error:
        return tally.outcome("IN_PROGRESS", error.message)
    except BrokenPipeError:
        raise
    except RalphError as error:
        return tally.outcome("BLOCKED", error.message)
    except OSError as error:
        return tally.outcome("BLOCKED", f"The project cannot be read or written: {error}")


def _work_in_sample(
    root: Path, prompt: str, environment: Mapping[str, str], tally: WorkTally
) -> DemoOutcome:
    repository = open_repository(root)
    remove_left_locks(repository)
    unfinished = _unfinished_repairs(repository)
    for repair in unfinished:
        if is_ticked(read_plan(root), repair.title):
            print_paced(
                f"An earlier iteration ticked '{repair.title}' but was ended before its commit."
            )
            _commit(repository, repair, tally)
    begun = [repair for repair in unfinished if not is_ticked(read_plan(root), repair.title)]
    if begun:
        print_paced(
            f"An earlier iteration began '{begun[0].title}' and was ended; I continue from there."
        )
        _carry_out(repository, begun[0], tally)
        return _after_the_work(root, tally)
    item = choose_item(prompt, read_plan(root))
    if item is None:
        print_paced(f"No box in {PLAN_NAME} is open. I change nothing and run the tests.")
        _run_tests(root, "Tests now", tally)
        return _after_the_work(root, tally)
    repair_wanted = repair_for(item.title)
    if repair_wanted is None:
        raise DemoStopped(
            f"'{item.title}' is not one of the five tasks that the demo agent knows; do it "
            "yourself, or use a real agent with ralph run --agent NAME"
        )
    if repair_wanted.is_studied_first and is_study_only(environment):
        return _study(root, repair_wanted, tally)
    if repair_wanted.question and does_ask(root):
        if is_first_look(environment, ASKED_NAME):
            return _ask(repair_wanted, tally)
        repair_wanted = _as_answered(repair_wanted, prompt)
    _carry_out(repository, repair_wanted, tally)
    return _after_the_work(root, tally)


def choose_item(prompt: str, items: tuple[SamplePlanItem, ...]) -> SamplePlanItem | None:
    """The open box that a ``Task:`` line of the prompt names, else the first open one."""
    open_items = [item for item in items if item.is_open]
    for found in _TASK_LINE.finditer(prompt):
        for item in open_items:
            if fold_title(item.title) in fold_title(found.group(1)):
                return item
    return open_items[0] if open_items else None


def is_study_only(environment: Mapping[str, str]) -> bool:
    """Whether this iteration on the studied task changes nothing yet; counts it.

    Counted in ``RALPH_SCRATCH``, a folder of the run outside the tree, and before anything else is
    done: the third one acts, however the first two ended. Without ``RALPH_ITERATION`` there is no
    loop to show the breaker of, and it acts at once.
    """
    iteration = environment.get("RALPH_ITERATION", "")
    if not iteration.isdecimal():
        return False
    scratch = environment.get("RALPH_SCRATCH")
    try:
        if scratch:
            counter = Path(scratch) / COUNTER_NAME
            # One byte each: an append is never half done.
            with counter.open("ab") as counted:
                counted.write(b".")
            return counter.stat().st_size <= N_STUDIES
    except OSError:
        print_paced(f"I cannot count in {scratch}, so I use the number of the iteration.")
    return int(iteration) in STUDY_ITERATIONS


def is_first_look(environment: Mapping[str, str], name: str) -> bool:
    """Whether nothing of this name was left in the run's scratch folder; leaves it there."""
    scratch = environment.get("RALPH_SCRATCH")
    try:
        if scratch:
            with (Path(scratch) / name).open("xb"):
                return True
    except FileExistsError:
        pass
    except OSError:
        print_paced(f"I cannot write to {scratch}, so I decide by myself.")
    return False


def _ask(repair: SampleRepair, tally: WorkTally) -> DemoOutcome:
    """Ask the user before anything is changed."""
    print_paced(f"Task: {repair.title}")
    print_paced("The specification leaves one thing open, so I ask before I change anything.")
    outcome = tally.outcome("IN_PROGRESS", "Answer the question; the loop waits for it")
    return replace(outcome, question=repair.question)


def _as_answered(repair: SampleRepair, prompt: str) -> SampleRepair:
    """The repair as the newest answer in the prompt wants it; as it is where there is none."""
    answers = _ANSWER_LINE.findall(prompt)
    if not answers:
        return repair
    print_paced(f"You answered: {answers[-1].strip()}")
    if not _OTHER_ANSWER.search(answers[-1]):
        return repair
    return replace(repair, edits=tuple(edit.chosen_otherwise for edit in repair.edits))


def _study(root: Path, repair: SampleRepair, tally: WorkTally) -> DemoOutcome:
    """Report on the task without changing a file."""
    print_paced(f"Task: {repair.title}")
    print_paced("Reading specs/invoice.md and what the code does instead:")
    for line in (read_text(root, "specs/invoice.md") or "").splitlines():
        if "cent" in line:
            print_paced(f"  spec: {line.strip()}")
    for edit in repair.edits:
        print_paced(f"  {edit.file}: {edit.before.strip()}")
    _run_tests(root, "Tests", tally)
    print_paced("I want to read this once more before I touch it. No file is changed this time.")
    return tally.outcome(
        "IN_PROGRESS", f"Change the rounding in {repair.files[0]}, as specs/invoice.md asks"
    )


def _carry_out(repository: DemoRepository, repair: SampleRepair, tally: WorkTally) -> None:
    """Edit, test, tick and commit one task, beginning wherever an earlier iteration left it."""
    root = repository.root
    print_paced(f"Task: {repair.title}")
    print_paced(f"Reading {', '.join(repair.files)}.")
    states = edit_states(root, repair)
    if EditState.UNKNOWN in states:
        raise DemoStopped(
            f"The code to repair in {repair.edits[states.index(EditState.UNKNOWN)].file} looks "
            f"rewritten; do '{repair.title}' by hand, or restore the code"
        )
    _run_tests(root, "Tests before", tally)
    if EditState.OPEN not in states:
        print_paced(f"{', '.join(repair.files)}: already repaired, nothing to edit.")
    for edit in repair.edits:
        if rewrite(root, edit.file, edit.made_in):
            tally.files.add(edit.file)
            print_paced(_diff(edit))
    suite = _run_tests(root, "Tests after", tally)
    # A module that cannot be loaded shows under its own dotted name, and hides its tests.
    broken = [name for name in suite.failing if name in repair.tests or name[:5] != "test_"]
    if broken or suite.n_tests == 0:
        raise DemoStopped(
            f"'{repair.title}' is repaired, but its tests do not pass "
            f"({', '.join(broken) or 'they do not run'}); look at {', '.join(repair.files)}"
        )
    if tick(root, repair.title):
        tally.files.add(PLAN_NAME)
        print_paced(f"Ticked it in {PLAN_NAME}.")
    _commit(repository, repair, tally)


def _commit(repository: DemoRepository, repair: SampleRepair, tally: WorkTally) -> None:
    """Commit exactly the repair's files and the plan."""
    commit_hash = commit(repository, (*repair.files, PLAN_NAME), f"demo: {repair.subject}")
    if commit_hash is not None:
        tally.n_tasks += 1
        print_paced(f"Committed as {commit_hash}: demo: {repair.subject}")


def _after_the_work(root: Path, tally: WorkTally) -> DemoOutcome:
    """Report on the state that the iteration leaves: what is open, and do the tests pass."""
    open_items = [item for item in read_plan(root) if item.is_open]
    if open_items:
        return tally.outcome("IN_PROGRESS", f"Next in {PLAN_NAME}: {open_items[0].title}")
    if tally.suite is None or not tally.suite.passed:
        raise DemoStopped(
            f"Every box in {PLAN_NAME} is ticked, but the tests do not pass; "
            "look at python3 -m unittest"
        )
    return tally.outcome(
        "COMPLETE",
        "Nothing is left to do; read the commits with git log",
        exit_signal=True,
        closing_lines=(
            f"All tasks are complete: every box in {PLAN_NAME} is ticked.",
            "The whole suite passes, and the work is ready for review.",
        ),
    )


def _unfinished_repairs(repository: DemoRepository) -> list[SampleRepair]:
    """Repairs that the work tree holds more of than the last commit does."""
    root = repository.root
    changed = changed_files(repository, (*FILES, PLAN_NAME))
    if not changed:
        return []
    committed = {file: committed_text(repository, file) for file in changed}
    committed_plan = plan_items(committed.get(PLAN_NAME) or "")
    return [
        repair
        for repair in REPAIRS
        if any(_is_made_since(root, edit, committed) for edit in repair.edits)
        or (
            PLAN_NAME in changed
            and is_ticked(read_plan(root), repair.title)
            and not is_ticked(committed_plan, repair.title)
            and set(edit_states(root, repair)) == {EditState.MADE}
        )
    ]


def _is_made_since(root: Path, edit: SampleEdit, committed: Mapping[str, str | None]) -> bool:
    if edit.file not in committed:
        return False
    is_made = edit.state_in(read_text(root, edit.file)) is EditState.MADE
    return is_made and edit.state_in(committed[edit.file]) is not EditState.MADE


def _run_tests(root: Path, label: str, tally: WorkTally) -> SuiteResult:
    """Run the project's suite and say in one line what it showed."""
    suite = run_suite(root)
    tally.suite = suite
    if suite.passed:
        print_paced(f"{label}: all {suite.n_tests} pass.")
    elif suite.n_tests == 0:
        last_line = suite.output.strip().rpartition("\n")[2]
        print_paced(f"{label}: none could be run. {last_line}")
    else:
        shown = some_of(suite.failing, 2)
        verb = "fails" if len(suite.failing) == 1 else "fail"
        print_paced(f"{label}: {len(suite.failing)} of {suite.n_tests} {verb} ({shown}).")
    return suite


def _tests_status(suite: SuiteResult | None) -> str:
    if suite is None or suite.n_tests == 0:
        return "NOT_RUN"
    return "PASSING" if suite.passed else "FAILING"


def _diff(edit: SampleEdit) -> str:
    """The edit as a small diff, indented."""
    before, after = edit.before.splitlines(), edit.after.splitlines()
    removed = [f"  - {line}" for line in before if line not in after]
    added = [f"  + {line}" for line in after if line not in before and line]
    return "\n".join([f"Editing {edit.file}:", *removed, *added])


def _drop_stdout() -> None:
    """Discard buffered output, which has no reader any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
