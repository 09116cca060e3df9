"""The full screen, driven by Textual's own pilot: what it shows, and what its keys do."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partialmethod
from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Input

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.screen.app import OtherRun, RalphScreen, ScreenEnd
from ralph_ls.cli.screen.feed import OutputLine, ScreenView
from ralph_ls.cli.screen.open_screen import show_screen
from ralph_ls.cli.screen.pages import TextPage
from ralph_ls.cli.screen.run_pane import RunPane
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import iteration_rows, plan_rows
from ralph_ls.core.views.screen.status import Activity, RunningTool
from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import EndReason, Phase
from ralph_ls.store.layout import StateFolder, Worktree
from tests.engine.project_builder import start_ralph, write_agent
from tests.unit.cli.shell_agents import WORKER
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    NOON,
    ROUND,
    begins,
    ends,
    phase,
    reports,
    run_of,
    seen,
    shows,
    started,
)
from tests.unit.core.views.run_situations import OPEN, asked, ended

GOLDEN = Path(__file__).parents[2] / "golden" / "screen"

LIMITS = started(max_cost_usd=5.0, max_tokens=200_000)
FIRST = (
    LIMITS,
    begins(1, ROUND),
    phase(Phase.RUNNING),
    reports(1, STATUS="COMPLETE", FILES_MODIFIED="4", TESTS_STATUS="PASSING"),
    shows(1, files=2, commit=COMMIT, done=(ROUND,)),
    ends(1, commit=COMMIT, usage=Usage(input_tokens=24_000, output_tokens=1_000, cost_usd=0.42)),
)
SITUATIONS = {
    "begun": (LIMITS,),
    "running": (*FIRST, begins(2, CHOOSE), phase(Phase.RUNNING)),
    "asks": (
        *FIRST,
        begins(2, CHOOSE),
        asked(2, "Which storage engine?\n1. SQLite, one file\n2. PostgreSQL"),
        ends(2),
        phase(Phase.PARKED, "decide"),
    ),
    "open": (*FIRST, begins(2, CHOOSE), ends(2, breaker=OPEN), phase(Phase.PARKED, "stuck")),
    "complete": (*FIRST, ended(EndReason.COMPLETE, "every task is done")),
}

OUTPUT = [
    OutputLine(text="Iteration 2 of 20: Choose the storage engine", weight=Weight.NORMAL),
    OutputLine(text="I read the plan and compare the storage engines: 漢字 is two columns wide."),
    OutputLine(text="⚒ Bash: pytest -q"),
    OutputLine(text="Breaker: CLOSED → HALF_OPEN", weight=Weight.WARNING),
]

MOST_FRAMES = 50

SIZES = ((240, 60), (80, 24), (100, 30), (120, 40))


class StoppedClock:
    """Always some minutes past the run's last event."""

    def now(self) -> datetime:
        return NOON + timedelta(minutes=10)

    def local(self) -> datetime:
        return self.now()

    def monotonic(self) -> float:
        return 0.0


def view_of(situation: str) -> ScreenView:
    events = SITUATIONS[situation]
    context = seen(*events, halt=HaltFiles() if situation != "asks" else None)
    rows = iteration_rows(run_of(events)).rows
    return ScreenView(
        context=context,
        panel=panel(context, rows, NOON + timedelta(minutes=10)),
        plan=plan_rows(context, uri=None, path="fix_plan.md"),
        files=None,
    )


def place_at(folder: Path) -> CommandWorktree:
    return CommandWorktree(
        worktree=Worktree(root=folder, git_dir=folder / ".git", common_dir=folder / ".git"),
        state=StateFolder(folder=folder / "state"),
    )


@asynccontextmanager
async def showing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    situation: str = "running",
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[tuple[RalphScreen, Pilot[ScreenEnd]]]:
    """The screen of a run in a situation, without files."""
    monkeypatch.setattr(RunPane, "begin", lambda _: None)
    app = RalphScreen(place_at(tmp_path), clock=StoppedClock())
    async with app.run_test(size=size, notifications=True) as pilot:
        await app.pane.show(view_of(situation))
        tool = RunningTool(call="1", text="Bash: pytest -q", since=StoppedClock().now())
        app.pane.show_output(OUTPUT, Activity(running=(tool,)))
        await pilot.pause()
        yield app, pilot


def task_lines_of(app: RalphScreen) -> list[str]:
    _, _, tasks = text_of(app).partition("╭─ Tasks")
    return [line.split("│")[1] for line in tasks.splitlines()[1:7]]


def text_of(app: RalphScreen) -> str:
    """What is on the screen, without colours."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


async def check(app: RalphScreen, pilot: Pilot[ScreenEnd], name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.write_text(text_of(app), encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    # A box that has changed its size scrolls in a later frame, which a busy machine draws late.
    for _ in range(MOST_FRAMES):
        if text_of(app) == expected:
            return
        await pilot.pause()
    assert text_of(app) == expected


class TestPictures:
    async def test_a_window_that_shrinks_and_grows_to_four_sizes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch, size=SIZES[0]) as (app, pilot):
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await pilot.pause()
                await check(app, pilot, f"running-{size[0]}x{size[1]}")

    async def test_what_waits_for_the_user(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            for situation in ("asks", "open", "complete"):
                await app.pane.show(view_of(situation))
                await pilot.pause()
                await check(app, pilot, f"{situation}-80x24")

    async def test_no_colour_is_needed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        async with showing(tmp_path, monkeypatch, "asks") as (app, pilot):
            await check(app, pilot, "asks-80x24")

    async def test_only_the_colours_of_the_terminal_are_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch, "asks") as (app, pilot):
            await app.add_run(place_at(tmp_path / "other"))
            for keys in ((), ("question_mark", "slash", "k", "enter"), ("escape", "a"), ("n",)):
                await pilot.press(*keys)
                app.say("a message")
                await pilot.pause()
                assert foreign_colours(app) == set()
                assert dark_backgrounds(app) == set()


def foreign_colours(app: RalphScreen) -> set[str]:
    """Colours beyond the sixteen that users choose for their terminal."""
    styles = [
        segment.style
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
    ]
    colours = [one for style in styles for one in (style.color, style.bgcolor) if one is not None]
    return {
        one.name
        for one in colours
        if not one.is_default and (one.number is None or one.number > 15)
    }


def dark_backgrounds(app: RalphScreen) -> set[str]:
    """Text on a black background, which is a bar on a light terminal."""
    return {
        segment.text
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
        and segment.style.bgcolor is not None
        and segment.style.bgcolor.number == 0
    }


class GivenOrders:
    """What the keys ordered, in place of the inbox."""

    def __init__(self, app: RalphScreen) -> None:
        self.given: list[tuple[str, str]] = []
        app.pane.keys.give_elsewhere = self.take

    def take(self, order: str, text: str) -> list[str]:
        self.given.append((order, text))
        return ["taken"]


async def wait_for_text(app: RalphScreen, pilot: Pilot[ScreenEnd], words: str) -> None:
    for _ in range(150):
        if words in text_of(app):
            return
        await pilot.pause(0.04)
    raise AssertionError(f"{words!r} never came: {text_of(app)}")


async def settled(pilot: Pilot[ScreenEnd]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


class TestKeys:
    async def test_orders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            orders = GivenOrders(app)
            for key in ("s", "S", "r"):
                await pilot.press(key)
                await settled(pilot)
            assert [name for name, _ in orders.given] == ["stop", "stop-now", "reset"]
            await wait_for_text(app, pilot, "taken")

    async def test_an_option_is_an_answer_by_its_number_or_its_button(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch, "asks") as (app, pilot):
            orders = GivenOrders(app)
            await pilot.press("2")
            await settled(pilot)
            await pilot.press("a", "enter")
            await settled(pilot)
            assert orders.given == [("answer", "PostgreSQL"), ("answer", "SQLite, one file")]

    async def test_another_answer_is_typed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch, "asks") as (app, pilot):
            orders = GivenOrders(app)
            await pilot.press("a", "down", "down", "enter")
            await settled(pilot)
            assert app.query_one(Input).has_focus
            await pilot.press(*"sq1", "enter")
            await settled(pilot)
            assert orders.given == [("answer", "sq1")]
            await pilot.press("a", "down", "down", "enter", "x", "escape")
            await settled(pilot)
            assert len(orders.given) == 1

    async def test_done_tasks_unfold_and_fold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            assert "✓ Read the law" not in text_of(app)
            await pilot.press("end", "enter")
            await pilot.pause()
            assert "✓ Read the law" in text_of(app)

    async def test_pages_open_and_close(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            await pilot.press("question_mark")
            await pilot.pause()
            assert "f    change between the full screen and this form" in text_of(app)
            await pilot.press("j", "G", "g", "k", "escape")
            await pilot.press("tab", "tab", "tab", "enter")
            await pilot.pause()
            assert "Task       Choose the storage engine" in text_of(app)
            assert "d shows its diff, l its log" in text_of(app)

    async def test_before_the_first_iteration_there_is_no_log_and_no_diff(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch, "begun") as (app, pilot):
            await pilot.press("l")
            await wait_for_text(app, pilot, "no iteration has begun yet")
            await pilot.press("d")
            await wait_for_text(app, pilot, "no iteration has ended yet")

    async def test_a_task_opens(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            await pilot.press("enter")
            await pilot.pause()
            page = text_of(app)
            assert "Task       Choose the storage engine" in page
            assert "State      in work" in page
            await pilot.press("escape", "t")
            await pilot.pause()
            assert text_of(app).splitlines()[1].startswith("╭─ Tasks")

    async def test_the_focused_part_takes_the_window_and_gives_it_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            before = text_of(app)
            await pilot.press("tab", "z")
            await pilot.pause()
            zoomed = text_of(app).splitlines()
            assert zoomed[1] == f"╭─ Output {'─' * 69}╮"
            assert zoomed[22] == f"╰{'─' * 78}╯"
            assert not any("─ Tasks" in line for line in zoomed)
            await pilot.press("z", "t")
            await pilot.pause()
            assert text_of(app) == before

    async def test_what_comes_while_a_part_is_hidden_is_drawn_to_its_width(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            await app.add_run(place_at(tmp_path / "other"))
            await pilot.pause()
            pane, before = app.pane, task_lines_of(app)
            for number, (hide, show) in enumerate((("z", "z"), ("right_square_bracket",) * 2)):
                await pilot.press(hide)
                await pilot.pause()
                line = OutputLine(text=f"{number} written while it is hidden")
                pane.show_output([line], Activity())
                await pane.show(view_of("running"))
                await pilot.press(show)
                await pilot.pause()
                assert task_lines_of(app) == before
                assert line.text in text_of(app)

    async def test_a_page_is_searched(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            # Wide lines are wrapped, so that rows are more than lines.
            lines = [Text(f"line {number} " + "x" * 90) for number in range(60)]
            lines[50] = Text("the Needle")
            lines[57] = Text("one more needle")
            app.push_screen(TextPage("Log", lines))
            await pilot.press("slash", *"need", "enter")
            await pilot.pause()
            assert "the Needle" in text_of(app)
            assert "1 of 2, n next" in text_of(app)
            await pilot.press("n")
            await pilot.pause()
            assert "2 of 2, n next" in text_of(app)
            await pilot.press("N", "slash", *"zz", "enter")
            await pilot.pause()
            assert "nothing found" in text_of(app)
            await pilot.press("slash", "x", "escape")
            await pilot.pause()
            assert isinstance(app.screen, TextPage)
            await pilot.press("escape")
            await pilot.pause()
            assert not isinstance(app.screen, TextPage)

    @pytest.mark.parametrize(
        ("key", "end"), [("q", ScreenEnd.LEFT), ("ctrl+c", ScreenEnd.LEFT), ("f", ScreenEnd.PLAIN)]
    )
    async def test_ways_to_leave(
        self, key: str, end: ScreenEnd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            await pilot.press(key)
            await pilot.pause()
        assert app.return_value is end

    async def test_another_run_is_another_tab(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            first = app.pane
            await app.add_run(place_at(tmp_path / "other"))
            await pilot.pause()
            assert text_of(app).splitlines()[0] == f" ● {tmp_path.name}  other"
            await pilot.press("right_square_bracket")
            await pilot.pause()
            assert app.pane is not first
            await pilot.press("left_square_bracket")
            await pilot.pause()
            assert app.pane is first

    async def test_a_tab_shows_that_its_run_needs_the_user(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            other = OtherRun(place=place_at(tmp_path / "other"), needs_user=False)
            app._find_others = lambda: [other]
            app._look_for_others()
            await wait_for_text(app, pilot, f" ● {tmp_path.name}  ● other")
            other = OtherRun(place=other.place, needs_user=True)
            app._look_for_others()
            await wait_for_text(app, pilot, "▲ other")
            await wait_for_text(app, pilot, "other waits for you; ] goes to it")

    async def test_a_lane_has_a_tab_until_it_is_merged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with showing(tmp_path, monkeypatch) as (app, pilot):
            lanes = [
                OtherRun(
                    place=place_at(tmp_path / f"t00{number}-{number}"),
                    needs_user=False,
                    title=f"lane {number}",
                    is_lane=True,
                )
                for number in (1, 2)
            ]
            app._find_others = lambda: lanes
            app._look_for_others()
            await wait_for_text(app, pilot, f" ● {tmp_path.name}  ● lane 1  ● lane 2")
            await pilot.press("right_square_bracket")
            await pilot.pause()
            assert app.pane.place == lanes[0].place
            app._find_others = tuple
            app._look_for_others()
            # The one that is shown stays until another one is looked at.
            await wait_for_text(app, pilot, f" ● {tmp_path.name}  ○ lane 1\n")
            await pilot.press("left_square_bracket")
            await pilot.pause()
            app._look_for_others()
            while len(app._panes) > 1:
                await pilot.pause()
            assert "lane" not in text_of(app)


class TestPagesOfARun:
    async def test_history_iterations_diff_log_and_prompt(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent = write_agent(tmp_path / "agents", WORKER)
        with start_ralph(repository, "run", "--agent-command", agent) as run:
            assert run.wait().exit_code == 0
        monkeypatch.chdir(repository)
        app = RalphScreen(current_worktree())
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await wait_for_text(app, pilot, "✓ 2 tasks done")
            await pilot.press("d")
            await wait_for_text(app, pilot, "+- [x] Second task")
            await pilot.press("escape", "l")
            await wait_for_text(app, pilot, "I did the task. 漢字")
            await pilot.press("escape", "h")
            await wait_for_text(app, pilot, "Enter shows a run")
            await pilot.press("enter")
            await wait_for_text(app, pilot, "Enter shows all · D diff · L log")
            await pilot.press("l")
            await wait_for_text(app, pilot, "I did the task. 漢字")
            await pilot.press("escape", "enter")
            await wait_for_text(app, pilot, "TESTS_STATUS: PASSING")
            await pilot.press("slash", *": Sec", "enter")
            await wait_for_text(app, pilot, "1 of 1")


class TestBesideARun:
    async def test_ctrl_c_is_for_the_run_and_its_end_ends_the_screen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(RunPane, "begin", lambda _: None)
        pressed: list[str] = []
        over: list[bool] = []
        app = RalphScreen(
            place_at(tmp_path), interrupt=lambda: pressed.append("^C"), is_over=lambda: bool(over)
        )
        async with app.run_test(notifications=True) as pilot:
            await pilot.press("ctrl+c", "q")
            await settled(pilot)
            assert pressed == ["^C"]
            await wait_for_text(app, pilot, "this terminal runs")
            over.append(True)
            while app.is_running:
                await pilot.pause(0.05)
        assert app.return_value is ScreenEnd.LEFT


class TestFailure:
    def test_it_is_named_and_the_plain_form_follows(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(_: RunPane) -> None:
            raise ValueError("no such thing")

        monkeypatch.setattr(RunPane, "begin", fail)
        monkeypatch.setattr(RalphScreen, "run", partialmethod(RalphScreen.run, headless=True))
        end = show_screen(place_at(tmp_path), find_others=tuple, in_run=None)
        assert end is ScreenEnd.FAILED
        told = capsys.readouterr().err
        assert told.startswith("ralph: the full screen failed (ValueError in test_screen.py:")
        assert "Traceback" not in told
