"""Tools of the open iteration: what is listed, what is asked for, and what a call reports.

A call that reads is answered here; one that edits the plan edits it as the agent would by hand, so
the guard and the evidence see the agent's change; every other is recorded by the loop first
(``core/loop/machine/agent_calls``), which then orders the reply. Calls count only while their start
is open: a token in the environment names it, and it is forgotten with the agent.
See docs/rules.md#tools.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from ralph_ls.core.loop.effects import LaunchAgent, ReplyToAgent
from ralph_ls.core.loop.inputs import AgentCalled
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.loop.rules.agent_claims import question_words
from ralph_ls.core.plan.edit.task_edits import tick_task
from ralph_ls.core.plan.edit.task_order import add_task
from ralph_ls.core.plan.model import ParsedPlan, Task
from ralph_ls.engine.iteration.agent_output import AgentOutputReader
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.agent_tools import (
    TOOLS,
    AddTask,
    AskDecision,
    CompleteTask,
    ReportTool,
    ToolInput,
)
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.project.detection import format_at
from ralph_ls.store.project.plan_file import edit_plan

SHOWN_TASKS = 200
"""Tasks that ``get_plan`` names; open ones come first."""

LONGEST_TASK = 16_000
"""Characters of a task's own text."""

OVER = "this iteration is over, so nothing is recorded; what still runs should end"


class ToolRefused(ValueError):
    """A call cannot be taken; the message is for the agent."""


class AgentTools:
    """The tools of one run's agents, one after the other."""

    def __init__(
        self,
        workspace: Workspace,
        output: AgentOutputReader,
        deliver: Callable[[AgentCalled], None] | None,
    ) -> None:
        self._workspace = workspace
        self._output = output
        self._deliver = deliver
        self._order: LaunchAgent | None = None
        self._replies: dict[int, asyncio.Future[ReplyToAgent]] = {}
        self._n_calls = 0
        self._is_halted = False
        """The agent of the open start was asked to end its turn."""
        self.token = ""
        """Of the open start; empty while none is open."""

    def begin(self, order: LaunchAgent) -> None:
        """An agent is about to be started, so calls with a new token count."""
        self.close()
        self._order, self.token = order, secrets.token_urlsafe(16)
        self._is_halted = False

    def close(self) -> None:
        """The agent is gone: no call counts any more, and who waits for a reply gets none."""
        self._order, self.token = None, ""
        replies, self._replies = self._replies, {}
        for reply in replies.values():
            if not reply.done():
                reply.set_exception(ToolRefused(OVER))

    def reply(self, effect: ReplyToAgent) -> None:
        """Answer a call, as the loop orders it."""
        self._is_halted = self._is_halted or effect.halts
        waiting = self._replies.pop(effect.call, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(effect)

    async def list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        """The tools with the schemas of their inputs, as the protocol of MCP has them."""
        self._require_open(params)
        return {"tools": [_listed(tool, model) for tool, model in TOOLS.items()]}

    async def halted(self, params: dict[str, Any]) -> dict[str, Any]:
        """Whether the agent asked or was blocked by tool, so that it may stop."""
        self._require_open(params)
        return {"halted": self._is_halted}

    async def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one call, as MCP has it; a refusal is one too, for the agent."""
        try:
            order = self._require_open(params)
            text, refused = await self._call(order, params)
        except ToolRefused as error:
            text, refused = str(error), True
        except RalphError as error:
            text, refused = error.message, True
        return {"content": [{"type": "text", "text": text}], "isError": refused}

    def _require_open(self, params: dict[str, Any]) -> LaunchAgent:
        given = str(params.get("token", "")).encode(errors="replace")
        is_ours = hmac.compare_digest(given, self.token.encode())
        if self._order is None or not self.token or not is_ours:
            raise ToolRefused(OVER)
        return self._order

    async def _call(self, order: LaunchAgent, params: dict[str, Any]) -> tuple[str, bool]:
        tool, given = _checked(params.get("name"), params.get("arguments"))
        arguments = given.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if tool is ReportTool.GET_TASK:
            return await asyncio.to_thread(self._task_words, order), False
        if tool is ReportTool.GET_PLAN:
            return await asyncio.to_thread(self._plan_words), False
        is_sub_agent = self._output.is_sub_agent_call(tool, arguments)
        note = ""
        if isinstance(given, CompleteTask):
            note = await asyncio.to_thread(self._complete, order, given)
        elif isinstance(given, AddTask):
            await asyncio.to_thread(self._add, given)
        elif isinstance(given, AskDecision) and is_sub_agent:
            raise ToolRefused("only the main agent may ask the user; give it your question")
        text = question_words(given) if isinstance(given, AskDecision) else ""
        waits = isinstance(given, AskDecision) and given.wait
        reply = await self._record(
            order, tool, arguments, text=text, waits=waits, is_sub_agent=is_sub_agent
        )
        return " ".join(filter(None, (reply.text, note))), reply.refused

    async def _record(
        self,
        order: LaunchAgent,
        tool: ReportTool,
        arguments: dict[str, Any],
        *,
        text: str,
        waits: bool,
        is_sub_agent: bool,
    ) -> ReplyToAgent:
        """Have the loop record a call, and wait for its reply."""
        if self._deliver is None or self._order is not order:
            raise ToolRefused(OVER)
        self._n_calls += 1
        call = self._n_calls
        waiting: asyncio.Future[ReplyToAgent] = asyncio.get_running_loop().create_future()
        self._replies[call] = waiting
        self._deliver(
            AgentCalled(
                start=order.start,
                call=call,
                tool=tool,
                arguments=arguments,
                output_bytes=self._output.n_bytes,
                sub_agent=is_sub_agent,
                text=text,
                waits=waits,
            )
        )
        try:
            return await waiting
        finally:
            self._replies.pop(call, None)

    # What is read of the plan, and written into it. In a thread.

    def _parsed(self) -> tuple[str, ParsedPlan]:
        text = self._workspace.source.read()
        return text, self._workspace.source.parse(text)

    def _task_words(self, order: LaunchAgent) -> str:
        text, parsed = self._parsed()
        context = order.context
        about = f"Mode: {context.mode.value}. Plan: {context.plan_path}."
        task = None if not context.task_id else parsed.plan.find(context.task_id)
        if task is None:
            title = context.task or "no task is assigned: confirm that nothing is left to do"
            return f"{about}\nTask: {title}"
        criteria = [f"{n}. {one}" for n, one in enumerate(task.criteria, 1)]
        lines = text.splitlines()[task.line : task.end_line + 1]
        own = "\n".join(lines)[:LONGEST_TASK]
        return "\n".join(
            filter(
                None,
                (
                    about,
                    f"Task {task.id}: {task.title} ({task.state.value})",
                    f"Section: {task.section}" if task.section else "",
                    "Acceptance criteria:" if criteria else "It has no acceptance criteria.",
                    *criteria,
                    f"\nIn the plan:\n{own}" if self._is_markdown else "",
                ),
            )
        )

    def _plan_words(self) -> str:
        _, parsed = self._parsed()
        tasks = sorted(parsed.plan.tasks, key=lambda task: task.state is TaskState.DONE)
        listed = [_row(task) for task in tasks[:SHOWN_TASKS]]
        if more := len(tasks) - len(listed):
            listed.append(f"… and {more} more")
        return "\n".join(listed) or "The plan has no tasks."

    @property
    def _is_markdown(self) -> bool:
        source = self._workspace.source
        kind = profile_of(self._workspace.config.profile).plan_kind
        root = self._workspace.root
        return source.file is not None and format_at(root, source.file, kind).is_markdown

    def _find(self, order: LaunchAgent, wanted: str | None) -> Task | None:
        _, parsed = self._parsed()
        if wanted is None:
            own = order.context.task_id
            return parsed.plan.find(own) if own else None
        found = parsed.plan.find(wanted)
        if found is not None:
            return found
        alike = [task for task in parsed.plan.tasks if task.title.casefold() == wanted.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise ToolRefused(
            f"the plan has no task {wanted!r}; get_plan lists the ids"
            if not alike
            else f"several tasks are called {wanted!r}; give the id, which get_plan lists"
        )

    def _complete(self, order: LaunchAgent, given: CompleteTask) -> str:
        """Check the evidence, and mark the task in a plan that agents edit by hand."""
        task = self._find(order, given.task)
        if task is None:
            raise ToolRefused(
                "this iteration has no task; name one of the plan: get_plan lists them"
            )
        cited = {one.criterion for one in given.evidence}
        n_criteria = len(task.criteria)
        missing = [n for n in range(1, n_criteria + 1) if n not in cited]
        if missing:
            first = task.criteria[missing[0] - 1]
            raise ToolRefused(
                f"criterion {missing[0]} has no evidence: {first!r}; check it, and call again with "
                f"evidence for all of {', '.join(map(str, range(1, n_criteria + 1)))}"
            )
        if unknown := sorted(n for n in cited if n > n_criteria):
            has = f"criteria 1 to {n_criteria}" if n_criteria else "no criteria"
            raise ToolRefused(f"there is no criterion {unknown[0]}: the task has {has}")
        if not self._is_markdown:
            return (
                "Mark it as done in the plan as this prompt says; the tool does not edit this plan."
            )
        if task.state is not TaskState.DONE:
            self._edit(lambda text: tick_task(text, task.id))
        return f"{task.title!r} is ticked in the plan."

    def _add(self, given: AddTask) -> None:
        if not self._is_markdown:
            raise ToolRefused(
                "the tool does not edit this plan; add the task as the prompt says for its format"
            )
        self._edit(lambda text: add_task(text, given.title, section=given.section))

    def _edit(self, change: Callable[[str], str]) -> None:
        workspace = self._workspace
        edit_plan(workspace.root, str(workspace.source.file), change, "call again")


def _row(task: Task) -> str:
    more = f"; blocked by {task.blocked_by}" if task.blocked_by else ""
    section = f" [{task.section}]" if task.section else ""
    return f"{task.id}: {task.title} ({task.state.value}{more}){section}"


def _listed(tool: ReportTool, model: type[ToolInput]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    about = str(schema.pop("description", ""))
    schema.pop("title", None)
    reads = tool in {ReportTool.GET_TASK, ReportTool.GET_PLAN}
    return {
        "name": tool.value,
        "description": " ".join(about.split()),
        "inputSchema": {"properties": {}, **schema},
        "annotations": {"readOnlyHint": reads, "openWorldHint": False},
    }


def _checked(name: object, arguments: object) -> tuple[ReportTool, ToolInput]:
    """The tool and its input; raises ``ToolRefused`` with what is wrong with it."""
    try:
        tool = ReportTool(str(name))
    except ValueError:
        known = ", ".join(one.value for one in ReportTool)
        raise ToolRefused(f"there is no tool {name!r}; there are: {known}") from None
    try:
        return tool, TOOLS[tool].model_validate({} if arguments is None else arguments)
    except ValidationError as error:
        found = "; ".join(_problem(one) for one in error.errors(include_url=False)[:5])
        raise ToolRefused(f"{tool.value}: {found}; correct that, and call again") from None


def _problem(one: Any) -> str:
    where = ".".join(map(str, one["loc"]))
    return f"{where}: {one['msg']}" if where else str(one["msg"])
