"""Stop verdict: whether the agent of a story iteration may stop (docs/rules.md#stop-hook).

Before the agent's program ends, the hook checks what the engine would check afterwards, while the
agent can still fix it:

1. the file of stories exists, is JSON, and has the required fields;
2. its invariants hold;
3. (2.5) only legal moves were made since the iteration began, if its beginning is known;
4. (3) everything is committed.

What was wrong before the iteration is ignored. An agent that cannot fix what is requested must not
be kept forever: when the program reports for the second time that it continues because of a hook,
it may stop. Outside a run of stories, where there is no ``.ralph-active``, there is no verdict.

Reads no files and does not use git: all facts are arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ralph_ls.core.plan.formats.stories.review_cycle import ReviewRules, check_moves
from ralph_ls.core.plan.formats.stories.story_file import (
    ParsedStories,
    StoryFinding,
    is_unusable,
    new_findings,
    read_stories,
)
from ralph_ls.core.plan.formats.stories.tasks import check_invariants, mode_named
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.protocol.run.stop_hook import HookAnswer, HookInput, RalphActive

LETS_GO_AFTER = 2
"""How often the program may continue because of a hook; then it may stop."""

SHOWN = 10
"""Problems, and uncommitted files, that one answer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAttempt:
    """An agent's attempt to stop, with the facts for the verdict."""

    active: RalphActive | None
    """None: no run of stories is active here."""
    n_active: int = 0
    """How often in this iteration the program reported ``stop_hook_active``, including now."""
    path: str
    """The file of stories, as messages name it."""
    after: str | None
    """Its text now; None where it was removed."""
    before: str | None = None
    """Its text when the iteration began; None where that is not known."""
    uncommitted: Sequence[str] = ()
    """Files with uncommitted changes, except those that should not be committed."""
    halts: bool = False
    """The agent ends with BLOCKED or DECIDE, which leaves the rest to the user."""
    assigned: str | None = None
    """The story that the iteration was started for."""


def judge_stop(stop: StopAttempt) -> HookAnswer | None:
    """What is left to do before the agent may stop; None if it may."""
    if stop.active is None or stop.n_active >= LETS_GO_AFTER:
        return None
    wrong = list(_wrong_with_file(stop, stop.active))
    if stop.uncommitted:
        names = some_of(stop.uncommitted, SHOWN)
        count = count_of(len(stop.uncommitted), "file")
        wrong.append(f"{count} not committed: {names}; commit what belongs to your work")
    if not wrong:
        return None
    n_more = len(wrong) - SHOWN
    lines = [*wrong[:SHOWN], *([f"and {n_more} more like these"] if n_more > 0 else [])]
    return HookAnswer(reason="This iteration is not finished yet:\n- " + "\n- ".join(lines))


def read_hook_input(text: str) -> HookInput | None:
    """The input of the hook from the agent's program; None where it cannot be parsed.

    The agent may stop then: it is unknown how often it was kept, and that must end.
    """
    try:
        return HookInput.model_validate_json(text)
    except ValidationError:
        return None


def read_active(text: str) -> RalphActive | None:
    """The content of ``.ralph-active``; None where it cannot be parsed."""
    try:
        return RalphActive.model_validate_json(text)
    except ValidationError:
        return None


def snapshot_text(active: RalphActive) -> str | None:
    """The text of the file of stories as the iteration found it, where the file brings it."""
    snapshot = active.pre_iteration_snapshot
    if isinstance(snapshot, str):
        return snapshot if snapshot.lstrip("\ufeff \t\r\n").startswith(("{", "[")) else None
    if isinstance(snapshot, dict | list):
        return json.dumps(snapshot, ensure_ascii=False)
    return None


def snapshot_path(active: RalphActive) -> str | None:
    """The path that the file gives for this text; None where it gives none."""
    snapshot = active.pre_iteration_snapshot
    is_path = isinstance(snapshot, str) and snapshot.strip() and snapshot_text(active) is None
    return str(snapshot).strip() if is_path else None


def _wrong_with_file(stop: StopAttempt, active: RalphActive) -> Iterator[str]:
    if stop.after is None:
        yield f"{stop.path} is missing; restore it"
        return
    now = read_stories(stop.after)
    was = None if stop.before is None else read_stories(stop.before)
    faults = new_findings(now.findings, () if was is None else was.findings)
    if faults:
        yield from (_worded(stop, now, fault) for fault in faults)
        return
    skips = active.skip_review
    known = () if was is None else check_invariants(was.stories, skip_review=skips)
    for finding in new_findings(check_invariants(now.stories, skip_review=skips), known):
        yield _worded(stop, now, finding)
    mode = mode_named(active.iteration_mode)
    if was is None or mode is None or is_unusable(was):
        return
    rules = ReviewRules(
        mode=mode,
        skip_review=skips,
        review_cap=active.review_cap,
        halts=stop.halts,
        assigned=stop.assigned,
    )
    for move in check_moves(was.stories, now.stories, rules):
        yield f"{stop.path}: {move.message} ({move.code})"


def _worded(stop: StopAttempt, now: ParsedStories, finding: StoryFinding) -> str:
    line = now.stories.text.count("\n", 0, finding.start) + 1
    return f"{stop.path}:{line}: {finding.message} ({finding.code})"
