"""A bare client: frames and JSON over the pipes of a real server process, and nothing clever."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ralph_ls.editor.lsp.framing import FrameReader, MalformedFrame
from tests.engine.forked_ralph import ForkedProcess, Forks

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
"""Seconds after which a server that says nothing has failed the test."""

Message = dict[str, Any]

NOTHING: object = {}


def bodies(reader: FrameReader, data: bytes) -> list[bytes]:
    """What ``data`` completes; a peer that is right sends nothing else."""
    found = reader.feed(data)
    assert not [each for each in found if isinstance(each, MalformedFrame)]
    return [each for each in found if isinstance(each, bytes)]


class Wire:
    """One server process and what it says. Every wait ends after ``PATIENCE``."""

    def __init__(self, process: asyncio.subprocess.Process | ForkedServer) -> None:
        self.process = process
        self.aside: list[Message] = []
        """Messages that came while another was waited for, in order."""
        self._number = 0

    @classmethod
    async def start(
        cls, module: str, *, stdout: int = asyncio.subprocess.PIPE, shell: str = 'exec "$@"'
    ) -> Wire:
        """Run ``module`` as a program, the way ``shell`` starts its arguments."""
        path = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", shell, "sh", sys.executable, "-m", module),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=asyncio.subprocess.PIPE,
            stdout=stdout,
            stderr=asyncio.subprocess.PIPE,
        )
        return cls(process)

    @classmethod
    async def fork(cls, fork_server: Forks, module: str) -> Wire:
        """The same as ``start``, from a process that has imported the module already."""
        return cls(await ForkedServer.start(fork_server, module))

    async def close(self) -> None:
        """Whatever of it still lives ends here."""
        if self.process.returncode is None:
            self.process.kill()
        self.pipe(0).close()
        for stream in (self.process.stdout, self.process.stderr):
            while stream is not None and await stream.read(1 << 20):
                pass
        await self.process.wait()
        if isinstance(self.process, ForkedServer):
            self.process.close()
        else:
            self.process._transport.close()  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------ sending

    def send(self, message: Message) -> None:
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_body(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: object = NOTHING) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: object = NOTHING) -> int:
        """Send a request; gives its id."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    async def request(self, method: str, params: object = NOTHING) -> Message:
        """Send a request and wait for its answer."""
        return await self.answer_to(self.ask(method, params))

    async def result(self, method: str, params: object = NOTHING) -> Any:
        answer = await self.request(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    async def error(self, method: str, params: object = NOTHING) -> Message:
        answer = await self.request(method, params)
        assert "error" in answer, answer
        error: Message = answer["error"]
        return error

    async def initialize(self, *, process_id: int | None = None) -> Message:
        params: Message = {"processId": process_id, "rootUri": None, "capabilities": {}}
        result: Message = await self.result("initialize", params)
        self.notify("initialized", {})
        return result

    # ---------------------------------------------------------------------------------- receiving

    async def receive(self) -> Message:
        message = json.loads(await self.receive_body())
        assert isinstance(message, dict)
        return message

    async def receive_body(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            headers = await self.stdout.readuntil(b"\r\n\r\n")
            assert headers.startswith(b"Content-Length: "), headers
            length = int(headers.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
            return await self.stdout.readexactly(length)

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message that is ``wanted``; those before it go to ``aside``."""
        while not wanted(message := await self.receive()):
            self.aside.append(message)
        return message

    async def answer_to(self, number: int | str | None) -> Message:
        return await self.until(lambda m: "method" not in m and m.get("id", "") == number)

    async def notified(self, method: str) -> Message:
        return await self.until(lambda m: m.get("method") == method)

    async def rest(self) -> list[Message]:
        """Everything until the server closes its end, what was set aside included."""
        try:
            while True:
                self.aside.append(await self.receive())
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise
        return self.aside

    async def said_aside(self) -> str:
        """The next line that a handler wrote to standard error for us."""
        async with asyncio.timeout(PATIENCE):
            while line := await self.stderr.readline():
                if line.startswith(b"aside: "):
                    return line.decode().removeprefix("aside: ").strip()
        raise AssertionError("the server ended and said nothing more")

    async def ended(self) -> int:
        """The exit code."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    # -------------------------------------------------------------------------------------- pipes

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        assert self.process.stderr is not None
        return self.process.stderr

    def pipe(self, descriptor: int) -> asyncio.BaseTransport:
        """Our end of the server's descriptor 0, 1 or 2."""
        if isinstance(self.process, ForkedServer):
            return self.process.pipes[descriptor]
        transport = self.process._transport  # type: ignore[attr-defined]
        pipe: asyncio.BaseTransport = transport.get_pipe_transport(descriptor)
        return pipe

    async def stop_reading(self) -> None:
        """Close our end of what it prints; a transport does so only when its loop comes round."""
        self.pipe(1).close()
        closed = asyncio.Event()
        asyncio.get_running_loop().call_soon(closed.set)
        await closed.wait()
        assert self.pipe(1).get_extra_info("pipe").closed


class ForkedServer:
    """As much of an ``asyncio.subprocess.Process`` as a wire needs, of one that was forked."""

    def __init__(self, process: ForkedProcess) -> None:
        self._process = process
        self.pipes: list[asyncio.BaseTransport] = []
        """Our ends of its standard streams."""
        self.stdin: asyncio.StreamWriter
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader

    @classmethod
    async def start(cls, fork_server: Forks, module: str) -> ForkedServer:
        (stdin, our_input), (our_output, stdout), (our_errors, stderr) = (
            os.pipe() for _ in range(3)
        )
        made = cls(fork_server.fork(ROOT, [], os.environ, stdin, stdout, stderr, module=module))
        for theirs in (stdin, stdout, stderr):
            os.close(theirs)
        await made._connect(*(os.fdopen(end, "rb", 0) for end in (our_output, our_errors)))
        await made._connect_input(os.fdopen(our_input, "wb", 0))
        return made

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait, PATIENCE)

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        self._process.close()

    async def _connect(self, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.stdout, self.stderr = asyncio.StreamReader(), asyncio.StreamReader()
        for stream, end in ((self.stdout, stdout), (self.stderr, stderr)):
            protocol = asyncio.StreamReaderProtocol(stream)
            pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda protocol=protocol: protocol,  # type: ignore[misc]
                end,
            )
            self.pipes.append(pipe)

    async def _connect_input(self, stdin: IO[bytes]) -> None:
        loop = asyncio.get_running_loop()
        # A protocol of a stream that nobody reads: it is what makes `drain` wait.
        pipe, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), stdin
        )
        self.pipes.insert(0, pipe)
        self.stdin = asyncio.StreamWriter(pipe, protocol, None, loop)
