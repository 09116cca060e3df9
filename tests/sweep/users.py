"""The user who keeps working while the loop does: edits, stages, commits, and adds a task."""

from __future__ import annotations

import fcntl
import os
import random
import subprocess
import threading
from pathlib import Path

from ralph_ls.protocol.config.config import ProfileName
from tests.sweep.projects import Project
from tests.sweep.runner import Case

MOST_TASKS = 1
"""Tasks that the user adds at most; each costs an iteration or three."""


class User:
    """What was done, and so has to be there in the end."""

    def __init__(self, case: Case, project: Project) -> None:
        self._case = case
        self._project = project
        self._rng = random.Random(case.rng.random())
        self._number = 0
        self.files: dict[str, bytes] = {}
        """Path and bytes of every file that the user wrote."""
        self.staged: dict[str, bytes] = {}
        self.commits: list[str] = []
        self.apart: list[str] = []
        """Written while neither engine nor agent ran: never to be committed by the loop."""
        self._n_tasks = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def begin(self, *, pace: float) -> None:
        """Act now and then, until ``end``."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._act_for_a_while, args=[pace], daemon=True)
        self._thread.start()

    def end(self) -> None:
        if self._thread is not None:
            self._stopping.set()
            self._thread.join()
            self._thread = None
        if self.error is not None:
            raise self.error

    def act(self, *, apart: bool = False) -> None:
        """Do one thing."""
        self._number += 1
        doing = self._rng.choice([self._write, self._edit, self._stage, self._commit, self._plan])
        if apart:
            doing = self._rng.choice([self._write, self._edit_a_page])
        before = set(self.files)
        doing()
        if apart:
            self.apart += sorted(set(self.files) - before)
        self._case.count("user actions")

    def take_over(self) -> None:
        """Commit what the loop has left to the user of its work and its plan."""
        plan = self._project.plan
        paths = ["work"]
        if plan is not None:
            paths.append(str(plan.relative_to(self._project.repository)))
        changed = [path for path in paths if self._run("status", "--porcelain", path).stdout]
        if changed and self._git("add", "--", *changed):
            self._git("commit", "-q", "--no-verify", "-m", "mine: taken over", "--", *changed)

    def _act_for_a_while(self, pace: float) -> None:
        try:
            while not self._stopping.wait(self._rng.uniform(0, 2 * pace)):
                self.act()
        except BaseException as error:  # noqa: BLE001 - shown by the caller that ends the thread
            self.error = error

    def _data(self) -> bytes:
        return f"{self._rng.random()}\r\nno newline at the end \u00fc \x00".encode()

    def _put(self, path: str, data: bytes) -> None:
        target = self._project.repository / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
        self.files[path] = data

    def _write(self) -> None:
        self._put(f"mine/note-{self._number}.bin", self._data())

    def _edit(self) -> None:
        """A file that is tracked and keeps being edited, without a commit."""
        self._put("docs/guide.md", b"# Guide\n" + self._data())

    def _edit_a_page(self) -> None:
        """A tracked file that is edited once, and by nobody else."""
        self._put(f"docs/page-{self._number}.md", self._data())

    def _stage(self) -> None:
        path = f"mine/staged-{self._number}.txt"
        data = f"staged {self._number}\n".encode()
        self._put(path, data)
        if self._git("add", "--", path):
            self.staged[path] = data

    def _commit(self) -> None:
        path = f"mine/committed-{self._number}.txt"
        self._put(path, f"committed {self._number}\n".encode())
        message = f"mine: {self._number}"
        done = self._git("add", "--", path) and self._git(
            "commit", "-q", "--no-verify", "-m", message, "--", path
        )
        if done:
            ran = self._run("log", "--format=%H", "-n", "1", f"--grep=^{message}$")
            self.commits.append(ran.stdout.decode().strip())

    def _plan(self) -> None:
        """Add a task, with the editor and the agent taking turns at the file."""
        is_list = self._project.profile in {ProfileName.SPEC, ProfileName.FIXPLAN}
        plan = self._project.plan
        if not is_list or plan is None or self._n_tasks >= MOST_TASKS:
            return
        with self._project.plan_lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            text = plan.read_text(encoding="utf-8")
            if "- [ ]" not in text or "PROJECT_COMPLETE" in text:
                return
            title = f"Mine {self._number}"
            new = text + f"- [ ] {title}\n"
            temporary = self._project.kept / "plan.mine"
            temporary.write_text(new, encoding="utf-8")
            temporary.replace(plan)
        self._n_tasks += 1
        self._project.tasks.append(title)
        self._case.note(f"the user added {title}")

    def _git(self, *arguments: str) -> bool:
        """Run git as a user does: again where somebody else is at the index just now."""
        for _ in range(20):
            ran = self._run(*arguments)
            if ran.returncode == 0:
                return True
            if b".lock" not in ran.stderr and b"lock ref" not in ran.stderr:
                break
            self._stopping.wait(0.02)
        self._case.note(f"git {arguments} of the user failed: {ran.stderr!r}")
        return False

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        # The user's own hooks are not what is swept here: they would wait at an armed point.
        return subprocess.run(
            ["git", "-c", f"core.hooksPath={os.devnull}", *arguments],
            cwd=self._project.repository,
            capture_output=True,
            check=False,
        )


def mine(path: Path) -> bool:
    """Whether a path is one that only the user writes."""
    return "mine" in path.parts
