"""Plans without a text that is edited here: the issues of ``bd``, and a request.

An edit raises ``RalphError`` with what to do instead. The text of the issues is their snapshot; a
request is no list of tasks, so its plan is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ralph_ls.core.plan.formats.plan_format import (
    PlanEdit,
    PlanFormat,
    PlanOperations,
    PlanStorage,
    ReadOptions,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from ralph_ls.core.plan.lint.remarks import LintRemark


def _load_beads() -> PlanOperations:
    from ralph_ls.core.plan.formats.beads.evidence import check_issues
    from ralph_ls.core.plan.formats.beads.snapshot import parse_beads, snapshot_from_text

    return _operations(
        lambda text, _: parse_beads(text),
        lambda _, text, __: check_issues(snapshot_from_text(text)),
        "the issues are stored in bd; change them there, for example with: bd update",
    )


def _load_request() -> PlanOperations:
    return _operations(
        lambda *_: ParsedPlan(plan=Plan()),
        lambda *_: (),
        "a request has no tasks; edit its text instead",
    )


def _operations(
    parse: Callable[[str, ReadOptions], ParsedPlan],
    check: Callable[[ParsedPlan, str, str], tuple[LintRemark, ...]],
    instead: str,
) -> PlanOperations:
    from ralph_ls.core.plan.diff.merge import merge_markdown

    def refuse(*given: object) -> NoReturn:
        del given
        raise RalphError(instead)

    def unchanged(change: Callable[[str], PlanEdit], task_id: str) -> PlanEdit:
        return change(task_id)

    return PlanOperations(
        parse=parse,
        check=check,
        edit=refuse,
        retry=refuse,
        byte_exact=unchanged,
        effects=lambda *_: ((), ()),
        merge=merge_markdown,
    )


BEADS = PlanFormat(
    name=PlanKind.BEADS,
    title="beads",
    source="the issues of bd",
    storage=PlanStorage.TRACKER,
    load=_load_beads,
)

REQUEST = PlanFormat(
    name=PlanKind.REQUEST,
    title="a request",
    source="the text of a request",
    storage=PlanStorage.REQUEST,
    load=_load_request,
)
