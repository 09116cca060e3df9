"""``summary.md`` of an archive: what was done, out of the plan and the runs that go with it.

Titles come from plans, so they can neither steer a terminal nor make markdown of their own. It
must never know where an archive lies, nor which runs belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ralph_ls.core.plan.model import Task
from ralph_ls.core.views.metrics_tables import ITERATION_HEADINGS, iteration_cells, total_lines
from ralph_ls.core.views.statistics import total_of
from ralph_ls.core.views.visible import tame
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.plan import TaskState

_MARKS = {
    TaskState.DONE: "[x]",
    TaskState.SKIPPED: "[-]",
    TaskState.BLOCKED: "[!]",
    TaskState.IN_PROGRESS: "[~]",
    TaskState.TODO: "[ ]",
}


def archive_summary(
    title: str,
    branch: str | None,
    *,
    tasks: Iterable[Task],
    runs: Sequence[RunMetrics],
    files: Sequence[tuple[str, str]],
) -> str:
    """The whole text; ``files`` are where each was, and its name in the archive."""
    lines = [f"# {_plain(title)}", ""]
    if branch is not None:
        lines += [f"The branch was {_plain(branch)}.", ""]
    listed = list(tasks)
    if listed:
        done = sum(task.state is TaskState.DONE for task in listed)
        lines += ["## Tasks", "", f"{done} of {len(listed)} done.", ""]
        lines += [
            f"{'  ' * task.depth}- {_MARKS[task.state]} {_plain(task.title)}" for task in listed
        ]
        lines.append("")
    lines += ["## Runs", ""]
    if runs:
        lines += [f"- {name}: {value}" for name, value in total_lines(total_of(runs))]
        for run in runs:
            lines += ["", f"### {run.run}: {run.end}", ""]
            lines += _table(ITERATION_HEADINGS, map(iteration_cells, run.iterations))
    else:
        lines.append("There was no run.")
    lines += ["", "## Files", ""]
    lines += [f"- {_plain(name)}: was {_plain(path)}" for path, name in files]
    return "\n".join([*lines, ""])


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(map(_plain, row))} |" for row in rows),
    ]


def _plain(text: str) -> str:
    """One line that is read as it stands."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(tame(text).split()))


_MARKUP = re.compile(r"[\\|<>\[\]`*]|(?<!\w)_|_(?!\w)")
