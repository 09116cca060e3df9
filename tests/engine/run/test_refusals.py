"""What keeps a run from beginning: its code, and words that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.project_builder import make_repository
from tests.engine.ralph_runner import Project, Ralph

pytestmark = pytest.mark.slow

BAD_SETTINGS = {
    "unknown-key": (
        'profile = "fixplan"\nmax_iteration = 5\n',
        "toml:2: unknown setting max_iteration; did you mean",
    ),
    "unknown-key-in-a-table": (
        "[breaker]\nno_progress_open = 3\nno_progres = 2\n",
        "toml:3: unknown setting breaker.no_progres",
    ),
    "value-off-the-list": (
        'agent = "command"\non_halt = "sometimes"\n',
        'toml:2: on_halt must be one of exit, wait; it is "sometimes"',
    ),
    "value-out-of-bounds": (
        "max_iterations = 0\n",
        "toml:1: max_iterations must be at least 1",
    ),
    "path-out-of-the-tree": (
        '[paths]\nlogs = "../logs"\n',
        "toml:2: paths.logs: '../logs' must be a path inside the work tree",
    ),
    "no-toml": ("max_iterations = \n", "toml:1: the value is missing"),
}


@pytest.mark.parametrize(
    ("text", "message"), [pytest.param(*value, id=name) for name, value in BAD_SETTINGS.items()]
)
def test_bad_settings_end_with_78_and_name_file_line_and_key(
    project: Project, text: str, message: str
) -> None:
    project.plan(files={".ralph/config.toml": text}).agent("exit 0")
    done = project.run("9")
    assert done.exit_code == 78
    assert done.stderr.startswith("ralph: .ralph/config.toml:")
    assert message in done.stderr
    assert (done.stdout, done.events) == ("", ())


BAD_FLAGS = {
    "unknown-flag": (("run", "--frobnicate"), "unknown option --frobnicate"),
    "no-number": (("run", "many"), "is not a number of iterations"),
    "number-too-small": (("run", "0"), "0 iterations are too few"),
    "value-off-the-list": (("run", "--on-halt", "sometimes"), "--on-halt must be one of exit"),
    "no-duration": (("run", "--timeout", "soon"), "--timeout: 'soon' is not a duration"),
    "unknown-profile": (("run", "--profile", "waterfall"), "--profile must be one of spec"),
    "two-agents": (
        ("run", "--agent", "demo", "--agent-command", "true"),
        "give --agent or --agent-command, not both",
    ),
    "bad-quoting": (("run", "--agent-command", "it's"), "a quotation mark is not closed"),
    "unknown-task": (("run", "--agent", "demo", "--task", "nope"), "the plan has no task 'nope'"),
    "unknown-command": (("fly",), "unknown command 'fly'"),
}


@pytest.mark.parametrize(
    ("arguments", "message"), [pytest.param(*value, id=name) for name, value in BAD_FLAGS.items()]
)
def test_bad_flags_end_with_64_and_say_what_is_wrong(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    done = project.plan().tell(*arguments)
    assert done.exit_code == 64
    assert message in done.stderr
    assert done.stderr.startswith("ralph: ")
    assert (done.stdout, done.events) == ("", ())


def test_what_is_missing_ends_with_5_before_any_event(ralph: Ralph, tmp_path: Path) -> None:
    outside = tmp_path / "no-repository"
    outside.mkdir()
    done = ralph(outside, "run", "--agent", "demo")
    assert done.exit_code == 5
    assert f"{outside} is not in a git work tree" in done.stderr
    repository = make_repository(tmp_path / "no-plan")
    (repository / "@fix_plan.md").unlink()
    done = ralph(repository, "run", "--agent", "demo")
    assert (done.exit_code, done.events) == (5, ())
    assert f"no plan in {repository}; looked for @fix_plan.md" in done.stderr
