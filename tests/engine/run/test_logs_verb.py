"""``ralph logs`` of runs that really happened, and of one that is running."""

from __future__ import annotations

import json

from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER
from tests.engine.ralph_runner import Project
from tests.unit.cli.terminal import CTRL_C, in_terminal

RECORDS = """\
printf '%s\\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"Looking"},\
{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}'
echo 'a warning' >&2
[ "$RALPH_START" = 2 ] || { mark x First; work; commit; }
says one 0.25 'Done with it.'
"""


def test_words_tools_records_and_lines_of_an_agent(project: Project) -> None:
    project.plan("First task", "Second task")
    project.run_claude(RECORDS, "2", "--agent", "claude")
    whole = project.tell("logs").stdout
    assert [line.partition(" · ")[0] for line in whole.splitlines()] == [
        "▸ Iteration 1",
        "Looking",
        "a warning",
        "▸ Iteration 2",
        "Looking",
        "a warning",
    ]
    second = project.tell("logs", "2", "--tools").stdout
    assert "\n⚒ Bash: ls\n" in second
    assert "Iteration 1" not in second
    assert project.tell("logs", "1", "--grep", "^Lo").stdout.splitlines()[1:] == ["Looking"]
    raw = project.tell("logs", "--raw", "1").stdout
    assert json.loads(raw.splitlines()[0])["type"] == "assistant"
    kinds = [
        MESSAGE_ADAPTER.validate_json(line).kind
        for line in project.tell("logs", "1", "--tools", "--json").stdout.splitlines()
    ]
    assert {"text", "tool"} <= {*kinds}
    assert kinds[-1] == "text"
    for refused, why in (
        (("--raw", "--json"), "--raw does not go with --json"),
        (("--grep", "("), "--grep '(' is not a regular expression; put "),
        (("3",), "has no iteration 3; see: ralph show"),
    ):
        told = project.tell("logs", *refused)
        assert (told.exit_code, why in told.stderr) == (64, True)


def test_a_run_is_followed_from_its_newest_iteration_to_its_end(project: Project) -> None:
    project.plan("First task", "Second task").agent(
        "say \"begun $RALPH_START\"; [ $RALPH_START = 1 ] || wait_here; printf 'no end'"
    )
    project.make_gate()
    run = project.start("2")
    run.wait_for("agentStarted", start=2)
    with in_terminal(project.repository, "logs", "-f") as seen:
        seen.wait_for("begun 2")
        project.open_gate()
        assert seen.wait() == 0
    assert seen.text.splitlines()[1:] == ["begun 2", "no end"]
    run.wait()


def test_following_ends_by_ctrl_c_and_the_run_continues(project: Project) -> None:
    project.agent("say begun; wait_here").make_gate()
    run = project.start("1")
    run.wait_for("agentStarted")
    with in_terminal(project.repository, "logs", "--follow", "1") as seen:
        seen.wait_for("begun")
        seen.type(CTRL_C)
        assert seen.wait() == 0
    project.open_gate()
    assert run.wait().exit_code == 1
