"""Record runs with the code of the release before; see README.md beside this file.

Usage: ``python tests/previous_release/record.py FOLDER_OF_THE_OLD_CODE``, where that folder is a
checkout of the commit that the README names.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

WORKS = """#!/bin/sh
cat >/dev/null
echo "$RALPH_ITERATION_ID" >>work.txt
git add -A
git commit -q -m "Work"
"""

AGENTS = {
    "limit": (WORKS + "printf '%s\\n' RALPH_STATUS: 'STATUS: IN_PROGRESS' END_RALPH_STATUS\n", 1),
    "decide": ("#!/bin/sh\necho '<promise>DECIDE:Red or blue?</promise>'\n", 3),
    "killed": (
        WORKS + "echo more >>more.txt\necho $$ >../new; mv ../new ../here\nexec sleep 600\n",
        None,
    ),
}


def record(name: str, code: Path) -> None:
    body, expected = AGENTS[name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        root, state = folder / "repository", folder / "state"
        root.mkdir()
        (root / "@fix_plan.md").write_text("# Plan\n\n- [ ] First task\n- [ ] Second task\n")
        agent = folder / "agent.sh"
        agent.write_text(body)
        agent.chmod(0o755)
        environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(code / "server"),
            "RALPH_STATE_DIR": str(state),
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
            },
        }

        def git(*words: str) -> None:
            subprocess.run(["git", "-C", str(root), *words], env=environment, check=True)

        git("init", "-q", "-b", "main")
        git("add", "-A")
        git("commit", "-q", "-m", "The beginning")
        words = [sys.executable, "-P", "-m", "ralph_ls", "run", "2"]
        words += ["--agent-command", str(agent)]
        with subprocess.Popen(words, cwd=root, env=environment, start_new_session=True) as engine:
            if expected is None:
                wait_for(folder / "here")
                engine.send_signal(signal.SIGKILL)
            code_of_end = engine.wait()
        assert expected in (None, code_of_end), code_of_end
        if expected is None:
            os.kill(int((folder / "here").read_text()), signal.SIGKILL)
        keep(name, root, state, folder)


def wait_for(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.05)


def keep(name: str, root: Path, state: Path, folder: Path) -> None:
    kept = HERE / name
    shutil.rmtree(kept, ignore_errors=True)
    (worktree,) = (state / "worktrees").iterdir()
    shutil.copytree(worktree, kept / "state", ignore=shutil.ignore_patterns("scratch", "*.lock"))
    subprocess.run(
        ["git", "-C", str(root), "bundle", "create", "-q", str(kept / "history.bundle"), "--all"],
        check=True,
    )
    shutil.copy(root / ".git" / "ralph.json", kept / "ralph.json")
    shutil.copytree(root, kept / "tree", ignore=shutil.ignore_patterns(".git", "logs"))
    for path in kept.rglob("*"):
        if path.is_file() and path.suffix != ".bundle":
            data = path.read_bytes().replace(str(worktree).encode(), b"@STATE@")
            data = data.replace(str(root).encode(), b"@ROOT@")
            path.write_bytes(data.replace(str(folder).encode(), b"@FOLDER@"))


if __name__ == "__main__":
    for each in AGENTS:
        record(each, Path(sys.argv[1]).resolve())
