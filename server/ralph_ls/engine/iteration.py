"""The work of one iteration: look, start the agent, read what came of it, validate.

Slow and blocking parts (git, parsing, hashing) run in threads, so that commands are taken at any
time. What was seen at the end of an iteration is the beginning of the next one, so git is asked
once for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import datetime

from ralph_ls.core.agent.decode.told import Told
from ralph_ls.core.loop import attempts
from ralph_ls.core.loop.effects import (
    LaunchAgent,
    PrepareIteration,
    ReadIteration,
    SetTaskAside,
)
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AgentLaunched,
    IterationRead,
    Notice,
    PlanFacts,
    Prepared,
    ValidationFinished,
)
from ralph_ls.core.plan.model import Plan
from ralph_ls.core.plan.select import newly_done
from ralph_ls.core.plan.specs import check_specs
from ralph_ls.core.views.messages import message_line
from ralph_ls.engine import process
from ralph_ls.engine.agent_choice import fill_argv, resume_flags
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.environment import agent_environment, find_program
from ralph_ls.engine.guarding import Guarding
from ralph_ls.engine.hearing import Heard, Hearing
from ralph_ls.engine.looking import Looking, tell_persons
from ralph_ls.engine.persons import find_plan_edits, tell_plan_edits
from ralph_ls.engine.planning import mode_of, writes_plan
from ralph_ls.engine.plans import (
    facts_of,
    parse_plan,
    read_plan_text,
    set_task_aside,
)
from ralph_ls.engine.prompts import fill_template, template_path
from ralph_ls.engine.specifications import SpecsSeen, changes_of, look_at_specs, notices_of
from ralph_ls.engine.task_names import TaskNames
from ralph_ls.engine.validation import can_validate, must_validate, run_validation
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config import Dialect, PromptBy
from ralph_ls.protocol.events import IterationEnded
from ralph_ls.protocol.evidence import Baseline
from ralph_ls.protocol.run_words import Mode, TaskRef
from ralph_ls.protocol.state import RunState
from ralph_ls.store import trust
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.halts import look_at_halt_files
from ralph_ls.store.logs import RunLog

KEPT_ERRORS = 200
"""Error lines of one iteration that are passed on; a flood says nothing more."""


class IterationWork:
    """What the performer does for the iterations of one run."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._looking = Looking(workspace, clock=clock)
        self._guarding = Guarding(workspace, clock=clock)
        self._process: process.RunningProcess | None = None
        self._after: tuple[Baseline, str] | None = None
        """The tree and the plan as the last iteration left them."""
        self._plan_before: str | None = None
        self._names = TaskNames(workspace.config.task)
        self._plan_read_at: datetime | None = None
        """When that was read; what people save later is new."""
        self._hearing = Hearing(workspace, clock=clock)
        self._notices: dict[str, Notice] = {}
        self._told: set[str] = set()
        self._specs_told: set[str] = set()
        self._specs: SpecsSeen | None = None
        """As they were when they were last looked at."""
        self._stopping = False
        self._validates = can_validate(workspace)
        """Whether there was a validation script that could run when this engine began."""
        config = workspace.config
        self.log = RunLog(
            workspace.root, config.paths.logs, form=config.log_form, started=clock.local()
        )

    async def prepare(self, effect: PrepareIteration, run: RunState) -> Prepared:
        """Look at the tree and the plan; remember the plan, to see later what became of it."""
        if effect.reuse and self._after is not None:
            baseline, text = self._after
        else:
            self._plan_read_at = self._clock.now()
            baseline, text = await asyncio.gather(
                asyncio.to_thread(self._looking.look), asyncio.to_thread(self._plan_text)
            )
            if self._after is not None:
                self._names.follow(self._after[1], text)
        await asyncio.to_thread(self._guarding.remember)
        if text != self._plan_before:
            self._remember_plan(text)
            self._plan_before = text
        config = self._workspace.config
        plan = self._parse(text)
        return Prepared(
            baseline=baseline,
            plan=self._facts(plan, text, effect, run, self._names.renamed),
            left_out=(*effect.skip, *effect.skipped),
            mode=mode_of(config, text, counted=run.counted),
            notices=await asyncio.to_thread(self._look_at_specs, plan, text, tell_changes=False),
        )

    async def launch(
        self, effect: LaunchAgent, run: RunState
    ) -> tuple[AgentLaunched, Awaitable[AgentFinished]]:
        """Start the agent; the second value is its end."""
        self._stopping = False
        workspace = self._workspace
        prompt = self._prompt(effect)
        prompt_file = workspace.files.prompt(effect.iteration)
        prompt_file.touch(mode=PRIVATE_FILE)
        prompt_file.write_bytes(prompt.encode())
        agent = workspace.agent
        environment = agent_environment(
            workspace.environment,
            marker=workspace.marker(effect.iteration),
            iteration=effect.iteration,
            max_iterations=workspace.config.max_iterations,
            scratch=make_private_folder(workspace.files.scratch),
            extra=agent.env,
            only=workspace.config.env.only,
        )
        environment = self._looking.traced(environment, effect.iteration)
        resumed = resume_flags(agent, effect.session)
        argv = fill_argv(agent, prompt, prompt_file, resumed)
        program = find_program(argv[0], environment, workspace.root)
        if effect.attempt == 1:
            self.log.begin(effect.iteration, run.branch, self._clock.local())
        self._hearing.begin(effect)
        launch = process.Launch(
            argv=(str(program), *argv[1:]),
            cwd=workspace.root,
            environment=environment,
            stdin=prompt.encode() if agent.prompt is PromptBy.STDIN else None,
            stdout_path=workspace.files.output(effect.iteration, effect.attempt, "out"),
            stderr_path=workspace.files.output(effect.iteration, effect.attempt, "err"),
            marker=workspace.marker(effect.iteration),
            timeout_seconds=workspace.config.timeout or None,
            idle_timeout_seconds=workspace.config.idle_timeout or None,
            grace_seconds=process.GRACE_SECONDS,
        )
        started = await process.start(
            launch, redactor=workspace.redactor, on_output=self._on_output
        )
        self._process = started
        launched = AgentLaunched(
            agent=agent.name,
            argv=(*agent.argv, *resumed),
            pid=started.pid,
            process_start_time=started.start_time,
            group=started.group,
            prompt_bytes=len(prompt.encode()),
            dialect=None if agent.dialect is Dialect.TEXT else agent.dialect,
        )
        return launched, self._end_of(started)

    def stop(self) -> None:
        """End whatever runs now, with all its children."""
        self._stopping = True
        if self._process is not None:
            self._process.stop()

    async def read(self, effect: ReadIteration, run: RunState) -> IterationRead:
        """Read what the agent said and what changed since the iteration's baseline."""
        workspace = self._workspace
        mode = Mode.BUILD if run.current is None else run.current.started.mode
        # What is put back is neither evidence nor progress, so that comes first.
        began = None if run.current is None else run.current.started.at
        reverted = await asyncio.to_thread(
            self._guarding.put_back, effect.iteration, mode, began=began
        )
        read_at = self._clock.now()
        heard, after, text = await asyncio.gather(
            asyncio.to_thread(self._hearing.read, effect, run),
            asyncio.to_thread(self._looking.look),
            asyncio.to_thread(self._plan_text),
        )
        found = await asyncio.to_thread(self._looking.changes, effect, run, after, heard.touched)
        self._after = (after, text)
        said = heard.reading
        text_before = self._remembered_plan(text)
        plan_before = self._parse(text_before)
        self._names.follow(text_before, text)
        plan = self._parse(text)
        renamed = self._names.settle()
        done = newly_done(plan_before, plan)
        edits = find_plan_edits(workspace, text_before, text, since=self._plan_read_at or began)
        self._plan_read_at = read_at
        is_due, notices = must_validate(workspace, could_at_start=self._validates, lost=effect.lost)
        of_specs = await asyncio.to_thread(self._look_at_specs, plan, text, tell_changes=True)
        return IterationRead(
            report=said.report,
            promises=said.promises,
            completion_words=said.completion,
            errors=said.errors[:KEPT_ERRORS],
            error_patterns=said.error_patterns[:KEPT_ERRORS],
            said_nothing=not said.text.strip() and said.report is None,
            failed=said.failed,
            failure=said.why,
            usage=heard.usage,
            denied_tools=said.denied_tools,
            limit=heard.limit,
            session=heard.session,
            question=said.question,
            plan_changed=not edits.alone
            and text_before not in {text, workspace.redactor.redact(text)},
            changes=found,
            tasks_done=tuple(task for task in done if task not in edits.ticked),
            renamed=renamed,
            plan=self._facts(plan, text, effect, run, renamed),
            halt=look_at_halt_files(workspace.root, workspace.config.paths),
            must_validate=is_due,
            reverted=reverted,
            notices=(
                *notices,
                *_denials(heard),
                *tell_persons(found),
                *of_specs,
                *tell_plan_edits(edits, done),
                *self._new_notices(),
            ),
        )

    def set_task_aside(self, effect: SetTaskAside) -> None:
        """Mark a task in the plan; it is our own edit, so nobody's work and nobody's change.

        Raises a ``RalphError`` where it cannot be written.
        """
        workspace = self._workspace
        text = set_task_aside(
            workspace.root,
            workspace.plan_path,
            effect.task.id,
            reason=effect.reason,
            needs=effect.needs,
        )
        if self._after is not None:
            self._after = (self._after[0], text)

    async def validate(self, iteration: int) -> ValidationFinished:
        """Run the validation script, if it is still the one that was allowed."""

        def begun(started: process.RunningProcess) -> None:
            self._process = started
            if self._stopping:
                # The order came while the script was being started.
                started.stop()

        try:
            return await run_validation(
                self._workspace, iteration, on_output=self.log.write, on_start=begun
            )
        finally:
            self._process = None

    def close_iteration(self, ended: IterationEnded) -> None:
        """Close the logs for people and write the summary's row."""
        self._looking.forget(ended.iteration)
        self._hearing.flush()
        self.log.end(ended, self._clock.local())

    def finish(self) -> None:
        self._hearing.close()
        self.log.close()

    async def _end_of(self, started: process.RunningProcess) -> AgentFinished:
        ended = await started.wait()
        self._process = None
        self._log_messages(self._hearing.flush())
        if ended.write_error is not None:
            self._note("log-not-written", ended.write_error)
        return AgentFinished(
            exit_code=ended.exit_code,
            signal=ended.signal,
            timed_out=ended.timed_out,
            idle=ended.idle,
            stopped=ended.stopped,
            killed=ended.killed,
            leftovers=ended.leftovers,
            seconds=round(ended.seconds, 3),
            stdout_bytes=ended.stdout_bytes,
            stderr_bytes=ended.stderr_bytes,
        )

    def _on_output(self, stream: str, data: bytes) -> None:
        if stream == "stderr":
            self.log.write(data)
            return
        if self._workspace.agent.dialect is Dialect.TEXT:
            self.log.write(data)
        self._log_messages(self._hearing.take(data))

    def _log_messages(self, messages: list[Told]) -> None:
        """The log is for people: of an agent that prints records they get its words."""
        if self._workspace.agent.dialect is Dialect.TEXT:
            return
        lines = [f"{line}\n" for message in messages if (line := message_line(message))]
        if lines:
            self.log.write("".join(lines).encode("utf-8", errors="replace"))

    def _prompt(self, effect: LaunchAgent) -> str:
        workspace = self._workspace
        path = template_path(workspace.config, effect.context.mode)
        if (workspace.root / path).exists():
            claims = trust.claims_of(workspace.root, workspace.config, {})
            wanted = [claim for claim in claims if claim.key == path]
            trust.require_allowed(workspace.state, wanted)
        return fill_template(workspace.root, workspace.config, effect.context)

    def _remember_plan(self, text: str) -> None:
        data = self._workspace.redactor.redact_bytes(text.encode("utf-8", errors="replace"))
        write_atomic(self._workspace.files.plan_before, data, mode=PRIVATE_FILE)

    def _parse(self, text: str) -> Plan:
        return parse_plan(text, self._workspace.config, task=self._names.only)

    def _facts(
        self,
        plan: Plan,
        text: str,
        effect: PrepareIteration | ReadIteration,
        run: RunState,
        renamed: Mapping[str, TaskRef],
    ) -> PlanFacts:
        config = self._workspace.config
        failed = {task: run.attempts.get(task, config.attempts.limit) for task in effect.skip}
        failed = attempts.rename(failed, renamed)
        skipped = attempts.rename_each(effect.skipped, renamed)
        return facts_of(plan, text, config, set_aside=failed, skipped=skipped)

    def _look_at_specs(self, plan: Plan, text: str, *, tell_changes: bool) -> tuple[Notice, ...]:
        """What does not fit in the specifications, each thing once in this engine's life."""
        if not writes_plan(self._workspace.config):
            return ()
        before, self._specs = self._specs, look_at_specs(self._workspace.root)
        found = notices_of(check_specs(self._specs.specs, self._specs.index, plan, text))
        fresh = tuple(notice for notice in found if notice.message not in self._specs_told)
        self._specs_told.update(notice.message for notice in fresh)
        if before is None or not tell_changes:
            return fresh
        return (*fresh, *changes_of(before, self._specs))

    def _plan_text(self) -> str:
        workspace = self._workspace
        may_be_missing = writes_plan(workspace.config)
        return read_plan_text(workspace.root, workspace.plan_path, may_be_missing=may_be_missing)

    def _remembered_plan(self, fallback: str) -> str:
        if self._plan_before is None:
            data = read_if_there(self._workspace.files.plan_before)
            self._plan_before = fallback if data is None else data.decode("utf-8", "replace")
        return self._plan_before

    def _note(self, code: str, message: str) -> None:
        self._notices.setdefault(code, Notice(code=code, message=message))

    def _new_notices(self) -> tuple[Notice, ...]:
        for problem in (self.log.problem, self._hearing.problem):
            if problem is not None:
                self._note("log-not-written", f"a log cannot be written: {problem}")
        fresh = {code: notice for code, notice in self._notices.items() if code not in self._told}
        self._told.update(fresh)
        return tuple(fresh.values())


def _denials(heard: Heard) -> tuple[Notice, ...]:
    """Tell what the agent was not allowed to do: it works around it, or fails without a word."""
    if not heard.reading.denied_tools:
        return ()
    names = ", ".join(dict.fromkeys(heard.reading.denied_tools))
    message = (
        f"the agent was not permitted to use: {names}; "
        "permit it with tools.allow in .ralph/config.toml, or in the agent's own settings"
    )
    return (Notice(code="permission-denied", message=message),)
