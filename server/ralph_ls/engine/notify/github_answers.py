"""Answers from GitHub: looks for comments on the issue while the run has an open question.

Every comment is looked at once, also by a later engine of the run, and its author's permission is
asked at that moment; an error is a no (docs/rules.md#notifications).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.inputs import AnnouncementDone, CommandArrived, Input
from ralph_ls.core.notify.github_answers import may_write, new_answers, read_comments
from ralph_ls.core.notify.occasions import question_id
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.notify.delivery import issue_of
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.notify import AnswerSource
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import IssueReference
from ralph_ls.protocol.run.commands import Answer
from ralph_ls.protocol.run.state import Question, RunState
from ralph_ls.store.external.gh import Gh, comments_since, find_gh, permission_of
from ralph_ls.store.external.supervisor import Supervisor
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.run.inbox import new_command_id

FIRST_SECONDS, INTERVAL_SECONDS = 1.0, 30.0
"""Seconds before the first look, and at most between two: each pause is twice the one before."""

SEEN_FILE = "github-comments.json"
"""In the run's folder: the ids of the comments that were looked at."""

REFUSED, UNREADABLE = "answer-refused", "answers-unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one look found."""

    start: int | None
    """Of the question."""
    answer: str | None = None
    author: str = ""
    refused: tuple[str, ...] = ()
    """Authors whose answers do not count."""


class GithubAnswers:
    """The looks of one engine."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        deliver: Callable[[Input], None],
        start: Callable[[str, Coroutine[Any, Any, None]], None],
        supervisor: Supervisor,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._deliver = deliver
        self._start = start
        self._supervisor = supervisor
        self._is_on = AnswerSource.GITHUB in workspace.config.notify.answers
        self._run = RunState()
        self._timer: asyncio.TimerHandle | None = None
        self._is_looking = False
        self._is_reported = False
        self._n_looks = 0

    def follow(self, run: RunState) -> None:
        """Take the run's newest state: look for as long as a question is open."""
        self._run = run
        if not self._is_on or self._open_question() is None or issue_of(run) is None:
            self.stop()
            self._n_looks = 0
        elif self._timer is None and not self._is_looking:
            self._timer = asyncio.get_running_loop().call_later(self._pause(), self._look)

    def stop(self) -> None:
        """Look no more, until the next question."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pause(self) -> float:
        self._n_looks += 1
        return min(INTERVAL_SECONDS, FIRST_SECONDS * 2.0 ** (self._n_looks - 1))

    def _open_question(self) -> Question | None:
        question = self._run.question
        is_open = question is not None and question.answer is None and self._run.end is None
        return question if is_open else None

    def _look(self) -> None:
        self._timer = None
        self._is_looking = True
        self._start("answers", self._look_once())

    async def _look_once(self) -> None:
        question, issue, run = self._open_question(), issue_of(self._run), self._run.run
        if question is not None and issue is not None:
            try:
                found = await asyncio.to_thread(self._find, question, issue, run)
            except (RalphError, OSError, subprocess.TimeoutExpired) as error:
                self._report(error)
            else:
                self._is_reported = False
                self._take(found)
        self._is_looking = False
        self.follow(self._run)

    def _report(self, error: Exception) -> None:
        """Report once that the issue cannot be read; the next looks may succeed."""
        if not self._is_reported:
            self._is_reported = True
            why = error.message if isinstance(error, RalphError) else str(error)
            message = f"answers on GitHub cannot be read: {why}; ralph looks again"
            self._deliver(AnnouncementDone(code=UNREADABLE, message=message, outside=True))

    def _take(self, found: _Found) -> None:
        for author in found.refused:
            message = (
                f"the answer of {author} on GitHub was not taken: GitHub does not confirm that "
                f"{author} may write to the repository; answer yourself: ralph answer"
            )
            self._deliver(AnnouncementDone(code=REFUSED, message=message))
        question = self._open_question()
        if found.answer is None or question is None or question.start != found.start:
            return
        command = Answer(
            id=new_command_id(),
            run=self._run.run,
            at=self._clock.now(),
            by=f"{found.author} on GitHub",
            text=found.answer,
            untrusted=True,
        )
        self._deliver(CommandArrived(command=command))

    def _find(self, question: Question, issue: IssueReference, run: str) -> _Found:
        """Look at the comments that are new; blocks."""
        gh = find_gh(self._workspace.root, {**self._workspace.environment})
        read = comments_since(gh, issue, question.asked_at, self._supervisor)
        comments, seen = read_comments(read), self._seen()
        identity = question_id(run, question.start)
        found = new_answers(comments, identity=identity, asked_at=question.asked_at, seen=seen)
        self._remember(seen | {one.id for one in comments})
        refused: list[str] = []
        for comment, text in found:
            if self._may_write(gh, issue, comment.author):
                return _Found(
                    answer=text,
                    author=comment.author,
                    start=question.start,
                    refused=tuple(refused),
                )
            refused.append(comment.author)
        return _Found(start=question.start, refused=tuple(refused))

    def _may_write(self, gh: Gh, issue: IssueReference, author: str) -> bool:
        """Whether the author may write to the repository now; an error is a no."""
        try:
            return may_write(permission_of(gh, issue, author, self._supervisor))
        except (RalphError, OSError, subprocess.TimeoutExpired):
            return False

    @property
    def _seen_path(self) -> Path:
        return self._workspace.files.folder / SEEN_FILE

    def _seen(self) -> frozenset[int]:
        try:
            known = json.loads(read_if_there(self._seen_path) or b"[]")
        except ValueError:
            known = []
        return frozenset(known if isinstance(known, list) else [])

    def _remember(self, seen: frozenset[int]) -> None:
        write_atomic(self._seen_path, json.dumps(sorted(seen)).encode(), mode=PRIVATE_FILE)
