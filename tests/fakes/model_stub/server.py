"""The stub's server: on the loopback alone, on a separate port, in threads of this process."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.fakes.model_stub.api import Api, Json
from tests.fakes.model_stub.chat_api import CHAT
from tests.fakes.model_stub.gemini_api import GEMINI, fields_of
from tests.fakes.model_stub.messages_api import MESSAGES, error_of
from tests.fakes.model_stub.responses_api import RESPONSES
from tests.fakes.model_stub.script import JUDGE_TOKEN, Answer

APIS = {"messages": MESSAGES, "responses": RESPONSES, "completions": CHAT}
"""By the last word of their paths; Gemini's has the model's name in it."""

MODELS = ("stub-model", "claude-sonnet-4-5", "gpt-5.5")

ASIDE = Answer(text="A title")
"""What a request without tools gets: agents ask for titles and summaries beside their work."""

REFUSED = 402
"""The status that agents give up on at once; other bad ones they try again with less in them."""


class ModelStub:
    """Gives out answers in order; use it as a context manager.

    What goes wrong, such as a call of a tool that the agent does not have, is kept in ``problems``
    and answered with an error that the agent does not try again.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.requests: list[Json] = []
        """The bodies of the main conversation's requests."""
        self.problems: list[str] = []
        self.n_answered = 0
        self.asked = threading.Event()
        """Set when an answer that hangs has been begun."""
        self._answers = list(answers)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> ModelStub:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What the agent takes for the API's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def n_left(self) -> int:
        """Answers that nobody has asked for."""
        return len(self._answers) - self.n_answered

    def forget(self) -> None:
        """Take back what was not asked for yet."""
        with self._lock:
            del self._answers[self.n_answered :]

    def say(self, *answers: Answer) -> None:
        """Add to what will be answered."""
        with self._lock:
            self._answers += answers

    def next_answer(self, api: Api, request: Json) -> tuple[Answer, int]:
        """The answer to a request, and its number."""
        tools = api.tools_of(request)
        if not tools:
            return ASIDE, 0
        with self._lock:
            self.requests.append(request)
            if not self.n_left:
                return self._refuse("the script is at its end, and the agent asks on"), 0
            answer = self._answers[self.n_answered]
            self.n_answered += 1
            number = self.n_answered
            if problem := _problem_of(answer, tools):
                return self._refuse(problem), 0
        return _with_token(answer, request), number

    def wait_for_close(self) -> None:
        """Until the stub is closed; for an answer that hangs."""
        self.asked.set()
        self._closed.wait()

    def _refuse(self, problem: str) -> Answer:
        self.problems.append(problem)
        return Answer(status=REFUSED, text=problem)


def _with_token(answer: Answer, request: Json) -> Answer:
    """The answer with the token that the prompt asks a judge for, where the text has its place."""
    if JUDGE_TOKEN not in f"{answer.text}{[dict(call.input) for call in answer.tools]}":
        return answer
    found = re.search(r'\\*"token\\*": \\*"([0-9a-f]{16})', json.dumps(request))
    token = found[1] if found else "none"
    tools = tuple(
        replace(
            call,
            input={
                name: token if value == JUDGE_TOKEN else value for name, value in call.input.items()
            },
        )
        for call in answer.tools
    )
    return replace(answer, text=answer.text.replace(JUDGE_TOKEN, token), tools=tools)


def _problem_of(answer: Answer, tools: Mapping[str, Json]) -> str | None:
    """What is wrong with the calls of an answer, held against the tools that the agent offers."""
    for call in answer.tools:
        if call.deferred:
            continue
        schema = tools.get(call.name)
        if schema is None:
            return f"the agent has no tool {call.name}; it has: {sorted(tools)}"
        unknown = set(call.input) - set(schema.get("properties", {}))
        missing = set(schema.get("required", ())) - set(call.input)
        if unknown or missing:
            return f"{call.name}: unknown {sorted(unknown)}, missing {sorted(missing)}"
    return None


def _handler_for(stub: ModelStub) -> Callable[..., BaseHTTPRequestHandler]:
    return lambda *arguments: _Handler(stub, *arguments)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, stub: ModelStub, *arguments: Any) -> None:
        self._stub = stub
        super().__init__(*arguments)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Nothing is printed between the tests' own lines."""

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        if self.path.partition("?")[0].endswith("/models"):
            models = [{"id": name, "object": "model", "owned_by": "stub"} for name in MODELS]
            self._send(200, {"object": "list", "data": models})
        else:
            self._send(404, error_of(Answer(status=404, text=f"nothing at {self.path}")))

    def do_POST(self) -> None:
        request = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._send(200, {"input_tokens": len(json.dumps(request)) // 4})
        elif path.endswith(":countTokens"):
            self._send(200, {"totalTokens": len(json.dumps(request)) // 4})
        elif fields := fields_of(path):
            self._answer(GEMINI, {**request, **fields})
        elif api := APIS.get(path.rpartition("/")[2]):
            self._answer(api, request)
        else:
            self._send(404, error_of(Answer(status=404, text=f"nothing at {path}")))

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while length := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        return body

    def _answer(self, api: Api, request: Json) -> None:
        if aside := api.aside(request):
            self._send(200, aside)
            return
        answer, number = self._stub.next_answer(api, request)
        model = str(request.get("model", "a-model"))
        if answer.status != 200:
            self._send(answer.status, api.error_of(answer), answer.headers)
        elif not request.get("stream"):
            self._send(200, api.whole(answer, number, model), answer.headers)
        else:
            self._stream(api, answer, number, model)

    def _stream(self, api: Api, answer: Answer, number: int, model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", f"req_{number:04d}")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for name, event in api.stream(answer, number, model):
                named = f"event: {name}\n" if name else ""
                self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
            if answer.hangs:
                self._stub.wait_for_close()
            self.wfile.write(api.end_of_stream.encode())
        except OSError:
            self.close_connection = True

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
