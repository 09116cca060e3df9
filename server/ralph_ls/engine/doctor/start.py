"""Checks of a start: agents, sandbox, trust, plan and scripts; what a start would refuse or report.

Each known agent is run with ``--version`` only: outside the work tree, all at once, for a short
time, in a process group that ends with it. A program that the work tree brings is not run. Whether
a login is still valid is not checked, since only the agent's maker could answer.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.notify.schedule import address_names, unknown_destinations
from ralph_ls.core.plan.formats.beads.bd_output import (
    FIRST_WITH_REASONS,
    format_version,
    keeps_close_reasons,
)
from ralph_ls.core.plan.formats.dispatch import check_plan
from ralph_ls.core.plan.formats.github.format import LABEL, MIRROR
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.report.doctor_checks import (
    check_attempts,
    check_from_message,
    check_plan_read,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.environment import base_agent_environment, stop_command
from ralph_ls.engine.agent.mcp_offer import how_it_reports
from ralph_ls.engine.agent.run_agents import ask_hook, require_metered
from ralph_ls.engine.agent.selection import adapter_of, choose_agent
from ralph_ls.engine.iteration.health import require_specs
from ralph_ls.engine.notify.delivery import has_apprise, install_command
from ralph_ls.engine.plan.selection import locate_plan, source_of
from ralph_ls.engine.run.preparation import claims_here, require_program
from ralph_ls.engine.sandbox.selection import find_bubblewrap
from ralph_ls.protocol.config.agent import SandboxKind
from ralph_ls.protocol.config.agent_catalog import CATALOG, AgentDescription
from ralph_ls.protocol.config.config import Committer, Config
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.json_output import AgentSeen, CheckResult
from ralph_ls.protocol.plan import STDIN
from ralph_ls.store.external.bd import find_bd, version_of
from ralph_ls.store.external.gh import find_gh, gh_version
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.programs import find_trusted_program, run_program
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.detection import format_at
from ralph_ls.store.project.project_state import (
    find_project,
    read_attempts,
    remote_of,
    shares_attempts,
)
from ralph_ls.store.project.scripts import can_run
from ralph_ls.store.run.halt_files import load_halt_files

PATIENCE = 20.0
"""Seconds that a program gets to print its version."""

_LARGEST_ANSWER = 10_000
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.+-]*[0-9A-Za-z])?")


def find_installed_agents(
    root: Path,
    environment: Mapping[str, str],
    *,
    only: Sequence[str] | None = None,
    patience: float = PATIENCE,
) -> tuple[AgentSeen, ...]:
    """All that are known by name; ``only`` are the variables that a run would pass on."""
    around = base_agent_environment(environment, only=only)
    with ThreadPoolExecutor(len(CATALOG), "version of an agent") as pool:
        asked = [
            pool.submit(_examine_agent, one, root, around, patience) for one in CATALOG.values()
        ]
        return tuple(answer.result() for answer in asked)


def check_commits_of(worktree: Worktree, config: Config) -> list[CheckResult]:
    """Whether the run's agent has an identity to commit with, where it commits."""
    adapter = adapter_of(config.agent, config)
    known = None if adapter is None else CATALOG.get(adapter)
    if known is None or not known.hides_own_git or config.commits is Committer.LOOP:
        return []
    try:
        run_git(worktree.root, "config", "--local", "--get", "user.email")
    except RalphError:
        message = (
            f"the agent {config.agent} hides your git settings from the commands that it runs, "
            "and the repository has no name to commit with"
        )
        remedy = (
            "git config --local user.name 'Your Name'; "
            "git config --local user.email you@example.com"
        )
        return [warning_check("git-identity", message, remedy)]
    return []


def _examine_agent(
    known: AgentDescription, root: Path, around: Mapping[str, str], patience: float
) -> AgentSeen:
    program = find_trusted_program(known.program, root, around.get("PATH", ""))
    version = None if program is None else _version(program, around, patience)
    return AgentSeen(
        name=known.name,
        program=None if program is None else program.encode(errors="backslashreplace").decode(),
        version=version,
        account=None if program is None else account_of(known, around),
        install=known.install,
        login=known.login,
    )


def _version(program: str, around: Mapping[str, str], patience: float) -> str | None:
    # Some read settings of the folder that they are started in.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            printed = run_program(
                [program, "--version"],
                cwd=Path(folder),
                environment=around,
                timeout_seconds=patience,
                largest_answer=_LARGEST_ANSWER,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    found = _VERSION.search(printed.stdout) or _VERSION.search(printed.stderr)
    return found[0] if found is not None and printed.code == 0 else None


def account_of(known: AgentDescription, around: Mapping[str, str]) -> str | None:
    """The sign of a login: a variable that is set, or a file that exists; None without one."""
    key = next((name for name in known.keys if around.get(name)), None)
    if key is not None:
        return f"{key} is set"
    home = around.get("HOME") or around.get("USERPROFILE")
    for name in known.accounts:
        path = _moved(name, known.homes, around) or (Path(home, name) if home else None)
        if path is not None and path.is_file():
            return f"{path} exists".encode(errors="backslashreplace").decode()
    return None


def _moved(name: str, homes: Mapping[str, str], around: Mapping[str, str]) -> Path | None:
    for variable, folder in homes.items():
        if around.get(variable) and name.startswith(f"{folder}/"):
            return Path(around[variable], name.removeprefix(f"{folder}/"))
    return None


ABSENT = (
    "hooks, state and the agent's environment are not visible inside, so the loop's own "
    "checks still apply"
)


def check_box(environment: Mapping[str, str], config: Config) -> list[CheckResult]:
    """Whether bubblewrap works here, tested by starting it; no check on other systems."""
    found = find_bubblewrap(environment.get("PATH", ""))
    if found.works:
        is_used = config.sandbox.wants_box
        use = "the agent runs in it" if is_used else "use it with: ralph run --sandbox"
        return [passed_check("bubblewrap", f"{found.program} works; {use}")]
    if config.sandbox.wants_box:
        is_required = config.sandbox.kind is SandboxKind.BWRAP
        result = problem_check if is_required else warning_check
        return [result("bubblewrap", f"{found.problem}, so the agent has no sandbox", found.remedy)]
    if not sys.platform.startswith("linux"):
        return []
    return [passed_check("bubblewrap", f"{found.problem}; for ralph run --sandbox, {found.remedy}")]


def check_sandbox(config: Config, agent: Agent) -> list[CheckResult]:
    """Checks of a sandbox: how it starts the agent, and what ends it; empty without one."""
    sandbox = config.sandbox
    if not sandbox.is_elsewhere:
        return []
    around = agent.tail[1:] if agent.tail[:1] == ("--",) else agent.argv
    shown = shlex.join(around[: len(sandbox.prefix) or around.index("--")])
    started = f"the agent is started with: {shown}; {ABSENT}"
    stop = stop_command(sandbox)
    if stop:
        return [passed_check("sandbox", f"{started}; it is ended with: {' '.join(stop)}")]
    remedy = "set a command that ends it: stop under [sandbox] in .ralph/config.toml"
    if sandbox.prefix:
        # Many a prefix changes only what a process may do, and its processes are our children.
        return [passed_check("sandbox", f"{started}; if that leaves processes running, {remedy}")]
    message = f"{started}; nothing ends what runs inside when the agent must be ended"
    return [warning_check("sandbox", message, remedy)]


def check_start(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    """All that a start with these settings would find."""
    return [
        *_agent(worktree, settings, environment),
        *check_box(environment, settings.config),
        *check_commits_of(worktree, settings.config),
        *_hook(worktree, settings, environment),
        *_allowed(worktree, state, settings),
        *_validation(worktree, settings),
        *_plan(worktree, settings, environment),
        *_attempts(worktree, state, settings),
        *_halts(worktree, settings),
        *check_notifications(settings.config),
    ]


def _agent(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    config = settings.config
    try:
        agent = choose_agent(config)
        require_metered(settings, {config.agent: agent})
        program = require_program(agent.program or agent.argv[0], environment, worktree, settings)
    except RalphError as error:
        return [check_from_message("agent", error.message)]
    return [
        passed_check("agent", f"{config.agent} ({program}), reports {how_it_reports(config)}"),
        *check_sandbox(config, agent),
    ]


def check_notifications(config: Config) -> list[CheckResult]:
    """Where notifications go; nothing where none are set."""
    notify = config.notify
    names = [*address_names(notify), *(["command"] if notify.command else [])]
    names += [name for name in ("bell", "github") if getattr(notify, name)]
    found = []
    if notify.urls and not has_apprise():
        message = "notify.urls needs Apprise, which is not installed"
        found.append(problem_check("notify", message, f"install it: {install_command()}"))
    for name in unknown_destinations(notify):
        message = f"notify.events names {name}, which is not a destination"
        step = f"name one of: {', '.join(('urls', 'command', 'bell', 'github', *names))}"
        found.append(warning_check("notify", message, step))
    if names and not found:
        shown = ", ".join(dict.fromkeys(names))
        found.append(passed_check("notify", f"notifications go to {shown}; ralph notify test"))
    return found


def _allowed(worktree: Worktree, state: StateFolder, settings: LoadedSettings) -> list[CheckResult]:
    try:
        missing = trust.unapproved_claims(state, claims_here(worktree, state, settings))
    except RalphError as error:
        return [check_from_message("allowed", error.message)]
    if not missing:
        return [passed_check("allowed", "nothing in this repository needs your approval")]
    names = ", ".join(claim.key for claim in missing)
    message = f"this repository wants to run commands you haven't approved: {names}"
    return [problem_check("allowed", message, "review and approve them: ralph allow")]


def _hook(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    """Whether the stop hook in the agent's settings answers; no check without one."""
    problem = ask_hook(worktree.root, settings.config, environment)
    if problem is None:
        return []
    return [
        warning_check("hook", *problem.split("; ", 1))
        if problem
        else passed_check("hook", "it answers")
    ]


def _validation(worktree: Worktree, settings: LoadedSettings) -> list[CheckResult]:
    path = settings.config.paths.validate_script
    if not (worktree.root / path).is_file():
        return [passed_check("validation", f"there is no {path}, so nothing is validated")]
    if not can_run(worktree.root, path):
        message = f"{path} is not executable and would be skipped"
        return [warning_check("validation", message, f"make it executable: chmod +x {path}")]
    return [passed_check("validation", f"{path} runs after each iteration")]


def _plan(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    config = settings.config
    kind = profile_of(config.profile).plan_kind
    if kind is PlanKind.REQUEST:
        return _request(worktree, settings, environment)
    if config.paths.plan == MIRROR:
        return _queue(worktree, config, environment)
    try:
        require_specs(worktree.root, config)
        found = locate_plan(worktree.root, settings, environment)
        source = source_of(worktree.root, config, found.path, environment)
        facts = source.facts(found.text)
        parsed = source.parse(found.text)
    except RalphError as error:
        return [check_from_message("plan", error.message)]
    if found.is_to_write or not found.text.strip():
        return [passed_check("plan", f"{found.path} does not exist yet; the first run creates it")]
    known = format_at(worktree.root, found.path, kind)
    remarks = check_plan(parsed, found.text, known.name, marker=config.gate.marker)
    tool = known.title if known.name is not kind else ""
    checks = check_plan_read(found.path, parsed, remarks, facts, config, tool=tool)
    return [*checks, *_release_of_bd(worktree, environment)] if kind is PlanKind.BEADS else checks


def _queue(worktree: Worktree, config: Config, environment: Mapping[str, str]) -> list[CheckResult]:
    """Whether the issues on GitHub could be read; GitHub is not asked for them."""
    queue = config.plan.github
    try:
        gh = find_gh(worktree.root, environment, instead="name another plan with --plan")
        version = gh_version(gh)
        remote = queue.repository or remote_of(worktree.root)
    except RalphError as error:
        return [check_from_message("plan", error.message)]
    if remote is None:
        remedy = "git remote add origin URL"
        message = "the plan is the issues on GitHub, and there is no remote origin"
        return [problem_check("plan", message, remedy)]
    which = [
        *([f"label {queue.label}"] if queue.label else []),
        *([f"milestone {queue.milestone}"] if queue.milestone else []),
    ]
    writes = "may comment and close" if queue.write else "writes nothing there"
    return [
        passed_check(
            "plan",
            f"the plan is the issues on GitHub with {' and '.join(which) or f'label {LABEL}'}; "
            f"ralph {writes}",
        ),
        passed_check("gh", f"{version}; the login is checked when a run starts: gh auth status"),
    ]


def _release_of_bd(worktree: Worktree, environment: Mapping[str, str]) -> list[CheckResult]:
    """Version of ``bd``, and its limitations."""
    version = version_of(find_bd(worktree.root, environment))
    if version is None:
        return [passed_check("bd", "bd does not report its version")]
    if keeps_close_reasons(version):
        return [passed_check("bd", f"bd {format_version(version)}")]
    message = (
        f"bd {format_version(version)} loses close reasons, so an issue's notes are used instead"
    )
    return [
        warning_check("bd", message, f"update bd to {format_version(FIRST_WITH_REASONS)} or newer")
    ]


def _request(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    """Whether the request could be read; GitHub is not asked for it."""
    issue = settings.config.issue
    if issue.github:
        try:
            gh = find_gh(worktree.root, environment)
        except RalphError as error:
            return [check_from_message("plan", error.message)]
        return [passed_check("plan", f"the request is {issue.github}, read with {gh.program}")]
    if issue.text:
        return [passed_check("plan", "the request is given as text")]
    if issue.file == STDIN:
        return [passed_check("plan", "the request comes from standard input")]
    if not issue.file:
        message = "no request is set"
        return [warning_check("plan", message, "give one: ralph run --issue WHAT")]
    if not (worktree.root / issue.file).is_file():
        message = f"the request {issue.file} does not exist"
        return [problem_check("plan", message, "write it, or name another: ralph run --issue FILE")]
    return [passed_check("plan", f"the request is {issue.file}")]


def _attempts(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings
) -> list[CheckResult]:
    if not shares_attempts(settings.config):
        return []
    try:
        project = find_project(worktree.root, state)
        attempts = read_attempts(project)
    except RalphError as error:
        return [check_from_message("attempts", error.message)]
    return check_attempts(attempts, settings.config, str(project.attempts))


def _halts(worktree: Worktree, settings: LoadedSettings) -> list[CheckResult]:
    """Halt files that keep a run from starting an agent (docs/rules.md#halting)."""
    paths = settings.config.paths
    try:
        halt = load_halt_files(worktree.root, paths)
    except StateUnusable as error:
        return [check_from_message("halt-files", error.message)]
    found = []
    if halt.question is not None and halt.answer is None:
        message = f"{paths.decide} asks: {' '.join(halt.question.split())[:200]}"
        remedy = f'answer it: ralph answer "…", or below ## Answer in {paths.decide}'
        found.append(problem_check("question", message, remedy))
    if halt.blocked is not None:
        message = f"{paths.blocked} contains: {' '.join(halt.blocked.split())[:200]}"
        remedy = f"resolve it, then: ralph resume, or remove {paths.blocked}"
        found.append(problem_check("blocked", message, remedy))
    return found
