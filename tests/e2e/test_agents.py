"""What every real agent does in a whole run: the same scenes for all of them.

CI runs those of its lock; ``make agents`` all that there are, named in ``RALPH_E2E_AGENTS``.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph_ls.protocol.run.messages import ToolMessage, ToolState
from tests.e2e import agents
from tests.e2e.conftest import CALLERS_ENVIRONMENT, need
from tests.e2e.recipe import DONE, GOES_ON, KEY
from tests.e2e.recipes import RECIPES
from tests.e2e.recordings import BY_CHANCE, path_of, record, scenarios_of, understood
from tests.e2e.scene import Project, scene_of
from tests.engine.project_builder import Completed, git, marked_processes
from tests.engine.ralph_runner import told, warnings
from tests.fakes.model_stub import Answer

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

WANTED = CALLERS_ENVIRONMENT.get("RALPH_E2E_AGENTS", " ".join(sorted(agents.CI_PROGRAMS)))

NAMES = [name for name in WANTED.split() if name in RECIPES]

RESUMING = [name for name in NAMES if RECIPES[name].resume]

Note = Callable[[str], None]
"""Says in a word what was seen, for the table of ``make agents``."""

LATER = Answer(text=f"Nothing today.\n\n{GOES_ON}")


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A repository with two tasks, and the real program beside it."""
    need(agents.what_is_missing())
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as made:
        yield made


each = pytest.mark.parametrize("project", NAMES, indirect=True)


@each
def test_work(project: Project, note: Note) -> None:
    """Two tasks are done by its tools, committed and reported, and what it says is understood."""
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
        *project.does_task("Second", "two.txt"),
        Answer(text=f"All tasks are complete. Everything is finished.\n\n{DONE}"),
    )
    done = project.run()
    assert done.exit_code == 0, said(done)
    assert project.stub.n_left == 0
    subjects = git(project.repository, "log", "--format=%s").split("\n")
    assert subjects[:2] == ["Add two.txt", "Add one.txt"]
    reports = [event.report for event in told(done, "ralphStatusUpdate")]
    assert [found.status for found in reports] == ["IN_PROGRESS", "COMPLETE"]
    tools = [found.state for found in project.messages() if isinstance(found, ToolMessage)]
    assert tools == [ToolState.STARTED, ToolState.DONE] * 4
    for ended in told(done, "iterationEnded"):
        assert counts(ended) == (3 * project.recipe.uncached, 2400, 102)
    for path in project.run_folder().iterdir():
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    note(f"{counts(told(done, 'iterationEnded')[0])} in, cached, out")


@each
def test_side_by_side(project: Project, tmp_path: Path) -> None:
    """Two of them work at the same time, each in a lane, and both tasks are merged."""
    meet = tmp_path / "meet"
    meet.mkdir()
    command = (
        "case $PWD in *-1) task=First file=one.txt;; *) task=Second file=two.txt;; esac; "
        # Neither answers before the other one works, so each gets its own call of a tool.
        f": >{meet}/$task; until [ -e {meet}/First ] && [ -e {meet}/Second ]; do sleep 0.1; done; "
        'echo $task >$file; sed -i "s/\\[ \\] $task/[x] $task/" @fix_plan.md; '
        'git add -A; git commit -q -m "Add $file"'
    )
    works = Answer(text="I do it.", tools=(project.recipe.shell(command),))
    ends = Answer(text=f"The task is complete.\n\n{DONE}")
    project.stub.say(works, works, ends, ends)
    head = git(project.repository, "rev-parse", "HEAD")
    done = project.run("--parallel", "2")
    assert done.exit_code == 0, said(done)
    assert project.stub.n_left == 0
    branch = git(project.repository, "branch", "--list", "ralph/*", "--format=%(refname)").strip()
    subjects = git(project.repository, "log", "--format=%s", f"HEAD..{branch}").split("\n")
    assert sorted(filter(None, subjects)) == ["Add one.txt", "Add two.txt"]
    assert "[ ]" not in git(project.repository, "show", f"{branch}:@fix_plan.md")
    assert git(project.repository, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("project", NAMES[:1], indirect=True)
def test_fleet(project: Project) -> None:
    """A worker of a fleet has it do tasks one after the other, and merges them."""

    def does(task: str, file: str) -> tuple[Answer, Answer]:
        command = (
            f'echo {task} >{file}; sed -i "s/\\[ \\] {task}/[x] {task}/" @fix_plan.md; '
            f'git add -A; git commit -q -m "Add {file}"'
        )
        works = Answer(text="I do it.", tools=(project.recipe.shell(command),))
        return works, Answer(text=f"The task is complete.\n\n{DONE}")

    project.stub.say(*does("First", "one.txt"), *does("Second", "two.txt"))
    assert project.tell("fleet", "add", str(project.repository), "--name", "api").exit_code == 0

    done = project.tell("fleet", "run", "--until-done")

    assert done.exit_code == 0, said(done)
    assert project.stub.n_left == 0
    subjects = git(project.repository, "log", "--format=%s", "HEAD..ralph/fleet").split("\n")
    assert list(filter(None, subjects)) == ["Add two.txt", "Add one.txt"]


@each
def test_question(project: Project) -> None:
    """A question ends the run; the answer reaches the agent when the run continues."""
    project.stub.say(Answer(text="Which one?\n\n<promise>DECIDE:Tabs or spaces?</promise>\n"))
    done = project.run()
    assert done.exit_code == 3, said(done)
    assert told(done, "questionAsked")[0].question == "Tabs or spaces?"
    assert project.tell("answer", "Use tabs, of course").exit_code == 0
    project.stub.say(LATER)
    done = project.run("2", "--resume")
    assert done.exit_code == 1, said(done)
    assert "Use tabs, of course" in str(project.stub.requests[-1])


@each
def test_error(project: Project, note: Note) -> None:
    """What its API says ends up in the reason of an iteration that came to nothing."""
    project.settle("[retry]\ntries = 0\n")
    project.stub.say(*[Answer(status=project.recipe.fatal, text="Out of order")] * 99)
    done = project.run("1")
    assert done.exit_code == 1, said(done)
    (ended,) = told(done, "iterationEnded")
    assert ended.errors, said(done)
    note(f"{ended.failure}: {ended.errors[0][:60]}")


@each
def test_limit(project: Project, note: Note) -> None:
    """A limit of its API is waited for, and the iteration counts for nothing."""
    if not project.recipe.gives_up:
        note("none: not waited for: it tries again in silence for a minute or more")
        return
    project.settle('limit_wait = "100ms"\n')
    project.stub.say(
        *[Answer(status=429, text="Slow down")] * project.recipe.tries,
        *project.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
    )
    done = project.run("1")
    assert done.exit_code == 1, said(done)
    outcomes = [event.outcome.value for event in told(done, "iterationEnded")]
    note(" then ".join(outcomes))
    assert outcomes == (["limited", "progress"] if project.recipe.knows_limits else ["progress"])


@each
def test_stop(project: Project, note: Note, tmp_path: Path) -> None:
    """Ctrl-C twice in the middle of its words ends it, with all that it has started."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    reader = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
    command = project.recipe.shell(f"echo here >{gate}; sleep 300")
    project.stub.say(Answer(text="I wait.", tools=(command,)), LATER)
    with project.start() as running:
        run = str(getattr(running.wait_for("agentStarted"), "run", ""))
        assert select.select([reader], [], [], 120)[0], "its command never ran"
        os.close(reader)
        living = len(marked_processes(run))
        begun = time.monotonic()
        running.press_ctrl_c_twice()
        done = running.wait()
        seconds = time.monotonic() - begun
    assert done.exit_code == 130, said(done)
    assert marked_processes(run) == []
    note(f"{living} processes gone in {seconds:.1f} s")
    assert told(done, "agentExited")[0].stopped


@each
def test_silence(project: Project, note: Note) -> None:
    """One that hangs in the middle of a sentence is ended by the idle timeout."""
    project.settle('idle_timeout = "10s"\n')
    project.stub.say(Answer(text="I think about it for long. " * 8, hangs=True))
    with project.start("1") as running:
        run = str(getattr(running.wait_for("agentStarted"), "run", ""))
        exited = running.wait_for("agentExited")
        assert getattr(exited, "idle", False)
        project.stub.say(*[LATER] * 3)
        done = running.wait(300)
    assert marked_processes(run) == []
    outcomes = [event.outcome.value for event in told(done, "iterationEnded")]
    note(" then ".join(outcomes))
    project.stub.problems.clear()


@pytest.mark.parametrize("project", RESUMING, indirect=True)
def test_session(project: Project, note: Note) -> None:
    """It continues its session, whose earlier use is not counted again."""
    project.settle("[session]\nresume = true\n")
    project.stub.say(*[Answer(text=f"I look {n}.\n\n{GOES_ON}") for n in (1, 2)])
    done = project.run("2")
    first, second = told(done, "agentStarted")
    assert [counts(ended) for ended in told(done, "iterationEnded")] == [
        (project.recipe.uncached, 800, 34)
    ] * 2
    more = [word for word in second.argv if word not in first.argv]
    assert more, said(done)
    assert "I look 1." in str(project.stub.requests[1])
    note("its own session, counted by iteration")


@pytest.mark.parametrize(
    ("project", "name"),
    [
        (agent, name)
        for agent in NAMES
        for name in sorted(scenarios_of(RECIPES[agent]).keys() - BY_CHANCE)
        # Those of claude have a separate test; others may take minutes to fail.
        if agent in agents.CI_PROGRAMS and agent != "claude"
    ],
    indirect=["project"],
)
def test_what_is_recorded_of_it_is_what_it_still_says(project: Project, name: str) -> None:
    """Run ``python -m tests.e2e.recordings`` where the program says something new."""
    recipe = project.recipe
    recorded = path_of(recipe, name).read_bytes()
    assert understood(record(project, name), recipe.dialect) == understood(recorded, recipe.dialect)


def counts(ended: object) -> tuple[int, int, int]:
    """Input without cache, what a cache had, output."""
    usage = getattr(ended, "usage", None)
    assert usage is not None
    return usage.input_tokens, usage.cached_tokens, usage.output_tokens


def said(done: Completed) -> str:
    """For a failed test: how it ended, in the run's own words."""
    ends = [ended.message for ended in told(done, "runEnded")]
    return f"{done.exit_code}: {ends} {warnings(done)} {done.stdout[-2000:]} {done.stderr[-2000:]}"
