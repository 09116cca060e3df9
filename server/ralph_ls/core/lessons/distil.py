"""Distilling: findings and proposed lessons from the history of a work tree, without a model.

Four questions: which validation fails most and in which files, which tasks were set aside and why,
which settings were changed by hand, and how long and how dear each kind of task was. A finding
needs two iterations or runs, except a task that was set aside and what an agent wanted to be
remembered. Each names the iterations it comes from; those that an agent can act on also propose a
lesson.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ralph_ls.core.agent.failures import normalise_error
from ralph_ls.core.lessons.history import AsideRecord, IterationRecord, RunRecord
from ralph_ls.core.lessons.lesson import MAX_TEXT, MAX_TITLE, Lesson, lesson_id_of
from ralph_ls.core.lessons.setting_habits import find_settings
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.lessons import Finding, FindingKind, IterationRef

FEWEST = 2
"""Iterations on which a finding rests at least."""

SHOWN_FILES = 3
SHOWN_SOURCES = 5
"""Iterations that the source of a lesson names, the newest."""

MAX_QUOTE = 200
"""Characters of what a program or an agent wrote, in a finding."""

FEWEST_TASKS = 3
"""Finished tasks of a kind from which on it is compared with the others."""

MUCH_MORE = 1.5
"""By how much a kind of task exceeds the others before a lesson is proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What the history shows."""

    findings: tuple[Finding, ...] = ()
    proposals: tuple[Lesson, ...] = ()


def distil(runs: Sequence[RunRecord]) -> Distilled:
    """Findings and proposals from these runs, which are in the order of their starts."""
    iterations = [one for run in runs for one in run.iterations]
    found = [
        *_failing_validations(iterations),
        *_set_aside(runs),
        *_tasks(iterations),
        *_remembered(runs),
        *((finding, None) for finding in find_settings(runs)),
    ]
    proposals: dict[str, Lesson] = {}
    for finding, lesson in found:
        if lesson is not None:
            source, hits = source_words(finding.iterations), len(finding.iterations)
            free = _free_id(lesson.id, proposals)
            proposals[free] = replace(lesson, id=free, source=source, hits=hits)
    return Distilled(
        findings=tuple(finding for finding, _ in found), proposals=tuple(proposals.values())
    )


def _free_id(lesson_id: str, taken: Container[str]) -> str:
    """The id, with a number where another proposal has it."""
    numbered = (f"{lesson_id}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain((lesson_id,), numbered) if one not in taken)


def source_words(iterations: Sequence[IterationRef]) -> str:
    """``run 1a2b iterations 3, 5; run 3c4d iteration 1``, the newest of many."""
    shown = iterations[-SHOWN_SOURCES:]
    by_run: dict[str, list[int]] = {}
    for one in shown:
        by_run.setdefault(one.run, []).append(one.iteration)
    words = [
        f"run {run.rpartition('-')[2]} iteration{'s' * (len(of) > 1)} {', '.join(map(str, of))}"
        for run, of in by_run.items()
    ]
    earlier = len(iterations) - len(shown)
    return "; ".join(words) + (f", and {count_of(earlier, 'earlier one')}" if earlier else "")


def _refs(iterations: Iterable[IterationRecord]) -> tuple[IterationRef, ...]:
    return tuple(IterationRef(run=one.run, iteration=one.iteration) for one in iterations)


_Found = tuple[Finding, Lesson | None]


# ------------------------------------------------------------------------------------ validations


def _failing_validations(iterations: Sequence[IterationRecord]) -> Iterator[_Found]:
    """Scripts by how often they failed, most often first."""
    failed: dict[str, list[IterationRecord]] = defaultdict(list)
    ran: Counter[str] = Counter()
    for one in iterations:
        if one.validated is not None:
            ran.update({*one.validated.scripts, one.validated.script} - {""})
            if not one.validated.ok:
                failed[one.validated.script].append(one)
    for script, failures in sorted(failed.items(), key=lambda pair: -len(pair[1])):
        if len(failures) >= FEWEST:
            yield _failing_validation(script, failures, max(ran[script], len(failures)))


def _failing_validation(script: str, failures: Sequence[IterationRecord], n_ran: int) -> _Found:
    name = one_line(script, limit=MAX_QUOTE) or "the validation"
    often = f"{name} failed in {len(failures)} of the {count_of(n_ran, 'iteration')} that ran it"
    changed = Counter(path for one in failures for path in dict.fromkeys(one.paths))
    files = [one_line(path, limit=MAX_QUOTE) for path, n in changed.most_common() if n >= FEWEST]
    where = f", most often after changes of {some_of(files, SHOWN_FILES)}" if files else ""
    line = _usual_line(failures)
    printed = f". Its output most often had: {line}" if line else ""
    finding = Finding(
        kind=FindingKind.VALIDATION,
        text=f"{often}{where}{printed}",
        iterations=_refs(failures),
        next=f"ralph show {failures[-1].run.rpartition('-')[2]} {failures[-1].iteration}",
    )
    lesson = Lesson(
        id=lesson_id_of(f"validation {name}"),
        title=f"Run {name} before you report"[:MAX_TITLE],
        text=f"{often}{where}{printed}.\n\nRun it yourself before you finish, and fix what it "
        "shows in the same iteration.",
    )
    return finding, lesson


def _usual_line(failures: Iterable[IterationRecord]) -> str:
    """The line that most of the outputs have; empty where no two have one in common."""
    seen: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for one in failures:
        lines = [] if one.validated is None else one.validated.tail.splitlines()
        for line in {
            normalise_error(line): line for line in lines if _TELLING.search(line)
        }.items():
            seen[line[0]] += 1
            shown[line[0]] = line[1]
    most = max(seen.items(), key=lambda pair: (pair[1], len(pair[0])), default=("", 0))
    return one_line(shown[most[0]], limit=MAX_QUOTE) if most[1] >= FEWEST else ""


_TELLING = re.compile(
    r"error|fail|exception|assert|warning|not ok|undefined|missing", re.IGNORECASE
)


# ---------------------------------------------------------------------------------- tasks set aside


def _set_aside(runs: Iterable[RunRecord]) -> Iterator[_Found]:
    """Tasks that were set aside and did not become done afterwards, by title."""
    newest: dict[str, tuple[RunRecord, AsideRecord]] = {}
    for run in runs:
        for one in run.set_aside:
            newest.pop(one.event.task.title, None)
            newest[one.event.task.title] = (run, one)
        for worked in run.iterations:
            title = _title_done(worked)
            known = newest.get(title)
            if known is not None and (known[0] is not run or known[1].iteration < worked.iteration):
                del newest[title]
    for title, (run, record) in newest.items():
        yield _aside(title, run, record.event, record.iteration)


def _title_done(one: IterationRecord) -> str:
    """The title of its task, where it became done; else empty."""
    return one.task.title if one.task is not None and one.task.id in one.done else ""


def _aside(title: str, run: RunRecord, event: Any, iteration: int) -> _Found:
    worked = [
        one for one in run.iterations if one.task is not None and one.task.id == event.task.id
    ]
    refs = _refs(worked) or (IterationRef(run=run.run, iteration=iteration),)
    name = one_line(title, limit=MAX_TITLE - len('Tasks such as ""'))
    reason = one_line(event.reason, limit=MAX_QUOTE)
    tried = f" after {count_of(event.attempts, 'attempt')}" if event.attempts else ""
    text = f'"{name}" was set aside{tried}: {reason}'
    finding = Finding(
        kind=FindingKind.SET_ASIDE,
        text=text,
        iterations=refs,
        next=f"ralph show {run.run.rpartition('-')[2]} {refs[-1].iteration}",
    )
    lesson = Lesson(
        id=lesson_id_of(f"set aside {title}"),
        title=f'Tasks such as "{name}"',
        text=f"{text}.\n\nBefore you work on a task like it, check whether this still holds. If it "
        "does, say so at once and name what is needed, instead of trying the same again.",
        tasks=tuple(telling_words(title)),
    )
    return finding, lesson


def telling_words(title: str) -> list[str]:
    """The longest words of a title, by which similar tasks are recognised."""
    words = dict.fromkeys(word.casefold() for word in re.findall(r"[^\W\d_]{5,}", title))
    told = [word for word in words if word not in _COMMON]
    return sorted(told, key=len, reverse=True)[:SHOWN_FILES] or list(words)[:1]


_COMMON = frozenset(
    {
        *("about", "after", "again", "before", "below", "create", "delete", "every", "first"),
        *("implement", "remove", "should", "support", "tests", "their", "there", "these", "thing"),
        *("update", "where", "which", "while", "without", "write"),
    }
)


# ---------------------------------------------------------------------------------- kinds of tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finished:
    kind: str
    iterations: tuple[IterationRecord, ...]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.iterations)

    @property
    def cost_usd(self) -> float | None:
        costs = [one.cost_usd for one in self.iterations if one.cost_usd is not None]
        return sum(costs) if costs else None


KINDS_OF_TASKS: Mapping[str, frozenset[str]] = {
    "fix": frozenset({"fix", "repair", "correct", "resolve", "debug", "bug", "bugfix"}),
    "test": frozenset({"test", "tests", "cover", "testing"}),
    "document": frozenset({"document", "doc", "docs", "describe", "explain"}),
    "refactor": frozenset(
        {"refactor", "rename", "move", "split", "extract", "clean", "simplify", "remove", "replace"}
    ),
    "upgrade": frozenset({"upgrade", "migrate", "bump", "port", "convert"}),
    "add": frozenset(
        {"add", "implement", "create", "build", "introduce", "support", "write", "allow", "make"}
    ),
}
"""Kinds of tasks, and the words that their titles begin with."""

OTHER = "other"


def kind_of(title: str) -> str:
    """The kind of a task, by the first word of its title that is in the table."""
    for word in re.findall(r"[^\W\d_]+", title.casefold())[:FIRST_WORDS]:
        for kind, words in KINDS_OF_TASKS.items():
            if word in words:
                return kind
    return OTHER


FIRST_WORDS = 4


def _tasks(iterations: Sequence[IterationRecord]) -> Iterator[_Found]:
    """Iterations, time and cost of each kind of finished task, the most frequent kind first."""
    finished = _finished(iterations)
    by_kind: dict[str, list[_Finished]] = defaultdict(list)
    for task in finished:
        by_kind[task.kind].append(task)
    for kind, tasks in sorted(by_kind.items(), key=lambda pair: -len(pair[1])):
        if len(tasks) >= FEWEST:
            others = [task for task in finished if task.kind != kind]
            yield _kind(kind, tasks, others)


def _finished(iterations: Iterable[IterationRecord]) -> list[_Finished]:
    by_task: dict[tuple[str, str], list[IterationRecord]] = defaultdict(list)
    for one in iterations:
        if one.task is not None:
            by_task[one.run, one.task.id].append(one)
    return [
        _Finished(kind=kind_of(worked[0].task.title), iterations=tuple(worked))
        for (_, task_id), worked in by_task.items()
        if worked[0].task is not None and any(task_id in one.done for one in worked)
    ]


def _kind(kind: str, tasks: Sequence[_Finished], others: Sequence[_Finished]) -> _Found:
    refs = _refs(one for task in tasks for one in task.iterations)
    numbers = [median(map(measure, tasks)) for measure in _MEASURES]
    costs = [task.cost_usd for task in tasks if task.cost_usd is not None]
    dear = f", {median(costs):.2f} US dollars" if costs else ""
    name = "Other tasks" if kind == OTHER else f'Tasks of the kind "{kind}"'
    text = (
        f"{name} ({len(tasks)} finished) took {numbers[0]:g} iterations and "
        f"{_minutes(numbers[1])}{dear} each (medians)"
    )
    finding = Finding(kind=FindingKind.TASKS, text=text, iterations=refs)
    usual = [median(map(measure, others)) for measure in _MEASURES] if others else [0.0, 0.0]
    is_long = (
        kind != OTHER
        and min(len(tasks), len(others)) >= FEWEST_TASKS
        and numbers[0] >= usual[0] * MUCH_MORE
    )
    if not is_long:
        return finding, None
    lesson = Lesson(
        id=lesson_id_of(f"long tasks {kind}"),
        title=f'Tasks of the kind "{kind}" take long here',
        text=f"{text}, all other tasks {usual[0]:g} iterations and {_minutes(usual[1])}.\n\nDo the "
        "smallest part that can be validated first, and say in the report what is left.",
        tasks=tuple(sorted(KINDS_OF_TASKS[kind])),
    )
    return finding, lesson


_MEASURES = (lambda task: float(len(task.iterations)), lambda task: task.seconds)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 2 * 60 else f"{seconds / 60:.0f} min"


# --------------------------------------------------------------------------- remembered by agents


def _remembered(runs: Iterable[RunRecord]) -> Iterator[_Found]:
    """What agents wanted to be remembered; the same text of several iterations is one finding."""
    found: dict[str, list[IterationRef]] = {}
    for run in runs:
        for note in run.remembered:
            if text := note.text.strip()[:MAX_TEXT]:
                refs = found.setdefault(text, [])
                refs.append(IterationRef(run=run.run, iteration=note.iteration))
    for text, refs in found.items():
        first, _, rest = text.partition("\n")
        title = one_line(first, limit=MAX_TITLE)
        mark = hashlib.blake2b(text.encode("utf-8", errors="replace"), digest_size=2).hexdigest()
        shown = one_line(text, limit=MAX_QUOTE)
        finding = Finding(kind=FindingKind.REMEMBERED, text=shown, iterations=tuple(refs))
        # A long first line is cut in the title, so the text keeps it.
        body = text if title != first.strip() or not rest.strip() else rest.strip()
        yield (
            finding,
            Lesson(id=f"{lesson_id_of(f'remember {first}')}-{mark}", title=title, text=body),
        )
