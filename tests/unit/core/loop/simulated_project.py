"""A world that is only data: a tree, a plan, halt files, and an agent that follows a script.

It outlives the engine that works in it: what an agent has done stays done when the run is killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ralph_ls.core.agent.failures import NO_OUTPUT
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import CommitWork, JudgeWork, NoteSetAside, UndoWork
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    HaltFiles,
    HeldTask,
    IterationRead,
    Notice,
    PlanFacts,
    RevertedChange,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.report import (
    AgentFailure,
    JudgeVerdict,
    Promise,
    PromiseKind,
    Report,
    ReportKind,
    ReportProblem,
    SessionSeen,
    Usage,
)
from ralph_ls.protocol.run.values import Again, Baseline, CommitSeen, Mode, PlanCountsView, TaskRef

ONE_TASK = ("write the letter",)


@dataclass(frozen=True)
class Turn:
    """What the agent does and says when it is started once."""

    files: int = 0
    commit: bool = False
    ticks: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    """Tasks whose review it carried on."""
    adds: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    fields: dict[str, str] | None = field(default_factory=dict)
    """The status block's fields; None: no block."""
    problems: tuple[ReportProblem, ...] = ()
    """What is wrong with them."""
    promises: tuple[Promise, ...] = ()
    halted: bool = False
    """It asked or was blocked by tool."""
    words: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    end: AgentFinished = AgentFinished(exit_code=0, seconds=1.0)
    silent: bool = False
    deletes_decide: bool = True
    validates: tuple[bool, ...] = ()
    """What the validation says each time it runs; empty: there is no script."""
    verdict: WorkJudged = WorkJudged(verdict=JudgeVerdict.PASSED, agent="judge")
    """What a judge says of it, where one is asked; its tasks are opened where they can be."""
    is_closed: bool = False
    """Its tasks cannot be opened again."""
    verified: tuple[TaskVerification, ...] = ()
    """What came of its tasks' checks; those that failed are open again."""
    notices: tuple[Notice, ...] = ()
    failure: str = ""
    """How it failed, where its structured output says so."""
    failure_kind: AgentFailure | None = None
    remedy: str = ""
    usage: Usage | None = None
    denied: tuple[str, ...] | None = None
    """Tools that were not permitted; None: it cannot report them."""
    limit: AccountLimit | None = None
    session: SessionSeen | None = None
    question: str = ""
    """What it asked at its end, without a signal."""
    marks: bool | None = None
    """Puts the completion marker into the plan, or takes it away."""
    empties: bool = False
    """Takes every task out of the plan."""
    reverts: bool = False
    """Leaves the tree as it was at the very first."""
    restores: tuple[RevertedChange, ...] = ()
    """What the guard restores after it."""
    reviews: tuple[str, ...] = ()
    """Tasks that were set aside and that its plan iteration deals with."""
    again: Again | None = None
    """It changes only what the iteration before changed, and that looks so."""
    cosmetic: bool | None = None
    """It changes white space alone."""
    advanced: bool | None = None
    """It ticks a part of a task, or only what was ticked before."""


def turn(**fields: object) -> Turn:
    """A turn, its status block's fields in upper case among the arguments."""
    block = {name: str(value) for name, value in fields.items() if name.isupper()}
    others = {name: value for name, value in fields.items() if not name.isupper()}
    others.setdefault("fields", block)
    return Turn(**others)  # type: ignore[arg-type]


def promise(kind: str, text: str = "") -> Promise:
    return Promise(kind=PromiseKind(kind), text=text)


no_progress = turn(STATUS="IN_PROGRESS")
progress = turn(STATUS="IN_PROGRESS", FILES_MODIFIED=1, files=1, commit=True)
edits_only = turn(STATUS="IN_PROGRESS", files=1)
finishes = turn(
    files=1,
    commit=True,
    ticks=ONE_TASK,
    STATUS="COMPLETE",
    EXIT_SIGNAL="true",
    words=("done", "complete"),
)
claims_all = turn(EXIT_SIGNAL="true", words=("done", "finished"))
"""Says that everything is complete, and changes nothing."""
nothing_left = turn(STATUS="COMPLETE", EXIT_SIGNAL="true", words=("done", "nothing-left"))
crash = turn(fields=None, end=AgentFinished(exit_code=3, seconds=0.1))
silence = turn(fields=None, silent=True, failure=NO_OUTPUT, failure_kind=AgentFailure.CRASHED)
timeout = turn(fields=None, end=AgentFinished(signal=9, timed_out=True, killed=True, seconds=9.0))


def asks(question: str, **fields: object) -> Turn:
    return turn(promises=(promise("decide", question),), **fields)


def is_blocked(reason: str, **fields: object) -> Turn:
    return turn(promises=(promise("blocked", reason),), **fields)


@dataclass
class SimulatedProject:
    """Everything outside the loop that a kill leaves as it is."""

    script: list[Turn]
    request: RequestView | None = None
    """What the run works on, where that is a request."""
    tasks: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ONE_TASK, "todo"))
    afterwards: Turn = field(default_factory=lambda: nothing_left)
    """What the agent does once its script is over."""
    n_turns: int = 0
    """Turns of the script that were played to their end."""
    content: int = 0
    """Grows with every change of the tree; one number is one content."""
    n_contents: int = 0
    commits: list[tuple[str, int]] = field(default_factory=list)
    """Hash, and how many files it touches outside the loop's own."""
    plan_before: dict[str, str] = field(default_factory=dict)
    said: dict[tuple[int, int], Turn] = field(default_factory=dict)
    """Recorded output by start and attempt."""
    question: str | None = None
    answer: str | None = None
    blocked: str | None = None
    n_validated: int = 0
    marker: bool = False
    """The plan's completion marker is there."""
    without_tasks: str = ""
    """What a plan without a task says of it."""
    mode: Mode = Mode.BUILD
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each task was set aside in the plan."""
    waits: str = ""
    """What each blocked task waits for, in words; empty where it is blocked."""
    locked: str = ""
    """Which of git's lock files keep git from working."""
    is_shared: bool = False
    """Others take tasks as well, so each is claimed."""
    committed_offence: str = ""
    """What keeps a run from being complete whose plan is done."""
    others: list[str] = field(default_factory=list)
    """Tasks that somebody else takes right before they are claimed."""
    hook: str = ""
    """What a hook says that refuses the loop's commits; empty: there is none."""
    keeps: str = ""
    """Why no iteration can be taken back; empty where each can."""
    undone: dict[int, str | None] = field(default_factory=dict)
    """Iteration to the branch that keeps what was taken back."""
    remote: str | None = "origin"
    """None: there is nowhere to push to."""
    refusals: tuple[str, ...] = ()
    """What the remote says to each push of the loop, in their order; empty, or over: it takes it.
    One that begins with ``[rejected]`` is a non-fast-forward."""
    loop_commits: dict[int, str] = field(default_factory=dict)
    """Iteration to the commit that the loop made of it."""
    messages: list[str] = field(default_factory=list)
    """Of the loop's commits."""
    n_pushes: int = 0
    pushed: str | None = None
    """What the remote has."""
    noted: list[NoteSetAside] = field(default_factory=list)
    """What was said in the plan of tasks that were set aside."""

    def copy(self) -> SimulatedProject:
        """The world as it is now, for another future."""
        return replace(
            self,
            tasks=dict(self.tasks),
            commits=list(self.commits),
            plan_before=dict(self.plan_before),
            said=dict(self.said),
            reasons=dict(self.reasons),
            others=list(self.others),
            loop_commits=dict(self.loop_commits),
            undone=dict(self.undone),
            messages=list(self.messages),
            noted=list(self.noted),
        )

    @property
    def next_turn(self) -> Turn:
        """What the agent will do."""
        return self.script[self.n_turns] if self.n_turns < len(self.script) else self.afterwards

    @property
    def halt(self) -> HaltFiles:
        return HaltFiles(question=self.question, answer=self.answer, blocked=self.blocked)

    def baseline(self) -> Baseline:
        head = self.commits[-1][0] if self.commits else None
        return Baseline(head=head, branch="main", fingerprint=f"{self.content:016x}")

    def plan(self, skip: Mapping[str, int] | None = None) -> PlanFacts:
        """The plan in numbers; a blocked task is open too. ``skip``: task to its attempts."""
        skip = {} if skip is None else skip
        todo = [title for title, state in self.tasks.items() if state == "todo"]
        ready = [title for title in todo if title not in skip]
        held = [title for title, state in self.tasks.items() if state == "blocked"]
        n_blocked = sum(state == "blocked" for state in self.tasks.values())
        n_done = sum(state == "done" for state in self.tasks.values())
        return PlanFacts(
            counts=PlanCountsView(
                total=len(self.tasks),
                done=n_done,
                open_required=len(todo) + n_blocked,
                blocked_required=n_blocked,
                required=len(self.tasks),
                required_done=n_done,
                marker=self.marker,
            ),
            next_task=TaskRef(id=ready[0], title=ready[0]) if ready else None,
            open_tasks=tuple(TaskRef(id=title, title=title) for title in todo[:10]),
            held=tuple(
                HeldTask(
                    task=TaskRef(id=title, title=title),
                    why=self._why_held(title, skip),
                    is_waiting=bool(self.waits) and self.tasks[title] == "blocked",
                )
                for title in [*held, *(title for title in todo if title in skip)][:10]
            ),
            is_stuck=not ready and bool(todo),
            without_tasks="" if self.tasks else self.without_tasks,
            committed_offence="" if todo or n_blocked else self.committed_offence,
        )

    def _why_held(self, title: str, skip: Mapping[str, int]) -> str:
        if self.tasks[title] != "blocked":
            return f"set aside after {count_of(skip[title], 'attempt')}"
        return self.waits or (
            f"blocked by {self.reasons[title]}" if title in self.reasons else "blocked in the plan"
        )

    def claim(self, task: str) -> str:
        """Take a task; why it cannot be had, where it cannot."""
        if task not in self.others:
            return ""
        self.others.remove(task)
        self.tasks[task] = "blocked"
        self.reasons[task] = "Bob"
        return "assigned to Bob"

    def work(self, start: int, attempt: int) -> AgentFinished:
        """Let the agent do its turn to the end."""
        played = self.next_turn
        self.n_turns += 1
        self.said[start, attempt] = played
        self.change(played)
        return played.end

    def change(self, played: Turn, *, half: bool = False) -> None:
        """Do to the tree and the plan what the turn does; half of it is an edit alone."""
        if played.files:
            self.n_contents += 1
            self.content = self.n_contents
        if half:
            return
        if played.reverts:
            self.content = 0
        if played.commit:
            self.commits.append((f"{len(self.commits) + 1:040x}", played.files))
        self.tasks.update(dict.fromkeys(played.ticks, "done"))
        self.tasks.update(dict.fromkeys(played.adds, "todo"))
        self.tasks.update(dict.fromkeys(played.blocks, "blocked"))
        if played.empties:
            self.tasks.clear()
        self.marker = self.marker if played.marks is None else played.marks
        if self.answer is not None and played.deletes_decide:
            self.question = self.answer = None

    def read(
        self,
        start: int,
        attempt: int,
        baseline: Baseline,
        *,
        lost: bool,
        skip: Mapping[str, int] | None = None,
    ) -> IterationRead:
        """What the agent said, and what differs from the baseline."""
        played = Turn(fields=None, silent=True) if lost else self.said[start, attempt]
        hashes = [commit[0] for commit in self.commits]
        known = hashes.index(baseline.head) + 1 if baseline.head is not None else 0
        report = None
        if played.fields is not None:
            kind = ReportKind.RALPH_STATUS
            report = Report(kind=kind, fields=played.fields, problems=played.problems)
        fingerprint = f"{self.content:016x}"
        self.tasks.update((one.task.title, "todo") for one in played.verified if one.failed)
        return IterationRead(
            report=report,
            promises=played.promises,
            halted=played.halted,
            completion_words=played.words,
            errors=played.errors,
            error_patterns=played.errors,
            without_output=played.silent,
            failed=bool(played.failure),
            failure=played.failure,
            failure_kind=played.failure_kind,
            remedy=played.remedy,
            usage=played.usage,
            denied_tools=played.denied,
            limit=played.limit,
            session=played.session,
            question=played.question,
            plan_changed=self.tasks != self.plan_before,
            changes=Changes(
                commits=tuple(
                    CommitSeen(hash=commit, subject="change", files=files)
                    for commit, files in self.commits[known:]
                    if commit not in self.loop_commits.values()
                ),
                files=0 if fingerprint == baseline.fingerprint else 1,
                fingerprint=fingerprint,
                paths=("work.txt",) if fingerprint != baseline.fingerprint else (),
                again=played.again,
                cosmetic=played.cosmetic,
                advanced=played.advanced,
            ),
            tasks_done=tuple(
                title
                for title, state in self.tasks.items()
                if state == "done" and self.plan_before.get(title) != "done"
            ),
            reviewed=played.reviews,
            plan=self.plan(skip),
            halt=self.halt,
            verified=played.verified,
            must_validate=bool(played.validates) and not lost,
            moved=played.moved,
            reverted=played.restores,
            notices=played.notices,
        )

    def judge(self, effect: JudgeWork, attempt: int) -> WorkJudged:
        """The verdict on a start's work; tasks for which changes are requested are open again."""
        played = self.said.get((effect.start, attempt), Turn())
        if played.verdict.verdict is not JudgeVerdict.CHANGES_REQUESTED:
            return played.verdict
        opened = () if played.is_closed else tuple(task.id for task in effect.tasks)
        self.tasks.update(dict.fromkeys(opened, "todo"))
        return replace(played.verdict, reopened=opened, plan=self.plan())

    def commit_work(self, effect: CommitWork) -> WorkCommitted:
        """Commit what differs from the base, once for each iteration."""
        subject = effect.message.splitlines()[0]
        if (made := self.loop_commits.get(effect.start)) is not None:
            return WorkCommitted(commit=made, subject=subject)
        is_same = effect.base.fingerprint == f"{self.content:016x}"
        if is_same and self.tasks == self.plan_before:
            return WorkCommitted()
        if self.hook:
            return WorkCommitted(problem=self.hook)
        made = f"{len(self.commits) + 1:040x}"
        self.loop_commits[effect.start] = made
        self.commits.append((made, 1))
        self.messages.append(effect.message)
        return WorkCommitted(commit=made, subject=subject, files=1)

    def undo_work(self, effect: UndoWork, skip: Mapping[str, int] | None = None) -> WorkUndone:
        """Take everything back to the base, once for each iteration."""
        number = effect.start
        if self.keeps or effect.user_commits:
            return WorkUndone(refused=self.keeps or "you committed in the meantime")
        if number not in self.undone:
            before = self.baseline()
            is_same = before == effect.base and self.tasks == self.plan_before
            hashes = [commit[0] for commit in self.commits]
            known = hashes.index(effect.base.head) + 1 if effect.base.head is not None else 0
            del self.commits[known:]
            self.content = int(effect.base.fingerprint, 16)
            self.tasks = dict(self.plan_before)
            self.undone[number] = None if is_same else f"ralph/backup-{number}"
        return WorkUndone(backup=self.undone[number], files=1, plan=self.plan(skip))

    def push_work(self) -> WorkPushed:
        """Push what the remote does not have."""
        head = self.commits[-1][0] if self.commits else None
        if self.remote is None or head in {None, self.pushed}:
            return WorkPushed()
        said = self.refusals[self.n_pushes] if self.n_pushes < len(self.refusals) else ""
        self.n_pushes += 1
        created = self.pushed is None and not said
        self.pushed = self.pushed if said else head
        return WorkPushed(
            ok=not said,
            remote=self.remote,
            branch="main",
            commit=head,
            tries=3 if said else 1,
            created=created,
            rejected=said.startswith("[rejected]"),
            problem=said,
        )

    def validate(self, start: int, attempt: int) -> bool:
        """The result of the validation script; the last one is repeated."""
        said = self.said[start, attempt].validates
        self.n_validated += 1
        return said[min(self.n_validated, len(said)) - 1]
