"""The engine is killed after each event of a recorded run, and continues as if nothing happened.

What comes again in the same place is left to the core's ``test_kill``, which skips none.
Each engine is a real one in a separate process (``crashing_engine``); its agent is a script that
looks at the repository to see what comes next, as a real agent does. The user in these tests
answers, resolves and resumes, and never looks into the journal.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import (
    AgentExited,
    CircuitBreakerStateChange,
    Event,
    IterationEnded,
    IterationStarted,
    RunEnded,
    UnknownEvent,
    Warned,
)
from ralph_ls.protocol.run.values import EndReason, Outcome
from ralph_ls.store.layout import state_root
from ralph_ls.store.run.journal import read_journal
from ralph_ls.store.run.runs import load_state
from tests.engine.crash_driver import KILLED, Driver
from tests.engine.project_builder import (
    git,
    make_repository,
    marked_processes,
    newest_run,
    write_agent,
)

PARTS = 2
"""Into how many tests the moments of one recorded run are dealt."""

ALWAYS = {"agentStarted", "agentExited", "iterationEnded"}
"""Events that each iteration leaves other work behind; the engine dies after every one of them."""

MOST_ENGINES = 8
"""More than any of these runs needs to come to its end."""

TOOLS = r"""
prompt=$(cat)
echo "$RALPH_START" >>"$RALPH_SCRATCH/ran"
done=$(git log --format=%s)
has() {
    case $done in *"$1"*) ;; *) false ;; esac
}
work() {
    echo "$1" >>work
    sed -i "s/^- \[ \] $1/- [x] $1/" @fix_plan.md
    git commit -q -a -m "$1"
}
report() {
    printf '%s\n' RALPH_STATUS: "STATUS: $1" "EXIT_SIGNAL: $2" END_RALPH_STATUS
}
"""

BREAKER = r"""
if has one; then
    report COMPLETE true
elif [ -e "$RALPH_SCRATCH/second" ]; then
    work one
    report COMPLETE true
else
    if [ -e "$RALPH_SCRATCH/first" ]; then
        : >"$RALPH_SCRATCH/second"
    fi
    : >"$RALPH_SCRATCH/first"
    report IN_PROGRESS false
fi
"""

HALTS = r"""
if has one; then
    report COMPLETE true
else case $prompt in
*"as blue as the sea"*)
    work one
    report IN_PROGRESS false
    echo '<promise>BLOCKED:The sea is closed</promise>'
    ;;
*)
    echo '<promise>DECIDE:Which colour?</promise>'
    ;;
esac fi
"""

ANSWER = "As it was before: as blue as the sea."

SCRIPTS = {"breaker": BREAKER, "halts": HALTS}


@dataclass
class Story:
    """One run from its start to its end, under as many engines as it took."""

    repository: Path
    exit_codes: list[int]
    events: tuple[Event | UnknownEvent, ...] = ()
    subjects: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Read what came of it, before the next one is played in the same place."""
        found = newest_run(self.repository)
        assert found is not None
        read = read_journal(found.files.journal)
        assert (read.torn, read.unreadable) == (0, ())
        self.events = read.events
        self.subjects = sorted(git(self.repository, "log", "--format=%s").split("\n"))

    @property
    def ended(self) -> list[IterationEnded]:
        return [event for event in self.events if isinstance(event, IterationEnded)]

    def n_told(self, kind: str) -> int:
        return [getattr(event, "kind", "") for event in self.events].count(kind)


@dataclass(frozen=True)
class Beginning:
    """What a run has left when one of its engines begins, to be put there again."""

    exit_codes: tuple[int, ...]
    n_events: int
    repository: Path
    state: Path | None


class Stage:
    """A scripted agent, and a repository in which one run after the other is played.

    The first one is recorded: a run that is killed late begins with what its earlier engines left.
    """

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.command = write_agent(folder / "bin", TOOLS + SCRIPTS[script])
        self.driver = Driver(folder / "output")
        template = make_repository(folder / "template", ["one"], files={"work": ""})
        self._beginnings = [Beginning((), 0, template, None)]

    def record(self) -> Story:
        """A run whose engines all live."""
        story = self._begin(self._beginnings[0])
        while self._step(story) in {2, 3}:
            help_out(self.repository)
            self._keep(story)
        story.read()
        return story

    def play(self, kill_at: int, *, n_bytes: int | None = None, is_quick: bool = False) -> Story:
        """The run of which one engine dies, to its end; the user does what it asks for.

        A quick user does what a halt file asks for as soon as it is there; another one when
        the run ends for it.
        """
        story = self._begin([one for one in self._beginnings if one.n_events < kill_at][-1])
        while len(story.exit_codes) < MOST_ENGINES:
            code = self._step(story, kill_at=kill_at, n_bytes=n_bytes)
            if code == KILLED:
                kill_at = 0
            elif code not in {2, 3}:
                story.read()
                return story
            if is_quick or code != KILLED:
                help_out(self.repository)
        raise AssertionError(f"no end after {story.exit_codes}: {self.told()}")

    def told(self) -> str:
        return self.driver.output.read_text(encoding="utf-8")

    def _step(self, story: Story, *, kill_at: int = 0, n_bytes: int | None = None) -> int:
        start = ["--resume"] if story.exit_codes else ["--agent-command", self.command]
        code = self.driver.ralph(self.repository, "run", *start, kill_at=kill_at, n_bytes=n_bytes)
        story.exit_codes.append(code)
        return code

    def _begin(self, beginning: Beginning) -> Story:
        state = state_root(os.environ)
        for place, was in ((self.repository, beginning.repository), (state, beginning.state)):
            shutil.rmtree(place, ignore_errors=True)
            if was is not None:
                shutil.copytree(was, place, symlinks=True)
        return Story(self.repository, list(beginning.exit_codes))

    def _keep(self, story: Story) -> None:
        story.read()
        kept = self.folder / f"after-{len(story.exit_codes)}"
        repository = shutil.copytree(self.repository, kept / "repository", symlinks=True)
        state = shutil.copytree(state_root(os.environ), kept / "state", symlinks=True)
        self._beginnings.append(
            Beginning(tuple(story.exit_codes), len(story.events), repository, state)
        )


def help_out(repository: Path) -> None:
    """Answer and resolve what there is."""
    decide, blocked = repository / ".ralph" / "decide.txt", repository / ".ralph" / "blocked.txt"
    if decide.exists() and ANSWER not in decide.read_text(encoding="utf-8"):
        with decide.open("a", encoding="utf-8") as file:
            file.write(f"{ANSWER}\n")
    blocked.unlink(missing_ok=True)


def check(story: Story, recorded: Story, *, is_over: bool = False) -> None:
    """It ended as the recorded one, and nothing was lost or done twice on the way.

    A run that ``is_over`` was killed when it had reported its end, but not written its last row.
    """
    events, ended = story.events, story.ended
    found = newest_run(story.repository)
    assert found is not None
    end = load_state(found.files).end
    assert end is not None
    assert (end.reason, end.exit_code) == (EndReason.COMPLETE, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.run for event in events} == {found.state.run}

    numbers = [event.start for event in ended]
    started = [event.start for event in events if isinstance(event, IterationStarted)]
    assert numbers == started == list(range(1, len(ended) + 1))
    lost = {event.start for event in ended if event.outcome is Outcome.LOST}
    exited = [event.start for event in events if isinstance(event, AgentExited)]
    assert sorted(exited) == [number for number in numbers if number not in lost]
    # A lost iteration may have done its work before it was lost.
    assert len(ended) - len(lost) in {len(recorded.ended) - len(lost), len(recorded.ended)}

    ran = (found.files.scratch / "ran").read_text(encoding="utf-8").split()
    times = Counter(int(number) for number in ran)
    assert all(times[number] == 1 for number in numbers if number not in lost)
    assert all(times[number] <= 1 for number in lost)

    assert story.subjects == recorded.subjects
    assert "[ ]" not in (story.repository / "@fix_plan.md").read_text(encoding="utf-8")
    assert git(story.repository, "status", "--porcelain") == ""
    assert not (story.repository / ".ralph" / "decide.txt").exists()
    assert not (story.repository / ".ralph" / "blocked.txt").exists()
    counted = [event.iteration for event in ended if event.counted]
    assert counted == list(range(1, len(counted) + 1))
    rows = counted[:-1] if is_over else counted
    assert summed(story.repository / ".ralph/logs") == rows
    assert marked_processes(found.state.run) == []

    assert story.n_told("questionAsked") == story.n_told("questionAnswered")
    assert story.n_told("blockedRaised") == story.n_told("blockedResolved")
    # Only a lost iteration never says that it is blocked, though it has done its work.
    assert story.n_told("questionAsked") == recorded.n_told("questionAsked")
    assert recorded.n_told("blockedRaised") - story.n_told("blockedRaised") in {0, len(lost)}


def check_way(script: str, recorded: Story) -> None:
    """The recorded run takes the way that these tests are about."""
    if script == "breaker":
        moves = [
            (event.from_state.value, event.to_state.value)
            for event in recorded.events
            if isinstance(event, CircuitBreakerStateChange)
        ]
        assert moves == [("CLOSED", "HALF_OPEN"), ("HALF_OPEN", "CLOSED")]
        assert recorded.exit_codes == [0]
    else:
        ends = [event.reason.value for event in recorded.events if isinstance(event, RunEnded)]
        assert ends == ["decide", "blocked", "complete"]
        assert recorded.exit_codes == [3, 2, 0]


def moments(script: str, recorded: Story) -> list[int]:
    """The events after which to kill: each at its first place before what comes next.

    Until its first agent has ended, ``halts`` does what ``breaker`` does.
    """
    kinds = [getattr(event, "kind", "") for event in recorded.events]
    begin = kinds.index("agentExited") + 1 if script == "halts" else 0
    found: list[int] = []
    seen = set()
    for index, place in enumerate(zip(kinds, [*kinds[1:], ""], strict=True)):
        if index >= begin and (place not in seen or place[0] in ALWAYS):
            found.append(index + 1)
            seen.add(place)
    return found


def summed(logs: Path) -> list[int]:
    """The iterations that have a row in the summary."""
    with (logs / "summary.csv").open(encoding="utf-8") as file:
        return [int(row["iteration"]) for row in csv.DictReader(file)]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_run_killed_after_any_of_its_events_ends_as_it_would_have(
    tmp_path: Path, script: str, part: int
) -> None:
    stage = Stage(tmp_path, script)
    recorded = stage.record()
    check(recorded, recorded)
    check_way(script, recorded)
    n_events, n_engines = len(recorded.events), len(recorded.exit_codes)
    for seq in moments(script, recorded)[part::PARTS]:
        story = stage.play(seq)
        assert story.exit_codes.count(KILLED) == 1, f"killed at {seq}"
        is_over = seq == n_events
        if is_over:
            # There is nothing left to continue with.
            assert story.exit_codes[-1] == 64
            assert "is complete; start a new one" in stage.told()
        else:
            assert story.exit_codes[-1] == 0, f"killed at {seq}: {stage.told()}"
        # The user was asked for what only the user can do, and for nothing else.
        assert story.exit_codes.count(3) >= story.n_told("questionAsked"), f"killed at {seq}"
        assert story.exit_codes.count(2) >= story.n_told("blockedRaised"), f"killed at {seq}"
        assert len(story.exit_codes) <= n_engines + 2, f"killed at {seq}"
        try:
            check(story, recorded, is_over=is_over)
        except AssertionError as error:
            kinds = [f"{event.seq} {getattr(event, 'kind', '')}" for event in story.events]
            raise AssertionError(f"killed at {seq}: {story.exit_codes} {kinds}") from error


@pytest.mark.slow
def test_what_the_user_did_before_the_resume_counts(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "halts")
    recorded = stage.record()
    kinds = [getattr(event, "kind", "") for event in recorded.events]
    asked, raised = kinds.index("questionAsked") + 1, kinds.index("blockedRaised") + 1
    # The question's file is there even before it is reported; each run ends two events after.
    for seq in (asked - 1, asked, asked + 1, asked + 2, raised, raised + 1, raised + 2):
        story = stage.play(seq, is_quick=True)
        check(story, recorded)
        assert len(story.exit_codes) == 3, f"killed at {seq}: {story.exit_codes}"


@pytest.mark.slow
def test_the_last_row_of_a_run_killed_at_its_end_is_written_by_the_next_start(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, "breaker")
    story = stage.play(len(stage.record().events))
    logs, run = story.repository / ".ralph" / "logs", story.events[0].run
    assert summed(logs) == [1, 2, 3]
    command = ["run", "1", "--agent-command", stage.command]
    assert stage.driver.ralph(story.repository, *command) == 0
    assert summed(logs / f"run-{run}") == [1, 2, 3, 4]
    assert summed(logs) == [1]


@pytest.mark.slow
def test_a_torn_last_line_is_dropped_and_reported(tmp_path: Path) -> None:
    cuts = {"agentStarted": 1, "agentExited": 40, "evidenceGathered": 90, "iterationEnded": 200}
    stage = Stage(tmp_path, "breaker")
    recorded = stage.record()
    kinds = [getattr(event, "kind", "") for event in recorded.events]
    for kind, n_bytes in cuts.items():
        story = stage.play(kinds.index(kind) + 1, n_bytes=n_bytes)
        assert story.exit_codes == [KILLED, 0]
        check(story, recorded)
        warned = [event for event in story.events if isinstance(event, Warned)]
        torn = [event.message for event in warned if event.code == "journal-torn"]
        assert torn == [f"dropped the incomplete last line of the journal ({n_bytes} bytes)"]


@pytest.mark.slow
def test_a_run_killed_before_its_first_event_never_was(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "halts")
    repository = shutil.copytree(tmp_path / "template", stage.repository)
    command = ["run", "--agent-command", stage.command]
    for n_bytes in (0, 30):
        assert stage.driver.ralph(repository, *command, kill_at=1, n_bytes=n_bytes) == KILLED
        assert newest_run(repository) is None
        assert stage.driver.ralph(repository, "run", "--resume") == 64
        assert "there is no run to resume here" in stage.told()
    # Nor does it hide the run before it.
    assert stage.driver.ralph(repository, *command) == 3
    first = newest_run(repository)
    assert stage.driver.ralph(repository, *command, kill_at=1, n_bytes=30) == KILLED
    newest = newest_run(repository)
    assert first is not None
    assert newest is not None
    assert (newest.files, newest.state, newest.live) == (first.files, first.state, False)
    help_out(repository)
    assert stage.driver.ralph(repository, "run", "--resume") == 2
    assert summed(repository / ".ralph" / "logs") == [1, 2]
