"""Records what the real agents print, for the tests of their decoders.

    .venv/bin/python -m tests.e2e.recordings [AGENT | AGENT/NAME]...

Each scenario is one call of a program against the model stub. What differs from call to call and
from machine to machine is made the same: paths, ids, times. A test runs the scenarios of CI's
agents again and holds what is understood of them against the files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from tests.conftest import GIT_CONFIG
from tests.e2e.neutral import Names, without_chance
from tests.e2e.recipe import Recipe, call, report
from tests.e2e.recipes import CLAUDE, RECIPES
from tests.e2e.scene import Project
from tests.engine.project_builder import make_repository
from tests.fakes.model_stub import Answer, ModelStub

GOES_ON = report("STATUS: IN_PROGRESS", "EXIT_SIGNAL: false")

FOLDER = Path(__file__).resolve().parents[1] / "data"

AGAIN_AND_AGAIN = 40
"""How often an error is answered that an agent may try to get past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What the model says, and how the program is called."""

    answers: Callable[[Recipe, Path], list[Answer]]
    flags: tuple[str, ...] = ()
    guarded: bool = False
    goes_on: bool = False
    """It is called twice, and the recording is the second call, in the session of the first."""


def _work(recipe: Recipe, root: Path) -> list[Answer]:
    plan = root / "@fix_plan.md"
    return [
        Answer(text=f"I begin.\n\n{GOES_ON}", tools=(recipe.write(root / "one.txt", "漢字 🎈\n"),)),
        Answer(text="I look.", tools=(recipe.read(plan),)),
        Answer(tools=(recipe.shell("cat nothing.txt"),)),
        Answer(tools=(recipe.edit(plan, "[ ] First", "[x] First"),)),
        Answer(tools=(recipe.shell("git add -A && git commit -q -m One"),)),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
    ]


def _fails(status: int, text: str) -> Scenario:
    answer = Answer(status=status, text=text)
    return Scenario(answers=lambda _, __: [answer] * AGAIN_AND_AGAIN)


def _denied(recipe: Recipe, _root: Path) -> list[Answer]:
    return [
        Answer(text="I remove it.", tools=(recipe.shell("rm -rf x"),)),
        Answer(text="I may not."),
    ]


def _todo(recipe: Recipe, _root: Path) -> list[Answer]:
    assert recipe.todo is not None
    begun = (("Look", "in_progress"), ("Mend", "pending"))
    later = (("Look", "completed"), ("Mend", "in_progress"))
    return [
        Answer(tools=(recipe.todo(begun),)),
        Answer(tools=(recipe.todo(later),)),
        Answer(text="On it."),
    ]


def _asks(recipe: Recipe, _root: Path) -> list[Answer]:
    assert recipe.ask is not None
    return [Answer(tools=(recipe.ask("Tabs or spaces?"),)), Answer(text="I cannot ask.")]


def _claude_todo(_recipe: Recipe, _root: Path) -> list[Answer]:
    return [
        Answer(tools=(call("TaskCreate", subject="Look", description="d", deferred=True),)),
        Answer(tools=(call("TaskCreate", subject="Mend", description="d", deferred=True),)),
        Answer(tools=(call("TaskUpdate", taskId="1", status="completed", deferred=True),)),
        Answer(tools=(call("TaskUpdate", taskId="2", status="in_progress", deferred=True),)),
        Answer(text="On it."),
    ]


def _claude_sub_agent(_recipe: Recipe, _root: Path) -> list[Answer]:
    given = call("Agent", description="look", prompt="Look.", subagent_type="general-purpose")
    said = Answer(text="<promise>COMPLETE</promise>")
    # The two run in parallel, and the first to ask is answered first.
    return [Answer(text="You look.", tools=(given,)), said, said, said]


OF_CLAUDE = {
    "todo": Scenario(answers=_claude_todo, flags=("--model", "claude-sonnet-4-5")),
    "sub-agent": Scenario(answers=_claude_sub_agent),
    "overloaded-once": Scenario(
        answers=lambda recipe, _: [
            Answer(status=recipe.overloaded, text="Overloaded"),
            Answer(text=GOES_ON),
        ]
    ),
    "max-turns": Scenario(
        answers=lambda recipe, _: [Answer(text="I look.", tools=(recipe.shell("true"),))],
        flags=("--max-turns", "1"),
    ),
}

BY_CHANCE = frozenset({"sub-agent"})
"""Scenarios in which two run side by side, so that no two recordings are alike."""


def scenarios_of(recipe: Recipe) -> dict[str, Scenario]:
    """What is recorded of an agent, by name."""
    found = {
        "work": Scenario(answers=_work),
        "error": _fails(recipe.fatal, "Out of order"),
        "not-logged-in": _fails(401, "No such key"),
    }
    if recipe.gives_up:
        found["limit"] = _fails(429, "Slow down")
        found["overloaded"] = _fails(recipe.overloaded, "Overloaded")
    if recipe.guarded:
        found["denied"] = Scenario(answers=_denied, guarded=True)
    if recipe.resume:
        answers = [Answer(text="The first."), Answer(text="The second.")]
        found["resume"] = Scenario(answers=lambda _, __: answers, goes_on=True)
    if recipe.todo is not None:
        found["todo"] = Scenario(answers=_todo)
    if recipe.ask is not None:
        found["asks"] = Scenario(answers=_asks)
    return found | (OF_CLAUDE if recipe is CLAUDE else {})


def path_of(recipe: Recipe, name: str) -> Path:
    return FOLDER / recipe.name / f"{name}.jsonl"


def record(project: Project, name: str) -> bytes:
    """What the program prints in a scenario, made the same everywhere."""
    recipe = project.recipe
    scenario = scenarios_of(recipe)[name]
    project.stub.say(*scenario.answers(recipe, project.repository))
    argv = (*(recipe.guarded if scenario.guarded else recipe.freely), *scenario.flags)
    if scenario.goes_on:
        said = project.call(*argv).stdout
        session = _session_in(said, recipe.session_key)
        argv = (*argv, *[part.replace("{session}", session) for part in recipe.resume])
    around = recipe.guarded_by if scenario.guarded else {}
    ran = project.call(*argv, environment=around)
    names = Names(project.repository, one_for_all=recipe is CLAUDE)
    lines = [_neutral(line, names) for line in ran.stdout.decode().splitlines()]
    return b"".join(line + b"\n" for line in lines)


def understood(recording: bytes, dialect: Dialect) -> tuple[list[Any], AgentResult]:
    """What is read out of a recording, but for where in it: lengths are chance."""
    decoder = decoder_for(dialect, folder="/repo")
    messages = [*decoder.feed(recording), *decoder.finish()]
    told = [structs.replace(message, offset=0) for message in messages]
    return told, replace(decoder.final(), session_id=None)


def _neutral(line: str, names: Names) -> bytes:
    """One line of a recording; a line that is no JSON is a program's own slip, and is kept."""
    try:
        value = json.loads(line)
    except ValueError:
        return names.in_text(line).encode()
    return json.dumps(without_chance(value, names), separators=(",", ":")).encode()


def _session_in(said: bytes, key: str) -> str:
    for line in said.splitlines():
        if found := _value_at(json.loads(line), key):
            return found
    raise LookupError(f"no {key} in {said!r}")


def _value_at(value: Any, key: str) -> str | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(key), str):
        return str(value[key])
    return next((found for item in value.values() if (found := _value_at(item, key))), None)


def main(wanted: list[str]) -> None:
    """Write the recordings again."""
    for recipe in RECIPES.values():
        for name in scenarios_of(recipe):
            if not wanted or recipe.name in wanted or f"{recipe.name}/{name}" in wanted:
                _write(recipe, name)


def _write(recipe: Recipe, name: str) -> None:
    path = path_of(recipe, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ModelStub() as stub:
        home = Path(folder) / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
        search = os.environ["PATH"]
        os.environ.clear()
        os.environ.update({"HOME": str(home), "PATH": search})
        repository = make_repository(Path(folder) / "repository", ["First", "Second"])
        path.write_bytes(record(Project(recipe, repository, stub), name))
        print(f"{path}: {stub.problems or 'recorded'}; {stub.n_left} answers left")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
