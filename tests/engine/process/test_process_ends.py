from __future__ import annotations

import asyncio
import math
import os
import signal
from pathlib import Path

import psutil
import pytest

from ralph_ls.engine.process import running_process
from ralph_ls.engine.process.process_tree import wait_until_gone
from tests.engine.process.python_agents import (
    SLEEP,
    STUBBORN,
    TELL_PID,
    Agent,
    daemon,
    lives,
    open_files,
)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


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


@pytest.mark.parametrize("limit", ["timeout_seconds", "idle_timeout_seconds"])
async def test_no_limit_of_time_runs_while_its_clocks_are_held(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    # The loop's clock jumps over the limit; nobody really waits.
    monkeypatch.setattr(running_process, "HELD_UP", math.inf)
    loop = asyncio.get_running_loop()
    real_time, skipped = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real_time() + skipped[0])
    changes: dict[str, object] = {limit: 1000}
    running = await agent.start(f"say('on it'); {SLEEP}", **changes)
    await agent.heard.until(b"on it")
    for _ in range(2):
        running.hold_clocks()
    skipped[0] += 5000
    await asyncio.sleep(0)
    for _ in range(2):
        running.release_clocks()
    skipped[0] += 900
    await asyncio.sleep(0)
    assert not running._reasons
    skipped[0] += 101
    exit_ = await running.wait()
    assert exit_.timed_out is (limit == "timeout_seconds")
    running.hold_clocks()
    running.release_clocks()


async def test_an_agent_that_keeps_talking_is_not_idle(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It answers each byte with one. The loop's clock jumps; nobody really waits or is held up.
    monkeypatch.setattr(running_process, "HELD_UP", math.inf)
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
        # Now time advances as it should.
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
    # Neither in the group nor marked: nothing shows that it is the agent's.
    monkeypatch.setattr("ralph_ls.engine.process.running_process.DRAIN_SECONDS", 0.05)
    before = open_files()
    exit_ = await agent.run(
        daemon(pipe="None", stdin="None", environment={}), stdin=b"x" * 1_000_000, is_agent=False
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


def test_a_loop_that_closes_takes_the_agent_with_it(tmp_path: Path) -> None:
    async def leave() -> psutil.Process:
        agent = Agent(tmp_path)
        running = await agent.start(f"say('ready'); {SLEEP}")
        await agent.heard.until(b"ready")
        return psutil.Process(running.pid)

    assert wait_until_gone([asyncio.run(leave())], 10)
