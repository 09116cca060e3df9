"""The usage that an agent reports in a file: read live, by a later engine, over a session."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.loop.effects import LaunchAgent, ReadIteration
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.description import asking_for_usage
from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.iteration.agent_output import AgentOutputReader
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import AgentStarted, IterationStarted
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import CurrentIteration, RunState, Session
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree

RUN = "20260101T000000Z-aaaa"
BASELINE = Baseline(head=None)
BEFORE = Usage(input_tokens=400, output_tokens=34, cached_tokens=800)
STREAM = (
    b'{"type":"assistant.turn_start","data":{}}\n'
    b'{"type":"assistant.message","data":{"content":"Done."}}\n'
    b'{"type":"result","sessionId":"s-1","exitCode":0}\n'
)
FILE = json.dumps(
    {
        "modelMetrics": {
            "m": {"usage": {"inputTokens": 3600, "outputTokens": 102, "cacheReadTokens": 2400}}
        }
    }
)
OWN = Usage(input_tokens=800, output_tokens=68, cached_tokens=1600, turns=1)


def workspace_of(folder: Path) -> Workspace:
    (folder / ".git").mkdir()
    config = Config(agent="copilot")
    return Workspace(
        worktree=Worktree(root=folder, git_dir=folder / ".git", common_dir=folder / ".git"),
        state=StateFolder(folder=folder),
        run=RUN,
        files=RunFiles(folder=folder),
        config=config,
        agent=choose_agent(config),
        source=MarkdownSource(folder, config, "plan.md", {}),
        environment={},
        redactor=Redactor(secrets={}),
    )


def launch() -> LaunchAgent:
    context = PromptContext(
        iteration=2,
        max_iterations=None,
        plan_path="plan.md",
        decide_path="decide.txt",
        blocked_path="blocked.txt",
    )
    return LaunchAgent(
        start=2, iteration=2, attempt=1, context=context, session="s-1", session_usage=BEFORE
    )


READ = ReadIteration(start=2, iteration=2, attempt=1, baseline=BASELINE)


def test_it_is_reported_at_the_end_and_of_a_session_only_what_is_new(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    hearing = AgentOutputReader(workspace, clock=SystemClock())
    assert hearing.end() == []
    hearing.begin(launch())
    hearing.take(STREAM)
    workspace.files.usage(2, 1).write_text(FILE, encoding="utf-8")
    hearing.end()
    heard = hearing.read(READ, RunState())
    assert heard.usage == OWN
    assert heard.session is not None
    whole = Usage(input_tokens=1200, output_tokens=102, cached_tokens=2400)
    assert heard.session.usage == whole
    hearing.close()
    last = json.loads(workspace.files.messages.read_bytes().splitlines()[-1])
    assert last == {
        "start": 2,
        "offset": len(STREAM),
        "kind": "usage",
        "usage": {"inputTokens": 800, "outputTokens": 68, "cachedTokens": 1600, "turns": 1},
    }


@pytest.mark.parametrize("flags", [("--resume=s-1",), ("--resume", "s-1")])
def test_a_later_engine_reads_it_as_well(tmp_path: Path, flags: tuple[str, ...]) -> None:
    workspace = workspace_of(tmp_path)
    workspace.files.output(2, 1, "out").write_bytes(STREAM)
    workspace.files.usage(2, 1).write_text(FILE, encoding="utf-8")
    now = datetime.now(UTC)
    agent = AgentStarted(
        seq=2,
        at=now,
        run=RUN,
        iteration=2,
        attempt=1,
        agent="copilot",
        argv=("copilot", *flags),
        pid=1,
        process_start_time=0.0,
        dialect=Dialect.COPILOT,
    )
    started = IterationStarted(seq=1, at=now, run=RUN, iteration=2, baseline=BASELINE)
    run = RunState(
        current=CurrentIteration(started=started, agent=agent),
        session=Session(id="s-1", usage=BEFORE, created_at=now, last_used_at=now),
    )
    hearing = AgentOutputReader(workspace, clock=SystemClock())
    assert hearing.read(READ, run).usage == OWN
    hearing.close()


@pytest.mark.parametrize("kind", ["missing", "empty", "broken", "folder", "pipe", "huge"])
def test_one_that_cannot_be_read_says_nothing(tmp_path: Path, kind: str) -> None:
    workspace = workspace_of(tmp_path)
    path = workspace.files.usage(2, 1)
    match kind:
        case "empty":
            path.touch()
        case "broken":
            path.write_bytes(b'{"modelMetrics":')
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "huge":
            path.write_bytes(FILE.encode() + b" " * (1 << 20))
        case _:
            pass
    hearing = AgentOutputReader(workspace, clock=SystemClock())
    hearing.begin(launch())
    hearing.take(STREAM)
    hearing.end()
    assert hearing.read(READ, RunState()).usage == Usage(turns=1)
    hearing.close()


def test_only_an_agent_that_has_a_place_for_the_path_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "iteration-001.usage"
    agent = choose_agent(Config(agent="copilot"))
    asked = asking_for_usage(agent, path)
    assert asked.argv[-2:] == ("--usage-output-file", str(path))
    assert path.read_bytes() == b""
    other = choose_agent(Config(agent="claude"))
    assert asking_for_usage(other, tmp_path / "no") is other
    assert not (tmp_path / "no").exists()
