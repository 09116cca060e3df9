from __future__ import annotations

import asyncio
import signal
import stat
from pathlib import Path

import pytest

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.process.process_tree import find_members, is_alive
from ralph_ls.engine.process.running_process import ProcessExit, start
from tests.engine.process.python_agents import (
    MARKER,
    SECRET,
    SLEEP,
    Agent,
    Heard,
    daemon,
    launch_of,
    lives,
    open_files,
)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


async def test_output_and_exit_of_an_agent_are_reported(agent: Agent) -> None:
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


async def test_a_signal_that_ends_the_agent_is_reported(agent: Agent) -> None:
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


async def test_a_full_disk_is_reported_and_the_agent_continues(agent: Agent) -> None:
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


def test_a_shell_agent_reads_its_prompt(tmp_path: Path) -> None:
    async def run() -> ProcessExit:
        launch = launch_of(tmp_path, ("sh", "-c", 'read line; echo "$line"; cat'), stdin=b"a\nb\n")
        running = await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
        return await running.wait()

    assert asyncio.run(run()).exit_code == 0
    assert (tmp_path / "iteration-001.out").read_bytes() == b"a\nb\n"
