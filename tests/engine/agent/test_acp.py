"""Agents of the Agent Client Protocol, in whole runs: what they do, ask, and come to."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import Completed, marked_processes, write_agent
from tests.engine.ralph_runner import Project, told, wait_until

pytestmark = pytest.mark.slow

FAKE = Path(__file__).resolve().parents[2] / "fakes" / "acp_agent.py"

REPORT = (
    "Done.\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nFILES_MODIFIED: 1\n"
    "TESTS_STATUS: PASSING\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---\n"
)
WRITES = {
    "toolCallId": "w",
    "kind": "edit",
    "title": "Write new.txt",
    "content": [{"type": "diff", "path": "new.txt", "oldText": None, "newText": "new\n"}],
}
RUNS = {
    "toolCallId": "r",
    "kind": "execute",
    "title": "rm -rf build",
    "rawInput": {"command": "rm -rf build"},
}
MODES = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [
            {"id": "ask", "name": "Ask"},
            {"id": "yolo", "name": "Asks nothing"},
        ],
    },
    "configOptions": [
        {
            "id": "model",
            "category": "model",
            "name": "Model",
            "type": "select",
            "currentValue": "large",
            "options": [{"value": "large", "name": "L"}, {"value": "small", "name": "S"}],
        }
    ],
}


class Stage:
    """A repository with an agent on PATH, which plays the script that it is given."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.play([])

    def play(self, *turns: list[dict[str, Any]], **script: Any) -> Stage:
        text = json.dumps({"turns": turns, **script})
        (self.project.kept / "script.json").write_text(text, encoding="utf-8")
        return self

    def started(self, config: str = "") -> dict[str, str]:
        """The environment of a run, in a repository with these settings."""
        project = self.project
        if not project.repository.exists():
            project.plan("First task", "Second task", files={".ralph/config.toml": config})
        words = [sys.executable, "-P", str(FAKE), str(project.kept)]
        write_agent(project.kept / "bin", f"exec {shlex.join(words)}", name="qwen")
        if "[agents." in config:
            assert project.tell("allow", "--yes").exit_code == 0
        return {"PATH": os.pathsep.join([str(project.kept / "bin"), os.environ["PATH"]])}

    def run(self, *arguments: str, config: str = "") -> Completed:
        env = self.started(config)
        return self.project.ralph(
            self.project.repository, "run", *arguments, "--agent", "qwen-acp", env=env
        )

    def heard(self, method: str | None = None) -> list[Any]:
        """What the agent received: the parameters of a method, or all that is none."""
        lines = (self.project.kept / "heard.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        if method is None:
            return [one for one in found if "method" not in one]
        return [one["params"] for one in found if one.get("method") == method]

    def log(self) -> str:
        """What people can read of the agent."""
        logs = sorted(self.project.file(".ralph/logs").glob("*.log"))
        return "".join(path.read_text(encoding="utf-8") for path in logs)


@pytest.fixture
def stage(project: Project) -> Stage:
    return Stage(project)


def test_a_turn_is_reported_like_that_of_any_other_agent(stage: Stage) -> None:
    plan = [{"content": "Look", "priority": "high", "status": "completed"}]
    stage.play(
        [
            {"update": {"sessionUpdate": "plan", "entries": plan}},
            {"say": "I write a file.\n"},
            {"ask": WRITES},
            {"edit": {"path": "new.txt", "text": "new\n"}},
            {"raw": "this is no message"},
            {"raw": "x" * 100_000},
            {"flood": 3_000},
            {"raw": '{"jsonrpc":"2.0","method":"_of/its/own","params":[1]}'},
            {"update": {"sessionUpdate": "what_is_that", "x": 1}},
            {
                "update": {
                    "sessionUpdate": "usage_update",
                    "used": 500,
                    "size": 1000,
                    "cost": {"amount": 0.25, "currency": "USD"},
                }
            },
            {"say": REPORT},
            {
                "end": {
                    "usage": {
                        "inputTokens": 300,
                        "outputTokens": 20,
                        "cachedReadTokens": 200,
                        "totalTokens": 520,
                    }
                }
            },
        ],
        session=MODES,
    )
    done = stage.run("1", config='[agents.qwen-acp]\nmodel = "S"\n')
    assert done.exit_code == 1, done.stderr
    (ended,) = told(done, "iterationEnded")
    assert told(done, "ralphStatusUpdate")[0].report.tests_status == "PASSING"
    usage = ended.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (300, 20, 200)
    assert (usage.cost_usd, usage.context_tokens, usage.context_window) == (0.25, 500, 1000)
    (prompt,) = stage.heard("session/prompt")
    assert "First task" in prompt["prompt"][0]["text"]
    assert [one["modeId"] for one in stage.heard("session/set_mode")] == ["yolo"]
    assert [one["value"] for one in stage.heard("session/set_config_option")] == ["small"]
    assert stage.heard() == [{"answer": {"outcome": {"outcome": "selected", "optionId": "yes"}}}]
    log = stage.log()
    assert "this is no message" in log
    assert "new.txt created" in log
    assert marked_processes(stage.project.run_folder().name) == []


def test_what_no_rule_permits_is_refused_and_counted(stage: Stage) -> None:
    files: list[dict[str, Any]] = [
        {"method": "fs/write_text_file", "params": {"path": "in/new.txt", "content": "é"}},
        {"method": "fs/read_text_file", "params": {"path": "@fix_plan.md", "line": 3, "limit": 1}},
        {"method": "fs/read_text_file", "params": {"path": "../kept/script.json"}},
        {"method": "terminal/create", "params": {"command": "ls"}},
        {"method": "elicitation/create", "params": {"mode": "form", "message": "Red or blue?"}},
    ]
    ours = {"sessionId": "ses-1"}
    stage.play(
        [
            {"ask": WRITES},
            {"ask": RUNS},
            *({"request": {**one, "params": {**one["params"], **ours}}} for one in files),
            {"say": REPORT},
        ],
        session=MODES,
    )
    done = stage.run("1", config='[tools]\nallow = ["edit", "READ"]\ndeny = ["x"]\n')
    assert done.exit_code == 1, done.stderr
    (ended,) = told(done, "iterationEnded")
    assert ended.permission_denials == 2
    (message,) = [one.message for one in told(done, "warned") if one.code == "permission-denied"]
    assert "execute, fs/read_text_file" in message
    assert stage.heard("session/set_mode") == []
    options = stage.heard("session/new")[0]["_meta"]["claudeCode"]["options"]
    assert options == {"disallowedTools": ["x"]}
    answers = [one["answer"]["outcome"]["optionId"] for one in stage.heard() if "answer" in one]
    assert answers == ["yes", "no"]
    refused = [one["refused"] for one in stage.heard() if "refused" in one]
    assert refused[0].endswith("only files in it are served")
    assert refused[1:] == ["Method not found"]
    assert stage.project.file("in/new.txt").read_text(encoding="utf-8") == "é"


def test_it_resumes_its_session_and_replayed_messages_are_not_reported(stage: Stage) -> None:
    again = [{"say": "An old word.\n"}, {"update": {"sessionUpdate": "tool_call", **RUNS}}]
    cost = {"sessionUpdate": "usage_update", "used": 1, "size": 10}
    turns: list[list[dict[str, Any]]] = [
        [
            {"edit": {"path": "new.txt", "text": text}},
            {"update": {**cost, "cost": {"amount": amount, "currency": "USD"}}},
            {"say": REPORT},
        ]
        for text, amount in (("one", 0.25), ("two", 0.75))
    ]
    stage.play(
        *turns,
        goesOn="load",
        history=again,
        needsLogin="key",
    )
    settings = '[session]\nresume = true\n[agents.qwen-acp]\nlogin_method = "key"\n'
    done = stage.run("2", config=settings)
    assert done.exit_code == 1, done.stderr
    assert stage.heard("authenticate") == [{"methodId": "key"}] * 2
    assert [one["sessionId"] for one in stage.heard("session/load")] == ["ses-1"] * 2
    assert [ended.usage.cost_usd for ended in told(done, "iterationEnded")] == [0.25, 0.5]
    log = stage.log()
    assert "An old word" not in log
    assert "rm -rf" not in log


def test_where_nobody_is_logged_in_the_run_says_how_to(stage: Stage) -> None:
    done = stage.play([{"say": REPORT}], needsLogin="key").run("2")
    (first, *_) = told(done, "iterationEnded")
    assert first.errors == ("Authentication required (it offers: A key, The web)",)
    assert stage.heard("session/prompt") == []


def test_a_stop_cancels_the_turn_and_nothing_lives_on(stage: Stage) -> None:
    stage.play([{"say": "Hm.\n"}, {"hang": "until told"}])
    env = stage.started()
    project = stage.project
    arguments = ("run", "1", "--agent", "qwen-acp")
    started = project.ralph.start(project.repository, *arguments, env=env)
    wait_until(project.kept, (project.kept / "here").exists)
    assert project.tell("stop", "--now").exit_code == 0
    done = started.wait()
    assert told(done, "runEnded")[0].reason == "stopped"
    assert not told(done, "agentExited")[0].killed
    assert marked_processes(project.run_folder().name) == []


def test_an_agent_that_breaks_off_has_failed_and_what_it_did_stays(stage: Stage) -> None:
    done = stage.play([{"edit": {"path": "new.txt", "text": "new"}}, {"exit": 3}]).run("1")
    (ended,) = told(done, "iterationEnded")
    assert ended.errors == ("it ended in the middle of a turn",)
    assert stage.project.file("new.txt").exists()
    assert "no-progress" not in str(ended.outcome)
