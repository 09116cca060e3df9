"""Set-up: which agents can be started here, and one start of an agent that proposes a plan.

Agents are looked up and not started; what they do is not known here.

A proposal changes nothing in the tree by itself (docs/rules.md#set-up). Its agent is supervised
like that of an iteration: a separate process group, a timeout, and an end that includes all that it
started. Changes that it makes all the same are reported. A command that the repository brings needs
approval, as for a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.output_parser import ParsedOutput, parse_result
from ralph_ls.core.agent.result import Decoder
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.prompt.proposal import proposal_prompt
from ralph_ls.core.redaction.redactor import Redactor, secrets_of
from ralph_ls.core.setup.draft import read_plan_items
from ralph_ls.engine.agent.description import Agent, install_of
from ralph_ls.engine.agent.environment import agent_environment
from ralph_ls.engine.agent.run_agents import metering_of
from ralph_ls.engine.agent.selection import BUILT_IN, choose_agent, fill_argv, flags_for, with_agent
from ralph_ls.engine.demo.script import PROPOSAL_DISCLAIMER
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
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.config import Config, SessionConfig
from ralph_ls.protocol.errors import AgentUnavailable, RalphError, WorkspaceBusy
from ralph_ls.protocol.lsp.setup import MAX_ITEMS, AgentChoice, PlanItem, ProposePlanResult
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings, load_settings
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.state_index import find_state

DEMO = "demo"


def find_agents(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings, environment: Mapping[str, str]
) -> tuple[AgentChoice, ...]:
    """Every agent that can be named, those that were found first, ``demo`` behind them."""
    names = dict.fromkeys([*BUILT_IN, *sorted(settings.config.agents)])
    choices = [_choice(name, worktree, state, settings, environment) for name in names]
    return tuple(sorted(choices, key=lambda one: (not one.found, one.name == DEMO)))


def _choice(
    name: str,
    worktree: Worktree,
    state: StateFolder,
    settings: LoadedSettings,
    environment: Mapping[str, str],
) -> AgentChoice:
    plain = {"agent": name, "session": SessionConfig()}
    if name == DEMO:
        plain["tools"] = None
    own = LoadedSettings(
        config=settings.config.model_copy(update=plain),
        from_file=settings.from_file,
        overrides=settings.overrides,
    )
    claims = [claim for claim in claims_here(worktree, state, own) if claim.agent is not None]
    needs_allow = bool(trust.unapproved_claims(state, claims))
    if name == DEMO:
        detail = "Scripted, for the sample project and for trying ralph; no key, no network"
        return AgentChoice(name=name, found=True, detail=detail, needs_allow=needs_allow)
    try:
        agent = choose_agent(own.config)
        program = require_program(agent.program or agent.argv[0], environment, worktree, own)
    except RalphError as error:
        first = error.message.splitlines()[0].removesuffix(", which is:")
        install = install_of(name)
        if install is not None and isinstance(error, AgentUnavailable):
            # That it is not on PATH is said beside it, and there is room for one line.
            first = f"install it with {install}"
        return AgentChoice(name=name, found=False, detail=first, needs_allow=needs_allow)
    metering = metering_of(own.config, name, agent, is_cost=True)
    return AgentChoice(
        name=name,
        found=True,
        detail=_report(program),
        needs_allow=needs_allow,
        reports_cost=metering is not Metering.NEVER,
    )


def _report(program: Path) -> str:
    return str(program).encode("utf-8", errors="backslashreplace").decode()


SHOWN_FILES = 5
SHOWN_ANSWER = 200
"""Characters of an answer in which no item was found."""

ERROR_TAIL = 65_536
"""Bytes of standard error that are kept."""


class ProposalStopped(RalphError):
    """Somebody called the agent back."""

    exit_code = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """What somebody wants a plan for."""

    folder: Path
    environment: Mapping[str, str]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, as for a run: the agent, the profile."""
    example: Sequence[PlanItem] = ()
    """A template's items."""
    plan_path: str | None = None
    """Of a plan that is there already."""


def propose(
    request: ProposalRequest,
    *,
    name: str,
    on_stopper: Callable[[Callable[[], None]], None] | None = None,
) -> ProposePlanResult:
    """Start the agent once, and read the plan items out of its final text; blocks.

    ``name`` is a fresh id that marks the agent's processes. ``on_stopper`` is given a function
    that ends the agent's whole tree, callable from any thread. Raises ``NotAllowed``,
    ``AgentUnavailable``, ``ProposalStopped``, ``WorkspaceBusy`` while a run is under way, and
    ``RalphError`` where the agent fails or proposes nothing.
    """
    worktree = find_worktree(request.folder)
    state = find_state(state_root(request.environment), worktree)
    if is_held(worktree.git_dir):
        raise WorkspaceBusy(
            f"a run is active in {worktree.root}; wait for it, or stop it: ralph stop"
        )
    settings = load_settings(worktree.root, request.environment, request.overrides)
    settings = with_agent(settings, request.environment, worktree.root)
    # A proposal continues no session, so no agent needs to have one.
    config = settings.config.model_copy(update={"session": SessionConfig()})
    claims = [claim for claim in claims_here(worktree, state, settings) if claim.agent is not None]
    trust.require_allowed(state, claims)
    agent = choose_agent(config)
    if agent.program:
        require_program(agent.program, request.environment, worktree, settings)
    program = require_program(agent.argv[0], request.environment, worktree, settings)
    sandbox = choose_sandbox(settings, worktree, state, request.environment)
    before = _look(worktree)
    folder = make_private_folder(_folder(state, name))
    try:
        asking = _ProposalRun(
            request=request,
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
    items = _items(ended, reading, agent, config)
    kept, notes = items[:MAX_ITEMS], []
    if len(items) > len(kept):
        notes.append(
            f"only the first {MAX_ITEMS} of {count_of(len(items), 'proposed item')} are shown"
        )
    notes += [PROPOSAL_DISCLAIMER] if agent.name == "demo" else []
    notes += _report_changes(before, _look(worktree))
    if ended.leftovers:
        notes.append(f"ended {count_of(ended.leftovers, 'process')} that the agent left running")
    return ProposePlanResult(items=kept, notes=tuple(notes))


@dataclass(slots=True, kw_only=True)
class _ProposalRun:
    """One question to one agent."""

    request: ProposalRequest
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
        self, on_stopper: Callable[[Callable[[], None]], None] | None
    ) -> tuple[running_process.ProcessExit, ParsedOutput]:
        """Start it, wait for its end, and read what it said."""
        prompt = proposal_prompt(
            self.request.description,
            plan_path=self.request.plan_path,
            example=self.request.example,
        )
        secrets = secrets_of({**self.request.environment, **self.agent.env})
        launch, leave_box = self._in_box(self._launch(prompt))
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
                self.request.environment,
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


def _items(
    ended: running_process.ProcessExit, reading: ParsedOutput, agent: Agent, config: Config
) -> tuple[PlanItem, ...]:
    """The items of the final text; raises what is to be said where there are none."""
    if ended.stopped:
        raise ProposalStopped(f"the agent {agent.name} was stopped; nothing was written")
    items = read_plan_items(reading.text)
    if items and not reading.failed:
        return items
    if ended.timed_out or ended.idle:
        key = "iteration" if ended.timed_out else "idle"
        raise RalphError(
            f"the agent {agent.name} took longer than timeouts.{key} allows "
            f"({getattr(config.timeouts, key):g} s) and was ended; raise the limit, or write the "
            "items yourself"
        )
    why = reading.why or next(iter(reading.errors), "")
    if reading.failed or ended.exit_code != 0:
        code = ended.exit_code if ended.signal is None else f"signal {ended.signal}"
        raise RalphError(
            f"the agent {agent.name} ended with {code} and proposed "
            f"nothing{f': {why}' if why else ''}; fix that, or write the items yourself"
        )
    said = " ".join(reading.text.split())[:SHOWN_ANSWER]
    raise RalphError(
        f"the agent {agent.name} proposed no plan items; its answer: {said or 'nothing'}. Try "
        "again, or write the items yourself"
    )


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


def _report_changes(before: _TreeState, after: _TreeState) -> list[str]:
    notes = []
    if before.commit != after.commit:
        notes.append(
            "HEAD moved while the agent made its proposal, although it should not commit; check "
            "it: git log"
        )
    both = before.dirty.keys() | after.dirty.keys()
    changed = sorted(name for name in both if before.dirty.get(name) != after.dirty.get(name))
    if changed:
        notes.append(
            f"{count_of(len(changed), 'file')} changed while the agent made its proposal, "
            f"although it should change none: {some_of(changed, SHOWN_FILES)}; check them: git "
            "status"
        )
    return notes


def _folder(state: StateFolder, name: str) -> Path:
    return state.folder / "proposals" / name
