"""Whether the remote answers: asked only with ``ralph doctor --network`` (S, Git push failures)."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.views.report.doctor_checks import (
    check_from_message,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.engine import git
from ralph_ls.engine.doctor.git_settings import LIST, transports
from ralph_ls.engine.git_work import NO_QUESTIONS, ssh_without_questions
from ralph_ls.engine.pushing import find_remote, without_users
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import CheckResult
from ralph_ls.store.external.git_command import git_program, without_git_redirections
from ralph_ls.store.external.supervisor import run
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
        return [check_from_message("remote", error.message)]
    if remote is None:
        return [passed_check("remote", "there is no remote to be asked")]
    named = transports(worktree.root)
    if named:
        keys = ", ".join(dict.fromkeys(named))
        why = f"settings of this clone alone name programs for that: {keys}"
        message = f"{remote.name} was not asked, since {why}"
        remedy = f"look at them ({LIST}), then ask: git ls-remote {remote.name}"
        return [warning_check("remote", message, remedy)]
    around = {
        **without_git_redirections(environment),
        **NO_QUESTIONS,
        **ssh_without_questions(environment, remote.ssh_command),
    }
    remedy = (
        f"look at git remote -v, the network, and your rights there: git ls-remote {remote.name}"
    )
    try:
        done = run(
            [program, "ls-remote", "--heads", "--", remote.name],
            cwd=worktree.root,
            environment=around,
            seconds=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return [problem_check("remote", f"{remote.name} did not answer in {PATIENCE:g} s", remedy)]
    except OSError as error:
        return [problem_check("remote", f"git cannot be run: {error.strerror or error}", remedy)]
    if done.code == 0:
        return [passed_check("remote", f"{remote.name} answers")]
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    said = without_users(Redactor(secrets=dict(remote.secrets)).redact(said))[:400]
    return [problem_check("remote", f"{remote.name} refuses: {said or 'git says nothing'}", remedy)]
