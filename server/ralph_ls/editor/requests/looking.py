"""Requests that look: how a work tree stands, and to be told what happens in it."""

from __future__ import annotations

from ralph_ls.editor.documents import Documents
from ralph_ls.editor.states import state_of
from ralph_ls.editor.subscriptions import Subscriptions
from ralph_ls.editor.workspaces import Workspaces
from ralph_ls.protocol.lsp.methods import (
    StateParams,
    StateResult,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
    UnsubscribeResult,
)


async def state(workspaces: Workspaces, documents: Documents, params: StateParams) -> StateResult:
    """``ralph/state``: as it stands now, not as it was seen last."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    await view.look()
    return await state_of(view, documents, workspaces.now())


async def subscribe(
    workspaces: Workspaces, subscriptions: Subscriptions, params: SubscribeParams
) -> SubscribeResult:
    """``ralph/subscribe``."""
    await workspaces.ready()
    return await subscriptions.subscribe(workspaces.named(params.workspace), params)


async def unsubscribe(
    workspaces: Workspaces, subscriptions: Subscriptions, params: UnsubscribeParams
) -> UnsubscribeResult:
    """``ralph/unsubscribe``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    return UnsubscribeResult(subscribed=await subscriptions.unsubscribe(view))
