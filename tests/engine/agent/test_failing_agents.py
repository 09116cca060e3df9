"""Agents that fail, in real processes: identified, waited for, handed over, and what they use."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.agent.result import find_account_limit
from ralph_ls.core.loop.effects import LaunchAgent, ReadIteration
from ralph_ls.core.loop.inputs import AnnouncementDone
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.iteration.agent_output import AgentOutputReader, limit_reset_at
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from tests.engine.project_builder import write_agent
from tests.engine.ralph_runner import Project, told

FAILS = """\
fails() { printf '{"type":"assistant","error":"%s","message":{"content":[{"type":"text",\
"text":"%s"}]}}\\n{"type":"result","subtype":"success","is_error":true,"api_error_status":%s,\
"result":"%s"}\\n' "$1" "$2" "$3" "$2"; exit 1; }
fills() { printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":%s},\
"content":[]}}\\n' "$1" "$1"; }
"""
"""``fails KIND WORDS STATUS`` ends as ``claude`` does when its service refuses; ``fills TOKENS``
is an answer for which so many tokens were in its context window."""

FINISHES = (
    "work; mark x First; commit; says s 0.5 'All tasks are complete.\\n"
    "---RALPH_STATUS---\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'"
)


class NoonClock(SystemClock):
    """A clock that shows noon of a day in winter."""

    def now(self) -> datetime:
        return datetime(2026, 1, 31, 12, tzinfo=UTC)

    def local(self) -> datetime:
        return self.now().astimezone(timezone(timedelta(hours=-5)))


@pytest.mark.parametrize(
    ("words", "lifted_at"),
    [
        ("You've hit your limit \u00b7 resets 5pm (Europe/Vilnius)", "2026-01-31T15:00Z"),
        ("You've hit your limit \u00b7 resets 1pm (Europe/Vilnius)", "2026-02-01T11:00Z"),
        ("You've hit your usage limit. Try again at 8:30 AM.", "2026-01-31T13:30Z"),
        ("You've hit your limit \u00b7 resets 5pm (Nowhere/Land)", None),
    ],
)
def test_a_reset_time_is_one_in_its_own_zone(words: str, lifted_at: str | None) -> None:
    limit = find_account_limit(words)
    assert limit is not None
    expected = None if lifted_at is None else datetime.fromisoformat(lifted_at)
    assert limit_reset_at(limit, NoonClock()) == expected


@pytest.mark.slow
class TestRun:
    def test_a_limit_in_plain_text_is_waited_for_and_an_api_out_of_reach_too(
        self, project: Project
    ) -> None:
        body = (
            "echo I begin.\n"
            "[ $RALPH_START -gt 1 ] || { echo 'Claude usage limit reached|1788625200'; exit 1; }\n"
            "[ $RALPH_START -gt 2 ] || { echo 'API Error: ECONNREFUSED'; exit 1; }\n"
            "work; commit\n"
        )
        settings = 'limit_wait = "20ms"\n[retry]\nfirst = "20ms"\n'
        done = project.plan(files={".ralph/config.toml": settings}).agent(body).run("1")
        ended = told(done, "iterationEnded")
        assert [event.failure for event in ended] == ["limit", "unreachable", None]
        assert [event.outcome for event in ended] == ["limited", "limited", "progress"]
        assert [wait.reason for wait in told(done, "waitStarted")] == ["limit", "unreachable"]
        assert "command cannot reach its model's API: API Error: ECONN" in done.stdout
        assert "Waiting for the unreachable API until " in done.stdout

    def test_nobody_who_is_not_logged_in_is_tried_again(self, project: Project) -> None:
        done = project.run_claude(
            f"{FAILS}fails authentication_failed 'Not logged in · Please run /login' null", "9"
        )
        assert done.exit_code == 5
        assert [event.attempt for event in told(done, "agentStarted")] == [1]
        (ended,) = told(done, "iterationEnded")
        assert (ended.failure, ended.crashes) == ("notLoggedIn", 1)
        assert "the agent claude is not logged in" in done.stdout
        assert "Not logged in · Please run /login; log in " in done.stdout
        assert "then continue with: ralph run --resume" in done.stdout
        assert "Iteration 1: no progress, not logged in in " in done.stdout

    def test_a_flag_that_it_does_not_know_ends_the_run_at_once(self, project: Project) -> None:
        done = project.run_claude("echo \"error: unknown option '--nonsense'\" >&2; exit 1", "9")
        assert done.exit_code == 5
        (ended,) = told(done, "iterationEnded")
        assert ended.failure == "wrongCall"
        assert "error: unknown option '--nonsense'; check [agents.claude]" in done.stdout

    def test_an_overloaded_model_is_waited_for_and_its_window_is_watched(
        self, project: Project
    ) -> None:
        settings = 'context_window = 100000\n[retry]\nfirst = "20ms"\n'
        done = project.plan(files={".ralph/config.toml": settings}).run_claude(
            f"{FAILS}[ $RALPH_START -gt 2 ] || fails server_error 'API Error: 529' 529\n"
            f"fills 60000; fills 65000; fills 95000\n{FINISHES}",
            "1",
        )
        assert done.exit_code == 0
        ended = told(done, "iterationEnded")
        assert [event.outcome for event in ended] == ["limited", "limited", "progress"]
        assert [event.failure for event in ended] == ["overloaded", "overloaded", None]
        waits = told(done, "waitStarted")
        assert [wait.reason for wait in waits] == ["retry", "retry"]
        codes = [event.code for event in told(done, "warned")]
        codes = [code for code in codes if code.startswith(("agent", "context"))]
        assert codes == ["agent-overloaded"] * 2 + ["context-50", "context-90"]
        kinds = done.kinds()
        last = len(kinds) - 1 - kinds[::-1].index("agentExited")
        assert kinds[last - 2 : last] == ["warned", "warned"], "it is told while it works"
        assert "Waiting for the overloaded model until " in done.stdout
        assert "Iteration 1: model overloaded in " in done.stdout
        assert "context CRITICAL: 95 % of the agent's window is used" in done.stdout

    def test_a_wait_for_an_overloaded_model_outlives_its_engine_and_can_be_stopped(
        self, project: Project
    ) -> None:
        project.plan(files={".ralph/config.toml": '[retry]\nfirst = "1h"\nlongest = "1h"\n'})
        prelude = f"#!/bin/sh\n{FAILS}cat >/dev/null\nfails overloaded 'Overloaded' 529"
        write_agent(project.kept / "bin", prelude, name="claude")
        path = os.pathsep.join([str(project.kept / "bin"), os.environ["PATH"]])
        running = project.ralph.start(project.repository, "run", "9", env={"PATH": path})
        waits: Any = running.wait_for("waitStarted", reason="retry")
        assert 3599 < (waits.until - waits.at).total_seconds() <= 3600
        assert "waiting for the overloaded model until" in project.tell("status").stdout
        assert project.tell("stop").exit_code == 0
        assert running.wait().exit_code == 130

    def test_another_agent_takes_over_and_its_cost_is_an_estimate(self, project: Project) -> None:
        settings = (
            'fallback = ["second"]\n[agents.second]\n'
            'argv = ["second"]\ndialect = "codex"\n[prices."*"]\ninput = 1000\noutput = 2000\n'
        )
        project.plan(files={".ralph/config.toml": settings})
        project.tell("allow", "--yes")
        usage = '{"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":250}}'
        said = {"type": "item.completed", "item": {"id": "1", "type": "agent_message"}}
        said["item"]["text"] = "All tasks are complete.\n---RALPH_STATUS---\nEXIT_SIGNAL: true\n"  # type: ignore[index]
        body = (
            "cat >/dev/null; echo x >>work.txt\n"
            "sed 's/\\[ \\] First/[x] First/' @fix_plan.md >plan.new; mv plan.new @fix_plan.md\n"
            "git add -A; git commit -qm Work\n"
            f"cat <<'END'\n{json.dumps({'type': 'turn.started'})}\n{json.dumps(said)}\n{usage}\nEND"
        )
        write_agent(project.kept / "bin", f"#!/bin/sh\n{body}", name="second")
        done = project.run_claude(
            f"{FAILS}fails authentication_failed 'Please run /login' 401", "3"
        )
        assert done.exit_code in {0, 1}
        started = told(done, "agentStarted")
        assert [event.agent for event in started][:2] == ["claude", "second"]
        assert {event.agent for event in started[1:]} == {"second"}
        first, second, *_ = told(done, "iterationEnded")
        assert (first.outcome, first.failure) == ("limited", "notLoggedIn")
        assert (second.usage.cost_usd, second.usage.estimated) == (1.5, True)
        assert "second takes over" in done.stdout
        assert "≈$1.50" in project.tell("show").stdout


def hearing(folder: Path, config: Config, told_of: list[AnnouncementDone]) -> AgentOutputReader:
    (folder / ".git").mkdir()
    workspace = Workspace(
        worktree=Worktree(root=folder, git_dir=folder / ".git", common_dir=folder / ".git"),
        state=StateFolder(folder=folder),
        run="20261122T000000Z-0000",
        files=RunFiles(folder=folder),
        config=config,
        agent=choose_agent(config),
        source=MarkdownSource(folder, config, "plan.md", {}),
        environment={},
        redactor=Redactor(secrets={}),
    )
    return AgentOutputReader(workspace, clock=SystemClock(), emit=told_of.append)


def launch(**fields: Any) -> LaunchAgent:
    context = PromptContext(
        iteration=2,
        max_iterations=None,
        plan_path="plan.md",
        decide_path="decide.txt",
        blocked_path="blocked.txt",
    )
    return LaunchAgent(start=2, iteration=2, attempt=1, context=context, **fields)


CODEX = {"agent": "mine", "agents": {"mine": {"argv": ["mine"], "dialect": "codex"}}}
TURN = (
    '{"type":"thread.started","thread_id":"t-1"}\n{"type":"turn.started"}\n'
    '{"type":"turn.completed","usage":{"input_tokens":%d,"output_tokens":%d}}\n'
)


def read(heard: AgentOutputReader) -> Any:
    baseline = Baseline(head=None, branch=None, dirty={}, fingerprint="")
    return heard.read(ReadIteration(start=2, iteration=2, attempt=1, baseline=baseline), RunState())


def test_of_a_thread_that_is_resumed_only_what_is_new_is_used(tmp_path: Path) -> None:
    config = Config.model_validate({**CODEX, "prices": {"*": {"input": 10, "output": 100}}})
    heard = hearing(tmp_path, config, [])
    before = Usage(input_tokens=3000, output_tokens=80)
    heard.begin(launch(session="t-1", session_usage=before))
    heard.take((TURN % (5000, 100)).encode())
    found = read(heard)
    assert (found.usage.input_tokens, found.usage.output_tokens) == (2000, 20)
    assert (found.usage.cost_usd, found.usage.estimated) == (0.022, True)
    assert found.session.usage == Usage(input_tokens=5000, output_tokens=100)
    heard.close()


def test_the_window_of_an_agent_without_counts_is_estimated_from_prompt_and_output(
    tmp_path: Path,
) -> None:
    told_of: list[AnnouncementDone] = []
    heard = hearing(tmp_path, Config.model_validate({**CODEX, "context_window": 100}), told_of)
    heard.begin(launch(), prompt_characters=160)
    assert not told_of
    heard.take(b"x" * 40)
    assert [(one.code, one.start) for one in told_of] == [("context-50", 2)]
    assert "about 50 %" in told_of[0].message
    heard.close()
