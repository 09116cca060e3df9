"""Checks of the project: programs, repository, state folder, disks, branch, and stale state.

Programs that git starts because of the settings of this clone are reported before a run: ``git
clone`` does not copy such settings, but a folder from elsewhere may have them, and git follows
them. Whether the remote answers is checked only with ``ralph doctor --network``
(docs/rules.md#push).
"""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_ls import __version__
from ralph_ls.core.loop.rules.health import (
    MAIN_BRANCH,
    RunEnvironment,
    bytes_words,
    health_warnings,
    is_low,
)
from ralph_ls.core.loop.rules.retention import choose_runs, settings_words
from ralph_ls.core.plurals import count_of
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.report.doctor_checks import (
    check_from_message,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.delivery.git_commands import NO_QUESTIONS, ssh_without_questions
from ralph_ls.engine.delivery.git_delivery import (
    find_remote,
    require_branch_to_push,
    require_identity,
    without_users,
)
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.iteration.health import disks_of
from ralph_ls.engine.process.process_tree import find_marked, is_alive
from ralph_ls.engine.run.recovery import attempts_remark
from ralph_ls.engine.worktree.git_locks import describe_locks
from ralph_ls.protocol.config.config import Committer, Config
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import CheckResult, CheckStatus
from ralph_ls.store.external.git_command import git_program, run_git, without_git_redirections
from ralph_ls.store.external.git_locks import find_blocking
from ralph_ls.store.external.git_safety import NO_TRANSPORT, programs_named
from ralph_ls.store.external.supervisor import run
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project.environment_settings import unknown_variables
from ralph_ls.store.run.journal import version_of, why_unreadable
from ralph_ls.store.run.pruning import stored_runs
from ralph_ls.store.run.runs import FoundRun

SHOWN = 6

LIST = "git config --local --list"

_TRANSPORT = re.compile(
    r"core\.(?:askpass|gitproxy|sshcommand)|credential\..*|protocol\..*|remote\..*", re.IGNORECASE
)


def check_git_settings(root: Path) -> list[CheckResult]:
    """Names of such programs; no check without any."""
    named = [escape_control_chars(key) for key in _named(root)]
    if not named:
        return []
    more = ", …" if len(named) > SHOWN else ""
    keys = ", ".join(named[:SHOWN]) + more
    message = f"git settings of this clone start programs: {keys} ({LIST})"
    return [passed_check("git-programs", message)]


def transports(root: Path) -> tuple[str, ...]:
    """Programs that git would start to reach a remote."""
    return tuple(escape_control_chars(key) for key in _named(root) if _TRANSPORT.fullmatch(key))


def _named(root: Path) -> list[str]:
    def ask(*arguments: str) -> bytes:
        return run_git(root, *arguments, settings=NO_TRANSPORT)

    return list(dict.fromkeys(key for key, _ in programs_named(ask)))


def check_variables(environment: Mapping[str, str]) -> list[CheckResult]:
    """Variables that look like ours and have no effect; no check without any."""
    names = [escape_control_chars(name) for name in unknown_variables(environment)]
    if not names:
        return []
    more = ", …" if len(names) > SHOWN else ""
    message = f"unknown environment variables are ignored: {', '.join(names[:SHOWN])}{more}"
    return [passed_check("variables", message)]


PATIENCE = 20.0
"""Seconds that a remote gets to answer."""


def check_network(worktree: Worktree, environment: Mapping[str, str]) -> list[CheckResult]:
    """Ask the remote for its branches, once, without a prompt for credentials."""
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    try:
        remote = find_remote(worktree.root, head.branch or "")
        program = git_program(worktree.root)
    except RalphError as error:
        return [check_from_message("remote", error.message)]
    if remote is None:
        return [passed_check("remote", "there is no remote to check")]
    named = transports(worktree.root)
    if named:
        keys = ", ".join(dict.fromkeys(named))
        why = f"settings of this clone start programs: {keys}"
        message = f"{remote.name} was not checked, because {why}"
        remedy = f"check them ({LIST}), then try: git ls-remote {remote.name}"
        return [warning_check("remote", message, remedy)]
    around = {
        **without_git_redirections(environment),
        **NO_QUESTIONS,
        **ssh_without_questions(environment, remote.ssh_command),
    }
    remedy = f"check git remote -v, the network, and your permissions: git ls-remote {remote.name}"
    try:
        done = run(
            [program, "ls-remote", "--heads", "--", remote.name],
            cwd=worktree.root,
            environment=around,
            seconds=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return [
            problem_check("remote", f"{remote.name} did not answer within {PATIENCE:g} s", remedy)
        ]
    except OSError as error:
        return [problem_check("remote", f"git cannot be run: {error.strerror or error}", remedy)]
    if done.code == 0:
        return [passed_check("remote", f"{remote.name} answers")]
    answer = " ".join(done.stderr.decode("utf-8", "replace").split())
    answer = without_users(Redactor(secrets=dict(remote.secrets)).redact(answer))[:400]
    return [
        problem_check("remote", f"{remote.name} refused: {answer or 'git printed nothing'}", remedy)
    ]


OLDEST_GIT = (2, 31)

MEASURING_SECONDS = 5.0
"""Seconds for the sizes of earlier runs; what takes longer is reported in part."""


def check_programs(folder: Path, environment: Mapping[str, str]) -> list[CheckResult]:
    """Python and git, and other programs called ``ralph`` on PATH."""
    found = [passed_check("python", f"Python {platform.python_version()} ({sys.executable})")]
    try:
        program = git_program(folder)
        printed = run_git(folder, "version").decode("utf-8", "replace").strip()
    except RalphError as error:
        return [*found, check_from_message("git", error.message)]
    message = f"{printed} ({program})"
    if _version_of(printed) < OLDEST_GIT:
        found.append(warning_check("git", message, "install git 2.31 or newer"))
    else:
        found.append(passed_check("git", message))
    return found + _other_ralphs(environment)


def check_place(worktree: Worktree, state: StateFolder, config: Config | None) -> list[CheckResult]:
    """Checks of the folders in which a run works and writes."""
    found = [passed_check("repository", f"{worktree.root}")]
    found += _state(state)
    disks = disks_of(worktree.root, _existing(state.folder))
    found += [
        passed_check("disk", f"{bytes_words(disk.free)} free on {disk.path}")
        for disk in disks
        if disk.free is not None and not is_low(disk)
    ]
    found += _kept_runs(state, config)
    try:
        found += _branch(worktree, state, config)
    except RalphError as error:
        found.append(check_from_message("branch", error.message))
    return [*found, *_delivery(worktree, config)]


def _kept_runs(state: StateFolder, config: Config | None) -> list[CheckResult]:
    """How much earlier runs take, and how much of it the settings do not keep."""
    clock = SystemClock()
    began = clock.monotonic()
    stored = stored_runs(state, is_late=lambda: clock.monotonic() - began > MEASURING_SECONDS)
    if not stored:
        return []
    size = bytes_words(sum(one.size for one in stored))
    least = "" if len(stored) == len(state.run_ids()) else "at least "
    message = f"{count_of(len(stored), 'run')} of this work tree: {least}{size}"
    chosen = [] if config is None else choose_runs(stored, config.state, clock.now())
    if chosen:
        freed = bytes_words(sum(one.stored.removable for one in chosen))
        message += f", of which ralph prune frees {freed}, by {settings_words(chosen)}"
    return [passed_check("kept-runs", message)]


def _delivery(worktree: Worktree, config: Config | None) -> list[CheckResult]:
    """Whether commits have an identity here, and whether the loop can push."""
    found = []
    try:
        require_identity(worktree.root)
    except RalphError:
        message = f"git has no name to commit with in {worktree.root}"
        remedy = "git config user.name 'Your Name'; git config user.email you@example.com"
        is_loops = config is not None and config.commits is Committer.LOOP
        found.append(
            (problem_check if is_loops else warning_check)("git-identity", message, remedy)
        )
    if config is not None:
        try:
            head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
            require_branch_to_push(worktree.root, config, head)
        except RalphError as error:
            found.append(check_from_message("push", error.message))
    return found


def _branch(worktree: Worktree, state: StateFolder, config: Config | None) -> list[CheckResult]:
    """The same conditions as before an iteration, each with its remedy."""
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    pushes = config is not None and config.push
    remote = find_remote(worktree.root, head.branch) if pushes and head.branch else None
    surroundings = RunEnvironment(
        disks=disks_of(worktree.root, _existing(state.folder)),
        branch=head.branch,
        remote=None if remote is None else remote.name,
        has_upstream=remote is not None and remote.has_upstream,
        dirty=_dirty(worktree),
    )
    found = []
    if pushes and head.branch is not None and remote is None:
        found.append(
            warning_check(
                "push-skipped",
                "nothing would be pushed, because the repository has no remote",
                "add one: git remote add origin URL, or set push = false",
            )
        )
    warnings = health_warnings(surroundings)
    if head.branch is not None and MAIN_BRANCH not in {one.code for one in warnings}:
        found.insert(0, passed_check("branch", f"on {head.branch}"))
    return found + [
        check_from_message(one.code, one.message, status=CheckStatus.WARNING) for one in warnings
    ]


def _dirty(worktree: Worktree) -> tuple[str, ...]:
    """Tracked and untracked files that are in no commit."""
    printed = run_git(
        worktree.root, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"
    )
    entries = printed.decode("utf-8", "backslashreplace").split("\0")
    return tuple(entry[3:] for entry in entries if entry)


def _state(state: StateFolder) -> list[CheckResult]:
    """Whether the state is writable, and readable by its owner only (docs/rules.md#files)."""
    folder = state.folder
    there = _existing(folder)
    if not os.access(there, os.W_OK | os.X_OK):
        remedy = (
            f"take ownership: chown -R $(id -un) {there}, or choose another folder: RALPH_STATE_DIR"
        )
        return [problem_check("state-folder", f"{there} cannot be written", remedy)]
    if there != folder:
        return [passed_check("state-folder", f"the first run creates {folder}")]
    try:
        status = folder.stat()
    except OSError as error:
        return [
            check_from_message(
                "state-folder", f"{folder} cannot be read: {error.strerror or error}"
            )
        ]
    if sys.platform != "win32" and status.st_uid != os.getuid():
        remedy = f"take ownership: chown -R $(id -un) {folder}"
        return [warning_check("state-folder", f"{folder} belongs to another user", remedy)]
    mode = stat.S_IMODE(status.st_mode)
    if sys.platform != "win32" and mode & 0o077:
        message = f"other users can read {folder} (mode {mode:o})"
        return [warning_check("state-folder", message, f"restrict it: chmod 700 {folder}")]
    return [passed_check("state-folder", str(folder))]


def _existing(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next((one for one in (folder, *folder.parents) if one.exists()), folder)


def _other_ralphs(environment: Mapping[str, str]) -> list[CheckResult]:
    """Programs of the same name that may start instead of this one (docs/rules.md#files)."""
    entries = environment.get("PATH", "").split(os.pathsep)
    places = [Path(entry) / "ralph" for entry in entries if Path(entry).is_absolute()]
    there = {os.path.realpath(one): one for one in places if os.access(one, os.X_OK)}
    own = {os.path.realpath(sys.argv[0]), os.path.realpath(Path(sys.executable).parent / "ralph")}
    others = [str(path) for real, path in there.items() if real not in own and path.is_file()]
    if not others:
        return []
    message = f"another program named ralph is on PATH: {', '.join(others)}"
    remedy = "check which one runs: type -a ralph; put this one's folder first on PATH"
    return [warning_check("other-ralph", message, remedy)]


def _version_of(printed: str) -> tuple[int, ...]:
    """``git version 2.39.5 (Apple Git-154)``: (2, 39)."""
    words = [word for word in printed.split() if word[:1].isdigit()]
    numbers = words[0].split(".")[:2] if words else []
    return tuple(int(number) for number in numbers if number.isdigit())


def check_stale_state(
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
    words = describe_locks(locks, worktree, now=now)
    return [check_from_message("git-locked", words, status=CheckStatus.WARNING)]


def _version(found: FoundRun) -> list[CheckResult]:
    """Whether this version of ralph understands what the newest run wrote."""
    journal = found.files.journal
    if (why := why_unreadable(journal)) is not None:
        remedy = "use that version of ralph for this run, or start a new one with: ralph run"
        return [problem_check("run-version", why, remedy)]
    version = version_of(journal)
    if version is None:
        return []
    message = f"the newest run is in version {version} of the schema; ralph {__version__} reads it"
    return [passed_check("run-version", message)]


def _orphans(found: FoundRun) -> list[CheckResult]:
    """Processes that the agent of a killed engine left running."""
    current = found.state.current
    if found.live or current is None:
        return []
    marker = f"{found.state.run}/{current.started.start}"
    left = {one.pid for one in find_marked(marker, found.state.config.keep_running)}
    agent = current.agent
    if agent is not None and is_alive(agent.pid, agent.process_start_time):
        left.add(agent.pid)
    if not left:
        return [passed_check("orphans", "no process of a killed engine is left running")]
    pids = ", ".join(str(pid) for pid in sorted(left))
    message = f"{count_of(len(left), 'process')} of a killed engine's agent still running: {pids}"
    return [problem_check("orphans", message, "the next start ends them: ralph run --resume")]
