"""The real ``claude`` in a whole run: what it does, what is reported of it, how it fails."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import AgentStarted, UnknownEvent, dump_event
from ralph_ls.protocol.run.messages import (
    FileAction,
    FileMessage,
    TextMessage,
    ToolMessage,
    ToolState,
)
from tests.e2e import agents
from tests.e2e.conftest import need
from tests.e2e.recipe import DONE, GOES_ON, KEY, call
from tests.e2e.recipes import CLAUDE
from tests.e2e.recordings import BY_CHANCE, path_of, record, scenarios_of, understood
from tests.e2e.scene import Project, scene_of
from tests.engine.project_builder import git, make_repository, run_ralph, write_agent
from tests.engine.ralph_runner import told, warnings
from tests.fakes.model_stub import Answer
from tests.histories.rebuild import replay

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

TOLD_AT_START = {"excluded", "main-branch"}


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A repository with two tasks, and the real program beside it."""
    need(agents.what_is_missing())
    with scene_of(CLAUDE, tmp_path, monkeypatch) as project:
        yield project


def test_a_lesson_of_another_repository_is_in_what_its_model_reads(
    claude: Project, tmp_path: Path
) -> None:
    files = {
        ".ralph/validate.sh": "#!/bin/sh\necho 'error: no fixed'; [ -f fixed ]\n",
        ".ralph/config.toml": 'on_validate_fail = "repair"\n',
    }
    other = make_repository(tmp_path / "other", ["First"], files=files)
    (other / ".ralph" / "validate.sh").chmod(0o755)
    work = write_agent(tmp_path / "bin", "echo x >>work; git add -A; git commit -q -m Work")
    run_ralph(other, "allow", "--yes")
    run_ralph(other, "run", "2", "--agent-command", work)
    run_ralph(other, "learn")
    lesson = "validation-ralph-validate-sh"
    taken = run_ralph(other, "lessons", "accept", lesson, "--scope", "everywhere", "--yes")
    assert taken.exit_code == 0, taken.stderr

    claude.stub.say(*claude.does_task("First", "one.txt"), Answer(text=GOES_ON))
    done = claude.run("1")
    assert [[one.id for one in event.lessons] for event in told(done, "iterationStarted")] == [
        [lesson]
    ]
    assert "> .ralph/validate.sh failed in 2 of the 2 iterations" in json.dumps(
        claude.stub.requests[0]
    )


def test_two_tasks_are_done_committed_and_reported(claude: Project) -> None:
    root = claude.repository
    claude.stub.say(
        *claude.does_task("First", "one.txt"),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
        *claude.does_task("Second", "two.txt"),
        Answer(text=f"All tasks are complete. Everything is finished.\n\n{DONE}"),
    )
    done = claude.run()
    assert done.exit_code == 0, done.stderr
    assert claude.stub.n_left == 0
    assert git(root, "log", "--format=%s").split("\n")[:2] == ["Add two.txt", "Add one.txt"]
    assert git(root, "status", "--porcelain") == ""

    started = told(done, "agentStarted")
    assert [(event.agent, event.dialect) for event in started] == [("claude", "claude")] * 2
    assert started[0].argv == (
        *("claude", "-p", "--dangerously-skip-permissions"),
        *("--output-format", "stream-json", "--verbose"),
    )
    reports = [event.report for event in told(done, "ralphStatusUpdate")]
    assert [(found.status, found.exit_signal) for found in reports] == [
        ("IN_PROGRESS", False),
        ("COMPLETE", True),
    ]
    for ended in told(done, "iterationEnded"):
        usage = ended.usage
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (3600, 102, 2400)
        assert usage.cost_usd > 0
        assert (usage.context_tokens, usage.turns) == (2100, 3)
        assert usage.context_window >= 200_000
        assert ended.permission_denials == 0
    assert warnings(done) == ["excluded", "main-branch"]
    assert told(done, "runEnded")[0].reason.value == "complete"


def test_what_it_says_is_decoded_live_and_shown_in_words(claude: Project) -> None:
    root = claude.repository
    wrong = call("Bash", command="cat nothing.txt", description="Look")
    claude.stub.say(
        Answer(text="I look.", tools=(wrong,)),
        *claude.does_task("First", "one.txt"),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
    )
    done = claude.run("1")
    messages = claude.messages()
    assert [kind for kind, _ in groupby(message.kind for message in messages)] == [
        *("text", "usage", "tool"),
        *("text", "usage", "tool", "file"),
        *("tool", "usage", "tool"),
        *("text", "usage"),
    ]
    tools = [found for found in messages if isinstance(found, ToolMessage)]
    assert [(found.name, found.state) for found in tools] == [
        *(("Bash", ToolState.STARTED), ("Bash", ToolState.FAILED)),
        *(("Write", ToolState.STARTED), ("Write", ToolState.DONE)),
        *(("Bash", ToolState.STARTED), ("Bash", ToolState.DONE)),
    ]
    files = [found for found in messages if isinstance(found, FileMessage)]
    assert [(found.path, found.action) for found in files] == [("one.txt", FileAction.CREATED)]
    raw = (claude.run_folder() / "iteration-001.out").read_bytes()
    for message in messages:
        assert raw[message.offset : message.offset + 1] == b"{"
    texts = [found.text for found in messages if isinstance(found, TextMessage)]
    assert texts == ["I look.", "I write one.txt.", f"The first is done.\n\n{GOES_ON}"]

    (log,) = (root / ".ralph" / "logs").glob("*_001.log")
    for shown in (done.stdout, log.read_text(encoding="utf-8")):
        assert "I write one.txt.\n⚒ Write: one.txt\n✎ one.txt created\n" in shown
        assert "✗ Bash: cat nothing.txt\n" in shown
        assert '"type"' not in shown
    assert "\nCost: $" in log.read_text(encoding="utf-8")
    for path in claude.run_folder().iterdir():
        if path.is_file():
            assert KEY.encode() not in path.read_bytes()


def test_its_run_is_decided_again_in_the_same_events(claude: Project) -> None:
    claude.stub.say(
        *claude.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
        Answer(text="Which one?\n\n<promise>DECIDE:Tabs or spaces?</promise>\n"),
    )
    done = claude.run()
    assert done.exit_code == 3
    assert told(done, "questionAsked")[0].question == "Tabs or spaces?"
    events = [event for event in done.events if not isinstance(event, UnknownEvent)]
    lines = [dump_event(event) for move in replay(events) for event in move.told]
    assert lines == [dump_event(event) for event in done.events]


def test_a_signal_counts_only_in_its_last_words(claude: Project) -> None:
    promise = "<promise>DECIDE:Never asked?</promise>"
    claude.stub.say(
        Answer(text=promise, tools=(call("Bash", command=f"echo '{promise}'"),)),
        Answer(text=f"Nothing to ask.\n\n{GOES_ON}"),
    )
    done = claude.run("1")
    assert done.exit_code == 1
    assert told(done, "promiseRead") == []


def test_an_api_error_is_reported_and_tried_once_more(claude: Project) -> None:
    claude.stub.say(
        Answer(status=402, text="No credit"),
        *claude.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
    )
    done = claude.run("1")
    assert done.exit_code == 1
    exits = told(done, "agentExited")
    assert [event.exit_code for event in exits] == [1, 0]
    assert warnings(done) == ["excluded", "main-branch", "agent-failed"]
    message = told(done, "warned")[2].message
    assert message.startswith("the agent ended with 1 without a result (API Error: ")
    assert "No credit" in message
    assert message.endswith("; starting it once more")
    (ended,) = told(done, "iterationEnded")
    assert ended.outcome.value == "progress"
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (3600, 102)


def test_a_server_error_is_waited_out(claude: Project) -> None:
    claude.settle('[retry]\nfirst = "100ms"\n')
    claude.stub.say(
        *[Answer(status=500, text="Out of order")] * 2,
        *claude.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
    )
    done = claude.run("1")
    assert done.exit_code == 1
    assert warnings(done) == ["excluded", "main-branch", "agent-overloaded"]
    assert [event.reason for event in told(done, "waitStarted")] == ["retry"]
    assert told(done, "iterationEnded")[-1].outcome.value == "progress"
    said = (claude.run_folder() / "messages.jsonl").read_text(encoding="utf-8")
    assert "API error: server error (500); retry 1 of 1" in said


def test_its_usage_limit_is_waited_for_and_counts_for_nothing(claude: Project) -> None:
    claude.stub.say(
        *[Answer(status=429, text="Slow down")] * 2,
        *claude.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
    )
    claude.settle('limit_wait = "100ms"\n')
    done = claude.run("1")
    assert done.exit_code == 1
    assert warnings(done) == ["excluded", "main-branch"]
    assert [event.reason for event in told(done, "waitStarted")] == ["limit"]
    outcomes = [event.outcome.value for event in told(done, "iterationEnded")]
    assert outcomes == ["limited", "progress"]


def test_one_that_fails_for_good_ends_the_run_with_the_reason(claude: Project) -> None:
    claude.stub.say(*[Answer(status=402, text="No credit")] * 6)
    done = claude.run()
    assert done.exit_code == 5
    (end,) = told(done, "runEnded")
    assert end.message.startswith(
        "the agent failed in 3 iterations in a row; the last one ended with 1: API Error: "
    )
    assert "No credit" in end.message
    assert "No credit" in told(done, "iterationEnded")[0].errors[0]


def test_what_it_is_not_permitted_is_counted_and_reported(claude: Project) -> None:
    claude.settle('[tools]\nallow = ["Edit"]\ndeny = ["WebFetch"]\n')
    claude.stub.say(
        Answer(tools=(call("Bash", command="rm @fix_plan.md", description="Remove"),)),
        Answer(text=f"I may not.\n\n{GOES_ON}"),
    )
    done = claude.run("1")
    assert (claude.repository / "@fix_plan.md").exists()
    argv = told(done, "agentStarted")[0].argv
    assert "--dangerously-skip-permissions" not in argv
    (ended,) = told(done, "iterationEnded")
    assert ended.permission_denials == 1
    denied = [event.message for event in told(done, "warned") if event.code == "permission-denied"]
    assert len(denied) == 1
    assert denied[0].startswith("the agent was denied: Bash; allow it with ")


def test_one_that_is_killed_in_the_middle_of_a_word_is_tried_once_more(
    claude: Project,
) -> None:
    cut = "<promise>DECIDE:Cut off?</promise>\n" * 8
    claude.stub.say(
        Answer(text=cut, hangs=True),
        *claude.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{GOES_ON}"),
    )
    with claude.start("1") as running:
        started = running.wait_for("agentStarted")
        assert isinstance(started, AgentStarted)
        assert claude.stub.asked.wait(60)
        os.kill(started.pid, signal.SIGKILL)
        done = running.wait()
    assert [event.signal for event in told(done, "agentExited")] == [9, None]
    assert [found for found in warnings(done) if found not in TOLD_AT_START] == ["agent-failed"]
    assert told(done, "promiseRead") == []
    assert told(done, "iterationEnded")[0].outcome.value == "progress"


def test_one_that_is_not_there_is_reported_with_the_path_that_was_searched(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    done = run_ralph(repository, "run", env={"PATH": "/usr/bin:/bin"})
    assert (done.exit_code, done.events) == (5, ())
    assert "the agent's program 'claude' was not found on PATH, which is:\n" in done.stderr
    assert "  /usr/bin\n  /bin\n" in done.stderr


@pytest.mark.parametrize("name", sorted(scenarios_of(CLAUDE).keys() - BY_CHANCE))
def test_what_is_recorded_of_it_is_what_it_still_says(claude: Project, name: str) -> None:
    """Run ``python -m tests.e2e.recordings`` where the program says something new."""
    assert _read(record(claude, name)) == _read(path_of(CLAUDE, name).read_bytes())


def _read(recording: bytes) -> object:
    return understood(recording, CLAUDE.dialect)


class TestModelStub:
    """The stub, checked against the program that believes it."""

    def test_texts_and_calls_arrive_whole_however_they_are_cut(self, claude: Project) -> None:
        text = 'Grüße 漢字 🎈 "quoted" \\ and\nlines, ' * 20 + "end"
        written = call("Write", file_path=str(claude.repository / "a.txt"), content=text)
        claude.stub.say(Answer(text=text, tools=(written,)), Answer(text="Over."))
        ran = claude.call(*CLAUDE.freely, prompt="Say it.")
        assert ran.returncode == 0, ran.stderr
        assert (claude.repository / "a.txt").read_text(encoding="utf-8") == text
        records = [json.loads(line) for line in ran.stdout.splitlines()]
        said = [
            block
            for record in records
            if record["type"] == "assistant"
            for block in record["message"]["content"]
        ]
        assert said[0]["text"] == text
        assert records[-1]["result"] == "Over."
        asked = json.dumps(claude.stub.requests[0]["messages"])
        assert "Say it." in asked
        assert "tool_result" in json.dumps(claude.stub.requests[1]["messages"])

    def test_a_call_that_the_program_cannot_make_is_a_problem(self, claude: Project) -> None:
        claude.stub.say(Answer(tools=(call("Write", path="a.txt"),)))
        ran = claude.call(*CLAUDE.freely)
        assert ran.returncode == 1
        assert claude.stub.problems == ["Write: unknown ['path'], missing ['content', 'file_path']"]
        claude.stub.problems.clear()
