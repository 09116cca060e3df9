"""Agents that print their own JSON lines: the documented example, and counts in a file."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs" / "agents" / "json-lines.md"


def example(language: str) -> str:
    """The first block of that language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def allowed(project: Project, settings: str, program: str) -> Project:
    """A repository with an agent in it, which its owner has allowed."""
    project.plan(files={".ralph/config.toml": settings, "mine.py": program})
    project.file("mine.py").chmod(0o755)
    done = project.tell("allow", "--yes")
    assert done.exit_code == 0, done.stderr
    return project


def test_the_documented_example_is_read_like_any_agent(project: Project) -> None:
    allowed(project, example("toml"), example("python"))
    done = project.tell("run", "1")
    assert done.exit_code == 1, done.stderr
    (ended,) = told(done, "iterationEnded")
    usage = ended.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (600, 2000, 90)
    assert (ended.session.id, ended.permission_denials) == ("t-17", None)
    assert "agent-failed" not in warnings(done)
    assert told(done, "ralphStatusUpdate")[0].report.status == "IN_PROGRESS"
    assert "⚒ write: hello.txt\n✎ hello.txt changed\n" in done.stdout
    lines = (project.run_folder() / "messages.jsonl").read_bytes().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["tool", "tool", "file", "usage", "text", "usage", "usage"]
    read = project.tell(
        "read", str(project.run_folder() / "iteration-001.out"), "--agent", "mine", "--json"
    )
    found = json.loads(read.stdout)
    assert found["usage"]["inputTokens"] == 600
    assert (found["sessionId"], found["failed"]) == ("t-17", False)


def test_what_it_used_is_read_from_a_file_that_only_its_owner_may_read(project: Project) -> None:
    settings = (
        'agent = "mine"\n[agents.mine]\ndialect = "jsonl"\n'
        'argv = ["./mine.py", "--to={usage_file}", "{prompt_file}", "{usage_file}"]\n'
        'prompt = "file"\n'
    )
    program = (
        "#!/bin/sh\n"
        "echo x >>work.txt\n"
        'printf \'{"input_tokens":70,"output_tokens":7}\' >"${1#--to=}"\n'
        'test "${1#--to=}" = "$3" || exit 3\n'
        'grep -c . "$2" >/dev/null || exit 4\n'
        'echo \'{"type":"result","text":"Done.","turns":2,"input_tokens":1}\'\n'
    )
    allowed(project, settings, program)
    done = project.tell("run", "1")
    assert done.exit_code == 1, done.stderr
    (ended,) = told(done, "iterationEnded")
    assert ended.usage.model_dump(exclude_none=True) == {
        "input_tokens": 70,
        "output_tokens": 7,
        "turns": 2,
    }
    file = project.run_folder() / "iteration-001.usage"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (started,) = told(done, "agentStarted")
    assert "{usage_file}" in started.argv


def test_a_table_for_records_that_are_not_read_is_refused_at_the_start(project: Project) -> None:
    table = '[agents.mine]\nargv = ["./mine.py"]\n[agents.mine.output]\nkind = "k"\n'
    project.plan(files={".ralph/config.toml": table})
    done = project.tell("run", "1", "--agent", "mine")
    assert (done.exit_code, done.events) == (78, ())
    assert 'which only dialect = "jsonl" reads, but dialect is not set; set it' in done.stderr


def test_a_file_that_would_not_be_read_is_asked_for_by_nobody() -> None:
    table = {"mine": {"argv": ["./mine.py", "{usage_file}"]}}
    with pytest.raises(ConfigError, match="the dialect 'text' reads no such file; set dialect = "):
        choose_agent(Config.model_validate({"agent": "mine", "agents": table}))
