"""What a start would refuse or tell: trust, agent, plan, and the scripts beside them."""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.beads.bd_output import (
    FIRST_WITH_REASONS,
    format_version,
    keeps_close_reasons,
)
from ralph_ls.core.plan.formats.dispatch import check_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.report.doctor_checks import (
    check_attempts,
    check_from_message,
    check_plan_read,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.engine.agent_choice import choose_agent
from ralph_ls.engine.agents_of_run import require_metered
from ralph_ls.engine.doctor.agents import check_commits_of
from ralph_ls.engine.doctor.sandbox import check_box, check_sandbox
from ralph_ls.engine.health import require_specs
from ralph_ls.engine.hook_check import ask_hook
from ralph_ls.engine.preparation import claims_here, require_program
from ralph_ls.engine.sources.choice import look_for_plan, source_of
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.json_output import CheckResult
from ralph_ls.protocol.plan import STDIN
from ralph_ls.store.external.bd import find_bd, version_of
from ralph_ls.store.external.gh import find_gh
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.project_state import find_project, read_attempts, shares_attempts
from ralph_ls.store.project.scripts import can_run
from ralph_ls.store.run.halt_files import load_halt_files


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
    return [passed_check("agent", f"{config.agent} ({program})"), *check_sandbox(config, agent)]


def _allowed(worktree: Worktree, state: StateFolder, settings: LoadedSettings) -> list[CheckResult]:
    try:
        missing = trust.unapproved_claims(state, claims_here(worktree, state, settings))
    except RalphError as error:
        return [check_from_message("allowed", error.message)]
    if not missing:
        return [passed_check("allowed", "nothing that the repository brings waits for your leave")]
    names = ", ".join(claim.key for claim in missing)
    message = f"the repository brings things that would run and that you have not allowed: {names}"
    return [problem_check("allowed", message, "look at them and allow them: ralph allow")]


def _hook(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    """Whether the stop hook in the agent's settings answers; nothing where there is none."""
    said = ask_hook(worktree.root, settings.config, environment)
    if said is None:
        return []
    return [
        warning_check("hook", *said.split("; ", 1)) if said else passed_check("hook", "it answers")
    ]


def _validation(worktree: Worktree, settings: LoadedSettings) -> list[CheckResult]:
    path = settings.config.paths.validate_script
    if not (worktree.root / path).is_file():
        return [passed_check("validation", f"there is no {path}, so nothing is validated")]
    if not can_run(worktree.root, path):
        message = f"{path} is not executable and would be skipped"
        return [warning_check("validation", message, f"make it so: chmod +x {path}")]
    return [passed_check("validation", f"{path} runs after each iteration")]


def _plan(
    worktree: Worktree, settings: LoadedSettings, environment: Mapping[str, str]
) -> list[CheckResult]:
    config = settings.config
    kind = profile_of(config.profile).plan_kind
    if kind is PlanKind.REQUEST:
        return _request(worktree, settings, environment)
    try:
        require_specs(worktree.root, config)
        found = look_for_plan(worktree.root, settings, environment)
        source = source_of(worktree.root, config, found.path, environment)
        facts = source.facts(found.text)
        parsed = source.parse(found.text)
    except RalphError as error:
        return [check_from_message("plan", error.message)]
    if found.is_to_write or not found.text.strip():
        return [passed_check("plan", f"{found.path} is not there yet; the first run writes it")]
    remarks = check_plan(parsed, found.text, kind, marker=config.gate.marker)
    checks = check_plan_read(found.path, parsed, remarks, facts, config)
    return [*checks, *_release_of_bd(worktree, environment)] if kind is PlanKind.BEADS else checks


def _release_of_bd(worktree: Worktree, environment: Mapping[str, str]) -> list[CheckResult]:
    """Which ``bd`` it is, and what it cannot do."""
    version = version_of(find_bd(worktree.root, environment))
    if version is None:
        return [passed_check("bd", "bd does not say which release it is")]
    if keeps_close_reasons(version):
        return [passed_check("bd", f"bd {format_version(version)}")]
    message = (
        f"bd {format_version(version)} forgets why an issue was closed, so the notes of an issue "
        "are "
        "taken for its close reason"
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
    if issue.file == STDIN:
        return [passed_check("plan", "the request comes on standard input")]
    if not issue.file:
        message = "no request is set"
        return [warning_check("plan", message, "give one with the run: ralph run --issue WHAT")]
    if not (worktree.root / issue.file).is_file():
        message = f"the request {issue.file} is not there"
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
    """Files for a person that keep a start from starting an agent (SPEC §7)."""
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
        message = f"{paths.blocked} says: {' '.join(halt.blocked.split())[:200]}"
        remedy = f"solve it, then: ralph resume, or remove {paths.blocked}"
        found.append(problem_check("blocked", message, remedy))
    return found
