"""Question to an agent: one start of it outside of a run, whose final text is the answer.

The agent changes nothing in the tree by itself. It is supervised like that of an iteration: a
separate process group, a timeout, and an end that includes all that it started. Changes that it
makes all the same are reported. A command that the repository brings needs approval, as for a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.output_parser import ParsedOutput, parse_result
from ralph_ls.core.agent.result import Decoder
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.redaction.redactor import Redactor, secrets_of
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.environment import agent_environment
from ralph_ls.engine.agent.selection import choose_agent, fill_argv, flags_for, with_agent
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.history import hash_algorithm
from ralph_ls.engine.git.status import dirty_paths, disk_value
from ralph_ls.engine.process import running_process
from ralph_ls.engine.run.preparation import claims_here, require_program
from ralph_ls.engine.sandbox.box import BoxFiles
from ralph_ls.engine.sandbox.home import agent_of
from ralph_ls.engine.sandbox.launch import LeaveBox, in_box
from ralph_ls.engine.sandbox.selection import ChosenSandbox, agent_in_box, choose_sandbox
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.config import Config, SessionConfig
from ralph_ls.protocol.errors import RalphError, WorkspaceBusy
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.state_index import find_state

SHOWN_FILES = 5
SHOWN_ANSWER = 200
"""Characters of an answer in which nothing was found."""

ERROR_TAIL = 65_536
"""Bytes of standard error that are kept."""

OnStopper = Callable[[Callable[[], None]], None]
"""Is given a function that ends the agent's whole tree, callable from any thread."""


class ProposalStopped(RalphError):
    """Somebody called the agent back."""

    exit_code = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentQuestion:
    """What an agent is asked."""

    folder: Path
    environment: Mapping[str, str]
    prompt: str
    purpose: str
    """What it makes, in words for messages: "proposal"."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, as for a run: the agent, the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What it answered."""

    agent: str
    ended: running_process.ProcessExit
    reading: ParsedOutput
    config: Config
    notes: tuple[str, ...] = ()
    """What it did beside answering, in words."""

    def failure(self, wanted: str, instead: str) -> RalphError:
        """The error for an answer without what was wanted; ``instead`` is what the user can do."""
        ended, reading, agent = self.ended, self.reading, self.agent
        if ended.stopped:
            return ProposalStopped(f"the agent {agent} was stopped; nothing was written")
        if ended.timed_out or ended.idle:
            key = "iteration" if ended.timed_out else "idle"
            return RalphError(
                f"the agent {agent} took longer than timeouts.{key} allows "
                f"({getattr(self.config.timeouts, key):g} s) and was ended; raise the limit, or "
                f"{instead}"
            )
        why = reading.why or next(iter(reading.errors), "")
        if reading.failed or ended.exit_code != 0:
            code = ended.exit_code if ended.signal is None else f"signal {ended.signal}"
            return RalphError(
                f"the agent {agent} ended with {code} and proposed "
                f"nothing{f': {why}' if why else ''}; fix that, or {instead}"
            )
        answer = " ".join(reading.text.split())[:SHOWN_ANSWER]
        return RalphError(
            f"the agent {agent} proposed no {wanted}; its answer: {answer or 'nothing'}. Try "
            f"again, or {instead}"
        )


def ask_agent(
    question: AgentQuestion, *, name: str, on_stopper: OnStopper | None = None
) -> AgentAnswer:
    """Start the agent once, and return its answer; blocks.

    ``name`` is a fresh id that marks the agent's processes. Raises ``NotAllowed``,
    ``AgentUnavailable``, and ``WorkspaceBusy`` while a run is under way.
    """
    worktree = find_worktree(question.folder)
    state = find_state(state_root(question.environment), worktree)
    if is_held(worktree.git_dir):
        raise WorkspaceBusy(
            f"a run is active in {worktree.root}; wait for it, or stop it: ralph stop"
        )
    settings = load_settings(worktree.root, question.environment, question.overrides)
    settings = with_agent(settings, question.environment, worktree.root)
    # A question continues no session, so no agent needs to have one.
    config = settings.config.model_copy(update={"session": SessionConfig()})
    claims = [claim for claim in claims_here(worktree, state, settings) if claim.agent is not None]
    trust.require_allowed(state, claims)
    agent = choose_agent(config)
    if agent.program:
        require_program(agent.program, question.environment, worktree, settings)
    program = require_program(agent.argv[0], question.environment, worktree, settings)
    sandbox = choose_sandbox(settings, worktree, state, question.environment)
    before = _look(worktree)
    folder = make_private_folder(_folder(state, name))
    try:
        asking = _QuestionRun(
            question=question,
            root=worktree.root,
            config=config,
            agent=agent,
            program=program,
            folder=folder,
            marker=f"{name}/1",
            sandbox=sandbox,
            decoder=decoder_for(agent.dialect, folder=str(worktree.root)),
        )
        ended, reading = asyncio.run(asking.ask(on_stopper))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    notes = _report_changes(before, _look(worktree), question.purpose)
    if ended.leftovers:
        notes.append(f"ended {count_of(ended.leftovers, 'process')} that the agent left running")
    return AgentAnswer(
        agent=agent.name, ended=ended, reading=reading, config=config, notes=tuple(notes)
    )


@dataclass(slots=True, kw_only=True)
class _QuestionRun:
    """One question to one agent."""

    question: AgentQuestion
    root: Path
    config: Config
    agent: Agent
    program: Path
    folder: Path
    """For the question alone, outside the tree."""
    marker: str
    sandbox: ChosenSandbox
    decoder: Decoder
    errors: bytes = b""

    async def ask(
        self, on_stopper: OnStopper | None
    ) -> tuple[running_process.ProcessExit, ParsedOutput]:
        """Start it, wait for its end, and read what it said."""
        secrets = secrets_of({**self.question.environment, **self.agent.env})
        launch, leave_box = self._in_box(self._launch(self.question.prompt))
        running = await running_process.start(
            launch, redactor=Redactor(secrets=secrets), on_output=self._take
        )
        if on_stopper is not None:
            loop = asyncio.get_running_loop()
            on_stopper(partial(_stop_soon, loop, running))
        ended = await running.wait()
        leave_box()
        self.decoder.finish()
        errors = self.errors.decode("utf-8", errors="replace")
        return ended, parse_result(self.decoder.final(), errors)

    def _in_box(self, launch: running_process.Launch) -> tuple[running_process.Launch, LeaveBox]:
        agent = self.agent
        return in_box(
            self.sandbox.box,
            launch,
            agent=agent_of(agent_in_box((*agent.argv, *agent.tail), agent.dialect)),
            files=BoxFiles(
                readable=(self.folder / "prompt.md",), writable=(self.folder / "scratch",)
            ),
        )

    def _launch(self, prompt: str) -> running_process.Launch:
        agent, config = self.agent, self.config
        prompt_file = self.folder / "prompt.md"
        prompt_file.touch(mode=PRIVATE_FILE)
        prompt_file.write_text(prompt, encoding="utf-8")
        more = flags_for(agent, session=None, model=None)
        return running_process.Launch(
            argv=(str(self.program), *fill_argv(agent, prompt, prompt_file, more)[1:]),
            cwd=self.root,
            environment=agent_environment(
                self.question.environment,
                marker=self.marker,
                start=1,
                iteration=1,
                max_iterations=1,
                scratch=make_private_folder(self.folder / "scratch"),
                extra=agent.env,
                only=config.env.only,
            ),
            stdin=prompt.encode() if agent.prompt is PromptBy.STDIN else None,
            stdout_path=self.folder / "agent.out",
            stderr_path=self.folder / "agent.err",
            marker=self.marker,
            timeout_seconds=config.timeouts.iteration or None,
            idle_timeout_seconds=config.timeouts.idle or None,
            grace_seconds=running_process.GRACE_SECONDS,
            is_agent=True,
            keep=frozenset(config.keep_running),
        )

    def _take(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            self.decoder.feed(data)
        else:
            self.errors = (self.errors + data)[-ERROR_TAIL:]


def _stop_soon(loop: asyncio.AbstractEventLoop, running: running_process.RunningProcess) -> None:
    with contextlib.suppress(RuntimeError):  # The loop is closed: it has ended by itself.
        loop.call_soon_threadsafe(running.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TreeState:
    """The difference of the tree from its commit, as git reports it."""

    commit: str | None
    dirty: Mapping[str, str]


def _look(worktree: Worktree) -> _TreeState:
    commit = worktree_state.read_head(worktree.git_dir, worktree.common_dir).commit
    algorithm = hash_algorithm(commit)
    dirty = {
        entry.name: disk_value(entry.path, algorithm=algorithm)
        for entry in dirty_paths(worktree.root)
    }
    return _TreeState(commit=commit, dirty=dirty)


def _report_changes(before: _TreeState, after: _TreeState, purpose: str) -> list[str]:
    notes = []
    if before.commit != after.commit:
        notes.append(
            f"HEAD moved while the agent made its {purpose}, although it should not commit; check "
            "it: git log"
        )
    both = before.dirty.keys() | after.dirty.keys()
    changed = sorted(name for name in both if before.dirty.get(name) != after.dirty.get(name))
    if changed:
        notes.append(
            f"{count_of(len(changed), 'file')} changed while the agent made its {purpose}, "
            f"although it should change none: {some_of(changed, SHOWN_FILES)}; check them: git "
            "status"
        )
    return notes


def _folder(state: StateFolder, name: str) -> Path:
    return state.folder / "proposals" / name
