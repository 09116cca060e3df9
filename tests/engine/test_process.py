from __future__ import annotations

import asyncio
import math
import os
import secrets
import signal
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from ralph_ls.core.redact import Redactor
from ralph_ls.engine import process
from ralph_ls.engine.process import Launch, ProcessExit, RunningProcess, start
from ralph_ls.engine.process_tree import find_members, is_alive, wait_until_gone
from ralph_ls.protocol.errors import AgentUnavailable, StateUnusable

# One of its own for each process of tests: it ends whatever carries it.
MARKER = f"20260131T120000Z-{secrets.token_hex(8)}/7"
SECRET = "hunter2-hunter2"

SLEEP = "signal.pause()"
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say('ready')
while True: signal.pause()
"""
# A grandchild in a session of its own, with or without our pipes, that tells its pid in a file.
DAEMON = """
import subprocess
subprocess.Popen(
    [sys.executable, '-I', '-S', '-c', {code!r}], env={env}, stdin={stdin},
    stdout={pipe}, stderr={pipe}, start_new_session=True, pass_fds=[],
)
while not os.path.exists('daemon.pid'): os.sched_yield()
say('left')
"""
TELL_PID = """
import os, signal
open('pid.new', 'w').write(str(os.getpid()))
os.rename('pid.new', 'daemon.pid')
signal.pause()
"""


@dataclass
class Heard:
    """What was passed on while the agent ran."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def on_output(self, stream: str, data: bytes) -> None:
        assert data
        getattr(self, stream).extend(data)
        self.arrived.set()

    async def until(self, text: bytes) -> None:
        while text not in self.stdout:
            self.arrived.clear()
            await self.arrived.wait()


@dataclass
class Agent:
    """Python code as an agent, in a folder of its own."""

    folder: Path
    heard: Heard = field(default_factory=Heard)

    async def start(self, code: str, **changes: object) -> RunningProcess:
        prelude = (
            "import os, signal, sys\n"
            "def say(text): os.write(1, text.encode() + b'\\n')\n"
            "def complain(text): os.write(2, text.encode() + b'\\n')\n"
        )
        argv = (sys.executable, "-I", "-S", "-c", prelude + code)
        return await start(
            launch_of(self.folder, argv, **changes),
            redactor=Redactor({"A_PASSWORD": SECRET}),
            on_output=self.heard.on_output,
        )

    async def run(self, code: str, **changes: object) -> ProcessExit:
        return await (await self.start(code, **changes)).wait()

    @property
    def stdout_file(self) -> bytes:
        return (self.folder / "iteration-001.out").read_bytes()

    @property
    def stderr_file(self) -> bytes:
        return (self.folder / "iteration-001.err").read_bytes()

    @property
    def daemon(self) -> int:
        return int((self.folder / "daemon.pid").read_text())


def launch_of(folder: Path, argv: tuple[str, ...], **changes: object) -> Launch:
    values: dict[str, object] = {
        "argv": argv,
        "cwd": folder,
        "environment": {"PATH": os.environ["PATH"], "RALPH_ITERATION_ID": MARKER},
        "stdin": None,
        "stdout_path": folder / "iteration-001.out",
        "stderr_path": folder / "iteration-001.err",
        "marker": MARKER,
        "timeout_seconds": None,
        "idle_timeout_seconds": None,
        "grace_seconds": 60.0,
        **changes,
    }
    return Launch(**values)  # type: ignore[arg-type]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_output_and_exit_of_an_agent_are_told(agent: Agent) -> None:
    exit_ = await agent.run("say('hello'); complain('oh'); sys.exit(3)")
    assert (exit_.exit_code, exit_.signal) == (3, None)
    assert agent.heard.stdout == b"hello\n"
    assert agent.heard.stderr == b"oh\n"
    assert (agent.stdout_file, agent.stderr_file) == (b"hello\n", b"oh\n")
    assert (exit_.stdout_bytes, exit_.stderr_bytes) == (6, 3)
    flags = (exit_.timed_out, exit_.idle, exit_.stopped, exit_.killed)
    assert not any(flags)
    assert (exit_.leftovers, exit_.write_error) == (0, None)
    assert 0 < exit_.seconds < 60


async def test_the_log_files_are_made_afresh_for_the_owner_alone(agent: Agent) -> None:
    (agent.folder / "iteration-001.err").write_text("from before")
    await agent.run("say('hello')")
    mode = (agent.folder / "iteration-001.out").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert agent.stderr_file == b""


async def test_the_agent_runs_in_its_folder_session_and_environment(agent: Agent) -> None:
    running = await agent.start(
        "say(f'{os.getcwd()} {os.getsid(0)} {sorted(os.environ)}'); signal.pause()",
        environment={"RALPH_ITERATION_ID": MARKER},
    )
    await agent.heard.until(b"]")
    assert is_alive(running.pid, running.start_time)
    assert running.group == running.pid
    folder, session, names = agent.heard.stdout.decode().split(" ", 2)
    assert (folder, int(session)) == (str(agent.folder), running.pid)
    assert "RALPH_ITERATION_ID" in names
    assert "PATH" not in names
    running.stop()
    await running.wait()


async def test_without_a_prompt_there_is_nothing_to_read(agent: Agent) -> None:
    await agent.run("say(repr(sys.stdin.read()))")
    assert agent.heard.stdout == b"''\n"


@pytest.mark.parametrize("prompt", [b"", b"do it", bytes(range(256)) * 4096])
async def test_the_prompt_is_read_to_its_end(agent: Agent, prompt: bytes) -> None:
    await agent.run(
        "os.write(2, b'x'); sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=prompt
    )
    assert agent.heard.stdout == prompt


async def test_the_prompt_can_be_opened_as_a_file(agent: Agent) -> None:
    await agent.run("say(open('/dev/stdin').read())", stdin=b"do it")
    assert agent.heard.stdout == b"do it\n"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("say('bye')", id="never-reads"),
        pytest.param("os.close(0); say('bye')", id="closes-stdin"),
        pytest.param("os.read(0, 10); os.close(0); say('bye')", id="reads-a-little"),
    ],
)
async def test_a_prompt_that_is_not_read_does_no_harm(agent: Agent, code: str) -> None:
    exit_ = await agent.run(code, stdin=b"x" * 10_000_000)
    assert exit_.exit_code == 0
    assert agent.heard.stdout == b"bye\n"


async def test_prompt_and_output_flow_at_the_same_time(agent: Agent) -> None:
    # More than any pipe holds, echoed piece by piece: who writes first and reads later hangs.
    prompt = b"0123456789abcde\n" * 200_000
    await agent.run("while data := os.read(0, 4096): os.write(1, data)", stdin=prompt)
    assert agent.heard.stdout == prompt


async def test_a_signal_that_ends_the_agent_is_told(agent: Agent) -> None:
    exit_ = await agent.run("say('half a l'); os.kill(os.getpid(), signal.SIGSEGV)")
    assert (exit_.exit_code, exit_.signal) == (None, signal.SIGSEGV)


async def test_a_line_cut_by_death_is_kept_as_it_is(agent: Agent) -> None:
    await agent.run("os.write(1, b'one\\nhalf a l'); os.kill(os.getpid(), signal.SIGKILL)")
    assert agent.heard.stdout == agent.stdout_file == b"one\nhalf a l"


async def test_a_character_split_over_writes_arrives_whole(agent: Agent) -> None:
    running = await agent.start(
        "for byte in '日本'.encode(): os.write(1, bytes([byte])); os.read(0, 1)", stdin=b"......"
    )
    await running.wait()
    assert agent.heard.stdout.decode() == agent.stdout_file.decode() == "日本"


async def test_a_secret_split_over_writes_is_written_nowhere(agent: Agent) -> None:
    code = f"os.write(1, b'a {SECRET[:7]}'); os.write(2, b'x'); os.write(1, b'{SECRET[7:]} b')"
    exit_ = await agent.run(code)
    assert agent.heard.stdout == agent.stdout_file == b"a [redacted A_PASSWORD] b"
    assert exit_.stdout_bytes == len(agent.stdout_file)


async def test_what_may_begin_a_secret_is_written_at_the_end(agent: Agent) -> None:
    await agent.run(f"os.write(1, b'{SECRET[:7]}')")
    assert agent.heard.stdout == agent.stdout_file == SECRET[:7].encode()


@pytest.mark.slow
async def test_a_flood_arrives_whole(agent: Agent) -> None:
    megabytes = 50
    code = f"data = b'0123456789abcde\\n' * 65536\nfor _ in range({megabytes}): os.write(1, data)"
    exit_ = await agent.run(code.replace("os.write(1, data)", "sys.stdout.buffer.write(data)"))
    assert exit_.stdout_bytes == megabytes << 20
    assert len(agent.heard.stdout) == megabytes << 20
    assert (agent.folder / "iteration-001.out").stat().st_size == megabytes << 20


async def test_stop_ends_the_agent_and_all_below_it(agent: Agent) -> None:
    running = await agent.start(
        "child = os.fork()\nif child == 0: signal.pause()\nsay(f'child {child}.'); signal.pause()"
    )
    await agent.heard.until(b".")
    running.stop()
    running.stop()
    exit_ = await running.wait()
    assert exit_.stopped
    assert (exit_.signal, exit_.killed) == (signal.SIGTERM, False)
    assert not lives(int(agent.heard.stdout.split()[1].rstrip(b".")))


async def test_an_agent_that_ignores_the_request_is_killed(agent: Agent) -> None:
    running = await agent.start(STUBBORN, grace_seconds=0.05)
    await agent.heard.until(b"ready")
    running.stop()
    exit_ = await running.wait()
    assert (exit_.signal, exit_.killed, exit_.stopped) == (signal.SIGKILL, True, True)


async def test_an_agent_may_say_a_last_word_when_stopped(agent: Agent) -> None:
    running = await agent.start(
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); say('ready')\n"
        "signal.sigwait([signal.SIGTERM]); say('bye'); os._exit(7)"
    )
    await agent.heard.until(b"ready")
    running.stop()
    exit_ = await running.wait()
    assert (exit_.exit_code, exit_.stopped, agent.stdout_file) == (7, True, b"ready\nbye\n")


async def test_stop_after_the_end_changes_nothing(agent: Agent) -> None:
    running = await agent.start("pass")
    exit_ = await running.wait()
    running.stop()
    assert not exit_.stopped
    assert await running.wait() == exit_


async def test_a_time_limit_ends_the_agent(agent: Agent) -> None:
    exit_ = await agent.run(f"say('on it'); {SLEEP}", timeout_seconds=0.1)
    assert (exit_.timed_out, exit_.idle, exit_.stopped) == (True, False, False)
    assert exit_.signal == signal.SIGTERM
    assert exit_.seconds >= 0.1


async def test_silence_ends_the_agent(agent: Agent) -> None:
    exit_ = await agent.run(SLEEP, idle_timeout_seconds=0.1)
    assert (exit_.timed_out, exit_.idle, exit_.stopped) == (False, True, False)


async def test_an_agent_that_goes_on_talking_is_not_idle(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It answers each byte with one. The loop's clock jumps; nobody really waits, nor stands still.
    monkeypatch.setattr(process, "HELD_UP", math.inf)
    loop = asyncio.get_running_loop()
    real_time, skipped = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real_time() + skipped[0])
    running = await agent.start(
        "os.mkfifo('in'); say('ready'); pipe = os.open('in', os.O_RDONLY)\n"
        "while os.read(pipe, 1): os.write(1, b'.')",
        idle_timeout_seconds=1000,
    )
    await agent.heard.until(b"ready")
    pipe = os.open(agent.folder / "in", os.O_WRONLY)
    for n_answers in range(1, 8):
        skipped[0] += 600
        os.write(pipe, b"x")
        await agent.heard.until(b"." * n_answers)
    assert not running._reasons
    skipped[0] += 1001
    exit_ = await running.wait()
    os.close(pipe)
    assert (exit_.idle, exit_.timed_out) == (True, False)


@pytest.mark.parametrize("limit", ["timeout_seconds", "idle_timeout_seconds"])
async def test_time_in_which_the_engine_stood_still_is_not_the_agents(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    # As after Ctrl-Z and fg, or in a container that was paused: every timer is late by an hour.
    loop = asyncio.get_running_loop()
    real_time, skipped = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real_time() + skipped[0])
    code = "os.mkfifo('in'); say('ready'); open('in').read(); say('woken'); signal.pause()"
    running = await agent.start(code, **{limit: 1000})
    await agent.heard.until(b"ready")
    timer = limit.removesuffix("_seconds").removesuffix("_timeout")
    before = running._timers[timer]
    skipped[0] += 3600
    for _ in range(5):
        await asyncio.sleep(0)
    assert running._timers[timer] is not before
    (agent.folder / "in").write_text("go")
    await agent.heard.until(b"woken")
    assert not running._reasons
    for _ in range(2 * 3600):
        # Now time goes on as it should.
        skipped[0] += 0.0 if running._reasons else 1.0
        await asyncio.sleep(0)
    exit_ = await running.wait()
    assert (exit_.idle, exit_.timed_out) == (timer == "idle", timer == "timeout")


@pytest.mark.parametrize("environment", ["None", "{}"], ids=["marked", "unmarked"])
async def test_a_child_left_in_the_group_is_ended(agent: Agent, environment: str) -> None:
    code = (
        "import subprocess\nchild = subprocess.Popen(['sleep', '1000'], "
        f"stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={environment})\n"
        "say(str(child.pid)); os._exit(0)"
    )
    exit_ = await agent.run(code)
    assert (exit_.exit_code, exit_.leftovers, exit_.killed) == (0, 1, False)
    assert not lives(int(agent.heard.stdout))


def daemon(
    *,
    pipe: str,
    environment: Mapping[str, str] | None = None,
    stdin: str = "subprocess.DEVNULL",
    code: str = TELL_PID,
) -> str:
    env = None if environment is None else dict(environment)
    return DAEMON.format(code=code, pipe=pipe, env=env, stdin=stdin)


async def test_a_daemon_outside_the_group_is_found_and_ended(agent: Agent) -> None:
    exit_ = await agent.run(daemon(pipe="subprocess.DEVNULL"))
    assert (exit_.exit_code, exit_.leftovers) == (0, 1)
    assert not lives(agent.daemon)


async def test_a_daemon_that_holds_the_pipes_is_ended_without_a_wait(agent: Agent) -> None:
    exit_ = await agent.run(daemon(pipe="None"))
    assert (exit_.exit_code, exit_.leftovers) == (0, 1)
    assert agent.stdout_file == b"left\n"
    assert not lives(agent.daemon)


async def test_a_stranger_that_holds_the_pipes_is_not_waited_for(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither in the group nor marked: nothing tells that it is the agent's.
    monkeypatch.setattr("ralph_ls.engine.process.DRAIN_SECONDS", 0.05)
    before = open_files()
    exit_ = await agent.run(
        daemon(pipe="None", stdin="None", environment={}), stdin=b"x" * 1_000_000
    )
    await asyncio.sleep(0)
    try:
        assert open_files() == before
        assert (exit_.exit_code, exit_.leftovers) == (0, 0)
        assert agent.stdout_file == b"left\n"
        assert lives(agent.daemon)
    finally:
        os.kill(agent.daemon, signal.SIGKILL)


async def test_a_stubborn_leftover_is_killed(agent: Agent) -> None:
    code = TELL_PID.replace("import os, signal\n", "import os, signal\nsignal.signal(15, 1)\n")
    exit_ = await agent.run(daemon(pipe="None", code=code), grace_seconds=0.05)
    assert (exit_.leftovers, exit_.killed) == (1, True)
    assert not lives(agent.daemon)


async def test_a_full_disk_is_told_and_the_agent_goes_on(agent: Agent) -> None:
    exit_ = await agent.run(
        "say('one'); os.read(0, 1); say('two')", stdin=b".", stdout_path=Path("/dev/full")
    )
    assert exit_.exit_code == 0
    assert agent.heard.stdout == b"one\ntwo\n"
    assert exit_.write_error == "/dev/full cannot be written: No space left on device"


async def test_to_give_up_waiting_does_not_end_the_agent(agent: Agent) -> None:
    running = await agent.start(f"say('ready'); {SLEEP}")
    await agent.heard.until(b"ready")
    waiting = asyncio.create_task(running.wait())
    await asyncio.wait([waiting], timeout=0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert lives(running.pid)
    running.stop()
    assert (await running.wait()).stopped


async def test_many_agents_run_side_by_side(tmp_path: Path) -> None:
    agents = [Agent(tmp_path / str(number)) for number in range(8)]
    for agent in agents:
        agent.folder.mkdir()
    exits = await asyncio.gather(
        *(
            agent.run(
                f"say('{number}'); sys.exit({number})",
                marker=f"{MARKER}{number}",
                environment={"RALPH_ITERATION_ID": f"{MARKER}{number}"},
            )
            for number, agent in enumerate(agents)
        )
    )
    assert [exit_.exit_code for exit_ in exits] == list(range(8))
    assert [agent.stdout_file for agent in agents] == [b"%d\n" % n for n in range(8)]


@pytest.mark.slow
async def test_nothing_stays_open_after_an_agent(agent: Agent) -> None:
    before = open_files()
    for prompt in (None, b"x", b"x" * 1_000_000):
        await agent.run("pass", stdin=prompt)
        await agent.run(daemon(pipe="None"), stdin=prompt)
        (agent.folder / "daemon.pid").unlink()
    await asyncio.sleep(0)
    assert open_files() == before
    assert find_members(group=None, marker=MARKER) == []


def put_file(folder: Path, name: str, content: bytes, *, mode: int = 0o755) -> str:
    (folder / name).write_bytes(content)
    (folder / name).chmod(mode)
    return str(folder / name)


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        pytest.param(b"#!/bin/sh\n", 0o644, "may not be executed; run: chmod \\+x", id="mode"),
        pytest.param(b"\x00\x01 no program", 0o755, "is no program for this system", id="format"),
        pytest.param(b"#!/no/such/shell\n", 0o755, "the interpreter that its", id="interpreter"),
    ],
)
async def test_a_file_that_is_no_program_is_refused(
    tmp_path: Path, content: bytes, mode: int, words: str
) -> None:
    program = put_file(tmp_path, "agent", content, mode=mode)
    await refused(launch_of(tmp_path, (program,)), words)


async def test_a_missing_program_is_refused(tmp_path: Path) -> None:
    await refused(launch_of(tmp_path, (str(tmp_path / "none"), "x")), "none does not exist")
    put_file(tmp_path, "file", b"")
    await refused(launch_of(tmp_path, (str(tmp_path / "file" / "x"),)), "does not exist")


async def test_a_missing_folder_is_told_as_such(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, (sys.executable,), cwd=tmp_path / "gone")
    await refused(launch, "gone: there is no such folder")


async def test_a_prompt_too_long_for_an_argument_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, (sys.executable, "x" * 4_000_000), stdin=b"x")
    await refused(launch, 'too long; give the prompt with prompt = "stdin" or "file"')


async def test_what_no_program_can_be_given_is_refused(tmp_path: Path) -> None:
    await refused(launch_of(tmp_path, (sys.executable, "a\0b")), "embedded null byte; mend")


async def test_a_system_without_room_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pipe", no_room)
    await refused(launch_of(tmp_path, (sys.executable,), stdin=b""), "Too many open files")


async def refused(launch: Launch, words: str) -> None:
    before = open_files()
    with pytest.raises(AgentUnavailable, match=words):
        await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
    assert open_files() == before


async def test_a_log_that_cannot_be_made_starts_no_agent(tmp_path: Path) -> None:
    launch = launch_of(
        tmp_path, ("touch", str(tmp_path / "started")), stderr_path=tmp_path / "no" / "err"
    )
    with pytest.raises(StateUnusable, match="no/err cannot be made: No such file"):
        await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
    assert not (tmp_path / "started").exists()


def test_a_loop_that_closes_takes_the_agent_with_it(tmp_path: Path) -> None:
    async def leave() -> psutil.Process:
        agent = Agent(tmp_path)
        running = await agent.start(f"say('ready'); {SLEEP}")
        await agent.heard.until(b"ready")
        return psutil.Process(running.pid)

    assert wait_until_gone([asyncio.run(leave())], 10)


def test_a_shell_agent_reads_its_prompt(tmp_path: Path) -> None:
    async def run() -> ProcessExit:
        launch = launch_of(tmp_path, ("sh", "-c", 'read line; echo "$line"; cat'), stdin=b"a\nb\n")
        running = await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
        return await running.wait()

    assert asyncio.run(run()).exit_code == 0
    assert (tmp_path / "iteration-001.out").read_bytes() == b"a\nb\n"
