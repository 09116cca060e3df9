"""Judge of an iteration's work: an agent with a fresh context, which can only read.

It is started with the flags of the catalog that keep it from writing. All the same the work tree is
compared before and after: where it may have written, what changed is restored and its verdict is
refused; its version is kept in the run's folder. Where its own stream shows that it has only read,
a change is somebody else's and stays. What a verdict means is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.result import AgentResult, Decoder
from ralph_ls.core.agent.usage import price_for, with_estimated_cost
from ralph_ls.core.loop.effects import JudgeWork
from ralph_ls.core.loop.inputs import Notice, WorkJudged
from ralph_ls.core.plan.verification.criterion_checks import refuted_by_judge
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.prompt.judge import (
    JudgeContext,
    JudgedTask,
    ReadVerdict,
    change_line,
    judge_prompt,
    read_verdict,
)
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.agent.description import Agent, asking_for_usage, mapping_of, with_usage_file
from ralph_ls.engine.agent.environment import find_program
from ralph_ls.engine.agent.mcp_offer import OfferedFiles
from ralph_ls.engine.agent.selection import fill_argv, flags_for
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.delivery.tree_snapshots import TreeDifference, TreeSnapshots
from ralph_ls.engine.git.status import journal_path
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.iteration.judge_tool import NAME as VERDICT_TOOL
from ralph_ls.engine.iteration.judge_tool import VerdictTool
from ralph_ls.engine.iteration.launch import iteration_environment
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.box import BoxFiles
from ralph_ls.engine.sandbox.home import agent_of
from ralph_ls.engine.sandbox.launch import in_box
from ralph_ls.engine.sandbox.selection import agent_in_box
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.agent_catalog import CATALOG, Dialect
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.messages import AgentMessage, FileAction, FileMessage, ToolMessage
from ralph_ls.protocol.run.report import JudgeReport, JudgeVerdict
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_objects import diff_between, empty_tree
from ralph_ls.store.files import PRIVATE_FILE, write_atomic
from ralph_ls.store.run.logs import STDOUT

MAX_TASK = 8_000
"""Characters of a task's lines in the plan."""

MAX_NOTE = 500
"""Characters of the note at a task that is open again."""

ERROR_TAIL = 2_000
SHOWN_FILES = 5
SHOWN_ERROR = 200
KEPT_NAMES = 50


@dataclass(slots=True, kw_only=True)
class _Asked:
    """One judge at work."""

    decoder: Decoder
    readers: frozenset[str] | None
    """Its tools that only read; None: what it does cannot be seen."""
    may_have_written: bool = False
    errors: bytearray = field(default_factory=bytearray)

    def take(self, messages: list[AgentMessage]) -> None:
        """Notice any tool that may write."""
        self.may_have_written = self.may_have_written or any(map(self._may_write, messages))

    def _may_write(self, message: AgentMessage) -> bool:
        if isinstance(message, FileMessage):
            return message.action is not FileAction.READ
        if not isinstance(message, ToolMessage) or message.name.endswith(VERDICT_TOOL):
            return False
        return message.name.lower() not in (self.readers or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a judge wrote, and what was done about it."""

    reason: str = ""
    """Why its verdict is refused; empty where it is not."""
    restored: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def is_refused(self) -> bool:
        return bool(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutcome:
    """What came of asking a judge, before the plan is touched."""

    judged: WorkJudged
    report: JudgeReport | None = None
    """Its verdict, where it counts."""


class IterationJudge:
    """Asks the judge of one run."""

    def __init__(
        self,
        launcher: ProcessLauncher,
        look: Callable[[], Baseline],
        on_messages: Callable[[list[AgentMessage], Dialect], None],
    ) -> None:
        """``look`` reads the work tree; ``on_messages`` gets what the judge says while it works."""
        self._launcher = launcher
        self._workspace = launcher.workspace
        self._look = look
        self._on_messages = on_messages
        self._snapshots = TreeSnapshots(launcher.workspace.root, launcher.workspace.files.folder)

    async def ask(self, order: JudgeWork, plan: str) -> JudgeOutcome:
        """Ask for a verdict; ``plan`` is the plan's text as the iteration found it.

        Raises a ``RalphError`` where the judge cannot be started.
        """
        agent = self._workspace.judge
        if agent is None:
            raise RalphError("no judge was prepared for this run")
        model = self._workspace.config.judge.model or agent.model
        token = secrets.token_hex(8)
        head, before = await asyncio.to_thread(self._snapshot)
        context = await asyncio.to_thread(self._context, order, plan, token, before)
        tool = VerdictTool(self._workspace.files.folder, token)
        await tool.open(agent, self._workspace.config)
        try:
            asked, ended, final = await self._run(agent, order, judge_prompt(context), tool)
        finally:
            await tool.close()
        judged = WorkJudged(
            verdict=JudgeVerdict.CANNOT_TELL,
            failed=True,
            agent=agent.name,
            model=final.model or model,
            seconds=round(ended.seconds, 3),
            usage=with_estimated_cost(
                final.usage, price_for(self._workspace.config.prices, final.model or model)
            ),
        )
        found = self._verdict(asked, ended, final, token)
        if found.report is None and tool.report is not None and not ended.stopped:
            # What it says last counts; this it has said before its last words.
            found = ReadVerdict(report=tool.report)
        written = await asyncio.to_thread(self._restore, order, asked, head, before)
        if written.is_refused:
            judged = replace(judged, reason=written.reason, restored=written.restored)
            return JudgeOutcome(judged=replace(judged, notices=written.notices))
        report = found.report
        if report is None:
            return JudgeOutcome(judged=replace(judged, reason=found.problem))
        judged = replace(
            judged,
            verdict=report.verdict,
            failed=False,
            reason=report.reason,
            changes=report.changes,
        )
        return JudgeOutcome(judged=judged, report=report)

    def reopen(self, order: JudgeWork, report: JudgeReport, before: str) -> WorkJudged | None:
        """Open the judged tasks again in the plan; None where there is nothing to open.

        ``before`` is the plan as the iteration found it. The answer has only what came of it.
        """
        if report.verdict is not JudgeVerdict.CHANGES_REQUESTED or not order.tasks:
            return None
        wants = "; ".join(change_line(one) for one in report.changes)
        words = f"A judge requests changes: {wants}"[:MAX_NOTE]
        written = self._workspace.source.close(
            [refuted_by_judge(task, words) for task in order.tasks], before
        )
        opened = tuple(one.task.id for one in written.verifications if one.reopened)
        return WorkJudged(verdict=report.verdict, reopened=opened, notices=tuple(written.notices))

    def _snapshot(self) -> tuple[str | None, str]:
        place = self._workspace.worktree
        head = read_head(place.git_dir, place.common_dir).commit
        return head, self._snapshots.take(head)

    def _context(self, order: JudgeWork, plan: str, token: str, now: str) -> JudgeContext:
        source = self._workspace.source
        diff, left_out = self._diff(order, now)
        lines = plan.splitlines()
        tasks = []
        for one in order.tasks:
            found = source.parse(plan).plan.find(one.id)
            body = "" if found is None else "\n".join(lines[found.line + 1 : found.end_line + 1])
            tasks.append(
                JudgedTask(
                    title=one.title,
                    body=body[:MAX_TASK],
                    criteria=() if found is None else found.criteria,
                )
            )
        redact = self._workspace.redactor.redact
        request = "" if source.request is None else source.with_context(_NO_FACTS, plan).request
        return JudgeContext(
            token=token,
            tasks=tuple(tasks),
            request=redact(request[: 4 * MAX_TASK]),
            diff=redact(diff),
            left_out=left_out,
            validation=order.validation,
            requested=order.requested,
        )

    def _diff(self, order: JudgeWork, now: str) -> tuple[str, tuple[str, ...]]:
        """The patch of what the work changed, and the files that it has no room for."""
        root, covers = self._workspace.root, self._workspace.own_files.covers
        base = order.base.head or empty_tree()
        dirty = self._look().dirty
        same = {path for path, value in order.base.dirty.items() if dirty.get(path) == value}
        kept: list[str] = []
        left_out: list[str] = []
        room = self._workspace.config.judge.max_diff
        for name, patch in _patches(diff_between(root, base, now)):
            if covers(name) or name in same:
                continue
            size = len(patch.encode("utf-8", "replace"))
            if size <= room:
                room -= size
                kept.append(patch)
            else:
                left_out.append(name)
        return "".join(kept), tuple(left_out)

    async def _run(
        self, agent: Agent, order: JudgeWork, prompt: str, tool: VerdictTool
    ) -> tuple[_Asked, running_process.ProcessExit, AgentResult]:
        workspace = self._workspace
        name = f"judge-{order.start:03d}"
        folder = workspace.files.folder
        prompt_file, usage = folder / f"{name}.prompt.md", folder / f"{name}.usage"
        write_atomic(prompt_file, prompt.encode("utf-8", "replace"), mode=PRIVATE_FILE)
        mapping = mapping_of(workspace.config, agent.name)
        asked = _Asked(
            decoder=decoder_for(
                agent.dialect, order.start, folder=str(workspace.root), mapping=mapping
            ),
            readers=_readers_of(agent),
        )
        asked.may_have_written = asked.readers is None
        launch, shown = self._launch(agent, order, prompt, prompt_file, tool)
        writable = (workspace.files.scratch, usage, *shown.writable)
        files = BoxFiles(
            readable=(prompt_file, *shown.readable),
            writable=tuple(one for one in writable if one.exists()),
            hook=tool.folder,
        )
        boxed, leave_box = in_box(
            workspace.sandbox.box,
            launch,
            agent=agent_of(agent_in_box((*agent.argv, *agent.tail), agent.dialect)),
            files=files,
        )

        def take(stream: str, data: bytes) -> None:
            if stream == STDOUT:
                self._take(asked, agent, asked.decoder.feed(data), data)
            else:
                asked.errors.extend(data)
                del asked.errors[:-ERROR_TAIL]

        started = await running_process.start(boxed, redactor=workspace.redactor, on_output=take)
        self._launcher.on_start(started)
        ended = await started.wait()
        await asyncio.to_thread(leave_box)
        self._take(asked, agent, asked.decoder.finish(), b"")
        final = with_usage_file(asked.decoder.final(), usage, agent.dialect, mapping, None)
        return asked, ended, final

    def _take(self, asked: _Asked, agent: Agent, messages: list[AgentMessage], data: bytes) -> None:
        asked.take(messages)
        if agent.dialect is Dialect.TEXT:
            self._launcher.on_output(data)
        else:
            self._on_messages(messages, agent.dialect)

    def _launch(
        self, agent: Agent, order: JudgeWork, prompt: str, prompt_file: Path, tool: VerdictTool
    ) -> tuple[running_process.Launch, OfferedFiles]:
        workspace = self._workspace
        usage = prompt_file.with_name(f"judge-{order.start:03d}.usage")
        environment = iteration_environment(
            workspace, agent, start=order.start, iteration=order.iteration
        )
        agent, shown = tool.offered(agent, workspace.config, environment)
        more = flags_for(agent, session=None, model=workspace.config.judge.model)
        argv = fill_argv(asking_for_usage(agent, usage), prompt, prompt_file, more)
        program = find_program(argv[0], environment, workspace.root)
        output = prompt_file.with_suffix("").with_suffix(".out")
        launch = running_process.Launch(
            argv=(str(program), *argv[1:]),
            cwd=workspace.root,
            environment=environment,
            stdin=prompt.encode("utf-8", "replace") if agent.prompt is PromptBy.STDIN else None,
            stdout_path=output,
            stderr_path=output.with_suffix(".err"),
            marker=workspace.marker(order.start),
            timeout_seconds=workspace.config.judge.timeout or None,
            idle_timeout_seconds=None,
            grace_seconds=running_process.GRACE_SECONDS,
            is_agent=True,
            keep=frozenset(workspace.config.keep_running),
        )
        return launch, shown

    def _verdict(
        self, asked: _Asked, ended: running_process.ProcessExit, final: AgentResult, token: str
    ) -> ReadVerdict:
        if ended.stopped:
            return ReadVerdict(problem="it was stopped")
        if ended.timed_out:
            limit = self._workspace.config.judge.timeout
            return ReadVerdict(problem=f"it took longer than {limit:g} s and was ended")
        found = read_verdict(final.text, token)
        if found.report is None and (final.failed or ended.exit_code != 0):
            said = asked.errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
            why = final.why or next(iter(final.errors), "") or said
            how = f"it failed: {why[:SHOWN_ERROR]}" if why else "it failed"
            return ReadVerdict(problem=how)
        return found

    def _restore(self, order: JudgeWork, asked: _Asked, head: str | None, before: str) -> _Written:
        """Restore what the judge changed; where it changed something, its verdict is refused."""
        now, after = self._snapshot()
        entries = dict(self._snapshots.differing(before, after))
        if not asked.may_have_written or (not entries and now == head):
            return _Written()
        names = sorted(journal_path(path) for path in entries)
        if not names:
            return _Written(reason="HEAD moved while it worked, so its verdict is refused")
        kept = self._keep(order, before, after)
        what = f"it changed {count_of(len(names), 'file')} ({some_of(names, SHOWN_FILES)})"
        if problem := self._write_back(after, entries):
            reason = f"{what}, which could not be restored: {problem}; its verdict is refused"
            return _Written(reason=reason, notices=(_wrote(reason, kept),))
        reason = f"{what}; that was restored, and its verdict is refused"
        return _Written(
            reason=reason, restored=tuple(names[:KEPT_NAMES]), notices=(_wrote(reason, kept),)
        )

    def _keep(self, order: JudgeWork, before: str, after: str) -> Path:
        """Keep its version as a patch: somebody may have saved a file at the same time."""
        path = self._workspace.files.folder / f"judge-{order.start:03d}.changes.diff"
        patch = self._workspace.redactor.redact(diff_between(self._workspace.root, before, after))
        write_atomic(path, patch.encode("utf-8", "replace"), mode=PRIVATE_FILE)
        return path

    def _write_back(self, after: str, entries: Mapping[bytes, TreeDifference]) -> str:
        try:
            self._snapshots.write_back(after, entries)
        except RalphError as error:
            return error.message
        return ""


_NO_FACTS = PromptContext(
    iteration=1, max_iterations=None, plan_path="", decide_path="", blocked_path=""
)
"""A context to which a source adds its request."""


def _readers_of(agent: Agent) -> frozenset[str] | None:
    """The tools of a judge that only read; None where its stream does not show all it does."""
    if agent.dialect in {Dialect.TEXT, Dialect.JSONL, Dialect.ACP}:
        return None
    known = next((one for one in CATALOG.values() if one.dialect is agent.dialect), None)
    return None if known is None or known.judge is None else known.judge.readers


def _wrote(reason: str, kept: Path) -> Notice:
    message = f"the judge can only read, but {reason}; its version is in {kept}"
    return Notice(code="judge-wrote", message=message)


def _patches(diff: str) -> list[tuple[str, str]]:
    """The parts of a diff, by the file that each is about."""
    found: list[tuple[str, str]] = []
    for part in f"\n{diff}".split("\ndiff --git ")[1:]:
        first = part.partition("\n")[0]
        # Both names are the same, except for a rename, where the second counts.
        name = first.rpartition(" b/")[2].strip('"')
        found.append((name, f"diff --git {part.rstrip(chr(10))}\n"))
    return found
