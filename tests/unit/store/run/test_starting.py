"""Starts in the background, and how an engine reports why its run did not start."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import AgentUnavailable, NoEngine, NotAllowed, RalphError, UsageError
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.run import launch
from ralph_ls.store.run.launch import (
    REFUSED,
    EngineStartFailed,
    LaunchResult,
    StartOrder,
    reporting_refusals,
    run_arguments,
    start_detached,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    git_dir = tmp_path / ".git"
    git_dir.mkdir()
    return Worktree(root=tmp_path, git_dir=git_dir, common_dir=git_dir)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


class Launches:
    """In place of a process: what was to be started, and what becomes of it."""

    def __init__(self, error: str = "", exit_code: int | None = None) -> None:
        self.arguments: list[str] = []
        self._launched = LaunchResult(
            pid=7, started=not exit_code, exit_code=exit_code, error=error
        )

    def __call__(self, arguments: list[str], **_: object) -> LaunchResult:
        self.arguments = list(arguments)
        return self._launched


def start(
    worktree: Worktree, state: StateFolder, order: StartOrder, launches: Launches
) -> launch.StartedRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "launch_detached", launches)
        return start_detached(worktree, state, order, NOW)


class TestStart:
    def test_it_waits_when_it_halts_and_names_its_run(
        self, worktree: Worktree, state: StateFolder
    ) -> None:
        launches = Launches()
        order = StartOrder(environment={}, overrides={"task": None}, by="-Ada's editor")
        begun = start(worktree, state, order, launches)
        assert (begun.pid, begun.limit) == (7, 20)
        who = "--by=-Ada's editor"
        assert launches.arguments == ["run", "--on-halt", "wait", "--run-id", begun.run, who]

    def test_without_a_limit_it_is_refused_or_given_one(
        self, worktree: Worktree, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unlimited = LoadedSettings(config=Config(), from_file={}, overrides={})
        monkeypatch.setattr(launch, "load_settings", lambda *_, **__: unlimited)
        with pytest.raises(UsageError, match="needs a limit, such as: ralph run 20 --detach"):
            start(worktree, state, StartOrder(environment={}), Launches())
        launches = Launches()
        spending = Config(max_cost_usd=5)
        for config, is_bound in (
            (spending, True),
            (Config(max_tokens=9), True),
            (spending.model_copy(update={"allow_unmetered": True}), False),
        ):
            settings = LoadedSettings(config=config, from_file={}, overrides={})
            monkeypatch.setattr(launch, "load_settings", lambda *_, found=settings, **__: found)
            with nullcontext() if is_bound else pytest.raises(UsageError, match="needs a limit"):
                start(worktree, state, StartOrder(environment={}), launches)
        monkeypatch.setattr(launch, "load_settings", lambda *_, **__: unlimited)
        begun = start(worktree, state, StartOrder(environment={}, default_limit=20), launches)
        assert (launches.arguments[:2], begun.limit) == (["run", "20"], 20)

    def test_there_must_be_a_run_to_resume(self, worktree: Worktree, state: StateFolder) -> None:
        with pytest.raises(NoEngine, match="no run in"):
            start(worktree, state, StartOrder(environment={}, resume=True), Launches())

    def test_no_arguments_are_only_the_verb(self) -> None:
        assert run_arguments({}) == ["run"]


class TestRefusals:
    @pytest.mark.parametrize("cls", [NotAllowed, AgentUnavailable, RalphError])
    def test_it_is_raised_as_what_it_was(
        self,
        worktree: Worktree,
        state: StateFolder,
        capsys: pytest.CaptureFixture[str],
        cls: type[RalphError],
    ) -> None:
        with pytest.raises(cls), reporting_refusals():
            raise cls("this and that; do so")
        told = capsys.readouterr().err
        launches = Launches(f"a warning\n{told}ralph: this and that; do so", cls.exit_code)
        with pytest.raises(cls) as raised:
            start(worktree, state, StartOrder(environment={}), launches)
        assert type(raised.value) is cls
        assert raised.value.message == "this and that; do so"

    @pytest.mark.parametrize(
        ("said", "last"),
        [
            ("", "no output"),
            ("Traceback:\n  x\nMemoryError", "MemoryError"),
            (f"{REFUSED}OfTomorrow\nralph: not today", "not today"),
            (f"{REFUSED}NotAllowed", f"{REFUSED}NotAllowed"),
        ],
    )
    def test_what_it_says_otherwise_is_reported_with_where_all_of_it_is(
        self, worktree: Worktree, state: StateFolder, said: str, last: str
    ) -> None:
        with pytest.raises(EngineStartFailed) as raised:
            start(worktree, state, StartOrder(environment={}), Launches(said, 70))
        assert raised.value.exit_code == 70
        words = raised.value.message
        assert words.startswith(f"the engine ended with 70 before the run began: {last}; ")
        assert words.endswith("engine.err")
