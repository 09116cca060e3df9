"""Stories source: a JSON file of stories, the review cycle, and the file for stop hooks.

See docs/rules.md#stories. Which transition of a story is legal, and what an iteration is for, is
decided in ``core.plan.formats.stories``. A file that cannot be parsed is fatal whenever it is read:
treated as an empty plan, it would complete the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from ralph_ls.core.loop.effects import LaunchAgent, SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.stories import edits, guard, tasks
from ralph_ls.core.plan.formats.stories import evidence as closing
from ralph_ls.core.plan.formats.stories.guard import committed_offences
from ralph_ls.core.plan.formats.stories.review_cycle import (
    IllegalMove,
    MoveCode,
    ReviewRules,
    check_moves,
    given_reviews,
    moved_reviews,
)
from ralph_ls.core.plan.formats.stories.story_file import (
    ParsedStories,
    ReviewStatus,
    StoryFile,
    is_unusable,
    unusable_reason,
)
from ralph_ls.core.plan.formats.stories.tasks import parse_stories
from ralph_ls.core.plan.model import ParsedPlan, Task
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.plan.queries import traits_of
from ralph_ls.core.plan.verification.criterion_checks import TaskClosing, TaskVerification
from ralph_ls.engine.plan.plan_file import (
    SHOWN_TASKS,
    close_in_file,
    find_plan,
    held_of,
    read_plan_text,
    require_plan_or_task,
    require_task,
    require_text,
    titles_of,
)
from ralph_ls.engine.plan.source import (
    NOBODY,
    FinishedWork,
    GuardedPlan,
    LocatedPlan,
    PlanOffence,
    PlanSource,
    WatchedIteration,
    WrittenPlan,
)
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.stop_hook import RalphActive
from ralph_ls.protocol.run.values import Mode, TaskRef
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.files import resolve_inside
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.plan_file import edit_plan, shown_text
from ralph_ls.store.run.active_run import ACTIVE_FILE, StopHookState, remove_active, write_active

SHOWN_PROBLEMS = 5


class StoriesSource(PlanSource):
    """A file of stories."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self._reported: set[str] = set()
        """Problems of the file that were reported already."""

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        del resume
        config = settings.config
        plans = config.mode is FirstMode.PLAN
        require_plan_or_task(config)
        names = profile_of(config.profile).plan_files
        try:
            path = find_plan(root, names, config.paths.plan)
        except PlanUnusable:
            raise
        except PlanMissing:
            if not plans or "paths.plan" in settings.overrides:
                raise
            path = config.paths.plan or names[0]
        else:
            require_text(root, path)
        source = cls(root, config, path, environment)
        found = LocatedPlan(path=path, text=source.read())
        if config.task is not None:
            require_task(source.parse(found.text).plan, config.task)
        if not plans and not source.parse(found.text).plan.tasks:
            raise PlanMissing(
                f"{path} has no stories; add some, or let the agent do it: ralph replan"
            )
        return found

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Before planning, open what is in review or being fixed."""
        if settings.config.mode is not FirstMode.PLAN or resume or not found.text.strip():
            return []
        opened: list[edits.StoriesReset] = []

        def open_all(text: str) -> str:
            opened.append(edits.reset_stories_in_progress(text))
            return opened[-1].text

        edit_plan(self.root, self.path, open_all, "set the reviewStatus of all stories to null")
        if not opened[-1].titles:
            return []
        message = f"reopened for planning: {titles_of(opened[-1].titles)}"
        return [Notice(code="plan-reset", message=message)]

    @property
    def excluded(self) -> tuple[str, ...]:
        return (f"/{ACTIVE_FILE}",)

    def mode_word(self, mode: Mode) -> str:
        return tasks.mode_word(mode)

    def started(self, order: LaunchAgent, run: RunState, before: str | None) -> None:
        """Say in the work tree that an iteration runs, for the agent's stop hook.

        See docs/rules.md#stuck-count.
        """
        config, current = self.config, run.current
        active = RalphActive(
            timestamp=None if current is None else current.started.at,
            pid=os.getpid(),
            max_iterations=config.max_iterations,
            mode="sandbox" if config.sandbox.is_elsewhere or config.sandbox.wants_box else "direct",
            skip_review=config.skip_review,
            review_cap=config.review_cap,
            iteration_mode=self.mode_word(order.context.mode),
            pre_iteration_snapshot=None if before is None else _snapshot(before),
            stuck_count=run.stuck_count,
        )
        stops = StopHookState(
            pid=active.pid,
            timestamp=active.timestamp,
            plan=self.path,
            task=order.context.task_id,
            dirty={} if current is None else current.started.baseline.dirty,
        )
        write_active(self.root, find_worktree(self.root).git_dir, active, stops)

    def settled(self) -> None:
        remove_active(self.root, os.getpid())

    def read(self) -> str:
        """The file's text; raises ``PlanUnusable`` where it is not a file of stories."""
        may_be_missing = self.config.mode is FirstMode.PLAN
        text = read_plan_text(self.root, self.path, may_be_missing=may_be_missing)
        wrong = unusable_reason(self._read(text))
        if wrong is not None and not (may_be_missing and not text.strip()):
            line = text.count("\n", 0, wrong.start) + 1
            raise PlanUnusable(
                f"{resolve_inside(self.root, self.path)}, line {line}: {wrong.message} "
                f"({wrong.code}); fix the file, then run again"
            )
        return text

    def _parse(self, text: str) -> ParsedPlan:
        return parse_stories(text, skip_review=self.config.skip_review)

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        stories, plan = self._read(text).stories, self.plan(text, task=task)
        chosen = tasks.choose_story(
            stories,
            skip_review=self.config.skip_review,
            left_out={*set_aside, *skipped},
            only=None if self.config.task is None else task or self.config.task,
        ).story
        by_id = {one.id: one for one in self.parse(text).plan.tasks}
        needs: dict[str, tuple[Task, ...]] = {
            story: tuple(by_id[name] for name in names)
            for story, names in tasks.waits_for(stories).items()
        }
        open_tasks = [one for one in plan.tasks if one.state is not TaskState.DONE]
        return PlanFacts(
            counts=self.counts(text, task=task),
            next_task=None if chosen is None else TaskRef(id=chosen.id, title=chosen.title),
            next_traits=None if chosen is None else traits_of(by_id[chosen.id]),
            open_tasks=tuple(
                TaskRef(id=one.id, title=one.title) for one in open_tasks[:SHOWN_TASKS]
            ),
            held=held_of(open_tasks, set_aside, skipped, needs),
        )

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        """The mode that the next story needs; planning first takes precedence."""
        config = self.config
        if not text.strip():
            return Mode.PLAN
        if super().mode(text, facts, run) is Mode.PLAN:
            return Mode.PLAN
        if facts.next_task is None or config.skip_review:
            return Mode.BUILD
        story = self._read(text).stories.by_id()[facts.next_task.id]
        return _MODES.get(story.status, Mode.BUILD)

    def finished(
        self, before: str, after: str, *, task: str | None = None, now: str | None = None
    ) -> FinishedWork:
        done = super().finished(before, after, task=task, now=now).tasks
        if self.config.skip_review:
            return FinishedWork(tasks=done)
        was, is_now = self._read(before).stories, self._read(after).stories
        return FinishedWork(
            tasks=done, moved=moved_reviews(was, is_now), reviews=given_reviews(was, is_now)
        )

    def remarks(self, text: str, *, report_changes: bool) -> tuple[Notice, ...]:
        """Notices of problems in a file that can be parsed, each once."""
        del report_changes
        if not text.strip():
            return ()
        found = {
            f"{self.path}:{one.line}: {one.message} ({one.code})": one
            for one in self.parse(text).problems
        }
        fresh = [message for message in found if message not in self._reported]
        self._reported.update(fresh)
        if not fresh:
            return ()
        more = [f"and {len(fresh) - SHOWN_PROBLEMS} more"] if len(fresh) > SHOWN_PROBLEMS else []
        message = "; ".join([*fresh[:SHOWN_PROBLEMS], *more])
        return (Notice(code="plan-problems", message=message),)

    def set_aside(self, order: SetTaskAside) -> str:
        """Say in the story's notes that it was given up: stories have no state for that."""
        note = f"Set aside: {order.reason}"

        def noted(text: str) -> str:
            if order.task.id not in self._read(text).stories.by_id():
                return text
            return edits.append_story_note(text, order.task.id, note)

        _, edited = edit_plan(
            self.root, self.path, noted, f"note in {order.task.id} that it is set aside"
        )
        return shown_text(edited)

    def closings(self, before: str, after: str, done: Collection[str]) -> tuple[TaskClosing, ...]:
        return closing.story_closings(before, after, done, on_path=self.on_path)

    def commands(self, text: str) -> tuple[str, ...]:
        return closing.story_commands(text, on_path=self.on_path)

    def close(self, verifications: Sequence[TaskVerification], before: str) -> WrittenPlan:
        del before

        def change(text: str, story_id: str, one: TaskVerification) -> str:
            named = replace(one, task=TaskRef(id=story_id, title=one.task.title))
            skip_review = self.config.skip_review
            return closing.write_story_verification(text, named, skip_review=skip_review)

        return close_in_file(self, verifications, change)

    def left_undone(
        self, before: str, after: str, iteration: WatchedIteration
    ) -> tuple[Notice, ...]:
        was, now = self._read(before), self._read(after)
        if is_unusable(was) or is_unusable(now):
            return ()
        found = check_moves(was.stories, now.stories, self._rules(iteration))
        return _notices([move for move in found if move.is_omission])

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        done = guard.guard_stories(before, after, self._rules(iteration))
        if done.broken:
            first = done.broken[0]
            line = after.count("\n", 0, first.start) + 1
            message = escape_surrogates(
                f"the agent broke {self.path}, so it was restored: line {line}: {first.message} "
                f"({first.code})"
            )
            return GuardedPlan(
                text=done.text,
                offences=(PlanOffence(what=Forbidden.CHANGED, task=None, why=message),),
                notices=(Notice(code="plan-broken", message=message),),
            )
        illegal = [move for move in done.moves if not move.is_omission]
        was, now = self._read(before).stories, self._read(after).stories
        return GuardedPlan(
            text=done.text,
            offences=tuple(_offence(move, was, now) for move in illegal),
            notices=_notices(illegal),
        )

    def held(
        self, start: str, committed: str, tree: str, finished: str
    ) -> Mapping[tuple[str, str], str]:
        del finished
        return committed_offences(*(self._read(text) for text in (start, committed, tree)))

    def _rules(self, iteration: WatchedIteration) -> ReviewRules:
        return ReviewRules(
            mode=iteration.mode,
            skip_review=self.config.skip_review,
            review_cap=self.config.review_cap,
            halts=iteration.halts,
            completes=iteration.completes,
            assigned=None if iteration.task is None else iteration.task.id,
            user_changes=frozenset((story, name) for name, story in iteration.decided),
        )

    def _read(self, text: str) -> ParsedStories:
        known = self.parse(text).source
        assert isinstance(known, ParsedStories)  # noqa: S101 - ``_parse`` puts nothing else there
        return known


def _snapshot(text: str) -> JsonValue:
    """The plan as JSON; as a string where it cannot be parsed yet."""
    try:
        value: JsonValue = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return text
    return value


_MODES: Mapping[ReviewStatus | None, Mode] = {
    ReviewStatus.CHANGES_REQUESTED: Mode.REVIEW_FIX,
    ReviewStatus.NEEDS_REVIEW: Mode.REVIEW,
}

_KINDS: Mapping[MoveCode, Forbidden] = {
    MoveCode.DELETED: Forbidden.DROPPED,
    MoveCode.CRITERIA: Forbidden.CRITERIA,
    MoveCode.PRIORITY: Forbidden.PRIORITY,
    MoveCode.DEPENDENCY: Forbidden.DEPENDENCY,
    MoveCode.VERIFY: Forbidden.VERIFY,
}
"""Other moves are violations of the cycle."""


def _offence(move: IllegalMove, was: StoryFile, now: StoryFile) -> PlanOffence:
    story = was.by_id().get(move.story) or now.by_id().get(move.story)
    agents = now.by_id().get(move.story)
    members = {} if agents is None else agents.fields
    found = [members[name] for name in move.fields if name in members]
    fields = [now.text[one.start : one.node.end] for one in found]
    return PlanOffence(
        what=_KINDS.get(move.code, Forbidden.REVIEW),
        task=None if story is None else TaskRef(id=story.id, title=escape_surrogates(story.title)),
        text=f"{move.story}: {', '.join(fields)}" if fields else "",
        why=escape_surrogates(move.message),
    )


def _notices(found: Collection[IllegalMove]) -> tuple[Notice, ...]:
    """Why, one notice for each code: the first moves of it, and how many more there are."""
    notices: list[Notice] = []
    for code in dict.fromkeys(move.code for move in found):
        same = [escape_surrogates(move.message) for move in found if move.code is code]
        more = [f"and {len(same) - SHOWN_PROBLEMS} more"] if len(same) > SHOWN_PROBLEMS else []
        notices.append(Notice(code=code.value, message="; ".join([*same[:SHOWN_PROBLEMS], *more])))
    return tuple(notices)
