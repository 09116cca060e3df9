"""Whether the remote answers: asked only with ``ralph doctor --network`` (S, Git push failures)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from ralph_ls.core.redact import Redactor
from ralph_ls.core.views.doctor.results import problem, told_as, warning, well
from ralph_ls.engine import git
from ralph_ls.engine.doctor.git_settings import LIST, transports
from ralph_ls.engine.git_work import NO_QUESTIONS, ssh_without_questions
from ralph_ls.engine.pushing import find_remote, without_users
from ralph_ls.protocol.doctor import CheckResult
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.git_command import git_program, without_git_redirections
from ralph_ls.store.layout import Worktree

PATIENCE = 20.0
"""Seconds that a remote gets to answer."""


def check_network(worktree: Worktree, environment: Mapping[str, str]) -> list[CheckResult]:
    """Ask the remote for its branches, once, without a question to anybody."""
    head = git.read_head(worktree.git_dir, worktree.common_dir)
    try:
        remote = find_remote(worktree.root, head.branch or "")
        program = git_program(worktree.root)
    except RalphError as error:
        return [told_as("remote", error.message)]
    if remote is None:
        return [well("remote", "there is no remote to be asked")]
    named = transports(worktree.root)
    if named:
        keys = ", ".join(dict.fromkeys(named))
        why = f"settings of this clone alone name programs for that: {keys}"
        message = f"{remote.name} was not asked, since {why}"
        remedy = f"look at them ({LIST}), then ask: git ls-remote {remote.name}"
        return [warning("remote", message, remedy)]
    around = {
        **without_git_redirections(environment),
        **NO_QUESTIONS,
        **ssh_without_questions(environment, remote.ssh_command),
    }
    remedy = (
        f"look at git remote -v, the network, and your rights there: git ls-remote {remote.name}"
    )
    try:
        code, printed = _ask([program, "ls-remote", "--heads", "--", remote.name], worktree, around)
    except subprocess.TimeoutExpired:
        return [problem("remote", f"{remote.name} did not answer in {PATIENCE:g} s", remedy)]
    except OSError as error:
        return [problem("remote", f"git cannot be run: {error.strerror or error}", remedy)]
    if code == 0:
        return [well("remote", f"{remote.name} answers")]
    said = " ".join(printed.split())
    said = without_users(Redactor(secrets=dict(remote.secrets)).redact(said))[:400]
    return [problem("remote", f"{remote.name} refuses: {said or 'git says nothing'}", remedy)]


def _ask(words: list[str], worktree: Worktree, around: Mapping[str, str]) -> tuple[int, str]:
    """How git ended, and what it complained of; its whole process group ends with the patience.

    It writes into a file: what it may leave behind would keep a pipe open.
    """
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            words,
            cwd=worktree.root,
            env=dict(around),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=sys.platform != "win32",
        )
        try:
            code = process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                _kill(process)
        complaints.seek(0)
        return code, complaints.read().decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
