"""Review cycle: which changes of the stories an iteration may make (docs/rules.md#stop-hook).

::

    null ──implement──▶ needs_review ──review──▶ approved, passes
                             ▲   └──review──▶ changes_requested ─┐
                             └───────────review-fix──────────────┘

- *implement* takes at most one story from null to ``needs_review``; with ``skip_review`` it sets
  ``passes`` of at most one instead. New stories are added as fresh ones.
- *review* judges exactly one: ``reviewCount`` grows by one, and either it is approved and passes,
  or changes are requested and the feedback describes them. When the count reaches ``review_cap`` it
  has to be approved, with ``[AUTO-APPROVED AT CAP]`` before the feedback: so a story is not sent
  back and forth forever, and the cap stays visible.
- *review-fix* returns exactly one to ``needs_review``, and clears the feedback.
- *plan* moves no story. An iteration that ends in BLOCKED or DECIDE reviews none either, but
  without reviews it may have finished one. An iteration that also promises COMPLETE is judged as if
  it did not halt if all stories pass by moves that are legal then: COMPLETE has precedence.
- No iteration deletes a story, drops a dependency, or changes criteria, priority or the commands
  that verify the work; but a plan iteration may do all of this except the last.

Doing less than a legal move is wrong, too: a review that judges nothing. There is nothing to
restore then, so such a move has no fields.

Compares two parsed files; does not know who wrote the later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ralph_ls.core.plan.formats.json_text import value_of
from ralph_ls.core.plan.formats.stories.story_file import (
    COUNT,
    DEPENDS,
    FEEDBACK,
    PASSES,
    REVIEW_FIELDS,
    STATUS,
    ReviewStatus,
    Story,
    StoryFile,
)
from ralph_ls.protocol.run.values import Mode, ReviewSeen

AT_CAP = "[AUTO-APPROVED AT CAP]"
"""The beginning of the feedback of a story that was approved at the review cap."""

REVIEW_CAP = 5
CRITERIA, PRIORITY, VERIFY = "acceptanceCriteria", "priority", "verifyCommands"


class MoveCode(StrEnum):
    """The codes of illegal moves; they are stable, because users search for them."""

    DELETED = "story-deleted"
    NOT_FRESH = "story-not-fresh"
    """A new story is added in a state other than fresh."""
    CRITERIA = "story-criteria-changed"
    PRIORITY = "story-priority-changed"
    DEPENDENCY = "story-dependency-dropped"
    VERIFY = "verify-commands-changed"
    HALTED = "halted-with-move"
    """A story moved in an iteration that ended in BLOCKED or DECIDE (docs/rules.md#stories)."""
    FINISHED = "finished-story-moved"
    """A story that passed was opened, or its review changed."""
    IMPLEMENT = "implement-illegal-move"
    REVIEW = "review-illegal-move"
    REVIEW_FIX = "review-fix-illegal-move"
    PLAN = "plan-illegal-move"
    SEVERAL = "several-stories-moved"
    NONE_REVIEWED = "no-story-reviewed"
    NONE_FIXED = "no-story-fixed"
    AT_CAP = "review-cap-ignored"
    """The last review of a story did not approve it with the required mark."""
    FEEDBACK = "review-feedback-missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRules:
    """The mode of one iteration, and the rules for it."""

    mode: Mode
    skip_review: bool = False
    review_cap: int = REVIEW_CAP
    halts: bool = False
    """It ended in BLOCKED or DECIDE."""
    completes: bool = False
    """It promised COMPLETE, which has precedence over halting."""
    assigned: str | None = None
    """The story that it was started for: where several moved, this move stays."""
    user_changes: frozenset[tuple[str, str]] = frozenset()
    """The user's changes meanwhile, by story and field; the field is empty for a deletion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IllegalMove:
    """One illegal move of an iteration."""

    code: MoveCode
    message: str
    """For agents and users: what is wrong, and what to do instead."""
    story: str = ""
    """Its id; empty where it is about the file or about no single story."""
    fields: tuple[str, ...] = ()
    """The fields to restore; empty for a deleted story, and where nothing can be restored."""

    @property
    def is_omission(self) -> bool:
        """Whether the move is an omission, so that there is nothing to restore."""
        return self.code in {MoveCode.NONE_REVIEWED, MoveCode.NONE_FIXED}


def check_moves(before: StoryFile, after: StoryFile, rules: ReviewRules) -> tuple[IllegalMove, ...]:
    """The illegal moves of an iteration between two parsed files, in the file's order."""
    if rules.halts and rules.completes:
        found = _check(before, after, replace(rules, halts=False))
        undone = {move.story for move in found if PASSES in move.fields}
        if after.stories and all(one.passes and one.id not in undone for one in after.stories):
            return found
    return _check(before, after, rules)


def _check(before: StoryFile, after: StoryFile, rules: ReviewRules) -> tuple[IllegalMove, ...]:
    was, now = before.by_id(), after.by_id()
    is_free = rules.mode is Mode.PLAN
    found = [] if is_free else list(_check_protected(was, now))
    if before.verify_commands != after.verify_commands:
        message = f"only you may change {VERIFY}; restore them as they were"
        found.append(IllegalMove(code=MoveCode.VERIFY, message=message, fields=(VERIFY,)))
    found += [move for story in after.stories if story.id not in was for move in _check_new(story)]
    kept = [(old, now[old.id]) for old in before.stories if old.id in now]
    found += _check_reviews(kept, rules)
    return tuple(move for move in found if not _is_users(move, rules))


def moved_reviews(before: StoryFile, after: StoryFile) -> tuple[str, ...]:
    """The ids of the stories whose review changed; after guarding each is a legal move."""
    was = before.by_id()
    return tuple(
        story.id
        for story in after.stories
        if story.id in was and _review_of(was[story.id]) != _review_of(story)
    )


def given_reviews(before: StoryFile, after: StoryFile) -> tuple[ReviewSeen, ...]:
    """The results of the reviews that were given between two files; after guarding at most one."""
    was = before.by_id()
    return tuple(
        ReviewSeen(
            task=story.id,
            approved=story.passes,
            at_cap=story.feedback.startswith(AT_CAP),
            findings=0 if _is_plain_approval(story) else count_findings(story.feedback),
        )
        for story in after.stories
        if story.id in was and story.n_reviews > was[story.id].n_reviews
    )


def count_findings(feedback: str) -> int:
    """The points of a reviewer's feedback: its list items or numbered points, else it is one."""
    text = feedback.removeprefix(AT_CAP).strip()
    items = len(_ITEM.findall(text))
    if items:
        return items
    numbered = 0
    for number in _NUMBERED.findall(text):
        numbered += int(number) == numbered + 1
    return numbered or (1 if text else 0)


def _is_plain_approval(story: Story) -> bool:
    """At the review cap, the feedback of an approval has what was still to be changed."""
    return story.passes and not story.feedback.startswith(AT_CAP)


_ITEM = re.compile(r"^[ \t]*[-*•+][ \t]+\S", re.MULTILINE)
_NUMBERED = re.compile(r"(?:^|(?<=[\s(]))([0-9]{1,3})[.)](?=\s)")


def _is_users(move: IllegalMove, rules: ReviewRules) -> bool:
    """Whether the user made this change; the fields of a review count as one."""
    return any((move.story, name) in rules.user_changes for name in move.fields or ("",))


def _check_protected(was: Mapping[str, Story], now: Mapping[str, Story]) -> Iterator[IllegalMove]:
    """The changes that only a plan iteration may make (docs/rules.md#guard)."""
    for story_id, old in was.items():
        new = now.get(story_id)
        if new is None:
            message = f"{story_id} is missing; stories may not be deleted, so restore it"
            yield IllegalMove(code=MoveCode.DELETED, message=message, story=story_id)
            continue
        if old.criteria != new.criteria:
            message = f"{story_id}: {CRITERIA} may not change during work; restore them"
            yield _illegal(MoveCode.CRITERIA, message, new, (CRITERIA,))
        if _priority_of(old) != _priority_of(new):
            message = f"{story_id}: its {PRIORITY} may not change during work; restore it"
            yield _illegal(MoveCode.PRIORITY, message, new, (PRIORITY,))
        dropped = [name for name in old.depends_on if name not in new.depends_on]
        if dropped:
            names = ", ".join(dropped)
            message = f"{story_id} no longer depends on {names}; dependencies may only be added"
            yield _illegal(MoveCode.DEPENDENCY, message, new, (DEPENDS,))


def _priority_of(story: Story) -> object:
    member = story.fields.get(PRIORITY)
    return None if member is None else value_of(member.node)


def _check_new(story: Story) -> Iterator[IllegalMove]:
    if _review_of(story) != (False, None, 0, ""):
        message = (
            f"{story.id} is new, so it must start with {PASSES} false, {STATUS} null, {COUNT} 0"
        )
        yield _illegal(MoveCode.NOT_FRESH, message, story)


def _check_reviews(kept: list[tuple[Story, Story]], rules: ReviewRules) -> Iterator[IllegalMove]:
    """The moves of the cycle: each by itself, then how many there are."""
    legal: list[Story] = []
    for old, new in kept:
        if _review_of(old) == _review_of(new):
            continue
        wrong = _judge(old, new, rules)
        if wrong is None:
            legal.append(new)
        else:
            code, message = wrong
            keeps_passing = code is MoveCode.HALTED and _is_finished_unreviewed(old, new, rules)
            fields = (STATUS,) if keeps_passing else REVIEW_FIELDS
            yield _illegal(code, f"{new.id}: {message}", new, fields)
    agents = [one for one in legal if not _is_user_change(one, rules)]
    stays = next((one for one in agents if one.id == rules.assigned), next(iter(agents), None))
    if stays is None:
        yield from () if rules.halts else _check_omission(kept, rules.mode)
        return
    for story in agents:
        if story is not stays:
            message = (
                f"{story.id} changed as well as {stays.id}; one story per iteration, so leave "
                "this one as it was"
            )
            yield _illegal(MoveCode.SEVERAL, message, story)


def _is_user_change(story: Story, rules: ReviewRules) -> bool:
    return any((story.id, name) in rules.user_changes for name in REVIEW_FIELDS)


def _check_omission(kept: list[tuple[Story, Story]], mode: Mode) -> Iterator[IllegalMove]:
    """The omission, if nothing moved although the iteration's work is still to be done."""
    statuses = {old.status for old, new in kept if old.status is new.status and not new.passes}
    if mode is Mode.REVIEW and ReviewStatus.NEEDS_REVIEW in statuses:
        message = (
            f"no story was reviewed; take one with {STATUS} needs_review, add one to its {COUNT}, "
            f"and approve it with {PASSES} true or request changes with {FEEDBACK}"
        )
        yield IllegalMove(code=MoveCode.NONE_REVIEWED, message=message)
    if mode is Mode.REVIEW_FIX and ReviewStatus.CHANGES_REQUESTED in statuses:
        message = (
            "no story was fixed; take one with changes_requested, do what its feedback asks for, "
            f"set its {STATUS} to needs_review and clear {FEEDBACK}"
        )
        yield IllegalMove(code=MoveCode.NONE_FIXED, message=message)


Wrong = tuple[MoveCode, str]


def _judge(old: Story, new: Story, rules: ReviewRules) -> Wrong | None:
    """The violation in the move of one story; None where it is legal by itself."""
    is_finished = _is_finished_unreviewed(old, new, rules)
    if rules.halts and not (is_finished and new.status is old.status):
        return MoveCode.HALTED, (
            "an iteration that ends with BLOCKED or DECIDE leaves every story's review as it was"
        )
    if old.passes:
        return MoveCode.FINISHED, "it already passed, so leave it as it is"
    match rules.mode:
        case Mode.PLAN:
            return MoveCode.PLAN, "a plan iteration neither finishes nor reviews a story"
        case Mode.REVIEW:
            return _judge_review(old, new, rules.review_cap)
        case Mode.REVIEW_FIX:
            return _judge_fix(old, new)
        case _:
            return _judge_skipped(old, new) if rules.skip_review else _judge_implement(old, new)


def _is_finished_unreviewed(old: Story, new: Story, rules: ReviewRules) -> bool:
    """Whether it passes by a move that is legal in a halt, because no review was due."""
    is_build = rules.mode is Mode.BUILD and rules.skip_review and not old.passes
    return is_build and _judge_skipped(old, new) is None


def _judge_implement(old: Story, new: Story) -> Wrong | None:
    if old.status in {None, ReviewStatus.APPROVED} and _review_of(new) == (
        False,
        ReviewStatus.NEEDS_REVIEW,
        old.n_reviews,
        old.feedback,
    ):
        return None
    return MoveCode.IMPLEMENT, (
        f"implementing only sets {STATUS} from null to needs_review; {_became(old, new)}"
    )


def _judge_skipped(old: Story, new: Story) -> Wrong | None:
    is_status_fine = new.status in {old.status, None, ReviewStatus.APPROVED}
    if new.passes and is_status_fine and new.n_reviews == old.n_reviews:
        return None
    return MoveCode.IMPLEMENT, (
        f"without reviews, implementing only sets {PASSES} to true; {_became(old, new)}"
    )


def _judge_review(old: Story, new: Story, cap: int) -> Wrong | None:
    if old.status is not ReviewStatus.NEEDS_REVIEW:
        return (
            MoveCode.REVIEW,
            f"only a story with needs_review may be reviewed; {_became(old, new)}",
        )
    if new.n_reviews != old.n_reviews + 1:
        return MoveCode.REVIEW, (
            f"a review adds one to {COUNT}: from {old.n_reviews} to {old.n_reviews + 1}, "
            f"not to {new.n_reviews}"
        )
    if new.n_reviews >= cap:
        is_fine = new.status is ReviewStatus.APPROVED and new.passes
        if is_fine and new.feedback.startswith(AT_CAP):
            return None
        return MoveCode.AT_CAP, (
            f"this was review {new.n_reviews} of at most {cap}: approve it, with {PASSES} true, "
            f"and begin {FEEDBACK} with {AT_CAP}"
        )
    if new.status is ReviewStatus.APPROVED and new.passes:
        if not new.feedback.startswith(AT_CAP):
            return None
        return MoveCode.AT_CAP, f"{AT_CAP} is for review {cap}, and this was {new.n_reviews}"
    if new.status is ReviewStatus.CHANGES_REQUESTED and not new.passes:
        if new.feedback:
            return None
        return MoveCode.FEEDBACK, f"changes are requested; say which in {FEEDBACK}"
    return MoveCode.REVIEW, (
        f"a review ends with approved and {PASSES} true, or with changes_requested and {PASSES} "
        f"false; {_became(old, new)}"
    )


def _judge_fix(old: Story, new: Story) -> Wrong | None:
    wanted = (False, ReviewStatus.NEEDS_REVIEW, old.n_reviews, "")
    if old.status is ReviewStatus.CHANGES_REQUESTED and _review_of(new) == wanted:
        return None
    return MoveCode.REVIEW_FIX, (
        f"fixing sets {STATUS} from changes_requested to needs_review, clears {FEEDBACK} and "
        f"leaves {COUNT} and {PASSES}; {_became(old, new)}"
    )


Review = tuple[bool, ReviewStatus | None, int, str]


def _review_of(story: Story) -> Review:
    return (story.passes, story.status, story.n_reviews, story.feedback)


def _became(old: Story, new: Story) -> str:
    """The change, in the words of the file."""
    changes = zip(REVIEW_FIELDS, _review_of(old), _review_of(new), strict=True)
    return ", ".join(
        f"{name} changed from {_word(was)} to {_word(now)}"
        for name, was, now in changes
        if was != now
    )


def _word(value: object) -> str:
    match value:
        case None | "":
            return "null"
        case bool():
            return str(value).lower()
        case ReviewStatus() | int():
            return str(value)
        case _:
            return "other text"


def _illegal(
    code: MoveCode, message: str, story: Story, fields: tuple[str, ...] = REVIEW_FIELDS
) -> IllegalMove:
    return IllegalMove(code=code, message=message, story=story.id, fields=fields)
