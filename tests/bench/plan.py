"""Reading a plan of 10 000 tasks: the whole of it, after a keystroke, and against markdown-it-py.

The plan is of the kind that agents keep: sections, open and done items, some with a tag or an id,
some with notes and steps below them. "Read" is to know its problems and its counts; that every
task is made, with its id and its place, is measured by itself, since few ask for it.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt

from ralph_ls.core.plan.diff.text_diff import find_text_change
from ralph_ls.core.plan.model import ParsedPlan
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.core.plan.queries import count_tasks
from tests.bench.figures import Figure

N_TASKS = 10_000
N_ROUNDS = 7
N_KEYS = 50
WORDS = ("fix", "add", "update", "login", "database", "parser", "editor", "user", "page", "retry")


def measure() -> Iterator[Figure]:
    """The best of some rounds each, but the median of the keys."""
    text = _plan()
    theirs = _seconds(lambda: MarkdownIt().parse(text), n_rounds=1)
    whole = _seconds(lambda: _ask(parse_markdown(text)))
    made = _seconds(lambda: _make(parse_markdown(text)))
    parsed = parse_markdown(text)
    if len(parsed.plan.tasks) != N_TASKS or len(tuple(parsed.plan.tasks)) != N_TASKS:
        raise RuntimeError(f"{len(parsed.plan.tasks)} tasks were read instead of {N_TASKS}")
    keys = _keys(text)
    name = f"plan: {N_TASKS:,} tasks"
    size = f"{len(text.encode()) / 1000:.0f} KB"
    yield Figure(
        name=name,
        figure=f"{whole * 1000:.1f} ms ({size})",
        ratio=f"1/{theirs / whole:.0f} of markdown-it-py ({theirs * 1000:,.0f} ms)",
        target="<= 15 ms",
    )
    yield Figure(
        name="plan: a keystroke in it",
        figure=f"{statistics.median(keys) * 1000:.2f} ms (median of {N_KEYS})",
        ratio=f"1/{theirs / statistics.median(keys):,.0f} of markdown-it-py",
        target="<= 1 ms",
    )
    yield Figure(
        name="plan: every task made",
        figure=f"{made * 1000:.0f} ms",
        ratio=f"1/{theirs / made:.0f} of markdown-it-py",
        target="none",
    )
    again = min(_make_again(parsed) for _ in range(N_ROUNDS))
    yield Figure(
        name="plan: made after a key",
        figure=f"{again * 1000:.0f} ms",
        ratio=f"1/{theirs / again:.0f} of markdown-it-py",
        target="none",
    )


def _ask(parsed: ParsedPlan) -> None:
    count_tasks(parsed.plan)
    len(parsed.plan.tasks)
    len(parsed.problems)


def _make(parsed: ParsedPlan) -> None:
    parsed.plan.by_id()


def _make_again(parsed: ParsedPlan) -> float:
    """Seconds to make every task after a letter was typed in the middle of a plan."""
    middle = N_TASKS // 2
    at = parsed.plan.tasks[middle].end
    typed = reparse_markdown(parsed, (at, at, "x"))
    before = time.perf_counter()
    _make(typed)
    return time.perf_counter() - before


def _keys(text: str) -> list[float]:
    """Seconds from a letter typed into some task to the counts, finding out where it is too."""
    chance = random.Random(2)
    parsed = parse_markdown(text)
    times = []
    for _ in range(N_KEYS):
        at = chance.randrange(len(text))
        typed = f"{text[:at]}x{text[at:]}"
        before = time.perf_counter()
        parsed = reparse_markdown(parsed, find_text_change(text, typed))
        count_tasks(parsed.plan)
        times.append(time.perf_counter() - before)
        text = typed
    return times


def _plan() -> str:
    chance = random.Random(1)
    lines = ["# Fix Plan"]
    n_tasks = 0
    while n_tasks < N_TASKS:
        if n_tasks % 100 == 0:
            lines += ["", f"## Part {n_tasks // 100} (P{n_tasks // 100 % 3})", ""]
        tag = chance.choice([""] * 8 + ["[HIGH PRIORITY] ", f"**US-{n_tasks:04}** "])
        title = " ".join(chance.choices(WORDS, k=10))
        lines.append(f"- [{chance.choice('  x')}] {tag}{title} {n_tasks}")
        n_tasks += 1
        if chance.random() < 0.1:
            lines.append("  - it was seen in `tests/unit` again")
        if chance.random() < 0.1 and n_tasks % 100 != 0:
            lines.append(f"  - [ ] Write a test for it first ({n_tasks})")
            n_tasks += 1
    return "\n".join(lines) + "\n"


def _seconds(work: Callable[[], object], *, n_rounds: int = N_ROUNDS) -> float:
    times = []
    for _ in range(n_rounds):
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return min(times)
