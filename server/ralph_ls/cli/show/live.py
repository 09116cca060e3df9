"""Live display of a run: a panel in a terminal, plain lines elsewhere, JSON for programs.

Everything shown is read from the run's files by a separate thread; a stopped terminal or a pipe
without a reader never holds up the engine (docs/rules.md#journal).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ralph_ls.cli.output import discard_stdout
from ralph_ls.cli.show.renderers import (
    BellRenderer,
    JsonRenderer,
    PlainRenderer,
    Renderer,
    StopNoticeRenderer,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.watch import OUTPUT_BACKLOG, RunFollower

if TYPE_CHECKING:
    from ralph_ls.cli.context import CommandWorktree
    from ralph_ls.cli.show.key_actions import KeyActions
    from ralph_ls.cli.show.keyboard import Keyboard
    from ralph_ls.store.external.foreground_process import ForegroundProcess

STUCK_READER_SECONDS = 5.0
"""How long the end of a run waits for a reader that takes nothing any more."""

FORCED = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"})
"""Variables by which a stream that is no terminal may be shown to like one."""


class RunViewer:
    """A thread that shows a run."""

    def __init__(
        self,
        files: RunFiles,
        renderer: Callable[[], Renderer],
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        offset: int = 0,
        output: bool = True,
        catch_up: int = OUTPUT_BACKLOG,
    ) -> None:
        self._follower = RunFollower(
            files,
            is_live=is_live,
            after_seq=after_seq,
            offset=offset,
            output=output,
            catch_up=catch_up,
            past_end=True,
        )
        self._make_renderer = renderer
        self._n_shown = 0
        self._thread = threading.Thread(target=self._show, name="viewer", daemon=True)
        self._thread.start()

    def finish(self) -> bool:
        """Wait until everything is shown; False where nobody reads any more."""
        self._follower.wake()
        while self._thread.is_alive():
            shown = self._n_shown
            self._thread.join(timeout=STUCK_READER_SECONDS)
            if self._thread.is_alive() and self._n_shown == shown:
                return False
        return True

    def wait(self, left: threading.Event) -> None:
        """Wait for the end of the run, or until the user has left.

        Ctrl-C ends the watching alone.
        """
        while self._thread.is_alive():
            self._thread.join(timeout=0.2)
            if left.is_set():
                self._follower.stop()

    def _show(self) -> None:
        renderer = self._make_renderer()
        self._follower.backlog = renderer.backlog
        try:
            for snapshot in self._follower:
                # In small pieces, so that a slow reader differs from one that does not read.
                for start in range(0, len(snapshot), 50):
                    renderer.show(snapshot[start : start + 50])
                    self._n_shown += 1
        except OSError:
            discard_stdout()
        finally:
            try:
                renderer.close()
            except OSError:
                discard_stdout()


def choose_renderer(
    *, as_json: bool, state: RunState | None = None, keys: KeyActions | None = None
) -> Callable[[], Renderer]:
    """What fits where the output goes; ``state`` is what was known before the first event shown.

    Only a panel shows what ``keys`` do.
    """
    if as_json:
        return JsonRenderer
    known = RunState() if state is None else state
    if not sys.stdout.isatty() and FORCED.isdisjoint(os.environ):
        return lambda: PlainRenderer(known)
    from ralph_ls.cli.show.live_panel import LiveRenderer, terminal

    if (console := terminal()) is not None:
        return lambda: BellRenderer(LiveRenderer(console, known, keys), known)
    return lambda: BellRenderer(PlainRenderer(known), known)


def choose_own_renderer(
    *, as_json: bool, state: RunState | None = None, keys: KeyActions | None = None
) -> Callable[[], Renderer]:
    """As ``choose_renderer``, for the run of this very process, which Ctrl-C reaches."""
    renderer = choose_renderer(as_json=as_json, state=state, keys=keys)
    if sys.stdout.isatty() or not sys.stderr.isatty():
        return renderer
    known = RunState() if state is None else state
    return lambda: StopNoticeRenderer(renderer(), known)


def can_show_screen() -> bool:
    """Whether the full screen can be drawn: on a terminal that is not dumb, errors included."""
    from ralph_ls.cli.show.keyboard import can_read_keys

    return can_read_keys() and sys.stderr.isatty()


@contextlib.contextmanager
def reading_keys(
    place: CommandWorktree, by: str, *, leave: Callable[[], None] | None = None
) -> Iterator[KeyActions | None]:
    """Keys steer the run while it is shown; None where no key can be read."""
    from ralph_ls.cli.show.keyboard import Keyboard, can_read_keys

    if not can_read_keys():
        yield None
        return
    from ralph_ls.cli.show.key_actions import KeyActions

    keys = KeyActions(place=place, by=by, leave=leave)
    keyboard = Keyboard(keys.handle)
    if can_show_screen() and leave is None:
        beside = ScreenBesideRun(keys, keyboard)
        keys.full_screen, keys.end_full_screen = beside.show, beside.end
    keyboard.start()
    try:
        yield keys
    finally:
        keyboard.close()


class ScreenBesideRun:
    """The full screen of the run of this very process, in a separate one that has the terminal.

    Keys are read again, and lines shown, once it has ended. It ends with the run.
    """

    def __init__(self, keys: KeyActions, keyboard: Keyboard) -> None:
        self._keys = keys
        self._keyboard = keyboard
        self._lock = threading.Lock()
        self._process: ForegroundProcess | None = None
        self._is_over = False

    def show(self) -> None:
        """Show it until it is left; called by the thread that reads keys."""
        from ralph_ls.store.external.foreground_process import ForegroundProcess

        shown = self._keys.screen
        if shown is None:
            return
        with shown.hidden():
            with self._lock:
                if self._is_over:
                    return
                self._keyboard.restore()
                root = self._keys.place.worktree.root
                self._process = ForegroundProcess(
                    ["watch", "--in-run"], cwd=root, environment=os.environ
                )
            if self._process.serve(self._give) == -signal.SIGKILL:
                self._keyboard.repair()

    def _give(self, order: str, text: str) -> list[str]:
        from ralph_ls.protocol.errors import RalphError

        try:
            return self._keys.give(order, text)
        except RalphError as error:
            return [error.message]
        except OSError as error:
            return [f"{error.strerror or error}: {error.filename or 'no file is named'}"]

    def end(self) -> None:
        """End it, as the run is over."""
        with self._lock:
            self._is_over = True
        if self._process is not None:
            self._process.end()
