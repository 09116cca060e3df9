"""An agent of the Agent Client Protocol that plays a script: ``acp_agent.py FOLDER``.

It is a real program over the real library. ``FOLDER/script.json`` says what it does:

``needsLogin``   the method that one has to log in with before there is a session
``goesOn``       how it continues a session: ``load``, ``resume`` or nothing
``version``      of the protocol that it speaks, if not the usual one
``history``      what it repeats while a session is loaded
``session``      what the answer to ``session/new`` has beside the id: modes, models
``refuses``      methods that it answers with an error
``turns``        a list of steps for each iteration; the last one is played on and on

What it hears goes to ``FOLDER/heard.jsonl``, a message a line. A step is an object with one key;
see ``Player``. Each message is checked by the library's types before it is answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from acp import AGENT_METHODS, RequestError
from acp import schema as types
from acp.connection import Connection
from acp.stdio import stdio_streams
from pydantic import BaseModel

CHECKED: dict[str, type[BaseModel]] = {
    "initialize": types.InitializeRequest,
    "authenticate": types.AuthenticateRequest,
    "session/new": types.NewSessionRequest,
    "session/load": types.LoadSessionRequest,
    "session/resume": types.ResumeSessionRequest,
    "session/prompt": types.PromptRequest,
    "session/cancel": types.CancelNotification,
    "session/set_mode": types.SetSessionModeRequest,
    "session/set_config_option": types.SetSessionConfigOptionSelectRequest,
}


class Player:
    """One agent process."""

    def __init__(self, folder: Path, write: Any) -> None:
        self.connection: Connection
        self._folder = folder
        self._write = write
        self._script = json.loads((folder / "script.json").read_text(encoding="utf-8"))
        self._session = ""
        self._is_logged_in = "needsLogin" not in self._script
        self._is_cancelled = asyncio.Event()

    async def answer(self, method: str, params: Any, is_notification: bool, /) -> Any:
        """Answer a message of the client."""
        self._note({"method": method, "params": params})
        if method in CHECKED:
            CHECKED[method].model_validate(params)
        if method in self._script.get("refuses", ()):
            raise RequestError(-32603, "Internal error", {"details": f"no {method} here"})
        match method:
            case "initialize":
                return self._hello()
            case "authenticate":
                self._is_logged_in = params["methodId"] == self._script["needsLogin"]
                return {}
            case "session/new" | "session/load" | "session/resume":
                return await self._open(method, params)
            case "session/set_mode" | "session/set_config_option" | "session/set_model":
                return {}
            case "session/prompt":
                return await self._play()
            case "session/cancel":
                self._is_cancelled.set()
                return None
            case _ if is_notification:
                return None
            case _:
                raise RequestError.method_not_found(method)

    def _hello(self) -> dict[str, Any]:
        goes_on = self._script.get("goesOn", "")
        more: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
        return {
            "protocolVersion": self._script.get("version", 1),
            "agentInfo": {"name": "fake", "version": "1"},
            "agentCapabilities": {
                "loadSession": goes_on == "load",
                **(more if goes_on == "resume" else {}),
            },
            "authMethods": [{"id": "key", "name": "A key"}, {"id": "web", "name": "The web"}],
        }

    async def _open(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not self._is_logged_in:
            raise RequestError.auth_required()
        known = self._folder / "sessions"
        known.touch()
        if method == "session/new":
            number = len(known.read_text(encoding="utf-8").split()) + 1
            self._session = f"ses-{number}"
            with known.open("a", encoding="utf-8") as file:
                file.write(f"{self._session}\n")
            return {"sessionId": self._session, **self._script.get("session", {})}
        if params["sessionId"] not in known.read_text(encoding="utf-8").split():
            raise RequestError(-32002, "No such session")
        self._session = params["sessionId"]
        for step in self._script.get("history", ()):
            await self._do(step)
        return dict(self._script.get("session", {}))

    async def _play(self) -> dict[str, Any]:
        turns = self._script["turns"]
        number = int(os.environ.get("RALPH_START", "1"))
        end: dict[str, Any] = {"stopReason": "end_turn"}
        for step in turns[min(number, len(turns)) - 1]:
            end.update(await self._do(step) or {})
            if self._is_cancelled.is_set():
                return {"stopReason": "cancelled"}
        return end

    async def _do(self, step: dict[str, Any]) -> dict[str, Any] | None:
        """Play one step; what it adds to the answer to the prompt."""
        ((kind, given),) = step.items()
        match kind:
            case "say":
                for piece in (given[at : at + 7] for at in range(0, len(given), 7)):
                    content = {"type": "text", "text": piece}
                    await self._update({"sessionUpdate": "agent_message_chunk", "content": content})
            case "update":
                await self._update(given)
            case "ask":
                await self._ask(given)
            case "request":
                # Whatever it is that it asks of the client: files, terminals, forms.
                try:
                    await self.connection.send_request(given["method"], given["params"])
                except RequestError as error:
                    self._note({"refused": str(error), "code": error.code})
            case "edit":
                await asyncio.to_thread(Path(given["path"]).write_text, given["text"], "utf-8")
            case "raw":
                self._write(given.encode() + b"\n")
            case "flood":
                for number in range(given):
                    text = {"type": "text", "text": f"line {number}\n" * 20}
                    await self._update({"sessionUpdate": "agent_message_chunk", "content": text})
            case "hang":
                (self._folder / "here").touch()
                await (asyncio.Event() if given == "for good" else self._is_cancelled).wait()
            case "error":
                raise RequestError(given.get("code", -32603), given["message"], given.get("data"))
            case "exit":
                os._exit(given)
            case "end":
                return dict(given)
        return None

    async def _ask(self, call: dict[str, Any]) -> None:
        """Call a tool, if the client lets us."""
        await self._update({"sessionUpdate": "tool_call", "status": "pending", **call})
        kinds = {"yes": "allow_once", "always": "allow_always", "no": "reject_once"}
        options = [{"optionId": key, "name": key, "kind": kind} for key, kind in kinds.items()]
        asked = {"sessionId": self._session, "toolCall": call, "options": options}
        answer = await self.connection.send_request("session/request_permission", asked)
        self._note({"answer": answer})
        may = answer["outcome"].get("optionId") == "yes"
        state = "completed" if may else "failed"
        told = {"toolCallId": call["toolCallId"], "status": state}
        await self._update({"sessionUpdate": "tool_call_update", **told})

    async def _update(self, update: dict[str, Any]) -> None:
        params = {"sessionId": self._session, "update": update}
        await self.connection.send_notification("session/update", params)

    def _note(self, heard: dict[str, Any]) -> None:
        with (self._folder / "heard.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(heard) + "\n")


async def main(folder: Path) -> None:
    assert set(CHECKED) <= {*AGENT_METHODS.values()}
    reader, writer = await stdio_streams(limit=1 << 26)
    player = Player(folder, writer.write)
    player.connection = Connection(player.answer, writer, reader, listening=False)
    await player.connection.main_loop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
