"""The work of one iteration: look, start the agent, read what came of it, validate.

Slow and blocking parts (git, parsing, hashing) run in threads, so that commands are taken at any
time. What was seen at the end of an iteration is the beginning of the next one, so git is asked
once for each.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from pathlib import Path

from ralph_ls.core.agent.decode.told import Told
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
from ralph_ls.core.views.messages import message_line
from ralph_ls.engine import process
from ralph_ls.engine.agent_choice import fill_argv, resume_flags
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.environment import agent_environment, find_program
from ralph_ls.engine.hearing import Heard, Hearing
from ralph_ls.engine.looking import Looking, tell_persons
from ralph_ls.engine.plans import facts_of, parse_plan, read_plan_text, set_task_aside
from ralph_ls.engine.prompts import fill_template, template_path
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config import Dialect, PromptBy
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.events import IterationEnded
from ralph_ls.protocol.evidence import Baseline
from ralph_ls.protocol.state import RunState
from ralph_ls.store import trust
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.halts import look_at_halt_files
from ralph_ls.store.logs import RunLog

TAIL_CHARACTERS = 2000

GRACE_SECONDS = 1.5
"""Between TERM and KILL, so that Ctrl-C ends a run within two seconds."""

KEPT_ERRORS = 200
"""Error lines of one iteration that are passed on; a flood says nothing more."""


class IterationWork:
    """What the performer does for the iterations of one run."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._looking = Looking(workspace, clock=clock)
        self._process: process.RunningProcess | None = None
        self._after: tuple[Baseline, str] | None = None
        """The tree and the plan as the last iteration left them."""
        self._plan_before: str | None = None
        self._hearing = Hearing(workspace, clock=clock)
        self._notices: dict[str, Notice] = {}
        self._told: set[str] = set()
        self._stopping = False
        self._validates = self._can_validate()
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
            baseline, text = await asyncio.gather(
                asyncio.to_thread(self._looking.look), asyncio.to_thread(self._plan_text)
            )
        if text != self._plan_before:
            self._remember_plan(text)
            self._plan_before = text
        plan = parse_plan(text, self._workspace.config)
        return Prepared(baseline=baseline, plan=self._facts(plan, text, effect.skip, run))

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
            grace_seconds=GRACE_SECONDS,
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
        heard, after, text = await asyncio.gather(
            asyncio.to_thread(self._hearing.read, effect, run),
            asyncio.to_thread(self._looking.look),
            asyncio.to_thread(self._plan_text),
        )
        found = await asyncio.to_thread(self._looking.changes, effect, run, after, heard.touched)
        self._after = (after, text)
        said = heard.reading
        plan = parse_plan(text, workspace.config)
        text_before = self._remembered_plan(text)
        must_validate, notices = self._validation(lost=effect.lost)
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
            plan_changed=text_before not in {text, workspace.redactor.redact(text)},
            changes=found,
            tasks_done=newly_done(parse_plan(text_before, workspace.config), plan),
            plan=self._facts(plan, text, effect.skip, run),
            halt=look_at_halt_files(workspace.root, workspace.config.paths),
            must_validate=must_validate,
            notices=(*notices, *_denials(heard), *tell_persons(found), *self._new_notices()),
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
        workspace = self._workspace
        path = workspace.config.paths.validate_script
        if not self._can_validate():
            raise RalphError(
                f"{path} could run when the loop began and cannot now; put it back, "
                f"for example with: git checkout -- {path}"
            )
        now_there = trust.claims_of(workspace.root, workspace.config, {})
        trust.require_allowed(workspace.state, [claim for claim in now_there if claim.key == path])
        files = workspace.files
        outcome_path = files.folder / f"validate-{iteration:03d}.out"
        launch = process.Launch(
            argv=(str(self._validate_script),),
            cwd=workspace.root,
            environment=agent_environment(
                workspace.environment,
                marker=workspace.marker(iteration),
                iteration=iteration,
                max_iterations=workspace.config.max_iterations,
                scratch=None,
            ),
            stdin=None,
            stdout_path=outcome_path,
            stderr_path=outcome_path.with_suffix(".err"),
            marker=workspace.marker(iteration),
            timeout_seconds=workspace.config.validate_timeout or None,
            idle_timeout_seconds=None,
            grace_seconds=GRACE_SECONDS,
        )
        printed = bytearray()

        def keep(_stream: str, data: bytes) -> None:
            self.log.write(data)
            printed.extend(data)
            del printed[: -4 * (TAIL_CHARACTERS + 1)]

        started = await process.start(launch, redactor=workspace.redactor, on_output=keep)
        self._process = started
        if self._stopping:
            # The order came while the script was being started.
            started.stop()
        ended = await started.wait()
        self._process = None
        tail = printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:]
        return ValidationFinished(
            ok=ended.exit_code == 0 and not ended.timed_out,
            exit_code=ended.exit_code,
            timed_out=ended.timed_out,
            seconds=round(ended.seconds, 3),
            tail=tail,
        )

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
        path = template_path(workspace.config)
        if (workspace.root / path).exists():
            claims = trust.claims_of(workspace.root, workspace.config, {})
            wanted = [claim for claim in claims if claim.key == path]
            trust.require_allowed(workspace.state, wanted)
        return fill_template(workspace.root, workspace.config, effect.context)

    def _remember_plan(self, text: str) -> None:
        data = self._workspace.redactor.redact_bytes(text.encode("utf-8", errors="replace"))
        write_atomic(self._workspace.files.plan_before, data, mode=PRIVATE_FILE)

    def _facts(self, plan: Plan, text: str, skip: Sequence[str], run: RunState) -> PlanFacts:
        config = self._workspace.config
        failed = {task: run.attempts.get(task, config.attempts.limit) for task in skip}
        return facts_of(plan, text, config, set_aside=failed)

    def _plan_text(self) -> str:
        return read_plan_text(self._workspace.root, self._workspace.plan_path)

    def _remembered_plan(self, fallback: str) -> str:
        if self._plan_before is None:
            data = read_if_there(self._workspace.files.plan_before)
            self._plan_before = fallback if data is None else data.decode("utf-8", "replace")
        return self._plan_before

    @property
    def _validate_script(self) -> Path:
        return self._workspace.root / self._workspace.config.paths.validate_script

    def _can_validate(self) -> bool:
        return self._validate_script.is_file() and os.access(self._validate_script, os.X_OK)

    def _validation(self, *, lost: bool) -> tuple[bool, tuple[Notice, ...]]:
        path = self._workspace.config.paths.validate_script
        if lost or not (self._validates or self._validate_script.is_file()):
            return False, ()
        if not self._validates and not self._can_validate():
            message = f"{path} is not executable and was skipped; make it so with: chmod +x {path}"
            return False, (Notice(code="validate-not-executable", message=message),)
        return True, ()

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
