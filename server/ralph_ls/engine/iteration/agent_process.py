"""Agent process of an iteration: launched, listened to, stopped, and cleaned up after.

It also knows the other processes of an iteration (git, validation scripts, a task's commands), so
that one order stops whichever runs now. Start and stop it in the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.effects import LaunchAgent
from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    Notice,
)
from ralph_ls.engine.agent.mcp_offer import is_available, mcp_offer
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.guard.protected_files import remove_added_approvals
from ralph_ls.engine.iteration.agent_logs import log_messages, log_output, make_log
from ralph_ls.engine.iteration.agent_output import AgentOutputReader
from ralph_ls.engine.iteration.agent_tools import AgentTools
from ralph_ls.engine.iteration.health import Notices
from ralph_ls.engine.iteration.launch import (
    IterationPrompt,
    ToolLink,
    emit_agent_end,
    emit_launch,
    launch_of,
    leave_sandbox,
    prompt_of,
)
from ralph_ls.engine.iteration.lessons import RunLessons
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector
from ralph_ls.engine.process import running_process
from ralph_ls.engine.process.streams import OutputLimit, emit_output_cut
from ralph_ls.engine.sandbox.hook_socket import HAS_SOCKETS, HookSocket, Method
from ralph_ls.engine.sandbox.launch import LeaveBox
from ralph_ls.engine.worktree.git_locks import GitLocks, UnfinishedOperations
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.run.agent_tools import CALL_TOOL, HALTED, LIST_TOOLS
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.store.iteration_socket import STOP_STATE
from ralph_ls.store.run.active_run import stop_state
from ralph_ls.store.run.logs import STDOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaunch:
    """An agent that can be started, and what its box needs after its end."""

    effect: LaunchAgent
    prompt: IterationPrompt
    launch: running_process.Launch
    leave_box: LeaveBox


class AgentProcess:
    """The agents of one run, one after the other."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        inspector: WorktreeInspector,
        lessons: RunLessons,
        emit: Callable[[AnnouncementDone | AgentCalled], None] | None,
        keeper: TreeKeeper,
    ) -> None:
        self._workspace = workspace
        self._inspector = inspector
        self._lessons = lessons
        self._emit = emit
        self._keeper = keeper
        self._notices = Notices()
        self._process: running_process.RunningProcess | None = None
        """Of the open iteration, whichever runs now or ran last."""
        self._is_stopping = False
        self._logged = OutputLimit()
        self._hook_socket: HookSocket | None = None
        self.log = make_log(workspace, clock)
        self.output = AgentOutputReader(workspace, clock=clock, emit=emit)
        self.tools = AgentTools(workspace, self.output, emit)
        self.locks = GitLocks(workspace, clock=clock, emit=emit)
        self.operations = UnfinishedOperations(workspace)
        self.launcher = ProcessLauncher(
            workspace, self.log.write, self._has_begun, lambda: self._is_stopping, self.locks
        )

    async def prepare(self, effect: LaunchAgent, plan: str) -> AgentLaunch:
        """Write the prompt and find the program; ``plan`` is the plan's text.

        Raises a ``RalphError`` where the agent cannot be started.
        """
        self._is_stopping = False
        workspace = self._workspace
        effect = replace(effect, context=self._lessons.with_lessons(effect.context))
        offered = mcp_offer(workspace.agent_for(effect.agent), workspace.config)
        folder = await self._listen(effect)
        offered = offered if folder is not None else None
        prompt = prompt_of(workspace, effect, plan, has_tools=offered is not None)
        if prompt.passed_over is not None:
            self._notices.add("prompt-passed-over", prompt.passed_over)
        link = ToolLink(folder=folder, token=self.tools.token, offer=offered) if folder else None
        launch, leave_box = launch_of(workspace, effect, prompt, self._inspector, link=link)
        if effect.attempt == 1:
            self._logged = OutputLimit()
        return AgentLaunch(effect=effect, prompt=prompt, launch=launch, leave_box=leave_box)

    async def start(self, ready: AgentLaunch) -> tuple[AgentLaunched, Awaitable[AgentFinished]]:
        """Start the agent; the second value is its end."""
        effect, workspace = ready.effect, self._workspace
        self.output.begin(effect, prompt_characters=len(ready.prompt.text))
        await asyncio.to_thread(self.locks.begin)
        self.operations.begin()
        self._keeper.begin(effect.start, ready.launch.marker)
        started = await running_process.start(
            ready.launch, redactor=workspace.redactor, on_output=self._on_output
        )
        self._keeper.started(started.pid, started.start_time)
        self._process = started
        self._end_if_overspent()
        ending = self._end_of(started, effect.start, ready.leave_box)
        return emit_launch(workspace, effect, ready.prompt, started), ending

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    def stop(self) -> None:
        """End whatever runs now, with all its children; idempotent."""
        self._is_stopping = True
        self.locks.stop()
        if self._process is not None:
            self._process.stop()

    def hold_clocks(self) -> None:
        """The agent waits for the user: no time limit of it runs."""
        if self._process is not None:
            self._process.hold_clocks()

    def release_clocks(self) -> None:
        """The agent continues."""
        if self._process is not None:
            self._process.release_clocks()

    def forget_process(self) -> None:
        """Stop nothing that has ended already."""
        self._process = None

    async def check_approvals(self) -> None:
        """Remove approvals and lessons that appeared during the run, and report them."""
        self._report(await asyncio.to_thread(self._remove_added))

    def _remove_added(self) -> tuple[AnnouncementDone, ...]:
        return (*remove_added_approvals(self._workspace), *self._lessons.remove_added())

    def finish(self) -> None:
        """Check approvals for the last time; blocks."""
        self._report(self._remove_added())

    def close(self) -> None:
        """Close messages and logs."""
        self.output.close()
        self.log.close()

    def take_notices(self, attempts_problem: str | None) -> tuple[Notice, ...]:
        """The notices since the last call, each code once for as long as the engine lives."""
        for problem in (self.log.problem, self.output.problem):
            if problem is not None:
                self._notices.add("log-not-written", f"a log cannot be written: {problem}")
        if attempts_problem is not None:
            self._notices.add("attempts-not-kept", attempts_problem)
        return (*self.locks.take_notices(), *self._notices.take())

    async def _listen(self, effect: LaunchAgent) -> Path | None:
        """Open the iteration's socket; the folder that it is in, or None where nothing asks."""
        workspace = self._workspace
        self.tools.begin(effect)
        has_tools, is_boxed = is_available(workspace.config), workspace.sandbox.box is not None
        if not HAS_SOCKETS or not (is_boxed or has_tools):
            return None

        async def answer(params: dict[str, Any]) -> dict[str, Any]:
            continues = params == {"continued": True}
            git_dir = workspace.worktree.git_dir
            return await asyncio.to_thread(stop_state, workspace.root, git_dir, continues=continues)

        methods: dict[str, Method] = {STOP_STATE: answer}
        if has_tools:
            methods |= {LIST_TOOLS: self.tools.list_tools, CALL_TOOL: self.tools.call}
            methods[HALTED] = self.tools.halted
        self._hook_socket = HookSocket(workspace.files.folder / "hook", methods)
        try:
            await self._hook_socket.open()
        except OSError as error:
            self._notices.add(
                "hook-not-heard",
                f"the agent cannot report by tool, nor its hooks ask from a sandbox: {error}",
            )
            return None
        return self._hook_socket.folder

    async def _end_of(
        self, started: running_process.RunningProcess, start: int, leave_box: LeaveBox
    ) -> AgentFinished:
        ended = await started.wait()
        self.tools.close()
        if self._hook_socket is not None:
            await self._hook_socket.close()
        in_box = self._workspace.sandbox.box is not None
        if in_box and (problem := await asyncio.to_thread(leave_box)):
            self._notices.add("sandbox-left", problem)
        if in_box:
            # The system ends all processes of a box with its first one; any that is still listed
            # was ended already.
            ended = replace(ended, leftovers=0)
        self._keeper.ended()
        self._process = None
        await self.check_approvals()
        self._log_messages(self.output.end())
        if problem := await asyncio.to_thread(self._settle, ended, start):
            self._notices.add("sandbox-not-ended", problem)
        if ended.write_error is not None:
            self._notices.add("log-not-written", ended.write_error)
        self._emit_end(ended)
        return emit_agent_end(ended)

    def _settle(self, ended: running_process.ProcessExit, start: int) -> str | None:
        """End what is left in a sandbox, and settle its git locks; what went wrong, in words."""
        problem = leave_sandbox(self._workspace, ended)
        self.locks.settle(start)
        return problem

    def _emit_end(self, ended: running_process.ProcessExit) -> None:
        """Name the processes that were left running, and the output that no log keeps."""
        if ended.kept:
            message = f"left running by keep_running: {', '.join(ended.kept)}"
            self._notices.add("left-running", message)
        if ended.n_left_out or self._logged.n_left_out:
            self._notices.add(
                "output-cut", emit_output_cut(ended.n_left_out or self._logged.n_left_out)
            )

    def _has_begun(self, started: running_process.RunningProcess) -> None:
        self._process = started
        if self._is_stopping:
            # The order came while it was being started.
            started.stop()

    def _on_output(self, stream: str, data: bytes) -> None:
        if logged := self._logged.take(data):
            log_output(self.log, stream, logged, self.output.dialect)
        if stream == STDOUT:
            self._log_messages(self.output.take(data))
            self._end_if_overspent()

    def _end_if_overspent(self) -> None:
        if self.output.has_overspent and self._process is not None:
            self._process.end_overspent()

    def _log_messages(self, messages: list[AgentMessage]) -> None:
        log_messages(self.log, messages, self.output.dialect)

    def _report(self, found: Iterable[AnnouncementDone]) -> None:
        if self._emit is not None:
            for one in found:
                self._emit(one)
