"""Rules for clients: each message is checked against the protocol (docs/protocol.md).

Sans-IO: it is given the client's messages and collects problems. What depends on a recorded
session is in ``replay``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ralph_ls.client.sessions import EXECUTE, LIFE, PREFIX
from ralph_ls.protocol.lsp.methods import METHODS, SUBSCRIBE, SubscribeParams
from ralph_ls.protocol.lsp.options import EditorOptions

Error = dict[str, Any]

NEEDS = {
    "window/workDoneProgress/create": ("window", "workDoneProgress"),
    "$/progress": ("window", "workDoneProgress"),
    "window/showDocument": ("window", "showDocument", "support"),
    "workspace/applyEdit": ("workspace", "applyEdit"),
    "workspace/configuration": ("workspace", "configuration"),
    "workspace/codeLens/refresh": ("workspace", "codeLens", "refreshSupport"),
    "workspace/inlayHint/refresh": ("workspace", "inlayHint", "refreshSupport"),
    "workspace/semanticTokens/refresh": ("workspace", "semanticTokens", "refreshSupport"),
}
"""The capability without which the server never sends a method."""

WANTED = {
    "ralph/event": "events",
    "ralph/output": "output",
    "ralph/messages": "messages",
    "ralph/view": "view",
}
"""The field of ``ralph/subscribe`` that asks for a notification of ours."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a client did wrong."""

    method: str | None
    text: str


class ClientRules:
    """What a client may send, from its first message to its last."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._seen: set[str | int] = set()
        self._pending: dict[str | int, str] = {}
        """Requests of the server that are not answered yet."""
        self._life: set[str] = set()
        self._capabilities: Any = {}
        self._subscribed: SubscribeParams | None = None

    def report(self, method: str | None, text: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(method, text))

    def check(self, message: Any) -> Error | None:
        """Check one message; the error of a request that the server refuses."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.report(None, 'a message is an object with "jsonrpc": "2.0"')
            return {"code": -32600, "message": "no message of JSON-RPC"}
        if "method" not in message:
            self._check_answer(message)
            return None
        method = message["method"]
        if not isinstance(method, str):
            self.report(None, "the method is not a string")
            return {"code": -32600, "message": "no message of JSON-RPC"}
        if "id" in message and (refused := self._check_id(method, message["id"])) is not None:
            return refused
        refused = self._check_life(method, is_request="id" in message)
        if refused is None:
            refused = self._check_params(method, message.get("params"))
        return refused

    def takes(self, message: Mapping[str, Any]) -> bool:
        """Whether the real server would send this to this client."""
        method = message["method"]
        if (field := WANTED.get(method)) is not None:
            return self._subscribed is not None and bool(getattr(self._subscribed, field))
        able: Any = self._capabilities
        for key in NEEDS.get(method, ()):
            able = able.get(key) if isinstance(able, dict) else None
        return bool(able) or method not in NEEDS

    def expect_answer(self, known: str | int, method: str) -> None:
        """The server has sent a request."""
        self._pending[known] = method

    def left_open(self) -> list[Problem]:
        """What is missing when the connection has ended."""
        found = [
            Problem(method, "the server's request was never answered")
            for method in dict.fromkeys(self._pending.values())
        ]
        if "initialize" not in self._life:
            found.append(Problem(None, "initialize never came"))
        elif "initialized" not in self._life:
            found.append(Problem(None, "initialized never came"))
        if "exit" in self._life and "shutdown" not in self._life:
            found.append(Problem("exit", "came without shutdown"))
        return found

    # ------------------------------------------------------------------------------------- helpers

    def _check_id(self, method: str, known: Any) -> Error | None:
        if isinstance(known, bool) or not isinstance(known, str | int):
            self.report(method, "the id is neither a string nor an integer")
            return {"code": -32600, "message": "no id of JSON-RPC"}
        if known in self._seen:
            self.report(method, f"the id {known!r} was used before")
        self._seen.add(known)
        return None

    def _check_answer(self, message: Mapping[str, Any]) -> None:
        method = self._pending.pop(message.get("id", ""), None)
        if method is None:
            self.report(None, f"an answer to nothing that was asked: id {message.get('id')!r}")
        elif ("result" in message) == ("error" in message):
            self.report(method, "an answer has either a result or an error")
        elif "result" in message:
            self._check_result(method, message["result"])

    def _check_result(self, method: str, result: Any) -> None:
        if method == "workspace/configuration" and not isinstance(result, list | None):
            self.report(method, "the result is a list with an entry for each item, or null")
        if method in {"window/showDocument", "workspace/applyEdit"}:
            word = "success" if method == "window/showDocument" else "applied"
            if not (result is None or (isinstance(result, dict) and word in result)):
                self.report(method, f"the result is an object with {word}")

    def _check_life(self, method: str, *, is_request: bool) -> Error | None:
        before = set(self._life)
        if method in LIFE:
            self._life.add(method)
        if method in before and method in LIFE:
            self.report(method, "came a second time")
            return {"code": -32600, "message": f"{method} came before"}
        if "shutdown" in before and method != "exit":
            self.report(method, "after shutdown only exit may come")
            return {"code": -32600, "message": "the server is shutting down"}
        if "initialize" not in before and method not in {"initialize", "exit"}:
            self.report(method, "came before initialize")
            return {"code": -32002, "message": "not initialized"}
        if not before & {"initialized"} and method not in LIFE and not method.startswith("$/"):
            self.report(method, "came before initialized")
        self._check_kind(method, is_request=is_request)
        return None

    def _check_kind(self, method: str, *, is_request: bool) -> None:
        if method in {"initialize", "shutdown", EXECUTE} or method in METHODS:
            if not is_request:
                self.report(method, "is a request, so it needs an id")
        elif is_request and method in {"initialized", "exit"}:
            self.report(method, "is a notification without an id")

    def _check_params(self, method: str, params: Any) -> Error | None:
        if method == "initialize":
            self._begin(params if isinstance(params, dict) else {})
        if method == EXECUTE:
            self._check_command(params if isinstance(params, dict) else {})
        if not method.startswith("ralph/"):
            return None
        known = METHODS.get(method)
        if known is None or not known.is_request:
            self.report(method, "there is no such request")
            return {"code": -32601, "message": f"no method {method}"}
        if (problem := self._invalid(method, known.params, params or {})) is not None:
            return {"code": -32602, "message": problem, "data": {"code": "invalid-params"}}
        if method == SUBSCRIBE:
            self._subscribed = SubscribeParams.model_validate(params or {})
        return None

    def _begin(self, params: Mapping[str, Any]) -> None:
        self._capabilities = params.get("capabilities", {})
        if "capabilities" not in params:
            self.report("initialize", "capabilities are missing; an empty object is enough")
        if "processId" not in params:
            self.report("initialize", "processId is missing; it may be null")
        if (options := params.get("initializationOptions")) is not None:
            self._invalid("initialize", EditorOptions, options)

    def _check_command(self, params: Mapping[str, Any]) -> None:
        name, arguments = params.get("command"), params.get("arguments") or []
        if not isinstance(name, str) or not name.startswith(PREFIX):
            self.report(EXECUTE, f"{name!r} is no command of this server")
        elif len(arguments) > 1 or not all(isinstance(one, dict | str) for one in arguments):
            self.report(EXECUTE, f"{name} takes at most one argument: an object, or a text")

    def _invalid(self, method: str, model: Any, value: Any) -> str | None:
        """Note what is wrong with a value of ours; all of it in one line."""
        try:
            model.model_validate(value)
        except ValidationError as error:
            found = [
                f"{'.'.join(map(str, each['loc'])) or 'params'}: {each['msg']}"
                for each in error.errors(include_url=False)
            ]
            for text in found:
                self.report(method, text)
            return "; ".join(found)
        return None
