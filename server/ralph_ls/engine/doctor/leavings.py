"""What earlier runs and earlier tools left behind."""

from __future__ import annotations

from ralph_ls import __version__
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.report.doctor_checks import check_from_message, passed_check, problem_check
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.git import read_head
from ralph_ls.engine.git_locks import locked_words
from ralph_ls.engine.legacy import attempts_remark
from ralph_ls.engine.process_tree import find_marked, is_alive
from ralph_ls.protocol.json_output import CheckResult, CheckStatus
from ralph_ls.store.external.git_locks import find_blocking
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.journal import version_of, why_unreadable
from ralph_ls.store.run.runs import FoundRun


def check_leavings(
    worktree: Worktree, state: StateFolder, found: FoundRun | None
) -> list[CheckResult]:
    """Processes of a dead engine, and files of earlier loops."""
    checks = [] if found is None else [*_orphans(found), *_version(found)]
    checks += _locks(worktree)
    remark = attempts_remark(worktree.root, state)
    if remark is not None:
        checks.append(check_from_message("legacy-attempts", remark, status=CheckStatus.WARNING))
    return checks


def _locks(worktree: Worktree) -> list[CheckResult]:
    """Lock files of git, by which the agent's git would fail."""
    branch = read_head(worktree.git_dir, worktree.common_dir).branch
    locks = find_blocking(worktree, branch)
    if not locks:
        return []
    now = SystemClock().now().timestamp()
    words = locked_words(locks, worktree, now=now)
    return [check_from_message("git-locked", words, status=CheckStatus.WARNING)]


def _version(found: FoundRun) -> list[CheckResult]:
    """Whether this version of ralph understands what the newest run wrote."""
    journal = found.files.journal
    if (why := why_unreadable(journal)) is not None:
        remedy = "use that version of ralph for this run, or begin a new one with: ralph run"
        return [problem_check("run-version", why, remedy)]
    version = version_of(journal)
    if version is None:
        return []
    message = f"the newest run is in version {version} of the schema; ralph {__version__} reads it"
    return [passed_check("run-version", message)]


def _orphans(found: FoundRun) -> list[CheckResult]:
    """What the agent of a killed engine left running; a living engine's agent is none."""
    current = found.state.current
    if found.live or current is None:
        return []
    marker = f"{found.state.run}/{current.started.start}"
    left = {one.pid for one in find_marked(marker, found.state.config.keep_running)}
    agent = current.agent
    if agent is not None and is_alive(agent.pid, agent.process_start_time):
        left.add(agent.pid)
    if not left:
        return [passed_check("orphans", "nothing of a killed engine is left running")]
    pids = ", ".join(str(pid) for pid in sorted(left))
    message = f"{count_of(len(left), 'process')} of a killed engine's agent still run: {pids}"
    return [problem_check("orphans", message, "the next start ends them: ralph run --resume")]
