"""Stories as tasks: their invariants, the plan that they form, and which story is next.

Invariants between the fields of a file (docs/rules.md#stop-hook); whether a change was legal is
decided by ``review_cycle``:

- ``story-passes-unreviewed``: a story passes while its review is still to be done or its changes
  are still requested; not where reviews are skipped;
- ``story-approved-not-passing``: a review approved a story that does not pass;
- ``story-feedback-missing``: changes are requested and no feedback describes them;
- ``story-dependency-unknown``, ``story-dependency-cycle``: a story waits for one that does not
  exist, or for itself.

As a task (docs/rules.md#stories), a story that passes is done, and one in review or with changes
requested is in progress. None is blocked or skipped, because the file has no such states.

The next iteration takes a story with requested changes first, then one that waits for its review,
then a new one, so nothing is begun while other work is unfinished. Among stories of the same kind
the lowest rank is taken, then the first in the file; stories without a rank are last. Lists of
stories, such as those of phases, are done one after another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ralph_ls.core.plan.formats.json_text import LineIndex, last_members
from ralph_ls.core.plan.formats.stories.shapes import LISTS, is_unknown_status, path_name
from ralph_ls.core.plan.formats.stories.story_file import (
    DEPENDS,
    FEEDBACK,
    PASSES,
    STATUS,
    ReviewStatus,
    Story,
    StoryFile,
    StoryFinding,
    read_stories,
)
from ralph_ls.core.plan.lint.remarks import LineSpan
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.queries import next_task
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.values import Mode
from ralph_ls.protocol.task_words import TaskState


def check_invariants(stories: StoryFile, *, skip_review: bool = False) -> tuple[StoryFinding, ...]:
    """The violated invariants, by story."""
    by_id = stories.by_id()
    rings = {ring[0]: ring for ring in story_cycles(by_id)}
    found: list[StoryFinding] = []
    for story in stories.stories:
        found += _check_review(story, skip_review=skip_review)
        for name in story.depends_on:
            if name not in by_id:
                message = f"{story.id} depends on {name}, but there is no such story"
                found.append(_at(story, "story-dependency-unknown", message, DEPENDS))
        if story.id in rings:
            way = " → ".join([*rings[story.id], story.id])
            message = f"these wait for each other: {way}; remove a dependency"
            found.append(_at(story, "story-dependency-cycle", message, DEPENDS))
    return tuple(found)


def check_missing(stories: StoryFile, *, skip_review: bool = False) -> tuple[StoryFinding, ...]:
    """The problems that files of other tools may have, which must not keep an agent at work.

    - ``stories-branch-missing``: the file has no field ``branchName``; an empty one will do, and so
      does a file without any branch that has no reviews;
    - ``stories-list-guessed``: a list of an unusual name is read because of its states;
    - ``stories-not-read``: another list looks like stories, too;
    - ``story-status-unknown``: a status is a word without a known state;
    - ``story-passes-unreviewed``: a story passes without a review; not where reviews are skipped,
      and not in a file whose stories have no field for them.
    """
    found: list[StoryFinding] = []
    root = stories.root
    has_stories = root.members is not None and bool(stories.lists)
    has_reviews = any(STATUS in story.fields for story in stories.stories)
    is_ours = has_reviews or _BRANCH.search(stories.text) is not None
    if has_stories and is_ours and "branchName" not in last_members(root):
        message = "branchName is missing; name the branch for this work"
        found.append(StoryFinding("stories-branch-missing", message, root.start, root.start + 1))
    if stories.found.is_guess:
        first = stories.lists[0]
        message = (
            f"the objects in {path_name(first.path)} have states and are read as stories; if they "
            f"are the work, call the list {LISTS[0]}"
        )
        place = first.node.start
        found.append(StoryFinding("stories-list-guessed", message, place, place + 1))
    for path, n_objects in stories.found.unread:
        message = (
            f"{count_of(n_objects, 'object')} in {path_name(path)}: not read, because the stories "
            f"are in {path_name(stories.lists[0].path)}; move there what is work"
        )
        found.append(StoryFinding("stories-not-read", message, root.start, root.start + 1))
    for story in stories.stories:
        if is_unknown_status(story.fields.get(PASSES)):
            word = fold_whitespace(str(story.fields[PASSES].node.scalar))
            message = (
                f"“{word}” is not a known state, so {story.id} is read as open; write open, in "
                "progress, done, blocked or skipped"
            )
            found.append(_at(story, "story-status-unknown", message, PASSES))
        if has_reviews and story.passes and story.status is None and not skip_review:
            message = f"{story.id} passes, but its {STATUS} is null; only a review may pass it"
            found.append(_at(story, "story-passes-unreviewed", message, PASSES))
    return tuple(found)


_BRANCH = re.compile(r'"branch(?:_?name)?"\s*:', re.IGNORECASE)


def story_cycles(by_id: Mapping[str, Story]) -> Iterator[tuple[str, ...]]:
    """Cycles of stories that wait for each other, from the first in the file on.

    A story is reported in one cycle at most; others are reported when that one is fixed.
    """
    done: set[str] = set()
    for first in by_id:
        way = {} if first in done else {first: iter(by_id[first].depends_on)}
        while way:
            last = next(reversed(way))
            target = next(way[last], None)
            if target is None:
                way.popitem()
                done.add(last)
            elif target in done or target not in by_id:
                continue
            elif target in way:
                ring = list(way)[list(way).index(target) :]
                done.update(ring)
                yield _from_first(ring, by_id)
            else:
                way[target] = iter(by_id[target].depends_on)


def _from_first(ring: list[str], by_id: Mapping[str, Story]) -> tuple[str, ...]:
    order = {name: nth for nth, name in enumerate(by_id)}
    at = ring.index(min(ring, key=order.__getitem__))
    return (*ring[at:], *ring[:at])


def _check_review(story: Story, *, skip_review: bool) -> Iterator[StoryFinding]:
    is_open = story.status in {ReviewStatus.NEEDS_REVIEW, ReviewStatus.CHANGES_REQUESTED}
    if story.passes and is_open and not skip_review:
        message = (
            f"{story.id} passes, but its {STATUS} is {story.status}; only a review may pass it"
        )
        yield _at(story, "story-passes-unreviewed", message, PASSES)
    if story.status is ReviewStatus.APPROVED and not story.passes:
        message = f"{story.id} is approved, but {PASSES} is not true"
        yield _at(story, "story-approved-not-passing", message, STATUS)
    if story.status is ReviewStatus.CHANGES_REQUESTED and not story.feedback:
        message = f"{story.id} has changes requested; say which in {FEEDBACK}"
        yield _at(story, "story-feedback-missing", message, STATUS)


def _at(story: Story, code: str, message: str, key: str) -> StoryFinding:
    """A finding at a field of a story that the file has."""
    place = story.fields[key].node
    return StoryFinding(code, message, place.start, place.end, story.id)


def parse_stories(text: str, *, skip_review: bool = False) -> ParsedPlan:
    """Read a plan and its problems from a file of stories; never raises."""
    known = read_stories(text)
    found = [
        *known.findings,
        *check_invariants(known.stories, skip_review=skip_review),
        *check_missing(known.stories, skip_review=skip_review),
    ]
    lines = LineIndex(text)
    problems: list[PlanProblem] = []
    spans: list[tuple[int, int]] = []
    for one in sorted(found, key=lambda finding: finding.start):
        number, span = lines.place(one.start, one.end)
        message = escape_surrogates(one.message)
        problems.append(PlanProblem(code=one.code, message=message, line=number + 1))
        spans.append(span)
    return ParsedPlan(
        plan=stories_to_plan(known.stories),
        problems=tuple(problems),
        spans=tuple(spans),
        source=known,
    )


def stories_to_plan(stories: StoryFile) -> Plan:
    """The stories as tasks, in the order of the file; the place is where the object begins."""
    lines = LineIndex(stories.text)
    return Plan(tasks=tuple(_to_task(story, stories, lines) for story in stories.stories))


def story_field_span(stories: StoryFile, story_id: str, key: str | None = None) -> LineSpan | None:
    """The place of a story's field, or the beginning of its object; None without one.

    For a value of several lines it is the part in the first one.
    """
    story = stories.by_id().get(story_id)
    if story is None or (key is not None and key not in story.fields):
        return None
    start, end = story.node.start, story.node.start + 1
    if key is not None:
        start, end = story.fields[key].node.start, story.fields[key].node.end
    number, (first, last) = LineIndex(stories.text).place(start, end)
    return LineSpan(line=number, start=first, end=last)


def story_task_state(story: Story) -> TaskState:
    """The task state of a story."""
    if story.passes:
        return TaskState.DONE
    if story.held is not None:
        return story.held
    return TaskState.TODO if story.status is None else TaskState.IN_PROGRESS


def _to_task(story: Story, stories: StoryFile, lines: LineIndex) -> Task:
    line = lines.number(story.node.start)
    start, end = lines.bounds(line)
    passes, title = story.fields.get(PASSES), story.fields.get("title")
    return Task(
        id=story.id,
        title=story.title,
        state=story_task_state(story),
        priority=story.priority,
        section=stories.list_of(story).section or fold_whitespace(stories.project),
        optional=False,
        line=line,
        start=start,
        end=end,
        end_line=lines.number(story.node.end),
        depth=0,
        parent=None,
        blocked_by=None,
        criteria=story.criteria,
        kind=TaskKind.STORY,
        mark=None if passes is None else (passes.node.start, passes.node.end),
        words=None if title is None else lines.words(title.node),
    )


class StoryChoice(NamedTuple):
    """The next iteration."""

    mode: Mode
    story: Story | None
    """None where no story is left."""


def choose_story(
    stories: StoryFile,
    *,
    skip_review: bool = False,
    left_out: Collection[str] = (),
    only: str | None = None,
) -> StoryChoice:
    """Choose mode and story; ``left_out`` are ids that were set aside or skipped.

    ``only`` is the one story that the run is for. With ``skip_review`` every iteration implements,
    and takes up what an earlier run left in review.
    """
    may_take = [
        story
        for story in stories.stories
        if story.id not in left_out
        and only in {None, story.id}
        and not story.passes
        and story.held not in {TaskState.BLOCKED, TaskState.SKIPPED}
    ]
    mode = _mode_of(may_take, skip_review=skip_review)
    wanted = {story.id: story for story in may_take if skip_review or story.status in _TAKEN[mode]}
    needs = {} if mode is not Mode.BUILD else waits_for(stories)
    tasks = {task.id: task for task in stories_to_plan(stories).tasks}
    ranked = sorted(wanted.values(), key=_rank)
    # In the order of rank: neither priorities nor states may change it.
    plan = Plan(
        tasks=tuple(
            tasks[story.id]._replace(priority=None, state=TaskState.TODO) for story in ranked
        )
    )
    taken = next_task(plan, waits_for=needs)
    return StoryChoice(mode, None if taken is None else wanted[taken.id])


def waits_for(stories: StoryFile) -> Mapping[str, tuple[str, ...]]:
    """The unfinished stories that each story waits for, by id; unknown ids are ignored."""
    unfinished = {story.id for story in stories.stories if not story.passes}
    return {
        story.id: needed
        for story in stories.stories
        if (needed := tuple(name for name in story.depends_on if name in unfinished))
    }


IMPLEMENT = "implement"
"""The name of ``build`` in this profile (docs/rules.md#names)."""


def mode_word(mode: Mode) -> str:
    """The name of a mode in the files of this profile: ``implement`` for ``build``."""
    return IMPLEMENT if mode is Mode.BUILD else mode.value


def mode_named(word: str) -> Mode | None:
    """The mode that such a word means; None for any other word."""
    known = {mode_word(mode): mode for mode in Mode} | {mode.value: mode for mode in Mode}
    return known.get(word)


_TAKEN: Mapping[Mode, Collection[ReviewStatus | None]] = {
    # An approved story that does not pass breaks an invariant; the user can only restart it.
    Mode.BUILD: {None, ReviewStatus.APPROVED},
    Mode.REVIEW: {ReviewStatus.NEEDS_REVIEW},
    Mode.REVIEW_FIX: {ReviewStatus.CHANGES_REQUESTED},
}


def _mode_of(stories: Collection[Story], *, skip_review: bool) -> Mode:
    statuses = set() if skip_review else {story.status for story in stories}
    if ReviewStatus.CHANGES_REQUESTED in statuses:
        return Mode.REVIEW_FIX
    return Mode.REVIEW if ReviewStatus.NEEDS_REVIEW in statuses else Mode.BUILD


def _rank(story: Story) -> tuple[int, bool, float]:
    return (story.nth_list, story.rank is None, story.rank or 0.0)
