"""Code actions: what a person can settle at a remark, and running one task alone.

They are the same actions that the lenses and the panel offer, with the same arguments. It must
never know when an action is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.convert import SOURCE, abilities_of
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.sights import Sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.options import EditorOptions
    from ralph_ls.protocol.panel import Action

OWN_PREFIX = "ralph"
"""Of the server's own commands."""

REMEDIES = {
    "question-waiting": "answer",
    "run-blocked": "resume",
    "breaker-open": "reset",
    "breaker-half-open": "reset",
}
"""Which verb settles what a diagnostic says, by its code."""

WITHOUT_ENGINE = {
    "engine-gone": "resume",
    "answer-pending": "resume",
    "question-answered": "resume",
}
"""The same where no engine runs; with one, nothing is left to do about these."""


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],
) -> None:
    """Answer requests for code actions."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    async def code_actions(
        params: types.CodeActionParams,
    ) -> list[types.CodeAction | types.Command] | None:
        uri = params.text_document.uri
        await workspaces.ready()
        place = workspaces.of_document(uri)
        if place is None:
            return None
        view, kind = place
        prefix = options().command_prefix or OWN_PREFIX
        literal = abilities_of(server.client_capabilities).code_actions

        def compute(sight: Sight) -> list[types.CodeAction]:
            return show(sight, params, prefix)

        found = await documents.look(view, kind, compute, uri=uri) or []
        return [one if literal else _only_command(one) for one in found]


def show(sight: Sight, params: types.CodeActionParams, prefix: str) -> list[types.CodeAction]:
    """What can be done at the lines of ``params``; from any thread."""
    found: list[types.CodeAction] = []
    if _wants(params.context, types.CodeActionKind.QuickFix):
        found.extend(_fixes(sight, params.context.diagnostics, prefix))
    if _wants(params.context, types.CodeActionKind.Empty):
        found.extend(_run_alone(sight, params.range, prefix))
    return found


def _fixes(
    sight: Sight, remarks: Sequence[types.Diagnostic], prefix: str
) -> Iterator[types.CodeAction]:
    """The remedy of each remark, once for all remarks that it settles."""
    from ralph_ls.core.views.controls import running, settling

    remedies = REMEDIES if sight.seen.live else REMEDIES | WITHOUT_ENGINE
    settled: dict[str, list[types.Diagnostic]] = {}
    for remark in remarks:
        verb = remedies.get(str(remark.code)) if remark.source == SOURCE else None
        if verb is not None:
            settled.setdefault(verb, []).append(remark)
    offered: dict[str, Action] = {}
    for action in (*settling(sight.seen), *running(sight.seen)):
        offered.setdefault(action.verb.value, action)
    for verb, fixed in settled.items():
        if verb in offered:
            action = offered[verb]
            command = _command(sight, prefix, verb, action.title, action.arguments)
            yield types.CodeAction(
                title=action.title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=fixed,
                command=command,
            )


def _run_alone(sight: Sight, where: types.Range, prefix: str) -> Iterator[types.CodeAction]:
    """Running one task, where the selection lies in just that one."""
    from ralph_ls.core.plan.model import Parsed, Plan
    from ralph_ls.core.views.lenses import lenses
    from ralph_ls.protocol.options import TaskLenses
    from ralph_ls.protocol.panel import Verb

    plan = sight.seen.plan
    task = plan.at_line(where.start.line)
    if task is None or plan.at_line(where.end.line) is not task:
        return
    alone = replace(sight.seen, parsed=Parsed(plan=Plan(tasks=(task,))))
    for lens in lenses(alone, tasks=TaskLenses.ALL):
        if lens.command is Verb.RUN_TASK:
            title = "Run only this task"
            command = _command(sight, prefix, lens.command, title, lens.arguments)
            yield types.CodeAction(title=title, command=command)


def _command(sight: Sight, prefix: str, verb: str, title: str, arguments: Any) -> types.Command:
    named = {"workspace": sight.workspace, **arguments}
    if sight.further_plan is not None:
        named["plan"] = sight.further_plan
    return types.Command(title=title, command=f"{prefix}.{verb}", arguments=[named])


def _only_command(action: types.CodeAction) -> types.CodeAction | types.Command:
    """For a client that knows no more than commands."""
    return action if action.command is None else action.command


def _wants(context: types.CodeActionContext, kind: types.CodeActionKind | str) -> bool:
    """Whether the client asked for this kind; a kind covers those that begin with it."""
    if context.only is None:
        return True
    wanted = [str(getattr(one, "value", one)) for one in context.only]
    name = str(getattr(kind, "value", kind))
    return any(one in {name, ""} or name.startswith(f"{one}.") for one in wanted)
