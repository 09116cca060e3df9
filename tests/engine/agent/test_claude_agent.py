"""The ``claude`` agent: how it is started, and how what it prints reaches the loop and people.

The program here is a script that prints what the real one was recorded to print; the real one runs
in ``tests/e2e``.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_ls.engine.agent.selection import choose_agent, flags_for
from ralph_ls.engine.iteration.agent_logs import MessageLog
from ralph_ls.protocol.config.agent import ToolsConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from tests.engine.project_builder import Completed, git, write_agent
from tests.engine.ralph_runner import Project, told, warnings

RECORDINGS = Path(__file__).resolve().parents[2] / "data" / "claude"
FREELY = ("claude", "-p", "--dangerously-skip-permissions")
STREAM = ("--output-format", "stream-json", "--verbose")


def config(**settings: object) -> Config:
    return Config.model_validate({"agent": "claude", **settings})


class TestDescription:
    def test_it_works_without_asking_and_prints_records(self) -> None:
        agent = choose_agent(config())
        assert agent.argv == (*FREELY, *STREAM)
        assert (agent.name, agent.prompt.value, agent.dialect) == ("claude", "stdin", "claude")

    @pytest.mark.parametrize(
        ("settings", "argv"),
        [
            ({"agents": {"claude": {"model": "opus"}}}, (*FREELY, *STREAM, "--model", "opus")),
            (
                {"tools": {"deny": ["WebFetch", "Bash(rm *)"]}},
                (*FREELY, *STREAM, "--disallowedTools", "WebFetch", "Bash(rm *)"),
            ),
            (
                {"tools": {"allow": ["Edit", "Bash(git *)"]}},
                (
                    *("claude", "-p", *STREAM, "--permission-mode", "dontAsk"),
                    *("--allowedTools", "Edit", "Bash(git *)"),
                ),
            ),
            (
                {"agents": {"claude": {"argv": ["box", "claude", "-p"], "model": "m"}}},
                ("box", "claude", "-p", "--model", "m"),
            ),
        ],
    )
    def test_settings_become_flags(
        self, settings: dict[str, object], argv: tuple[str, ...]
    ) -> None:
        agent = choose_agent(config(**settings))
        assert (*agent.argv, *flags_for(agent, session=None, model=None)) == argv

    @pytest.mark.parametrize(("user", "env"), [(0, {"IS_SANDBOX": "1"}), (1000, {})])
    def test_only_root_says_that_it_is_in_a_sandbox(
        self, user: int, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: user)
        assert choose_agent(config()).env == env
        own = {"claude": {"env": {"IS_SANDBOX": "0", "A": "b"}}}
        assert choose_agent(config(agents=own)).env == {"IS_SANDBOX": "0", "A": "b"}

    def test_its_dialect_can_be_another(self) -> None:
        table = {"claude": {"argv": ["claude", "-p"], "dialect": "text"}}
        assert choose_agent(config(agents=table)).dialect is Dialect.TEXT
        mine = {"mine": {"argv": ["./mine"], "dialect": "claude"}}
        assert choose_agent(config(agent="mine", agents=mine)).dialect is Dialect.CLAUDE

    @pytest.mark.parametrize("tools", [{"allow": []}, {"deny": ["Bash"]}])
    @pytest.mark.parametrize("agent", ["demo", "mine"])
    def test_an_agent_that_knows_no_tools_is_not_given_a_list(
        self, agent: str, tools: dict[str, list[str]]
    ) -> None:
        given = config(agent=agent, agents={"mine": {"argv": ["./mine"]}}, tools=tools)
        with pytest.raises(ConfigError, match=f"the agent '{agent}' does not support"):
            choose_agent(given)
        assert choose_agent(given.model_copy(update={"tools": ToolsConfig()})).name == agent

    def test_a_command_of_ones_own_takes_no_model(self) -> None:
        table = {"mine": {"argv": ["./mine"], "model": "m"}}
        with pytest.raises(ConfigError, match=r"agents\.mine\.model is set"):
            choose_agent(config(agent="mine", agents=table))


def claude_line(role: str, content: Mapping[str, object]) -> bytes:
    message = {"role": role, "content": [content]}
    return json.dumps({"type": role, "message": message}).encode() + b"\n"


class TestMessageLog:
    def test_each_process_is_decoded_by_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "messages.jsonl"
        log = MessageLog(path, lambda: 0.0)
        log.begin(1)
        log.write(b"plain\nhal")
        log.begin(2, Dialect.CLAUDE)
        recording = (RECORDINGS / "limit.jsonl").read_bytes()
        assert len(log.write(recording)) == 3
        assert log.flush() == []
        assert log.final().failed
        log.close()
        lines = path.read_bytes().splitlines()
        assert lines[:2] == [
            b'{"start":1,"offset":0,"kind":"text","text":"plain\\n"}',
            b'{"start":1,"offset":6,"kind":"text","text":"hal"}',
        ]
        assert len(lines) == 5
        assert log.problem is None

    def test_the_end_of_a_tool_call_says_how_long_it_took(self, tmp_path: Path) -> None:
        now = iter([10.0, 12.5])
        path = tmp_path / "messages.jsonl"
        log = MessageLog(path, lambda: next(now))
        log.begin(1, Dialect.CLAUDE)
        use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
        log.write(claude_line("assistant", use))
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
        unknown = {"type": "tool_result", "tool_use_id": "t0", "content": "ok"}
        log.write(claude_line("user", result) + claude_line("user", unknown))
        log.close()
        told = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert [one.get("seconds") for one in told if one.get("call") == "t1"] == [None, 2.5]
        assert not any("seconds" in one for one in told if one.get("call") != "t1")

    def test_a_file_that_cannot_be_written_is_reported_once(self, tmp_path: Path) -> None:
        log = MessageLog(tmp_path / "nowhere" / "messages.jsonl", lambda: 0.0)
        for _ in range(2):
            assert len(log.write(b"a\n")) == 1
        assert log.final().text == "a\na\n"
        assert log.problem == f"{tmp_path}/nowhere/messages.jsonl: No such file or directory"
        log.close()


@pytest.mark.slow
class TestRun:
    def play(self, project: Project, *bodies: str) -> str:
        """A ``claude`` on PATH that plays one body after the other; the PATH."""
        cases = "\n".join(f"{number}) {body};;" for number, body in enumerate(bodies, start=1))
        counter = shlex.quote(str(project.kept / "n"))
        data = shlex.quote(str(RECORDINGS))
        write_agent(
            project.kept / "bin",
            f"cat >/dev/null; echo x >>{counter}; data={data}\n"
            f"case $(wc -l <{counter} | tr -d ' ') in\n{cases}\nesac",
            name="claude",
        )
        return os.pathsep.join([str(project.kept / "bin"), os.environ["PATH"]])

    def run(self, project: Project, path: str, *arguments: str) -> Completed:
        return project.ralph(project.repository, "run", *arguments, env={"PATH": path})

    def test_a_stream_without_an_end_is_a_failure_also_with_exit_code_0(
        self, project: Project
    ) -> None:
        project.plan()
        path = self.play(
            project,
            'head -n 3 "$data/work.jsonl"',
            'echo x >work.txt; cat "$data/work.jsonl"; echo "error: odd" >&2',
        )
        done = self.run(project, path, "1")
        assert [event.exit_code for event in told(done, "agentExited")] == [0, 0]
        codes = [code for code in warnings(done) if code != "excluded"]
        assert codes == ["main-branch", "agent-failed", "left-uncommitted"]
        (failed,) = [event for event in told(done, "warned") if event.code == "agent-failed"]
        assert "(the output ended without a result)" in failed.message
        (ended,) = told(done, "iterationEnded")
        # The first attempt's counts are those of the answer that it began.
        assert (ended.usage.input_tokens, ended.usage.output_tokens) == (1200 + 7200, 204)
        assert (ended.usage.turns, ended.permission_denials) == (1 + 6, 0)
        assert ended.errors == ("error: odd",)
        problems = told(done, "ralphStatusUpdate")[0].report.problems
        assert "report-not-final" not in [problem.code for problem in problems]
        assert git(project.repository, "status", "--porcelain") == "?? work.txt\n"

    def test_a_line_that_is_cut_at_the_end_is_shown_to_nobody(self, project: Project) -> None:
        project.plan()
        path = self.play(
            project, 'echo x >work.txt; echo Careful.; head -c 5000 "$data/work.jsonl"'
        )
        done = self.run(project, path, "1")
        (log,) = (project.repository / ".ralph" / "logs").glob("*_001.log")
        for shown in (done.stdout, log.read_text(encoding="utf-8")):
            assert "Careful.\nI begin.\n" in shown
            assert '{"' not in shown
        (ended,) = told(done, "iterationEnded")
        assert ended.permission_denials == 0
