"""Sample project of ``ralph demo``: creates it, and judges the result.

Judges by the project's files, never by what the agent reports. Does not know how the loop is run.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ralph_ls.engine.demo.repository import run_git
from ralph_ls.engine.demo.sample import PLAN_NAME, SuiteResult, mark_sample, run_suite
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.store.files import read_regular

_NAMES_ON_DISK = {"gitignore": ".gitignore"}
"""A dot file among the package's data would be read by git as a rule about the package."""

_LOCAL_CONFIG = (
    ("user.name", "Ralph Demo"),
    ("user.email", "demo@ralph.invalid"),
    ("commit.gpgsign", "false"),
    # An empty folder inside .git: the user's global hooks never run here.
    ("core.hooksPath", ".git/no-hooks"),
    ("core.fsmonitor", "false"),
    # The agent compares texts, so that lines must end here as they were written.
    ("core.autocrlf", "false"),
    # No tidying in the background may outlive the demo.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)


EDITOR_CONFIG = """\
# The sample project: its agent is a script, which needs no key and no network.
profile = "fixplan"
agent = "demo"
max_iterations = 20
"""
"""Settings where the loop is started by an editor; `ralph demo` gives them like flags."""


def lay_out(folder: Path, *, asks: bool = False) -> Path:
    """Create the sample project in ``folder``, as a git repository with one commit.

    With ``asks`` its agent asks one question on the way, and the settings are written down: the
    loop is started by an editor, in which somebody answers. Returns the real path of the project.
    Raises ``UsageError`` if something is in ``folder`` already or it cannot be written, and
    ``RalphError`` if git is missing or fails.
    """
    project = _empty_folder(folder)
    # An empty template and a fixed branch: neither hooks nor names come from the user's settings.
    run_git(project, "init", "--quiet", "--template=", "--initial-branch=demo")
    (project / ".git" / "no-hooks").mkdir()
    mark_sample(project, asks=asks)
    if asks:
        (project / CONFIG_FILE).parent.mkdir()
        (project / CONFIG_FILE).write_bytes(EDITOR_CONFIG.encode())
    for key, value in _LOCAL_CONFIG:
        run_git(project, "config", "--local", key, value)
    names = _copy(resources.files("ralph_ls.engine.demo") / "files", project)
    run_git(project, "add", "--force", "--", *names)
    run_git(project, "commit", "--quiet", "--message", "Add the invoice package and its plan")
    return project


def suite_passes(folder: Path) -> bool:
    """Whether the project's own tests pass now."""
    return run_suite(folder).passed


def required_tasks_done(folder: Path) -> bool:
    """Whether the plan holds required tasks and each of them is done; no plan is not done."""
    # Reading plans is not needed by the agent, which imports its neighbours at every start.
    from ralph_ls.core.plan.parse.markdown import parse_markdown
    from ralph_ls.protocol.task_words import TaskState

    try:
        data = read_regular(folder / PLAN_NAME) or b""
    except StateUnusable:
        return False
    text = data.decode("utf-8", "replace")
    required = [task for task in parse_markdown(text).plan.tasks if not task.optional]
    return bool(required) and all(task.state is TaskState.DONE for task in required)


def _empty_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise UsageError(
            f"The sample project cannot be written to {folder} ({error.strerror}); name another "
            "folder"
        ) from error
    if not is_empty:
        raise UsageError(
            f"The folder {folder} is not empty, and the sample project needs an empty one; name "
            "another folder or none"
        )
    return folder.resolve()


def _copy(source: Traversable, target: Path, prefix: str = "") -> list[str]:
    """Copy the sample's files into ``target`` and return their names, relative, with slashes."""
    names: list[str] = []
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        # Installers compile whatever looks like Python; what they left is no part of the sample.
        if entry.name == "__pycache__":
            continue
        name = _NAMES_ON_DISK.get(entry.name, entry.name)
        if entry.is_dir():
            (target / name).mkdir()
            names += _copy(entry, target / name, f"{prefix}{name}/")
        else:
            (target / name).write_bytes(entry.read_bytes().replace(b"\r\n", b"\n"))
            names.append(f"{prefix}{name}")
    return names


__all__ = [
    "PLAN_NAME",
    "SuiteResult",
    "lay_out",
    "required_tasks_done",
    "run_suite",
    "suite_passes",
]
