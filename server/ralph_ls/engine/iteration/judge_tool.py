"""Verdict by tool: the one tool that a judge is offered, ``report_verdict``, by ``ralph mcp``.

A socket of this one judge, with a ticket that it alone has; a call of it is typed, so it needs no
token. The last call counts. It records nothing and lifts nothing; see docs/rules.md#judge.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ralph_ls.core.prompt.judge import settle_report
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.mcp_offer import OfferedFiles, mcp_offer, with_tools
from ralph_ls.engine.sandbox.hook_socket import HAS_SOCKETS, HookSocket
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.agent_tools import CALL_TOOL, LIST_TOOLS, SOCKET, TICKET, ReportVerdict
from ralph_ls.protocol.run.report import JudgeReport
from ralph_ls.store import iteration_socket

NAME = "report_verdict"


class VerdictTool:
    """The tool of one judge, from before its start to its end."""

    def __init__(self, folder: Path, token: str) -> None:
        """``folder`` is that of the run, ``token`` the one of the judge's prompt."""
        self._folder = folder
        self._token = token
        self._ticket = secrets.token_urlsafe(16)
        self._socket: HookSocket | None = None
        self.report: JudgeReport | None = None
        """The last verdict that was reported."""

    @property
    def folder(self) -> Path | None:
        """The folder of its socket; None where it is not offered."""
        return None if self._socket is None else self._socket.folder

    async def open(self, agent: Agent, config: Config) -> None:
        """Listen, where the agent can be offered the tool at all."""
        if not HAS_SOCKETS or mcp_offer(agent, config) is None:
            return
        methods = {LIST_TOOLS: self._list, CALL_TOOL: self._call}
        opened = HookSocket(self._folder / "judge", methods)
        try:
            await opened.open()
        except OSError:
            # Its last words have the verdict as well.
            return
        self._socket = opened

    async def close(self) -> None:
        """Take no call any more; idempotent."""
        if self._socket is not None:
            await self._socket.close()

    def offered(
        self, agent: Agent, config: Config, environment: MutableMapping[str, str]
    ) -> tuple[Agent, OfferedFiles]:
        """The agent with the tool, and its files; adds variables to ``environment``."""
        offer = mcp_offer(agent, config)
        if self._socket is None or offer is None:
            return agent, OfferedFiles()
        environment[SOCKET] = str(self._socket.folder / iteration_socket.NAME)
        environment[TICKET] = self._ticket
        # Its tools are listed, so this one has to be named too.
        return with_tools(agent, replace(offer, is_guarded=True), environment, self._folder)

    async def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        if not self._is_ours(params):
            return {"tools": []}
        schema = ReportVerdict.model_json_schema(by_alias=True)
        about = " ".join(str(schema.pop("description", "")).split())
        schema.pop("title", None)
        hints = {"readOnlyHint": True, "openWorldHint": False}
        return {
            "tools": [
                {"name": NAME, "description": about, "inputSchema": schema, "annotations": hints}
            ]
        }

    async def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        text, is_refused = self._take(params)
        return {"content": [{"type": "text", "text": text}], "isError": is_refused}

    def _take(self, params: dict[str, Any]) -> tuple[str, bool]:
        if not self._is_ours(params):
            return "this judge is over, so nothing is recorded", True
        if params.get("name") != NAME:
            return f"there is no tool {params.get('name')!r}; there is: {NAME}", True
        try:
            given = ReportVerdict.model_validate(params.get("arguments") or {})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            return f"{NAME}: {where}: {first['msg']}; correct that, and call again", True
        report = JudgeReport(
            token=self._token, verdict=given.verdict, reason=given.reason, changes=given.changes
        )
        settled = settle_report(report, self._token)
        if settled.report is None:
            return f"{NAME}: {settled.problem}; correct that, and call again", True
        self.report = settled.report
        return "recorded; you may end your turn", False

    def _is_ours(self, params: dict[str, Any]) -> bool:
        given = params.get("token")
        return isinstance(given, str) and hmac.compare_digest(given.encode(), self._ticket.encode())
