"""A loop seen and steered from a real Emacs that has the documented file and nothing else.

Emacs has a separate terminal, and ``emacsclient`` evaluates what a user's keys would call.
Nothing here sleeps: Emacs is asked to wait until something is so.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import QuestionAnswered
from tests.e2e.conftest import need
from tests.engine.conftest import ralph
from tests.engine.project_builder import PATIENCE, ROOT, end_run, events_of
from tests.engine.ralph_runner import Project, Ralph, wait_until

__all__ = ["ralph"]

PAGE = ROOT / "docs" / "editors" / "emacs.md"

INSTALL = "sudo apt-get install emacs-nox elpa-eglot elpa-lsp-mode elpa-markdown-mode"

SOCKET = "server"

CLIENTS = ("eglot", "lsp-mode")

AGENT = """\
if [ "$RALPH_START" = 1 ]; then
  say 'Looking around.'; work; commit
  say '<promise>DECIDE:PostgreSQL or SQLite?</promise>'; exit
fi
work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'
"""

KEY = b"\x0c"
"""Draws the screen again: only after a key does Emacs begin what waits for the end of a command."""

REMARKS = """(mapconcat (lambda (remark) (flymake-diagnostic-text remark))
  (with-current-buffer "@fix_plan.md" (flymake-diagnostics)) "\\n")"""
"""Lisp: the remarks in the plan. lsp-mode gives them to Flymake too where it has no Flycheck."""


class Emacs:
    """One Emacs on one file."""

    def __init__(self, folder: Path, terminal: int) -> None:
        self._folder = folder
        self._terminal = terminal

    def listens(self) -> bool:
        """Whether it evaluates already."""
        return self._client("t").returncode == 0

    def eval(self, code: str) -> str:
        """Evaluate Lisp in it; gives the printed value."""
        done = self._client(code)
        assert done.returncode == 0, f"{code}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def wait(self, condition: str) -> None:
        """Wait until a Lisp expression is true."""

        def is_so() -> bool:
            os.write(self._terminal, KEY)
            return self.eval(condition) != "nil"

        wait_until(self._folder, is_so)

    def wait_for(self, words: str, where: str) -> None:
        """Wait until the text that a Lisp expression gives has these words."""
        try:
            self.wait(f'(string-match-p (regexp-quote "{words}") {where})')
        except AssertionError as error:
            raise AssertionError(f"never {words!r}: {self.eval(where)}") from error

    def _client(self, code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["emacsclient", "-s", str(self._folder / SOCKET), "--eval", code],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@contextmanager
def start_emacs(client: str, file: Path) -> Iterator[Emacs]:
    """Open ``file`` in an Emacs that has the page's file and nothing else."""
    with tempfile.TemporaryDirectory(prefix="emacs-") as name:
        folder = Path(name)
        library, init = lisp_of(PAGE)
        lisp = folder / ".emacs.d" / "lisp"
        lisp.mkdir(parents=True)
        (lisp / "ralph.el").write_text(library, encoding="utf-8")
        own = f"""(package-initialize)
            (require '{client})
            (setq ralph-client '{client} lsp-auto-guess-root t lsp-enable-snippet nil
                  lsp-diagnostics-provider :flymake confirm-kill-processes nil
                  warning-minimum-level :error server-name "{folder / SOCKET}")
            {init}
            (add-hook 'emacs-startup-hook #'server-start)"""
        (folder / "init.el").write_text(own, encoding="utf-8")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (34, 110))
        # A terminal is one's own only if one opens it oneself.
        opens = (
            'import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execvp("emacs", sys.argv[1:])'
        )
        process = subprocess.Popen(
            [sys.executable, "-c", opens, "emacs", "-q", "-nw", "-l", folder / "init.el", file],
            cwd=file.parent,
            env={**os.environ, "HOME": name, "PATH": path, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        screen = threading.Thread(target=_drain, args=(ours,), daemon=True)
        screen.start()
        try:
            emacs = Emacs(folder, ours)
            wait_until(folder, emacs.listens)
            yield emacs
        finally:
            process.kill()
            process.wait(PATIENCE)
            screen.join(PATIENCE)
            os.close(ours)


def _drain(terminal: int) -> None:
    """Read what Emacs draws, which would wait for ever otherwise."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass


def lisp_of(page: Path) -> tuple[str, str]:
    """The library that the page holds, and what it has for the user's ``init.el``."""
    block = re.compile(r"^```elisp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    library, init = block.findall(page.read_text(encoding="utf-8"))
    return library, init


def what_is_missing() -> str | None:
    """The command that installs Emacs and both clients, where one is missing."""
    ask = "(package-initialize) (require 'eglot) (require 'lsp-mode) (require 'markdown-mode)"
    emacs = shutil.which("emacs")
    if emacs is None or shutil.which("emacsclient") is None:
        return f"needs Emacs: {INSTALL}"
    code = f"(progn {ask})"
    done = subprocess.run(
        [emacs, "-q", "--batch", "--eval", code], capture_output=True, check=False
    )
    return None if done.returncode == 0 else f"needs Eglot and lsp-mode: {INSTALL}"


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path) -> Iterator[Project]:
    """A repository whose agent asks once; an engine that an editor started ends with it."""
    made = Project(ralph, tmp_path)
    made.plan("First task", files={".ralph/config.toml": made.settings()}).agent(AGENT)
    assert made.tell("allow", "--yes").exit_code == 0
    yield made
    end_run(made.repository)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_whole_loop_is_started_watched_and_answered(project: Project, client: str) -> None:
    need(what_is_missing())
    with start_emacs(client, project.file("@fix_plan.md")) as emacs:
        plan = '(with-current-buffer "@fix_plan.md" %s)'
        emacs.wait(plan % "(ignore-errors (ralph-status) t)")
        emacs.eval(plan % "(ralph-watch)")
        emacs.eval(plan % "(ralph-start 5)")
        emacs.wait_for("PostgreSQL or SQLite?", REMARKS)
        emacs.wait_for("iteration 1", "ralph-progress")
        log = '(with-current-buffer "*ralph log*" (buffer-string))'
        emacs.wait_for("Looking around.", log)
        emacs.wait_for("PostgreSQL or SQLite?", log)
        asked = (
            plan % "(cl-letf (((symbol-function 'completing-read) #'list)) (ralph--read-answer))"
        )
        assert (
            " ".join(emacs.eval(asked).split())
            == '("PostgreSQL or SQLite? " ("PostgreSQL" "SQLite"))'
        )
        emacs.eval(plan % '(ralph-answer "SQLite")')
        emacs.wait_for("complete", "ralph-progress")
        # What the agent ticked is what the buffer shows.
        emacs.wait_for("- [x] First task", plan % "(buffer-string)")
    (answered,) = [
        one for one in events_of(project.repository) if isinstance(one, QuestionAnswered)
    ]
    assert (answered.question, answered.answer) == ("PostgreSQL or SQLite?", "SQLite")


def test_a_file_of_no_loop_starts_no_server(tmp_path: Path) -> None:
    need(what_is_missing())
    (tmp_path / "notes.md").write_text("# Notes\n- [ ] Buy milk\n", encoding="utf-8")
    with start_emacs("eglot", tmp_path / "notes.md") as emacs:
        assert emacs.eval('(with-current-buffer "notes.md" (eglot-current-server))') == "nil"
        refused = (
            '(with-current-buffer "notes.md" (condition-case said (ralph-start nil) (error said)))'
        )
        assert emacs.eval(refused) == '(user-error "Open the plan of a loop first")'
