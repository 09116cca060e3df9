"""What every test has: a separate home, a separate git, and a known source of chance.

No test may read or write the settings of the user who runs it: each gets an empty HOME, its own
state folder and a global git config with an identity, no signing and no hooks.
Hypothesis runs the same examples every time in CI, and looks for new ones on a desk.
"""

from __future__ import annotations

import functools
import gc
import inspect
import itertools
import os
import signal
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, is_hypothesis_test, settings

GIT_CONFIG = """\
[user]
    name = Ada Example
    email = ada@example.com
[init]
    defaultBranch = main
[commit]
    gpgSign = false
[tag]
    gpgSign = false
[gc]
    auto = 0
[maintenance]
    auto = false
[receive]
    autogc = false
[core]
    autocrlf = false
"""

# A shell that starts us in the background, or nohup, has signals ignored, and all that we start
# would ignore them, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in ("SIGQUIT", "SIGHUP"):
    if signal.getsignal(getattr(signal, _name, signal.SIGTERM)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), signal.SIG_DFL)

# Variables which would lead a test, or a process that it starts, into its caller's own settings.
FOREIGN_PREFIXES = ("GIT_", "RALPH_", "XDG_", "VSCODE_", "ELECTRON_", "COV_CORE_", "COVERAGE_")
FOREIGN_NAMES = ("EDITOR", "VISUAL", "PAGER", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")

# A busy machine is not a bug. Each run on a desk looks at other examples, so few of them do;
# HYPOTHESIS_PROFILE=night looks for much longer.
settings.register_profile(
    "dev", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("night", settings.get_profile("dev"), max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)

TESTS = Path(__file__).parent
CORE = TESTS / "unit" / "core"
MEASURED = (
    CORE,
    TESTS / "unit" / "cli",
    TESTS / "unit" / "protocol",
    TESTS / "unit" / "store",
    TESTS / "editor" / "documents",
    TESTS / "editor" / "features",
    TESTS / "editor" / "worktree",
    TESTS / "engine" / "fleet",
    TESTS / "engine" / "git",
    TESTS / "engine" / "agent" / "test_acp_rules.py",
    TESTS / "engine" / "agent" / "test_agent_descriptions.py",
    TESTS / "engine" / "agent" / "test_hook_check.py",
    TESTS / "engine" / "agent" / "test_tool_rules.py",
    TESTS / "engine" / "agent" / "test_usage_files.py",
    TESTS / "engine" / "lessons" / "test_run_lessons.py",
    TESTS / "engine" / "parallel" / "test_rebase.py",
    TESTS / "engine" / "plan" / "test_plan_steps.py",
    TESTS / "engine" / "plan" / "test_structured.py",
    TESTS / "engine" / "process" / "test_process.py",
    TESTS / "engine" / "sandbox" / "test_box_layout.py",
)
"""Folders and files whose quick tests with known inputs are measured: they run in this process."""

UNMEASURED = ("slow", "exhaustive")
"""Marks of tests that are not measured."""

_PARAMETERS = type(pytest.param())
"""What holds the values of one test and its marks."""

_numbers = itertools.count(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no collection of garbage look at what stays to the end: thousands of tests and modules.

    It would, again and again, while they are made and while they run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@dataclass
class _Tracing:
    """Whether coverage is measured right now, where it is measured at all."""

    paused: Coverage | None = None

    def pause(self) -> None:
        if self.paused is None and (coverage := Coverage.current()) is not None:
            coverage.stop()
            self.paused = coverage

    def resume(self) -> None:
        if self.paused is not None:
            self.paused.start()
            self.paused = None


_tracing = _Tracing()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Trace no work of pytest around a test of the core: it takes longer than most of them.

    Others start threads, which would not be traced any more after a pause.
    """
    if _is_of_core(item.path):
        _tracing.pause()
    else:
        _tracing.resume()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    """Trace the fixtures of a package's tests, and none that all tests have."""
    if fixturedef.baseid not in ("", TESTS.name):
        _tracing.resume()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    """Trace the test itself."""
    _tracing.resume()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Trace nothing more until the next one."""
    if _is_of_core(item.path):
        _tracing.pause()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests whose coverage is measured: quick ones with known inputs, the same every time.

    To trace every line makes a test slower, and what only chance covers is uncovered.
    """
    for item in items:
        is_quick = not any(item.get_closest_marker(name) for name in UNMEASURED)
        is_known = not is_hypothesis_test(getattr(item, "obj", None))
        if is_quick and is_known and _is_measured(item.path):
            item.add_marker("measured")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file of which ``make test`` would put every test aside."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(TESTS):
        return None
    match config.option.markexpr:
        case "measured":
            is_put_aside = not _is_measured(collection_path)
        case "not measured":
            text = collection_path.read_text(encoding="utf-8")
            may_hold_others = any(mark in text for mark in ("hypothesis", *UNMEASURED))
            is_put_aside = _is_measured(collection_path) and not may_hold_others
        case _:
            is_put_aside = False
    return is_put_aside or None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make no items of what ``-m "not measured"`` would put aside as soon as they are made.

    They are more than half of all tests, and each process of ``make test`` would make them.
    """
    return [] if _is_put_aside(collector, name, obj) else None


def _is_put_aside(collector: pytest.Module | pytest.Class, name: str, obj: object) -> bool:
    """True only if every test of this function will be marked as measured."""
    return (
        collector.config.option.markexpr == "not measured"
        and inspect.isfunction(obj)
        and collector.funcnamefilter(name)
        and not is_hypothesis_test(obj)
        and _is_measured(collector.path)
        and not any(collector.get_closest_marker(name) for name in UNMEASURED)
        and all(map(_keeps_measured, getattr(obj, "pytestmark", ())))
    )


def _keeps_measured(mark: pytest.Mark) -> bool:
    """True only if a mark makes none of a function's tests an unmeasured one."""
    if mark.name != "parametrize":
        return mark.name not in UNMEASURED
    values = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("argvalues")
    # What can be iterated only once is left to pytest.
    return isinstance(values, Collection) and all(
        getattr(own, "name", "") not in UNMEASURED
        for value in values
        if isinstance(value, _PARAMETERS)
        for own in value.marks
    )


@functools.cache
def _is_measured(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in MEASURED)


@functools.cache
def _is_of_core(path: Path) -> bool:
    return path.is_relative_to(CORE)


@dataclass
class _Homes:
    """Homes of tests; one that a test of the core left as it was is the next such test's.

    Those start no processes, which might come back to it later. The environment stays as well:
    to set it again costs more than most of these tests.
    """

    folder: Path
    lent: Path | None = None
    """The home of the tests of the core, to which the environment leads."""
    touched: tuple[int, ...] = ()
    """When something in the one that is lent was last made, taken away or changed."""
    environment: dict[object, object] = field(default_factory=dict)
    """The whole environment with it."""
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def make(self) -> Path:
        home = self.folder / str(next(_numbers))
        home.mkdir()
        (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
        return home

    def lend(self) -> Path:
        """The home of a test of the core, with the environment."""
        if self.lent is None or not self._is_as_it_was(self.lent):
            self.end_lending()
            self.lent = self.make()
            _use_home(self.lent, self.patch)
            self.environment = _own_environment()
            self.touched = _times_of(self.lent)
        return self.lent

    def end_lending(self) -> None:
        """Restore the environment from before."""
        self.patch.undo()
        self.lent = None

    def _is_as_it_was(self, home: Path) -> bool:
        try:
            is_untouched = _times_of(home) == self.touched
        except OSError:
            return False
        return is_untouched and _own_environment() == self.environment


def _times_of(home: Path) -> tuple[int, ...]:
    """What makes or removes anything in a folder changes its time."""
    return home.stat().st_ctime_ns, (home / ".gitconfig").stat().st_ctime_ns


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Homes]:
    homes = _Homes(tmp_path_factory.mktemp("homes"))
    yield homes
    homes.end_lending()


@pytest.fixture(scope="session", autouse=True)
def _shared_home(_homes: _Homes) -> Iterator[None]:
    """HOME of fixtures that several tests share, instead of the caller's."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _use_home(_homes.make(), monkeypatch)
        yield
        _homes.end_lending()


@pytest.fixture(autouse=True)
def isolated_home(_homes: _Homes, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The test's own HOME, with nothing in it but ``.gitconfig``; RALPH_STATE_DIR is unmade."""
    if _is_of_core(request.path):
        yield _homes.lend()
        return
    _homes.end_lending()
    home = _homes.make()
    with pytest.MonkeyPatch.context() as monkeypatch:
        _use_home(home, monkeypatch)
        yield home


def _use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN_NAMES:
            monkeypatch.delenv(name)
    own = {
        "HOME": home,
        "USERPROFILE": home,
        "RALPH_STATE_DIR": home / "state" / "ralph",
        "XDG_STATE_HOME": home / "state",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_DATA_HOME": home / "data",
        "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for name, value in own.items():
        monkeypatch.setenv(name, str(value))


def _own_environment() -> dict[object, object]:
    """Without the name of the running test, which pytest writes there.

    As the system has it: to decode it all costs more than most tests of the core.
    """
    own = dict(os.environ._data)  # type: ignore[attr-defined]
    own.pop(os.environ.encodekey("PYTEST_CURRENT_TEST"), None)
    return own


@pytest.fixture
def state_dir(isolated_home: Path) -> Path:
    """Where the test's runs are kept; not made yet, as on a machine that never ran one."""
    return Path(os.environ["RALPH_STATE_DIR"])
