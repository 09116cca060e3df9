"""An agent that tries every verb on its own run, from three kinds of processes.

It imports ``ralph`` once for each kind and forks for each verb, which costs a tenth of starting
them; their environment and their ancestors are those of any process that an agent starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.main import main
from ralph_ls.cli.verbs import VERBS
from ralph_ls.protocol.run.commands import Reset
from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.project.trust import claim_of_file
from ralph_ls.store.run.inbox import new_command_id, send_command
from ralph_ls.store.run.runs import find_run

CHANGING: Mapping[str, Sequence[str]] = {
    "run": ["run", "1", "--agent-command", "true"],
    "replan": ["replan", "1", "--agent-command", "true"],
    "stop": ["stop"],
    "pause": ["pause"],
    "resume": ["resume"],
    "reset": ["reset"],
    "answer": ["answer", "blue"],
    "note": ["note", "the tests may be skipped"],
    "skip": ["skip", "1"],
    "reset-task": ["reset-task", "1"],
    "rollback": ["rollback", "1", "--yes"],
    "archive": ["archive"],
    "prune": ["prune", "--yes"],
    "allow": ["allow", "--yes"],
    "init": ["init", "--hooks", "--yes"],
    "config": ["config", "set", "max_iterations", "9"],
    "inbox": ["inbox", "answer", "1", "blue"],
    "notify": ["notify", "test"],
    "attach": ["attach"],
    "pr": ["pr", "--yes"],
    "overrule": ["overrule"],
    "fleet": ["fleet", "run", "--until-done"],
    "dashboard": ["dashboard"],
    "learn": ["learn"],
    "lessons": ["lessons", "accept", "none", "--yes"],
}
"""A command line of each verb that is the user's alone."""

READING: Mapping[str, Sequence[str]] = {
    "status": ["status"],
    "plan": ["plan"],
    "prompt": ["prompt"],
    "read": ["read"],
    "runs": ["runs"],
    "show": ["show"],
    "logs": ["logs"],
    "ps": ["ps"],
    "inbox list": ["inbox"],
    "run --dry-run": ["run", "--dry-run", "--agent-command", "true"],
    "init --dry-run": ["init", "--profile", "fixplan", "--dry-run"],
    "hook stop": ["hook", "stop"],
    "config show": ["config", "show"],
    "config get": ["config", "get", "max_iterations"],
    "dashboard --json": ["dashboard", "--json"],
    "learn --dry-run": ["learn", "--dry-run"],
    "lessons list": ["lessons"],
}
"""Command lines that only show something."""


def run_ralph(*arguments: str, stdin: str = os.devnull) -> tuple[int, str]:
    """Run a command line in a separate process; its code, and what it said of errors."""
    with tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            _become(lambda: main(list(arguments)), errors.fileno(), stdin)
        _, status = os.waitpid(pid, 0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read().decode()


def _become(work: Callable[[], int], errors: int, stdin: str) -> None:
    code = 70
    try:
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        code = work()
    finally:
        sys.stderr.flush()
        os._exit(code)


def try_all(kept: Path, kind: str) -> None:
    """Try the verbs; those that only read once, in the agent itself."""
    load_verbs()
    verbs = {**CHANGING, **READING} if kind == "agent" else CHANGING
    found = {name: run_ralph(*words) for name, words in verbs.items()}
    (kept / f"{kind}.json").write_text(json.dumps(found), encoding="utf-8")


def load_verbs() -> None:
    """Import before forking what all of them need."""
    import filelock  # noqa: F401
    import psutil  # noqa: F401

    from ralph_ls.engine.run import preview, runner  # noqa: F401

    make_command(*VERBS)
    for verb in VERBS:
        make_command(verb)


def ask_by_hand() -> str:
    """Ask the engine without the program: what it answers."""
    worktree = find_worktree(Path.cwd())
    run = find_run(worktree, state_folder(state_root(os.environ), worktree))
    assert run is not None
    command = Reset(id=new_command_id(), run=run.state.run, at=datetime.now(UTC), by="me")
    return send_command(worktree, run, command).code


def approve_by_hand() -> None:
    """Write an approval where ``ralph allow`` would."""
    worktree = find_worktree(Path.cwd())
    state = state_folder(state_root(os.environ), worktree)
    trust.allow(state, worktree.root, [claim_of_file(".ralph/validate.sh", b"#!/bin/sh\n")])


def use_a_scratch_repository(kept: Path) -> dict[str, tuple[int, str]]:
    """What the tests of somebody do who works with ``ralph``."""
    scratch = kept / "scratch"
    subprocess.run(["git", "init", "-q", str(scratch)], check=True)
    os.chdir(scratch)
    script = scratch / ".ralph" / "validate.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    shared = {"allow in the same state": run_ralph("allow", "--yes")}
    os.environ["RALPH_STATE_DIR"] = str(kept / "state")
    Path("@fix_plan.md").write_text("- [ ] Paint\n", encoding="utf-8")
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-qm", "Begin"], check=True)
    paint = "sed -i 's/\\[ \\]/[x]/' @fix_plan.md; git commit -qam Paint"
    return {
        **shared,
        "init": run_ralph("init", "--profile", "fixplan"),
        "allow": run_ralph("allow", "--yes"),
        "run": run_ralph("run", "1", "--agent-command", f'sh -c "{paint}"'),
        "note": run_ralph("note", "for the next run"),
        "status": run_ralph("status"),
    }


def fork_twice(work: Callable[[], None]) -> None:
    """Work in a child of a child, and wait for it."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    if (pid := os.fork()) == 0:
        work()
    else:
        os.waitpid(pid, 0)
    os._exit(0)


def detach(kept: Path) -> None:
    """A process without parents of ours, in a separate session, with a clean environment."""
    os.mkfifo(kept / "done")
    names = ("PATH", "HOME", "PYTHONPATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    environment = {name: os.environ[name] for name in names}
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            words = [sys.executable, "-m", "tests.engine.trust.inside_agent", str(kept), "detached"]
            os.execve(sys.executable, words, environment)
        os._exit(0)
    with (kept / "done").open() as file:
        file.read()


def work(kept: Path, kind: str) -> None:
    try_all(kept, kind)
    if kind == "detached":
        (kept / "done").write_text("", encoding="utf-8")
    if kind != "agent":
        return
    fork_twice(lambda: try_all(kept, "grandchild"))
    detach(kept)
    asked = ask_by_hand()
    approve_by_hand()
    codes = {"asked": asked, "scratch": use_a_scratch_repository(kept)}
    (kept / "rest.json").write_text(json.dumps(codes), encoding="utf-8")


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2])
