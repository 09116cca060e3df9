"""What an agent starts is known by descent, however it hides: by its reaper, on Linux alone."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from ralph_ls.engine.process import process_tree
from ralph_ls.engine.process.process_tree import daemon_name, wait_until_gone
from ralph_ls.engine.process.reaper import ReapedAgent, prepare_nursery
from ralph_ls.store.external.supervisor import current, run_supervisor
from tests.engine.process.python_agents import Agent, lives
from tests.engine.project_builder import DONE
from tests.engine.ralph_runner import Project, Ralph, told, wait_until, warnings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")

# A grandchild without parent, group, session, environment and streams of the agent's.
HIDDEN = """
import subprocess
code = "import os, signal\\nif os.fork(): os._exit(0)\\nos.setsid()\\n" \\
    "if os.fork(): os._exit(0)\\n{first}" \\
    "open('pid.new', 'w').write(str(os.getpid()))\\nos.rename('pid.new', 'daemon.pid')\\n" \\
    "while True: signal.pause()"
subprocess.Popen(['env', '-i', {python!r}, '-I', '-S', '-c', code], start_new_session=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not os.path.exists('daemon.pid'): os.sched_yield()
say('left')
"""


def hidden(*, first: str = "") -> str:
    return HIDDEN.format(python=sys.executable, first=first)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


async def test_a_hidden_grandchild_is_ended_with_the_agent(agent: Agent) -> None:
    exit_ = await agent.run(hidden())
    assert (exit_.exit_code, exit_.leftovers, exit_.killed) == (0, 1, False)
    assert not lives(agent.daemon)


async def test_a_deaf_hidden_grandchild_is_killed(agent: Agent) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n"
    exit_ = await agent.run(hidden(first=deaf), grace_seconds=0.05)
    assert (exit_.exit_code, exit_.leftovers, exit_.killed) == (0, 1, True)
    assert not lives(agent.daemon)


async def test_a_stop_ends_a_hidden_grandchild(agent: Agent) -> None:
    running = await agent.start(hidden() + "signal.pause()")
    await agent.heard.until(b"left")
    running.stop()
    exit_ = await running.wait()
    assert (exit_.signal, exit_.stopped) == (signal.SIGTERM, True)
    assert not lives(agent.daemon)


async def test_a_stopped_tree_is_ended(agent: Agent) -> None:
    first = "os.kill(os.getpid(), signal.SIGCONT)\\n"
    running = await agent.start(hidden(first=first) + "os.kill(os.getpid(), signal.SIGSTOP)")
    await agent.heard.until(b"left")
    os.kill(agent.daemon, signal.SIGSTOP)
    running.stop()
    exit_ = await running.wait()
    assert (exit_.signal, exit_.killed) == (signal.SIGTERM, False)
    assert not lives(agent.daemon)


async def test_the_agent_is_as_if_it_had_been_started_directly(agent: Agent) -> None:
    running = await agent.start(
        "import resource\n"
        "say(f'{os.getpid() == os.getpgrp() == os.getsid(0)}')\n"
        "ignored = [n for n in signal.valid_signals()"
        " if signal.getsignal(n) is signal.SIG_IGN and n != signal.SIGPIPE and n != 25]\n"
        "say(f'{ignored} {sorted(os.listdir(\"/proc/self/fd\"))}'); os._exit(7)"
    )
    assert running.group == running.pid
    assert psutil.Process(running.pid).ppid() != os.getpid()
    exit_ = await running.wait()
    assert exit_.exit_code == 7
    assert agent.heard.stdout == b"True\n[] ['0', '1', '2', '3']\n"


async def test_what_a_program_of_ours_leaves_is_left_alone(agent: Agent) -> None:
    # As git does whose hook starts something, or which signs with gpg-agent.
    exit_ = await agent.run(hidden(), is_agent=False, may_leave=True)
    assert (exit_.exit_code, exit_.leftovers) == (0, 0)
    assert lives(agent.daemon)
    beside = await Agent(agent.folder).run("pass")
    assert beside.leftovers == 0
    assert lives(agent.daemon)
    os.kill(agent.daemon, signal.SIGKILL)


async def test_a_daemon_that_users_keep_is_left_and_named(agent: Agent) -> None:
    program = agent.folder / "gpg-agent"
    shutil.copy(shutil.which("sleep") or "", program)
    exit_ = await agent.run(
        "import subprocess\n"
        f"one = subprocess.Popen([{str(program)!r}, '1000'], start_new_session=True,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "two = subprocess.Popen(['sleep', '1000'], start_new_session=True,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "say(f'{one.pid} {two.pid}')",
        keep=frozenset({"gpg-agent"}),
    )
    one, two = map(int, agent.heard.stdout.split())
    try:
        assert (exit_.exit_code, exit_.leftovers, exit_.kept) == (0, 1, (f"gpg-agent ({one})",))
        assert (lives(one), lives(two)) == (True, False)
    finally:
        os.kill(one, signal.SIGKILL)


async def test_a_daemon_that_is_kept_in_the_group_is_spared_alone(agent: Agent) -> None:
    program = agent.folder / "VBCSCompiler"
    shutil.copy(shutil.which("sleep") or "", program)
    running = await agent.start(
        "import subprocess\n"
        f"one = subprocess.Popen([{str(program)!r}, '1000'])\n"
        "two = subprocess.Popen(['sleep', '1000'])\n"
        "say(f'{one.pid} {two.pid}.'); signal.pause()",
        keep=frozenset({"VBCSCompiler"}),
        grace_seconds=0.2,
    )
    await agent.heard.until(b".")
    one, two = map(int, agent.heard.stdout.strip(b".\n").split())
    running.stop()
    exit_ = await running.wait()
    try:
        assert (exit_.signal, len(exit_.kept)) == (signal.SIGTERM, 1)
        assert (lives(one), lives(two)) == (True, False)
    finally:
        os.kill(one, signal.SIGKILL)


async def test_an_agent_that_kills_its_reaper_is_ended(agent: Agent) -> None:
    exit_ = await agent.run("os.kill(os.getppid(), signal.SIGKILL); signal.pause()")
    assert (exit_.exit_code, exit_.signal) == (None, signal.SIGKILL)


async def test_a_reaper_that_is_killed_before_it_reports_the_start_has_started_an_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = asyncio.Event()

    class Caller(asyncio.SubprocessProtocol):
        pid = 0
        reported: tuple[int | None, int] | None = None

        def agent_exited(self, status: int | None) -> None:
            self.reported = (status, self.pid)

        def process_exited(self) -> None:
            ended.set()

    def report_pids_alone(_words: object, descriptors: Sequence[int]) -> None:
        os.write(descriptors[3], b"1000000 1000001\n")

    monkeypatch.setattr("ralph_ls.engine.process.reaper._request", report_pids_alone)
    caller = Caller()
    agent = ReapedAgent(caller)
    await agent.start(["/bin/true"], Path("/"), {}, -1)
    caller.pid = agent.pid
    await ended.wait()
    assert (agent.reaper_pid, caller.reported) == (1000000, (None, 1000001))
    agent.close()


async def test_no_reaper_and_no_descriptor_is_left(agent: Agent) -> None:
    prepare_nursery()
    before = {one.pid for one in psutil.Process().children()}
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await Agent(agent.folder).run(hidden() if _ == 0 else "pass")
    await asyncio.sleep(0)
    assert {one.pid for one in psutil.Process().children()} <= before
    assert len(os.listdir("/proc/self/fd")) == files


def below_us() -> set[psutil.Process]:
    """What runs below this process, which other tests may have left something in."""
    prepare_nursery()
    return set(psutil.Process().children(recursive=True))


async def test_a_process_that_moves_on_all_the_time_is_ended(agent: Agent) -> None:
    # A search meets each generation while it is handing over to the next.
    os.mkfifo(agent.folder / "held")
    reader = os.open(agent.folder / "held", os.O_RDONLY | os.O_NONBLOCK)
    exit_ = await agent.run(
        "held = os.open('held', os.O_WRONLY)\n"
        "if os.fork(): os._exit(0)\n"
        "os.close(1); os.close(2)\n"
        "for _ in range(100):\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        "signal.pause()",
        marker="another/1",
        grace_seconds=0.05,
    )
    assert exit_.exit_code == 0
    # At its end once the last that holds it is gone.
    assert select.select([reader], [], [], 20)[0] == [reader]
    assert os.read(reader, 10) == b""
    os.close(reader)


@pytest.mark.slow
async def test_hundreds_of_children_end_in_time(agent: Agent) -> None:
    before = below_us()
    running = await agent.start(
        "for _ in range(600):\n"
        "    if os.fork() == 0:\n        os.setsid()\n        signal.pause()\n"
        "say('ready'); signal.pause()",
        grace_seconds=1.5,
    )
    await agent.heard.until(b"ready")
    loop = asyncio.get_running_loop()
    began = loop.time()
    running.stop()
    await running.wait()
    assert loop.time() - began < 10
    assert below_us() == before


@pytest.mark.slow
async def test_a_fork_bomb_ends_in_time(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each child starts others for as long as there are few; it ignores what is polite.
    monkeypatch.setattr(process_tree, "ROUNDS", 2)
    before = below_us()
    running = await agent.start(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "say('ready')\n"
        "import time\n"
        "while True:\n"
        "    if os.fork() == 0: time.sleep(0.02)\n"
        "    else: time.sleep(0.05)\n"
        "    if len(os.listdir('/proc')) > 400: time.sleep(0.5)\n",
        grace_seconds=0.3,
    )
    await agent.heard.until(b"ready")
    await asyncio.sleep(0.3)
    loop = asyncio.get_running_loop()
    began = loop.time()
    running.stop()
    exit_ = await running.wait()
    assert exit_.killed
    assert loop.time() - began < 15
    assert below_us() == before


async def test_what_nothing_ends_is_given_up_and_named(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a process that hangs in the kernel, or is another user's: no signal reaches it.
    monkeypatch.setattr(process_tree, "KILL_PATIENCE", 0.1)
    with run_supervisor():
        running = await agent.start("say('ready'); signal.pause()", grace_seconds=0.05)
        await agent.heard.until(b"ready")
        with monkeypatch.context() as patch:
            patch.setattr(process_tree._Hunt, "signal", lambda *_, **__: None)
            running.stop()
            exit_ = await asyncio.wait_for(running.wait(), 10)
        assert (exit_.exit_code, exit_.signal, exit_.stopped) == (None, signal.SIGKILL, True)
        assert [one.pid for one in current().survivors()] == [running.pid]
        process = psutil.Process(running.pid)
        process.kill()
        wait_until_gone([process], 10)
        assert current().survivors() == ()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["/usr/bin/gpg-agent", "--daemon"], "gpg-agent"),
        (["tmux: server"], "tmux"),
        (["bazel(project)", "-x"], "bazel"),
        (
            ["/opt/java/bin/java", "-cp", "x", "org.gradle.launcher.daemon.bootstrap.GradleDaemon"],
            "GradleDaemon",
        ),
        (["dotnet", "/usr/share/VBCSCompiler.dll"], "VBCSCompiler"),
        (["sh", "-c", "gpg-agent"], None),
        (["vi", "GradleDaemon"], None),
        (["sleep", "tmux"], None),
    ],
)
def test_a_daemon_is_known_by_what_it_runs(words: list[str], name: str | None) -> None:
    class Process:
        def oneshot(self) -> object:
            return psutil.Process().oneshot()

        def name(self) -> str:
            return Path(words[0]).name[:15]

        def cmdline(self) -> list[str]:
            return words

    names = frozenset({"gpg-agent", "tmux", "bazel", "GradleDaemon", "VBCSCompiler"})
    assert daemon_name(Process(), names) == name  # type: ignore[arg-type]


GHOST = """
env -i setsid sh -c 'setsid sh -c "trap : TERM; echo \\$\\$ >{kept}/ghost; \
while :; do sleep 1000; done" >/dev/null 2>&1 </dev/null &' >/dev/null 2>&1 </dev/null
while [ ! -s "$kept/ghost" ]; do sleep 0.01; done
"""


@pytest.mark.slow
def test_a_run_leaves_no_ghost(project: Project) -> None:
    project.agent(GHOST.format(kept=project.kept) + "work; " + DONE)
    done = project.run("1")
    (exited,) = told(done, "agentExited")
    assert exited.leftovers >= 1
    assert not lives(int((project.kept / "ghost").read_text()))


@pytest.mark.slow
def test_the_next_start_ends_the_ghost_of_a_killed_engine(project: Project, ralph: Ralph) -> None:
    project.agent(GHOST.format(kept=project.kept) + ": >$kept/there; exec sleep 1000")
    running = project.start("1")
    wait_until(project.kept, (project.kept / "there").exists)
    running.wait_for("agentStarted")
    running.kill()
    ghost = int((project.kept / "ghost").read_text())
    assert lives(ghost)
    reaper = int((project.run_folder() / "reaper").read_text().split()[0])
    assert lives(reaper)
    project.agent(DONE)
    ralph(project.repository, "run", "--resume", "--agent-command", project.command)
    assert not lives(ghost)
    assert not lives(reaper)


@pytest.mark.slow
def test_a_run_names_the_daemons_that_it_leaves(project: Project) -> None:
    shutil.copy(shutil.which("sleep") or "", project.kept / "adb")
    project.agent("setsid $kept/adb 1000 >/dev/null 2>&1 & echo $! >$kept/pid; sleep 0.2; " + DONE)
    done = project.run("1")
    (adb,) = [
        one
        for one in psutil.process_iter(["name", "exe"])
        if one.info["exe"] == str(project.kept / "adb")
    ]
    adb.kill()
    assert "left-running" in warnings(done)
    (message,) = [one.message for one in told(done, "warned") if one.code == "left-running"]
    assert f"adb ({adb.pid})" in message
    logs = "".join(path.read_text() for path in project.file(".ralph/logs").rglob("*.log"))
    assert f"adb ({adb.pid})" in logs
