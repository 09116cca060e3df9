"""Read and check a plan of any kind: the one place that picks the reader (SPEC §8).

The text of a plan in ``bd`` is that of a snapshot. A request is no list of tasks, so its plan is
empty. It must never know where a text came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ralph_ls.core.plan import markdown
from ralph_ls.core.plan.beads import closing
from ralph_ls.core.plan.beads import reading as beads
from ralph_ls.core.plan.beads.snapshot import from_text
from ralph_ls.core.plan.checking.checks import COMPLETION_MARKER, check
from ralph_ls.core.plan.checking.remarks import Remark
from ralph_ls.core.plan.kinds import PlanKind
from ralph_ls.core.plan.model import Parsed, Plan
from ralph_ls.core.plan.stories import showing as stories
from ralph_ls.core.plan.stories.checking import check as check_stories
from ralph_ls.core.plan.stories.reading import StoriesRead, read


def parse_plan(
    text: str,
    kind: PlanKind,
    *,
    optional_sections: Sequence[str] = (),
    skip_review: bool = False,
) -> Parsed:
    """Read a plan and what is wrong with it; never raises.

    ``optional_sections`` mean something in markdown only, ``skip_review`` in stories only.
    """
    match kind:
        case PlanKind.MARKDOWN:
            return markdown.parse(text, optional_sections=optional_sections)
        case PlanKind.STORIES:
            return stories.parse(text, skip_review=skip_review)
        case PlanKind.BEADS:
            return beads.parse(text)
        case PlanKind.REQUEST:
            return Parsed(plan=Plan())
        case _:  # pragma: no cover
            assert_never(kind)


def check_plan(
    parsed: Parsed, text: str, kind: PlanKind, *, marker: str = COMPLETION_MARKER
) -> tuple[Remark, ...]:
    """What is wrong with what a plan says, although it can be read; by line.

    What of stories is against the rules of their file is a problem that ``parse_plan`` gives.
    """
    match kind:
        case PlanKind.MARKDOWN:
            return check(parsed, text, marker=marker)
        case PlanKind.BEADS:
            return closing.check(from_text(text))
        case PlanKind.STORIES:
            known = parsed.source
            return check_stories((known if isinstance(known, StoriesRead) else read(text)).stories)
        case PlanKind.REQUEST:
            return ()
        case _:  # pragma: no cover
            assert_never(kind)
