"""``python -I -m ralph_ls.engine.agent.acp [FLAGS] -- AGENT …``: one turn as JSON lines.

Exits with 0 where the turn ended by itself, with 1 where it did not, with 127 where the agent's
program was not found and with 143 after TERM. The agent runs in this process's group, with its
environment, and writes to our standard error. Windows has no TERM: the engine ends both at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from ralph_ls.engine.agent.acp.command_line import Options, RecordWriter, read_options
from ralph_ls.engine.agent.environment import find_program
from ralph_ls.protocol.errors import AgentUnavailable

FAILED, NOT_FOUND, CANCELLED = 1, 127, 143

TIME_TO_LEAVE = 3.0
"""Seconds for an agent to end after its turn; one that does not is ended."""


def main(arguments: Sequence[str]) -> int:
    """Run one turn; the exit code."""
    options, records = read_options(arguments), RecordWriter()
    # The library logs messages of an unknown shape; we report these as noise.
    logging.disable(logging.CRITICAL)
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        code = asyncio.run(_run(options, prompt, records))
    except BrokenPipeError:
        # The reader is gone, and the rest of the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


async def _run(options: Options, prompt: str, records: RecordWriter) -> int:
    root = Path.cwd()
    try:
        program = find_program(options.argv[0], os.environ, root)
        agent = await asyncio.create_subprocess_exec(
            program, *options.argv[1:], stdin=PIPE, stdout=PIPE
        )
    except (AgentUnavailable, OSError) as error:
        records.own("failed", why=str(error).splitlines()[0], failure="wrongCall")
        return NOT_FOUND
    try:
        return await _talk(options, prompt, records, agent, root)
    finally:
        with contextlib.suppress(ProcessLookupError):
            agent.kill()


async def _talk(
    options: Options, prompt: str, records: RecordWriter, agent: Process, root: Path
) -> int:
    # The library takes most of a second to be loaded, in which the agent starts.
    from acp import RequestError

    from ralph_ls.engine.agent.acp.conversation import Conversation, ConversationFailed
    from ralph_ls.engine.agent.acp.transport import AgentPipes

    if agent.stdout is None or agent.stdin is None:  # pragma: no cover
        raise AssertionError("an agent was started without pipes")
    pipes = AgentPipes(agent.stdout, agent.stdin, records)
    conversation = Conversation(options, pipes, root, records)
    talking = asyncio.ensure_future(conversation.run(prompt))
    terminated = asyncio.Event()
    _on_signals(terminated.set)
    ending = asyncio.ensure_future(terminated.wait())
    await asyncio.wait({talking, ending}, return_when=asyncio.FIRST_COMPLETED)
    if not talking.done():
        await conversation.cancel()
        talking.cancel()
        with contextlib.suppress(asyncio.CancelledError, RequestError, ConversationFailed, OSError):
            await talking
        return CANCELLED
    ending.cancel()
    try:
        has_ended_well = talking.result()
    except (RequestError, ConversationFailed):
        has_ended_well = False
    except ConnectionError:
        records.own("failed", why="it ended in the middle of a turn", failure="crashed")
        has_ended_well = False
    await _let_go(agent)
    await conversation.close()
    return 0 if has_ended_well else FAILED


async def _let_go(agent: Process) -> None:
    """Let the agent end by itself; messages that it still sends are reported."""
    if agent.stdin is not None:
        agent.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TIME_TO_LEAVE):
            await agent.wait()
            return
    with contextlib.suppress(ProcessLookupError):
        agent.terminate()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await agent.wait()


def _on_signals(act: object) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, act)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
