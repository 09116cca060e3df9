"""GitHub source: issues of a label or milestone as a run's plan (docs/rules.md#github).

The plan is a Markdown file that mirrors the issues. It is written before each iteration, from what
GitHub has then, and is like any other plan while an agent works: guarded, verified, and open to the
user's edits. Right before an agent starts, its issue is read once more. What was finished is kept
outside of the tree; to GitHub itself something is written only with ``plan.github.write``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ralph_ls.core.loop.effects import SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.notify.texts import comment_about, comment_mark
from ralph_ls.core.plan.formats.github.admission import (
    QueueFilter,
    is_login,
    people_of,
    trusted_comments,
    why_ignored,
)
from ralph_ls.core.plan.formats.github.format import LABEL, MIRROR
from ralph_ls.core.plan.formats.github.issues import MOST_ISSUES, QueueComment, QueueIssue
from ralph_ls.core.plan.formats.github.mirror import (
    criteria_in,
    issue_number,
    task_id,
    write_mirror,
)
from ralph_ls.core.plan.formats.github.queue import (
    BuiltQueue,
    QueueFacts,
    build_queue,
    unknown_numbers,
)
from ralph_ls.core.plan.formats.github.records import IssueRecord, RecordState
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.queries import traits_of
from ralph_ls.core.plurals import count_of
from ralph_ls.core.prompt.documents import issue_notes
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.plan.plan_file import require_task, titles_of
from ralph_ls.engine.plan.source import NOBODY, ClaimedPlan, LocatedPlan
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused, StateUnusable, UsageError
from ralph_ls.protocol.run.iteration_events import IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, TaskRef
from ralph_ls.store.external import gh_queue
from ralph_ls.store.external.gh import find_gh
from ralph_ls.store.external.gh_queue import GithubPlace
from ralph_ls.store.external.supervisor import Supervisor
from ralph_ls.store.files import make_folders_below, resolve_inside, write_atomic
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.github_records import (
    Records,
    change_records,
    load_records,
    records_path,
)
from ralph_ls.store.project.plan_file import edit_plan

MOST_PEOPLE = 200
"""Accounts whose rights are asked for before one iteration; the others are asked for later."""

MOST_WRITTEN = 20
"""Issues that are written to at once."""

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstRead:
    """The queue as a start has read it, with what is known from that."""

    records: Records
    built: BuiltQueue
    viewer: str
    branch: str
    rights: Mapping[str, bool]
    pending: tuple[str, ...]


class GithubSource(MarkdownSource):
    """The issues of a queue, and the file that mirrors them."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self._supervisor = Supervisor()
        self._found: GithubPlace | None = None
        self._records_path: Path | None = None
        self._rights: dict[str, bool] = {}
        """Whether accounts may triage, as far as GitHub said so in this engine."""
        self._issues: dict[int, QueueIssue] = {}
        self._comments: dict[int, tuple[QueueComment, ...]] = {}
        self._refused: dict[int, str] = {}
        """Issues that could not be claimed since one could, and why."""
        self._first: _FirstRead | None = None
        """Until the first iteration takes it."""
        self._viewer = ""
        self._branch = ""
        self._pending: tuple[str, ...] = ()
        """What is reported with the next refresh."""
        self._reported: set[str] = set()

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        """Read the queue; raises ``PlanMissing`` where GitHub cannot be asked.

        A resumed run begins with the mirror, and reads the queue before its next iteration.
        """
        config = settings.config
        if config.mode is FirstMode.PLAN:
            raise UsageError(
                "issues on GitHub are no plan that an agent can write; leave --mode plan out, or "
                "name another plan with --plan"
            )
        source = cls(root, config, MIRROR, environment)
        is_kept = resume and source._mirror() is not None
        first = None if is_kept else source._read_first()
        text = source.read() if first is None else source._write_text(first.built)
        if config.task is not None:
            require_task(source.parse(text).plan, config.task)
        return LocatedPlan(path=MIRROR, text=text, first_read=first)

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Write the mirror, so that agents and viewers have it."""
        del settings, resume
        if isinstance(first := found.first_read, _FirstRead):
            self._first = first
            self._viewer, self._branch = first.viewer, first.branch
            self._rights, self._pending = dict(first.rights), first.pending
        self._write_mirror(found.text)
        return []

    @property
    def excluded(self) -> tuple[str, ...]:
        return (f"/{MIRROR}",)

    def refresh(self) -> tuple[Notice, ...]:
        """Read the queue again, and write the mirror and what is due on GitHub.

        The first iteration has it as the start has read it.
        """
        # Who may not triage may do so by now; a right that was taken is noticed before the work.
        self._rights = {login: True for login, right in self._rights.items() if right}
        first, self._first = self._first, None
        before, built = self._read() if first is None else (first.records, first.built)
        self._issues = {one.number: one for one in built.content.issues}
        change_records(self._records, lambda known: _changed(known, before, built.records))
        text = self._write_text(built)
        self._write_mirror(text)
        return (*self._notices_of(built), *self._deliver_all(text))

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        """As of any Markdown, but an empty queue is complete, and labels are tags."""
        facts = super().facts(text, task=task, set_aside=set_aside, skipped=skipped)
        chosen = facts.next_task
        issue = None if chosen is None else self._issues.get(issue_number(chosen.id) or 0)
        known = None if chosen is None else self.parse(text).plan.find(chosen.id)
        if issue is not None and known is not None:
            facts = replace(facts, next_traits=traits_of(known, text=text, labels=issue.labels))
        return replace(facts, without_tasks="")

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        del text, facts, run
        return Mode.BUILD

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        """Adds the text of the issue, which people on GitHub wrote."""
        context = super().with_context(context, text)
        number = issue_number(context.task_id or "")
        issue = None if number is None else self._issues.get(number)
        if issue is None:
            return context
        comments = [
            (f"{one.author}, {one.at:%Y-%m-%d}", one.body)
            for one in self._comments.get(issue.number, ())
        ]
        notes = issue_notes(f"Issue #{issue.number}: {issue.title}", issue.body, comments)
        return replace(context, plan_hint=f"{context.plan_hint}\n\n{notes}")

    def must_claim(self, text: str, task: TaskRef) -> bool:
        del text
        return issue_number(task.id) is not None

    def claim(self, text: str, task: TaskRef) -> ClaimedPlan:
        """Read the issue once more with its comments, and mark it where that is permitted."""
        number = issue_number(task.id) or 0
        try:
            why = self._take(number)
        except (IssuesMissing, IssuesRefused) as error:
            why = error.message
        if why:
            self._refused[number] = why
            return ClaimedPlan(text=text, refused=why)
        self._refused.clear()
        return ClaimedPlan(text=text)

    def look_up(self, task_id: str) -> None:
        number = issue_number(task_id)
        if number is None:
            return
        # Without GitHub the preview has the title alone.
        with suppress(IssuesMissing, IssuesRefused):
            page = gh_queue.read_one(self._place, number)
            for issue in page.issues:
                self._keep(issue, page.comments)

    def iteration_ended(self, ended: IterationEnded, done: Collection[str]) -> None:
        """Keep what was finished, with its last commit."""
        text = self._mirror() or ""
        titles = {one.id: one.title for one in self.parse(text).plan.tasks}
        finished = {
            number: IssueRecord(
                number=number,
                state=RecordState.DONE,
                at=ended.at,
                title=titles.get(task, ""),
                commit=ended.commit or "",
            )
            for task in done
            if (number := issue_number(task)) is not None
        }
        try:
            change_records(self._records, lambda known: {**known, **finished})
        except StateUnusable as error:
            self._report_later(error.message)

    def set_aside(self, order: SetTaskAside) -> str:
        text = super().set_aside(order)
        number = issue_number(order.task.id)
        if number is not None:
            record = IssueRecord(
                number=number,
                state=RecordState.SET_ASIDE,
                at=self._mirror_at(),
                title=order.task.title,
                reason=f"{order.reason}. Needs: {order.needs}",
            )
            change_records(self._records, lambda known: {**known, number: record})
        return text

    def deliver(self) -> None:
        """Write what is due on GitHub, at the end of a run; what fails is done by the next one."""
        if self.config.plan.github.write and self._branch:
            self._deliver_all(self._mirror() or "")

    def hurry(self, seconds: float) -> None:
        self._supervisor.end_in(seconds)

    def stop(self) -> None:
        self._supervisor.end()

    @property
    def _place(self) -> GithubPlace:
        if self._found is None:
            gh = find_gh(
                self.root, self.environment, instead="name another plan: ralph run --plan PATH"
            )
            repository = self.config.plan.github.repository
            self._found = gh_queue.find_place(gh, repository, self._supervisor)
        return self._found

    @property
    def _records(self) -> Path:
        if self._records_path is None:
            self._records_path = records_path(self.root, self.environment)
        return self._records_path

    def _filter(self) -> QueueFilter:
        queue = self.config.plan.github
        is_me = queue.assignee == "@me"
        return QueueFilter(
            label=queue.label if queue.is_chosen else LABEL,
            milestone=queue.milestone,
            assignee=self._viewer if is_me else queue.assignee,
            claim_label=queue.claim_label,
        )

    def _read_first(self) -> _FirstRead:
        """The queue of a new run."""
        records, built = self._read(keeps_closed=False)
        return _FirstRead(
            records=records,
            built=built,
            viewer=self._viewer,
            branch=self._branch,
            rights=self._rights,
            pending=self._pending,
        )

    def _read(self, *, keeps_closed: bool = True) -> tuple[Records, BuiltQueue]:
        """The queue as GitHub has it now, and the records before; raises ``IssuesMissing``."""
        records = load_records(self._records)
        wanted = self._filter()
        page, more = gh_queue.read_queue(
            self._place, label=wanted.label, milestone=wanted.milestone
        )
        self._viewer, self._branch = page.viewer, page.branch
        mirror = self._mirror() or ""
        states = gh_queue.states_of(self._place, unknown_numbers(page, records, mirror))
        if more:
            self._report_later(
                f"the queue has {count_of(more, 'more issue')} than the {MOST_ISSUES:,} oldest, "
                "which are read"
            )
        if page.repository.casefold() != self._place.shown.casefold():
            self._report_later(
                f"{self._place.shown} is called {page.repository} on GitHub now; change the "
                "remote: git remote set-url"
            )
        built = build_queue(
            QueueFacts(
                page=page,
                states=states,
                wanted=self._filter(),
                may=self._may_triage,
                records=records,
                mirror=mirror,
                mirror_at=self._mirror_at(),
                refused=self._refused,
                keeps_closed=keeps_closed,
            )
        )
        return records, built

    def _report_later(self, message: str) -> None:
        self._pending = (*self._pending, message)

    def _may_triage(self, login: str) -> bool | None:
        """GitHub's answer of now; it is asked once for all issues of a refresh."""
        if login not in self._rights:
            if len(self._rights) >= MOST_PEOPLE or not is_login(login):
                return None
            right = gh_queue.triage_right(self._place, login)
            if right is None:
                return None
            self._rights[login] = right
        return self._rights[login]

    def _take(self, number: int) -> str:
        """Why the issue cannot be taken; empty where it was. Raises as ``claim`` catches."""
        page = gh_queue.read_one(self._place, number)
        issue = next(iter(page.issues), None)
        if issue is None:
            return "it is gone from GitHub; it may have been transferred or deleted"
        if not issue.is_open:
            return "it was closed on GitHub meanwhile"
        wanted = self._filter()
        if not wanted.takes(issue):
            return f"it is no longer {wanted.words}"
        for login in people_of(issue, wanted):
            self._rights.pop(login, None)
        record = load_records(self._records).get(number)
        is_claimed = record is not None and record.state is RecordState.CLAIMED
        why = why_ignored(
            issue, wanted, self._may_triage, viewer=page.viewer, is_claimed=is_claimed
        )
        if why:
            return why
        if self.config.plan.github.write:
            self._claim(issue, page.viewer, is_claimed=is_claimed)
        self._keep(issue, page.comments)
        return ""

    def _keep(self, issue: QueueIssue, comments: Sequence[QueueComment]) -> None:
        """Keep an issue as it was read last, for its prompt."""
        self._issues[issue.number] = issue
        self._comments[issue.number] = trusted_comments(comments, self._may_triage)

    def _claim(self, issue: QueueIssue, viewer: str, *, is_claimed: bool) -> None:
        label = self.config.plan.github.claim_label
        is_marked = viewer in issue.assignees if label is None else is_claimed
        if not is_marked:
            gh_queue.claim(self._place, issue.number, label)
        record = IssueRecord(
            number=issue.number,
            state=RecordState.CLAIMED,
            at=datetime.fromisoformat(issue.created_at),
            title=issue.title,
        )
        if not is_claimed:
            change_records(self._records, lambda known: {**known, issue.number: record})

    def _write_text(self, built: BuiltQueue) -> str:
        return write_mirror(self._mirror() or "", built.content)

    def _mirror(self) -> str | None:
        """The text of the mirror; None where there is none."""
        return self.read() if (self.root / MIRROR).is_file() else None

    def _mirror_at(self) -> datetime:
        """When the mirror was written last, by anybody."""
        try:
            seconds = (self.root / MIRROR).stat().st_mtime
        except OSError:
            seconds = 0.0
        return datetime.fromtimestamp(seconds, UTC)

    def _write_mirror(self, text: str) -> None:
        target = resolve_inside(self.root, MIRROR)
        if not target.is_file():
            make_folders_below(self.root, target.parent)
            write_atomic(target, text.encode())
            return
        edit_plan(self.root, MIRROR, lambda _: text, "start the run again")

    def _notices_of(self, built: BuiltQueue) -> list[Notice]:
        """What people on GitHub changed, and who is left out; each once."""
        texts = [
            *self._pending,
            _about("closed on GitHub, or gone, so they are not worked on: {}", built.closed),
            _about("no longer in the queue: {}", built.left),
            _about("to be done again, because somebody on GitHub wants it: {}", built.again),
        ]
        ignored = [f"#{one.number} ({one.why})" for one in built.content.ignored]
        if ignored:
            more = len(ignored) - SHOWN
            shown = [*ignored[:SHOWN], *([f"and {more} more: see {MIRROR}"] if more > 0 else [])]
            texts.append(f"not in the queue: {'; '.join(shown)}")
        self._pending = ()
        fresh = [one for one in texts if one and one not in self._reported]
        self._reported.update(fresh)
        return [Notice(code="github-queue", message=one) for one in fresh]

    def _deliver_all(self, mirror: str) -> list[Notice]:
        """Comment and close what is due; nothing without permission to write."""
        if not self.config.plan.github.write:
            return []
        due = [
            one
            for one in load_records(self._records).values()
            if one.state in {RecordState.DONE, RecordState.SET_ASIDE}
        ]
        for record in due[:MOST_WRITTEN]:
            try:
                self._deliver(record, mirror)
            except (IssuesMissing, IssuesRefused, StateUnusable) as error:
                return [Notice(code="github-not-written", message=error.message)]
        return []

    def _deliver(self, record: IssueRecord, mirror: str) -> None:
        place, number = self._place, record.number
        label = self.config.plan.github.claim_label
        is_done = record.state is RecordState.DONE
        is_merged = (
            is_done
            and bool(record.commit)
            and gh_queue.is_on_branch(place, self._branch, record.commit)
        )
        if record.is_told and not is_merged:
            return
        page = gh_queue.read_one(place, number)
        issue = next(iter(page.issues), None)
        if issue is None or not issue.is_open:
            self._remember(replace(record, state=RecordState.CLOSED))
            return
        text = comment_about(
            record, criteria_in(mirror, number), branch=self._branch, is_merged=is_merged
        )
        mark = comment_mark(record, is_merged=is_merged)
        is_there = any(one.author == page.viewer and mark in one.body for one in page.comments)
        if not is_there:
            gh_queue.comment(place, number, self.redact(text))
        if is_merged:
            gh_queue.close(place, number)
        if label is None and not is_done and page.viewer in issue.assignees:
            gh_queue.release(place, number, None)
        if label is not None and (is_merged or not is_done) and label in issue.labels:
            gh_queue.release(place, number, label)
        state = RecordState.CLOSED if is_merged else record.state
        self._remember(replace(record, state=state, is_told=True))

    def _remember(self, record: IssueRecord) -> None:
        change_records(self._records, lambda known: {**known, record.number: record})


def _changed(known: Records, before: Records, after: Records) -> Records:
    """The records with the changes between two states; another engine may have written others."""
    changed = {number for number in {*before, *after} if before.get(number) != after.get(number)}
    kept = {number: one for number, one in known.items() if number not in changed}
    return kept | {number: after[number] for number in changed if number in after}


def _about(text: str, tasks: Sequence[Task]) -> str:
    names = [f"{task_id(number)} {one.title}" for one in tasks if (number := issue_number(one.id))]
    return text.format(titles_of(names)) if names else ""
