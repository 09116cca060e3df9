"""``ralph attach``: an iteration's session in the agent's own program, with the loop paused."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_ls.engine.agent import interactive
from ralph_ls.engine.agent.interactive import interactive_agent
from ralph_ls.protocol.config.agent_catalog import CATALOG
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.store.run.iterations import IterationSession
from tests.engine.project_builder import (
    end_run,
    events_of,
    git,
    start_ralph,
    wait_for,
    write_agent,
)
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import TICK
from tests.unit.cli.terminal import CTRL_C, Terminal, in_terminal

RECORD = (
    """{"type":"%s","subtype":"%s","session_id":"session-%d","is_error":false,"result":"%s"}\\n"""
)

CLAUDE = f"""if [ "$1" = --resume ]; then
  trap '' INT TSTP
  echo "the program opened $2 in $(basename "$PWD")"
  [ -z "${{RALPH_LOOP:-}}" ] || echo "it is marked"
  while read -r words; do eval "$words"; done
  exit 0
fi
printf '{RECORD}' system init "$RALPH_START" ''
[ ! -p "$GATE" ] || read -r _ <"$GATE"
{TICK}
printf '{RECORD}' result success "$RALPH_START" 'I did it.'
"""
"""A program like claude: headless it works, and interactively it does what is typed."""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program is on PATH; a pipe at this place is a gate at which its iterations wait."""
    write_agent(tmp_path / "bin", CLAUDE, name="claude")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    return tmp_path / "gate"


@pytest.fixture
def ended(ralph: Ralph, repository: Path, gate: Path) -> Path:
    """A run of one iteration, which has reached its limit."""
    assert not gate.exists()
    assert ralph(repository, "run", "1", "--agent", "claude").code == 1
    return repository


@contextmanager
def attached(repository: Path, *arguments: str) -> Iterator[Terminal]:
    with in_terminal(repository, "attach", *arguments) as seen:
        seen.wait_for("the program opened session-1 in tree")
        yield seen


def is_cooked(seen: Terminal) -> bool:
    flags = termios.tcgetattr(seen.master)[3]
    return bool(flags & termios.ECHO) and bool(flags & termios.ICANON)


def program_of(seen: Terminal) -> psutil.Process:
    return psutil.Process(seen.process.pid).children()[0]


@pytest.mark.slow
class TestOfAnEndedRun:
    def test_what_is_done_by_hand_is_reported_and_the_run_stays_as_it_is(self, ended: Path) -> None:
        with attached(ended) as seen:
            seen.type(f"echo 1 >by-hand{CTRL_C}\n")
            seen.type("echo 1 >'mine 漢'; echo 2 >work; git commit -qam 'By hand'; exit\n")
            assert seen.wait() == 0
        assert "The session of iteration 1 (First task): claude --resume session-1\n" in seen.text
        made = git(ended, "rev-parse", "--short=7", "HEAD").strip()
        assert f"By hand: 1 commit, 2 files changed\n  {made} By hand\n" in seen.text
        assert (
            "Not committed; commit it to keep it out of the loop's commits:\n  mine 漢\n"
            in seen.text
        )
        # It would end again at once.
        assert "Continue the run?" not in seen.text
        assert (
            "The run is not running. Next: raise the limit (1 of 1 iterations): "
            "ralph run --resume --max-iterations 2" in " ".join(seen.text.split())
        )
        assert "it is marked" not in seen.text

    def test_a_stuck_run_is_offered_to_continue(
        self, ralph: Ralph, repository: Path, gate: Path
    ) -> None:
        write_agent(gate.parent / "bin", CLAUDE.replace(TICK, ""), name="claude")
        assert ralph(repository, "run", "5", "--agent", "claude", "--max-stuck", "1").code == 4
        with attached(repository) as seen:
            seen.type("exit\n")
            seen.wait_for("Continue the run? [y/N]")
            seen.type("\n")
            assert seen.wait() == 0
        assert "The run is not running. Continue: ralph run --resume" in seen.text

    def test_the_terminal_is_restored_after_a_crash_of_the_program(self, ended: Path) -> None:
        with attached(ended, "1", "--no-continue") as seen:
            seen.type("stty raw -echo; echo re''ady\n")
            seen.wait_for("ready")
            assert not is_cooked(seen)
            program_of(seen).kill()
            assert seen.wait() == 0
            assert is_cooked(seen)
        assert "ended by a signal\nNothing was changed by hand" in seen.text

    def test_term_ends_the_program_too(self, ended: Path) -> None:
        with attached(ended, "--no-continue") as seen:
            program = program_of(seen)
            os.kill(seen.process.pid, signal.SIGTERM)
            seen.wait()
            assert not program.is_running()

    def test_what_cannot_be_opened_is_refused(self, ralph: Ralph, ended: Path) -> None:
        refused = ralph(ended, "attach")
        assert refused.code == 64
        assert "this is not a terminal, which the agent's program needs" in refused.err

    def test_another_iteration_is_refused(self, ended: Path) -> None:
        with in_terminal(ended, "attach", "7") as seen:
            assert seen.wait() == 64
        assert "has no iteration 7; its last one is 1; see: ralph show" in seen.text


@pytest.mark.slow
def test_a_live_run_pauses_first_and_continues_afterwards(repository: Path, gate: Path) -> None:
    os.mkfifo(gate)
    with start_ralph(repository, "run", "2", "--agent", "claude"):
        wait_for(repository, "agentStarted")
        with in_terminal(repository, "attach") as seen:
            seen.wait_for("The run pauses after iteration 1; Ctrl-C lets it continue")
            seen.type(CTRL_C)
            seen.wait_for("The run continues")
            assert seen.wait() == 130
        with in_terminal(repository, "attach") as seen:
            seen.wait_for("The run pauses after iteration 1")
            gate.write_text("\n", encoding="utf-8")
            seen.wait_for("the program opened session-1 in tree")
            gate.unlink()
            seen.type("echo by hand >mine; exit\n")
            seen.wait_for("Continue the run? [Y/n]")
            seen.type("\n")
            seen.wait_for("the run continues")
            assert seen.wait() == 0
        wait_for(repository, "runEnded")
    end_run(repository)
    starts = [one for one in events_of(repository) if isinstance(one, IterationStarted)]
    # The second iteration finds it in the tree as it begins, so it is none of its changes.
    assert ["mine" in one.baseline.dirty for one in starts] == [False, True]


def worked(**fields: object) -> IterationSession:
    given = {"iteration": 3, "agent": "claude", "session": "a-1", "has_ended": True, **fields}
    return IterationSession(**given)  # type: ignore[arg-type]


class TestCommand:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("claude", ("--resume", "a-1", "--model", "m")),
            ("claude-acp", ("--resume", "a-1", "--model", "m")),
            ("codex", ("resume", "a-1", "-m", "m")),
            ("gemini", ("--resume", "a-1", "-m", "m")),
            ("opencode", ("-s", "a-1", "-m", "m")),
            ("qwen", ("--resume", "a-1", "-m", "m")),
            ("copilot", ("--resume=a-1", "--model", "m")),
        ],
    )
    def test_each_agent_is_opened_in_its_own_way(
        self, name: str, words: tuple[str, ...], tmp_path: Path
    ) -> None:
        program = Path(write_agent(tmp_path, "", name=name.removesuffix("-acp")))
        agent = interactive_agent(
            worked(agent=name, model="m"), Config(), tmp_path, {"PATH": str(tmp_path)}
        )
        assert agent.argv == (str(program), *words)

    def test_an_approved_path_and_variables_are_those_of_the_settings(self, tmp_path: Path) -> None:
        program = write_agent(tmp_path, "", name="claude")
        table = {"argv": [program, "-p"], "env": {"REGION": "eu"}, "model": "opus"}
        config = Config.model_validate({"agents": {"claude": table}})
        caller = {"PATH": "", "TERM": "xterm", "RALPH_LOOP": "no"}
        agent = interactive_agent(worked(program=program), config, tmp_path, caller)
        assert agent.argv == (program, "--resume", "a-1", "--model", "opus")
        assert agent.environment["REGION"] == "eu"
        assert not [name for name in agent.environment if name.startswith("RALPH_")]

    @pytest.mark.parametrize(
        ("fields", "settings", "why"),
        [
            ({"agent": None}, {}, "iteration 3 started no agent; see: ralph show 3"),
            ({"agent": "cline"}, {}, "worked on by 'cline', whose sessions cannot be opened again"),
            ({"agent": "mine"}, {}, "it works with claude, codex, gemini, opencode, qwen, copilot"),
            ({"session": None}, {}, "iteration 3 has no session: claude named none"),
            ({"session": "--evil"}, {}, "iteration 3 has no session"),
            ({}, {"sandbox": "docker"}, "ran in a sandbox, which keeps its session to itself"),
            ({"agent": "gemini"}, {"sandbox": "bwrap"}, "ran in a sandbox"),
        ],
    )
    def test_what_cannot_be_opened_is_refused(
        self, fields: Mapping[str, object], settings: Mapping[str, object], why: str, tmp_path: Path
    ) -> None:
        config = Config.model_validate(settings)
        with pytest.raises(UsageError) as refused:
            interactive_agent(worked(**fields), config, tmp_path, {"PATH": str(tmp_path)})
        assert why in str(refused.value)
        assert "ralph" in str(refused.value)

    def test_every_agent_with_sessions_is_tried_here(self) -> None:
        able = {name for name, one in CATALOG.items() if one.resume}
        assert able == {"claude", "codex", "gemini", "opencode", "qwen", "copilot"}
        assert interactive.require_attachable(worked(), Config()).name == "claude"
