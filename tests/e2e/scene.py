"""A place where a real agent works, with a model that says what the test has it say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER, AgentMessage
from tests.e2e import agents
from tests.e2e.recipe import Recipe, does_task
from tests.engine.project_builder import (
    Completed,
    Running,
    git,
    make_repository,
    newest_run,
    run_ralph,
    start_ralph,
)
from tests.fakes.model_stub import Answer, ModelStub

FOREIGN = (
    *("ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_", "QWEN_"),
    *("OPENCODE", "COPILOT_", "GITHUB_", "GH_", "CLINE_"),
)
"""What would lead an agent into its caller's settings: beginnings of names."""

LONG = 400.0
"""Seconds after which a run that should have ended has failed its test."""


class Project:
    """A repository, the program and its model."""

    def __init__(self, recipe: Recipe, repository: Path, stub: ModelStub) -> None:
        self.recipe = recipe
        self.repository = repository
        self.stub = stub
        # Some agents keep the user's own git settings from the commands that they run.
        git(repository, "config", "user.name", "Ada Example")
        git(repository, "config", "user.email", "ada@example.com")
        self.environment: Mapping[str, str] = {
            **recipe.set_up(stub.url, Path(os.environ["HOME"])),
            "PATH": agents.search_path(recipe.name),
        }
        """What a user has set who has the program on PATH and a key for its API."""

    def does_task(self, title: str, file: str) -> list[Answer]:
        """Answers that do a task of the plan and commit it."""
        return does_task(self.recipe, self.repository, title, file)

    def settle(self, settings: str) -> None:
        """Commit these settings."""
        config = self.repository / ".ralph" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(settings, encoding="utf-8")
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", "Settings")

    def run(self, *arguments: str) -> Completed:
        """``ralph run`` to its end."""
        return run_ralph(
            self.repository, "run", *arguments, *self._named(), env=self.environment, seconds=LONG
        )

    def tell(self, *arguments: str) -> Completed:
        """Any other command of ``ralph``."""
        return run_ralph(self.repository, *arguments, env=self.environment)

    @contextmanager
    def start(self, *arguments: str) -> Iterator[Running]:
        """``ralph run``, to be looked at while it goes."""
        words = ("run", *arguments, *self._named())
        with start_ralph(self.repository, *words, env=self.environment) as running:
            yield running

    def call(
        self,
        *argv: str,
        prompt: str = "Do one task.",
        seconds: float = LONG,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """The program by itself, as the loop starts it; what it printed if it does not end."""
        words = (*argv, prompt) if self.recipe.by_argument else argv
        given = "" if self.recipe.by_argument else prompt
        name, *flags = words
        command = [str(agents.program(name)), *flags]
        # Without it, one of them does not work as root.
        own = {"IS_SANDBOX": "1", "PWD": str(self.repository), **(environment or {})}
        around = {**os.environ, **self.environment, **own}
        return _until(command, given, self.repository, around, seconds)

    def messages(self) -> list[AgentMessage]:
        """What ``messages.jsonl`` of the newest run holds."""
        lines = self.run_folder().joinpath("messages.jsonl").read_bytes().splitlines()
        return [MESSAGE_ADAPTER.validate_json(line) for line in lines]

    def run_folder(self) -> Path:
        found = newest_run(self.repository)
        assert found is not None
        return found.files.folder

    def _named(self) -> tuple[str, ...]:
        # The profile's own agent needs no word.
        return () if self.recipe.name == "claude" else ("--agent", self.recipe.name)


@contextmanager
def scene_of(recipe: Recipe, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A repository with two tasks and the real program beside it; its model has no complaint."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    repository = make_repository(folder / "repository", ["First", "Second"])
    with ModelStub() as stub:
        yield Project(recipe, repository, stub)
    assert stub.problems == [], stub.problems


def _until(
    command: Sequence[str], given: str, folder: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    try:
        out, err = process.communicate(given.encode() or None, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
