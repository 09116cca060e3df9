"""Session continuity: which session an agent continues, and what it cost there.

See docs/rules.md#sessions.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.loop.effects import LaunchAgent, ReadIteration
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.selection import choose_agent, fill_argv, is_session_id, resume_flags
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.iteration.agent_output import AgentOutput, AgentOutputReader
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.protocol.run.events import AgentStarted, IterationStarted
from ralph_ls.protocol.run.report import SessionSeen
from ralph_ls.protocol.run.state import CurrentIteration, RunState, Session
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from tests.engine.ralph_runner import Project, told

RESUMES = {".ralph/config.toml": "[session]\nresume = true\n"}
WORKS = "work; commit"
RUN = "20261122T000000Z-0000"
BASELINE = Baseline(head=None, branch=None, dirty={}, fingerprint="")


def config(**settings: object) -> Config:
    return Config.model_validate({"session": {"resume": True}, **settings})


class TestDescription:
    def test_the_id_is_passed_on_after_all_other_flags(self) -> None:
        agent = choose_agent(config(agent="claude", agents={"claude": {"model": "opus"}}))
        more = resume_flags(agent, "0b5c-1")
        assert more == ("--resume", "0b5c-1")
        assert fill_argv(agent, "Do it.", Path("prompt.md"), more) == (*agent.argv, *more)

    @pytest.mark.parametrize(
        "session",
        ["", "-", "--dangerous", "-c", "a b", "a/b", "a\n", "$(x)", "é", "x" * 129, None],
    )
    def test_what_looks_like_a_flag_or_is_no_id_is_never_passed_on(
        self, session: str | None
    ) -> None:
        assert resume_flags(choose_agent(config(agent="claude")), session) == ()
        assert session is None or not is_session_id(session)

    @pytest.mark.parametrize("session", ["a", "_-", "0B5c", "x" * 128])
    def test_what_agents_call_their_sessions_is_passed_on(self, session: str) -> None:
        assert is_session_id(session)

    @pytest.mark.parametrize(
        ("agent", "argv"),
        [
            ({"argv": ["box"], "prompt": "argument"}, ("box", "--resume", "s", "Do it.")),
            (
                {"argv": ["box", "{prompt}", "-v"], "prompt": "argument"},
                ("box", "Do it.", "-v", "--resume", "s"),
            ),
        ],
    )
    def test_a_prompt_on_the_command_line_keeps_its_place(
        self, agent: dict[str, object], argv: tuple[str, ...]
    ) -> None:
        described = choose_agent(config(agent="claude", agents={"claude": agent}))
        given = fill_argv(described, "Do it.", Path("prompt.md"), resume_flags(described, "s"))
        assert given == argv

    @pytest.mark.parametrize(
        "settings",
        [
            {"agent": "demo"},
            {"agent": "mine", "agents": {"mine": {"argv": ["mine"], "dialect": "claude"}}},
            {"agent": "claude", "agents": {"claude": {"dialect": "text"}}},
        ],
    )
    def test_an_agent_without_sessions_is_refused_at_the_start(
        self, settings: dict[str, object]
    ) -> None:
        with pytest.raises(
            ConfigError, match=r"session\.resume is set, but the agent '\w+' cannot"
        ):
            choose_agent(config(**settings))
        assert choose_agent(Config.model_validate(settings)).name == settings["agent"]


@pytest.mark.slow
class TestRun:
    def argv(self, project: Project, iteration: int) -> str:
        """The end of the command line, where the session is."""
        line = (project.kept / f"argv-{iteration}").read_text(encoding="utf-8")
        return line.partition("--verbose")[2].strip()

    def test_the_next_iteration_continues_until_the_task_changes(self, project: Project) -> None:
        project.plan("First task", "Second task", files=RESUMES)
        done = project.run_claude(
            f"""\
case $RALPH_START in
1) {WORKS}; says one 0.50 working;;
2) {WORKS}; mark x First; says one 0.75 done;;
*) {WORKS}; says two 0.25 on;;
esac
""",
            "4",
        )
        assert done.exit_code == 1
        assert [self.argv(project, number) for number in range(1, 5)] == [
            "",
            "--resume one",
            "",
            "--resume two",
        ]
        started = told(done, "agentStarted")
        assert [event.argv[-2:] == ("--resume", "one") for event in started[:3]] == [
            False,
            True,
            False,
        ]
        ended = told(done, "iterationEnded")
        assert [event.session.id for event in ended] == ["one", "one", "two", "two"]
        # The agent reports what the whole session cost.
        assert [event.session.cost_usd for event in ended] == [0.5, 0.75, 0.25, 0.25]
        assert [event.usage.cost_usd for event in ended] == [0.5, 0.25, 0.25, 0.0]

    def test_a_session_whose_id_looks_like_a_flag_is_none(self, project: Project) -> None:
        project.plan(files=RESUMES)
        done = project.run_claude(f"{WORKS}; says --dangerous 0.5 working", "2")
        assert [event.session for event in told(done, "iterationEnded")] == [None, None]
        assert [self.argv(project, number) for number in (1, 2)] == ["", ""]

    def test_without_the_setting_every_iteration_is_a_fresh_one(self, project: Project) -> None:
        project.run_claude(f"{WORKS}; says one 0.5 working", "2")
        assert [self.argv(project, number) for number in (1, 2)] == ["", ""]

    def test_an_agent_without_sessions_is_refused_before_the_run(self, project: Project) -> None:
        done = project.plan(files=RESUMES).agent("exit 9").run("1")
        assert (done.exit_code, done.events) == (78, ())
        assert (
            "session.resume is set, but the agent 'command' cannot continue sessions" in done.stderr
        )


RESULT = (
    '{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"%s",'
    '"total_cost_usd":%s,"usage":{"input_tokens":10,"output_tokens":1},'
    '"permission_denials":[{"tool_name":"Bash","tool_use_id":"t"}]}\n'
)


class TestCost:
    """The agent reports what its whole session cost; what an iteration cost is the difference."""

    def hearing(self, folder: Path) -> AgentOutputReader:
        (folder / ".git").mkdir()
        config = Config(agent="claude")
        workspace = Workspace(
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
        return AgentOutputReader(workspace, clock=SystemClock())

    def launch(self, attempt: int) -> LaunchAgent:
        context = PromptContext(
            iteration=2,
            max_iterations=None,
            plan_path="plan.md",
            decide_path="decide.txt",
            blocked_path="blocked.txt",
        )
        return LaunchAgent(
            start=2,
            iteration=2,
            attempt=attempt,
            context=context,
            session="s",
            session_cost_usd=0.5,
        )

    def read(
        self, hearing: AgentOutputReader, attempt: int, run: RunState | None = None
    ) -> AgentOutput:
        effect = ReadIteration(start=2, iteration=2, attempt=attempt, baseline=BASELINE)
        return hearing.read(effect, run or RunState())

    def test_a_second_attempt_in_the_session_costs_what_it_added(self, tmp_path: Path) -> None:
        hearing = self.hearing(tmp_path)
        for attempt, session_cost, cost in ((1, 0.75, 0.25), (2, 1.0, 0.5)):
            hearing.begin(self.launch(attempt))
            hearing.take((RESULT % ("s", session_cost)).encode())
            hearing.flush()
            heard = self.read(hearing, attempt)
            assert heard.session == SessionSeen(id="s", cost_usd=session_cost)
            assert heard.usage is not None
            assert (heard.usage.cost_usd, heard.usage.input_tokens) == (cost, 10 * attempt)
            assert heard.reading.denied_tools == ("Bash",) * attempt
        hearing.close()

    @pytest.mark.parametrize(("flags", "cost"), [(("--resume", "s"), 0.5), ((), 1.75)])
    def test_what_a_killed_engine_recorded_costs_the_same(
        self, tmp_path: Path, flags: tuple[str, ...], cost: float
    ) -> None:
        hearing = self.hearing(tmp_path)
        files = RunFiles(folder=tmp_path)
        files.output(2, 1, "out").write_text(RESULT % ("s", 0.75), encoding="utf-8")
        files.output(2, 2, "out").write_text(RESULT % ("s", 1.0), encoding="utf-8")
        now = datetime.now(UTC)
        started = IterationStarted(seq=1, at=now, run=RUN, iteration=2, baseline=BASELINE)
        agent = AgentStarted(
            seq=2,
            at=now,
            run=RUN,
            iteration=2,
            attempt=2,
            agent="claude",
            argv=("claude", *flags),
            pid=1,
            process_start_time=0.0,
            dialect=Dialect.CLAUDE,
        )
        run = RunState(
            current=CurrentIteration(started=started, agent=agent),
            session=Session(id="s", cost_usd=0.5, created_at=now, last_used_at=now),
        )
        heard = self.read(hearing, 2, run)
        assert heard.usage is not None
        assert heard.usage.cost_usd == cost
        assert heard.reading.denied_tools == ("Bash", "Bash")
        hearing.close()
