"""A place where the real ``claude`` works, with a model that says what the test tells it to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ralph_ls.protocol.messages import MESSAGE_ADAPTER, Message
from tests.engine.loop import Completed, Running, newest_run, run_ralph, start_ralph
from tests.fakes.model_stub import Answer, ModelStub, ToolCall

KEY = "sk-ant-not-a-key-0123456789"


def report(*lines: str) -> str:
    """A status block."""
    return "\n".join(["---RALPH_STATUS---", *lines, "---END_RALPH_STATUS---", ""])


def call(name: str, *, deferred: bool = False, **given: Any) -> ToolCall:
    """One call of a tool."""
    return ToolCall(name=name, input=given, deferred=deferred)


def does_task(repository: Path, title: str, file: str) -> list[Answer]:
    """Answers that write a file by a tool, tick the task, commit, in this order."""
    tick = f"sed -i 's/\\[ \\] {title}/[x] {title}/' @fix_plan.md"
    commit = f"{tick} && git add -A && git commit -q -m 'Add {file}'"
    written = call("Write", file_path=str(repository / file), content=f"{title}\n")
    return [
        Answer(text=f"I write {file}.", tools=(written,)),
        Answer(tools=(call("Bash", command=commit, description="Commit"),)),
    ]


class ClaudeScene:
    """A repository, the program and its model."""

    def __init__(self, program: Path, repository: Path, stub: ModelStub) -> None:
        self.program = program
        self.repository = repository
        self.stub = stub

    @property
    def environment(self) -> Mapping[str, str]:
        """What a person has set who has the program on PATH and a key for its API."""
        return {
            "PATH": os.pathsep.join([str(self.program.parent), os.environ["PATH"]]),
            "ANTHROPIC_BASE_URL": self.stub.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }

    def run(self, *arguments: str) -> Completed:
        """``ralph run`` to its end, with no word about which agent: it is the profile's own."""
        return run_ralph(self.repository, "run", *arguments, env=self.environment, seconds=100)

    @contextmanager
    def start(self, *arguments: str) -> Iterator[Running]:
        """``ralph run``, to be looked at while it goes."""
        with start_ralph(self.repository, "run", *arguments, env=self.environment) as running:
            yield running

    def call(self, *flags: str, prompt: str = "Do one task.") -> subprocess.CompletedProcess[bytes]:
        """The program by itself, as the loop starts it."""
        return subprocess.run(
            [self.program, "-p", *flags, "--output-format", "stream-json", "--verbose"],
            input=prompt.encode(),
            cwd=self.repository,
            env={**os.environ, **self.environment, "IS_SANDBOX": "1"},
            capture_output=True,
            check=False,
            timeout=100,
        )

    def messages(self) -> list[Message]:
        """What ``messages.jsonl`` of the newest run holds."""
        lines = self.run_folder().joinpath("messages.jsonl").read_bytes().splitlines()
        return [MESSAGE_ADAPTER.validate_json(line) for line in lines]

    def run_folder(self) -> Path:
        found = newest_run(self.repository)
        assert found is not None
        return found.files.folder
