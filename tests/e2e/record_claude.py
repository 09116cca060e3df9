"""Records what the real ``claude`` prints, for the tests of its decoder.

    .venv/bin/python -m tests.e2e.record_claude [NAME]...

Each scenario is one call of the program against the model stub. What differs from call to call and
from machine to machine is made the same: paths, ids, times. A test runs the scenarios again and
holds what is understood of them against the files.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from ralph_ls.core.agent.decode.claude import ClaudeDecoder
from ralph_ls.core.agent.decode.final import Final
from tests.conftest import GIT_CONFIG
from tests.e2e import agents
from tests.e2e.claude_scene import ClaudeScene, call, report
from tests.engine.loop import make_repository
from tests.fakes.model_stub import Answer, ModelStub

FOLDER = Path(__file__).resolve().parents[1] / "data" / "claude"

FREELY = "--dangerously-skip-permissions"

GOES_ON = report("STATUS: IN_PROGRESS", "EXIT_SIGNAL: false")

SHOWN_NAMES = 3
"""How many tools, commands and skills of the first record are kept; it lists a hundred."""

TIMES = re.compile(r"_ms$|^(timestamp|uuid|request_id|duration.*|.*_time|retry_delay_ms)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What the model says, and how the program is called."""

    answers: Callable[[Path], list[Answer]]
    flags: tuple[str, ...] = (FREELY,)


def _work(root: Path) -> list[Answer]:
    plan = str(root / "@fix_plan.md")
    edited = call("Edit", file_path=plan, old_string="[ ] First", new_string="[x] First")
    return [
        Answer(
            text=f"I begin.\n\n{GOES_ON}",
            tools=(call("Write", file_path=str(root / "one.txt"), content="漢字 🎈\n"),),
        ),
        Answer(text="I look.", tools=(call("Read", file_path=plan),)),
        Answer(tools=(call("Bash", command="cat nothing.txt"),)),
        Answer(tools=(edited,)),
        Answer(tools=(call("Bash", command="git add -A && git commit -q -m One"),)),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
    ]


def _todo(_root: Path) -> list[Answer]:
    return [
        Answer(tools=(call("TaskCreate", subject="Look", description="d", deferred=True),)),
        Answer(tools=(call("TaskCreate", subject="Mend", description="d", deferred=True),)),
        Answer(tools=(call("TaskUpdate", taskId="1", status="completed", deferred=True),)),
        Answer(tools=(call("TaskUpdate", taskId="2", status="in_progress", deferred=True),)),
        Answer(text="On it."),
    ]


def _sub_agent(_root: Path) -> list[Answer]:
    given = call("Agent", description="look", prompt="Look.", subagent_type="general-purpose")
    said = Answer(text="<promise>COMPLETE</promise>")
    # The two go on beside each other, and whoever asks first is answered first.
    return [Answer(text="You look.", tools=(given,)), said, said, said]


SCENARIOS = {
    "work": Scenario(answers=_work),
    "todo": Scenario(answers=_todo, flags=(FREELY, "--model", "claude-sonnet-4-5")),
    "sub-agent": Scenario(answers=_sub_agent),
    "denied": Scenario(
        answers=lambda _: [
            Answer(text="I remove it.", tools=(call("Bash", command="rm -rf x"),)),
            Answer(text="I may not."),
        ],
        flags=("--permission-mode", "dontAsk"),
    ),
    "limit": Scenario(answers=lambda _: [Answer(status=429, text="Slow down")] * 2),
    "overloaded-once": Scenario(
        answers=lambda _: [Answer(status=529, text="Overloaded"), Answer(text=GOES_ON)]
    ),
    "max-turns": Scenario(
        answers=lambda _: [Answer(text="I look.", tools=(call("Bash", command="true"),))],
        flags=(FREELY, "--max-turns", "1"),
    ),
}


BY_CHANCE = frozenset({"sub-agent"})
"""Scenarios in which two go on side by side, so that no two recordings are alike."""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"


def record(scene: ClaudeScene, name: str) -> bytes:
    """What the program prints in a scenario, made the same everywhere."""
    scenario = SCENARIOS[name]
    scene.stub.say(*scenario.answers(scene.repository))
    ran = scene.call(*scenario.flags)
    lines = [_without_chance(json.loads(line), scene) for line in ran.stdout.splitlines()]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def understood(recording: bytes) -> tuple[list[Any], Final]:
    """What is read out of a recording, but for where in it: lengths are chance."""
    decoder = ClaudeDecoder(1)
    messages = [*decoder.feed(recording), *decoder.finish()]
    told = [structs.replace(message, offset=0) for message in messages]
    return told, replace(decoder.final(), session_id=None)


def _without_chance(value: Any, scene: ClaudeScene) -> Any:
    match value:
        case dict():
            return {
                key: _fixed(key, item) if TIMES.search(key) else _named(key, item, scene)
                for key, item in value.items()
            }
        case list():
            return [_without_chance(item, scene) for item in value]
        case str():
            text = value.replace(str(scene.repository), "/repo")
            text = text.replace(str(scene.repository.parent), "/elsewhere")
            text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "an-id", text)
            text = re.sub(r"/(tmp|root|home|var)/[^\s\"']*", "/elsewhere/file", text)
            return re.sub(r"(?<=retry in )[\d.]+", "1", text)
        case _:
            return value


def _fixed(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return "2026-01-31T12:00:00.000Z" if key == "timestamp" else "an-id"
    return 500 if key == "retry_delay_ms" else 0


def _named(key: str, value: Any, scene: ClaudeScene) -> Any:
    is_names = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if is_names and key != "errors":
        return value[:SHOWN_NAMES]
    if key in {"agent_id", "agentId", "task_id", "run_id"}:
        return "an-id"
    return {} if key == "memory_paths" else _without_chance(value, scene)


def main(names: list[str]) -> None:
    """Write the recordings again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or SCENARIOS:
        with tempfile.TemporaryDirectory() as folder, ModelStub() as stub:
            home = Path(folder) / "home"
            home.mkdir()
            (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
            path = os.environ["PATH"]
            os.environ.clear()
            os.environ.update({"HOME": str(home), "PATH": path})
            repository = make_repository(Path(folder) / "repository", ["First", "Second"])
            scene = ClaudeScene(agents.claude(), repository, stub)
            path_of(name).write_bytes(record(scene, name))
            print(f"{path_of(name)}: {stub.problems or 'recorded'}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
