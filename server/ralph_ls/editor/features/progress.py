"""Work-done progress: one for each run in progress, for clients that show such.

See docs/rules.md#language-server. Cancelling it asks the run to stop after its iteration, as the
stop command does.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ralph_ls.editor.lsp.conversion import display_capabilities
from ralph_ls.editor.scheduling import Throttle
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.workspaces import WorkspaceView
    from ralph_ls.protocol.run.state import RunState

logger = logging.getLogger(__name__)

SHORTEST_REST = 0.25
"""Seconds between two reports of one run."""

ANSWER_PATIENCE = 10.0
"""Seconds that a client gets to let progress begin."""


def register(context: FeatureContext) -> None:
    """Show the runs of all work trees from now on."""
    server, feature = context.server, _Progress(context)
    context.workspaces.on_change(feature.handle_change)

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    async def cancel(params: types.WorkDoneProgressCancelParams) -> None:
        await feature.cancel(params.token)


@dataclass(slots=True, kw_only=True)
class _ShownProgress:
    """What the client shows of a run."""

    run: str
    token: str
    message: str
    percentage: int | None
    """The highest so far: LSP wants it to rise, and a plan may grow."""


class _Progress:
    """Knows the progress that the client shows for each work tree."""

    def __init__(self, context: FeatureContext) -> None:
        self._server = context.server
        self._workspaces = context.workspaces
        self._documents = context.documents
        self._options = context.options
        self._shown: dict[WorkspaceView, _ShownProgress] = {}
        self._refused: set[str] = set()
        """Runs whose progress the client did not want."""
        self._pacer = Throttle(
            self._follow,
            doing="progress",
            shortest_rest=SHORTEST_REST,
            longest_rest=SHORTEST_REST,
        )

    def handle_change(self, view: WorkspaceView) -> None:
        """The run of a work tree changed, or the work tree went."""
        if display_capabilities(self._server.client_capabilities).progress:
            self._pacer.ask(view)

    async def cancel(self, token: types.ProgressToken) -> None:
        """The user pressed the button beside the progress."""
        for view, shown in self._shown.items():
            if shown.token == token:
                await self._stop(view)
                return

    async def _follow(self, view: WorkspaceView) -> None:
        if self._documents.is_over:
            return
        state = self._wanted(view)
        shown = self._shown.get(view)
        if shown is not None and (state is None or state.run != shown.run):
            del self._shown[view]
            self._end(view, shown)
            shown = None
        if state is None or state.run in self._refused:
            return
        if shown is None:
            await self._begin(view, state)
            return
        message, percentage = _words(view, state), _percentage(state, shown.percentage)
        if (message, percentage) != (shown.message, shown.percentage):
            shown.message, shown.percentage = message, percentage
            report = types.WorkDoneProgressReport(
                message=message, percentage=percentage, cancellable=self._may_stop()
            )
            self._server.work_done_progress.report(shown.token, report)
            await self._server.drained()

    def _wanted(self, view: WorkspaceView) -> RunState | None:
        """The run that is to be shown."""
        picture = view.picture()
        if not self._options().progress or view not in self._workspaces.all():
            return None
        return picture.state if picture.live else None

    async def _begin(self, view: WorkspaceView, state: RunState) -> None:
        from ralph_ls.core.views.text.status import progress_title

        token, progress = f"ralph-{uuid.uuid4()}", self._server.work_done_progress
        try:
            async with asyncio.timeout(ANSWER_PATIENCE):
                await progress.create_async(token)
        except (JsonRpcException, TimeoutError) as error:
            logger.info("The client cannot show the progress of run %s: %s", state.run, error)
            self._refused.add(state.run)
            return
        message, percentage = _words(view, state), _percentage(state, None)
        self._shown[view] = _ShownProgress(
            run=state.run, token=token, message=message, percentage=percentage
        )
        progress.begin(
            token,
            types.WorkDoneProgressBegin(
                title=progress_title(state),
                message=message,
                percentage=percentage,
                cancellable=self._may_stop(),
            ),
        )

    def _end(self, view: WorkspaceView, shown: _ShownProgress) -> None:
        from ralph_ls.core.views.text.status import end_words

        picture, message = view.picture(), None
        state = picture.state
        if state is not None and state.run == shown.run and not picture.live:
            message = end_words(state, picture.phase)
        end = types.WorkDoneProgressEnd(message=message)
        self._server.work_done_progress.end(shown.token, end)

    def _may_stop(self) -> bool:
        return not self._options().read_only

    async def _stop(self, view: WorkspaceView) -> None:
        from ralph_ls.editor.requests import control
        from ralph_ls.protocol.lsp.methods import StopParams

        reply = await control.stop(self._workspaces, StopParams(workspace=view.uri))
        if not reply.accepted:
            raise RalphError(reply.text)


def _words(view: WorkspaceView, state: RunState) -> str:
    from ralph_ls.core.views.text.status import progress_words
    from ralph_ls.core.views.text.summary import cost_words, is_estimated

    picture = view.picture()
    words, cost = progress_words(state, picture.phase), picture.history.cost_usd
    if cost is None:
        return words
    estimated = is_estimated(state.usage)
    return f"{words} · {cost_words(cost, state.config.max_cost_usd, estimated=estimated)}"


def _percentage(state: RunState, shown: int | None) -> int | None:
    """How much is done, never less than was shown; one that began without has none."""
    from ralph_ls.core.views.text.status import progress_percentage

    now = progress_percentage(state)
    return now if now is None or shown is None else max(now, shown)
