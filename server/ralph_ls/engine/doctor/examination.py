"""Examination: runs the checks of ``ralph doctor`` in order, prerequisites first.

Each check uses the functions of a start, so that doctor and start cannot disagree. A check whose
prerequisite is missing is skipped, since an earlier one has reported that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ralph_ls.core.views.report.doctor_checks import (
    check_agents,
    check_from_message,
    has_no_problem,
    passed_check,
    warning_check,
)
from ralph_ls.core.views.report.doctor_last_run import LastRun, check_last_run
from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.engine.doctor.project import (
    check_git_settings,
    check_network,
    check_place,
    check_programs,
    check_stale_state,
    check_variables,
)
from ralph_ls.engine.doctor.start import check_start, find_installed_agents
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import AgentSeen, CheckResult, DoctorReport
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    load_settings,
    old_keys_notice,
    old_keys_remedy,
    require_one_profile,
)
from ralph_ls.store.run.journal import read_journal
from ralph_ls.store.run.runs import FoundRun, find_run
from ralph_ls.store.run.state_index import find_state

_NONE_GIVEN: Mapping[str, Any] = MappingProxyType({})


def examine(
    folder: Path,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] = _NONE_GIVEN,
    *,
    network: bool = False,
) -> DoctorReport:
    """Run all checks; a check that cannot run is reported as a problem, never raised.

    ``overrides`` are the settings that flags of the planned run would give.
    """
    checks = check_programs(folder, environment)
    try:
        worktree = find_worktree(folder)
    except RalphError as error:
        return _report([*checks, check_from_message("repository", error.message)])
    state = find_state(state_root(environment), worktree)
    settings, about_settings = _settings(worktree, environment, overrides)
    config = None if settings is None else settings.config
    checks += _agent_findings("repository", lambda: check_place(worktree, state, config))
    checks += _agent_findings("git-programs", lambda: check_git_settings(worktree.root))
    checks += [*about_settings, *check_variables(environment)]
    if settings is not None:
        checks += _agent_findings(
            "start", lambda: check_start(worktree, state, settings, environment)
        )
        if network:
            checks += _agent_findings("remote", lambda: check_network(worktree, environment))
    only = None if config is None else config.env.only
    agents = find_installed_agents(worktree.root, environment, only=only)
    checks += check_agents(agents)
    found, about_run = _last_run(worktree, state)
    checks += about_run
    checks += _agent_findings("leavings", lambda: check_stale_state(worktree, state, found))
    return _report(checks, worktree, None if found is None else found.state.run, agents)


def _agent_findings(code: str, check: Callable[[], list[CheckResult]]) -> list[CheckResult]:
    """Findings of a check, or the reason why it could not run."""
    try:
        return check()
    except (RalphError, OSError) as error:
        return [check_from_message(code, _words(error))]


def _report(
    checks: list[CheckResult],
    worktree: Worktree | None = None,
    run: str | None = None,
    agents: tuple[AgentSeen, ...] = (),
) -> DoctorReport:
    return DoctorReport(
        ok=has_no_problem(checks),
        workspace=None if worktree is None else str(worktree.root),
        run=run,
        checks=tuple(checks),
        agents=agents,
    )


def _settings(
    worktree: Worktree, environment: Mapping[str, str], overrides: Mapping[str, Any]
) -> tuple[LoadedSettings | None, list[CheckResult]]:
    try:
        settings = load_settings(worktree.root, environment, overrides)
        require_one_profile(settings)
        settings = with_agent(settings, environment, worktree.root)
    except (RalphError, OSError) as error:
        return None, [check_from_message("settings", _words(error))]
    config = settings.config
    where = "from .ralph/config.toml" if settings.from_file else "without a settings file"
    message = f"profile {config.profile.value}, agent {config.agent}, {where}"
    checks = [passed_check("settings", message)]
    if renamed := old_keys_notice(settings):
        checks.append(warning_check("renamed-settings", renamed, old_keys_remedy(settings)))
    return settings, checks


def _last_run(worktree: Worktree, state: StateFolder) -> tuple[FoundRun | None, list[CheckResult]]:
    try:
        found = find_run(worktree, state)
        if found is None:
            return None, [passed_check("last-run", "no run here yet")]
        events = read_journal(found.files.journal).events
    except (RalphError, OSError) as error:
        return None, [check_from_message("last-run", _words(error))]
    pid = found.owner.pid if found.owner is not None and found.live else None
    run = LastRun(state=found.state, phase=found.phase, pid=pid, events=events)
    return found, check_last_run(run)


def _words(error: RalphError | OSError) -> str:
    return error.message if isinstance(error, RalphError) else str(error)
