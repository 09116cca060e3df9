"""Files and tests of the sample project: recognise, read, rewrite, tick, and run the tests.

A file is replaced completely or not at all, so that a kill never leaves half of one. Does not use
git.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.demo.script import REPAIRS, EditState, SampleRepair, fold_title
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external.supervisor import run
from ralph_ls.store.files import open_regular, read_regular
from ralph_ls.store.own_python import own_command

TIMEOUT_SECONDS = 60.0

_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_FAILING = re.compile(r"^(?:FAIL|ERROR): (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """Result of one run of the suite."""

    passed: bool
    """True only if at least one test ran and none failed."""
    n_tests: int
    failing: tuple[str, ...]
    """Names of the failing tests in the suite's order, each once; a name such as ``test_sum``."""
    output: str
    """Output of the suite, for display."""


def run_suite(folder: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> SuiteResult:
    """Run ``python -m unittest`` in ``folder`` and read the result; writes no file there.

    A suite that cannot be started or takes too long is a result which did not pass. No byte code is
    written: a source file that changes twice within a second must never be taken for the one that
    was compiled before.
    """
    try:
        finished = run(
            own_command("-B", "-X", "utf8", "-m", "unittest", "discover"),
            cwd=folder,
            environment=_clean_environment(os.environ),
            seconds=timeout_seconds,
        )
    except subprocess.TimeoutExpired:
        return _no_result(f"The tests took longer than {timeout_seconds:g} s and were ended")
    except OSError as error:
        return _no_result(f"The tests could not be started: {error}")
    printed = finished.stdout + finished.stderr
    return _read(finished.code, printed.decode("utf-8", "replace"))


def _clean_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what would lead Python or git astray."""
    return {
        name: value for name, value in caller.items() if not name.startswith(("PYTHON", "GIT_"))
    }


def _read(exit_code: int, output: str) -> SuiteResult:
    ran = _RAN.search(output)
    n_tests = int(ran.group(1)) if ran else 0
    return SuiteResult(
        passed=exit_code == 0 and n_tests > 0,
        n_tests=n_tests,
        failing=tuple(dict.fromkeys(_FAILING.findall(output))),
        output=output,
    )


def _no_result(reason: str) -> SuiteResult:
    return SuiteResult(passed=False, n_tests=0, failing=(), output=reason)


PLAN_NAME = "@fix_plan.md"
"""The sample's plan, of the profile ``fixplan``."""
LARGEST_FILE_BYTES = 1_000_000
"""No file of the sample comes near; a larger one belongs to another project."""
ENOUGH_TO_RECOGNISE = 3
"""Number of the five repairs that must fit: the user may have rewritten one or two."""

MARK_NAME = "ralph-demo"

_ITEM = re.compile(r"^(\s*[-*+] \[)([ xX~])(\] +)(\S.*?)[ \t]*$", re.MULTILINE)


class FileKeepsChanging(RalphError):
    """Another process keeps changing the file that is to be rewritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlanItem:
    """One box of the plan."""

    title: str
    is_open: bool
    offset: int
    """The offset of the box's mark in the text."""


_ASKS = "its agent asks\n"


def mark_sample(root: Path, *, asks: bool = False) -> None:
    """Remember in the repository's git folder, which no clone brings along, that we laid it out."""
    text = f"laid out by ralph demo\n{_ASKS if asks else ''}"
    (root / ".git" / MARK_NAME).write_text(text, encoding="ascii")


def does_ask(root: Path) -> bool:
    """Whether the sample was laid out with an agent that asks a question."""
    try:
        return (_git_folder(root) / MARK_NAME).read_text(encoding="ascii").endswith(_ASKS)
    except (OSError, ValueError):
        return False


def is_sample(root: Path) -> bool:
    """Whether ``root`` is a sample project that was laid out here, and can still be recognised.

    Another repository may have the same texts, and tests which do harm. Reads a few small
    files and runs nothing.
    """
    if not _is_marked(root):
        return False
    fitting = [repair for repair in REPAIRS if EditState.UNKNOWN not in edit_states(root, repair)]
    return len(fitting) >= ENOUGH_TO_RECOGNISE


def edit_states(root: Path, repair: SampleRepair) -> tuple[EditState, ...]:
    """The state of each edit of ``repair`` in the work tree."""
    return tuple(edit.state_in(read_text(root, edit.file)) for edit in repair.edits)


def read_text(root: Path, file: str) -> str | None:
    """The file's text, or ``None``: missing, too large, not UTF-8, or reached through a link."""
    path = root / file
    try:
        # A link could lead out of the project, and a pipe could keep us waiting for ever.
        if Path(os.path.realpath(path)) != Path(os.path.realpath(root)) / file:
            return None
        data = read_regular(path, LARGEST_FILE_BYTES)
    except (OSError, StateUnusable):
        return None
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def rewrite(root: Path, file: str, change: Callable[[str], str]) -> bool:
    """Replace the file's text by ``change(text)``; return whether that changed anything.

    A concurrent save by the user is never lost: the change is then made on the saved text. Raises
    ``FileKeepsChanging`` if the file does not settle.
    """
    path = root / file
    for _ in range(5):
        text = read_text(root, file)
        if text is None or (changed := change(text)) == text:
            return False
        temporary = _temporary_for(root, path)
        temporary.write_bytes(changed.encode("utf-8"))
        temporary.chmod(path.stat().st_mode & 0o7777)
        if read_text(root, file) == text:
            temporary.replace(path)
            return True
        temporary.unlink()
    raise FileKeepsChanging(f"another program keeps writing {file}; stop it, then try again")


def read_plan(root: Path) -> tuple[SamplePlanItem, ...]:
    """The boxes of the sample's plan, open and ticked; empty where there is no plan.

    The loop's own reader of plans knows far more, but costs more than the rest of a start.
    """
    return plan_items(read_text(root, PLAN_NAME) or "")


def plan_items(text: str) -> tuple[SamplePlanItem, ...]:
    """The boxes of a plan's text."""
    return tuple(
        SamplePlanItem(
            title=found.group(4),
            is_open=found.group(2) in " ~",
            offset=found.start(2),
        )
        for found in _ITEM.finditer(text)
    )


def is_ticked(items: tuple[SamplePlanItem, ...], title: str) -> bool:
    """Whether the plan has a ticked box with this title."""
    return any(not item.is_open for item in items if fold_title(item.title) == fold_title(title))


def tick(root: Path, title: str) -> bool:
    """Tick the first open box with this title, changing one character; return whether it was."""

    def ticked(text: str) -> str:
        for item in plan_items(text):
            if item.is_open and fold_title(item.title) == fold_title(title):
                return f"{text[: item.offset]}x{text[item.offset + 1 :]}"
        return text

    return rewrite(root, PLAN_NAME, ticked)


def _is_marked(root: Path) -> bool:
    try:
        return (_git_folder(root) / MARK_NAME).is_file()
    except (OSError, ValueError):
        return False


def _git_folder(root: Path) -> Path:
    """The git folder of a work tree, of a linked one that of its repository."""
    if (root / ".git").is_dir():
        return root / ".git"
    folder = root / _path_in(root / ".git").removeprefix("gitdir:").strip()
    return folder / _path_in(folder / "commondir")


def _path_in(file: Path) -> str:
    with open_regular(file) as opened:
        return opened.read(LARGEST_FILE_BYTES).decode("utf-8").strip()


def _temporary_for(root: Path, path: Path) -> Path:
    """Path of the new text before its rename: in .git, where a leftover does no harm."""
    git_folder = root / ".git"
    if git_folder.is_dir() and git_folder.stat().st_dev == path.stat().st_dev:
        return git_folder / "ralph-demo.tmp"
    return path.with_name(f".{path.name}.ralph-demo")
