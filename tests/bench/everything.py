"""One agent's end to the next one's start with everything on, against a bash loop that does it too.

Both validate with a script, commit, and push to a bare repository beside them; ours keeps its
journal, logs and evidence as well. What each part takes is read from the journal.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.runs import COMMAND, Place, between, place

N_ITERATIONS = 30

CONFIG = """\
commits = "loop"
push = true
"""
FILES = {
    ".ralph/config.toml": CONFIG,
    ".ralph/validate.sh": "#!/bin/sh\ntest -s work.txt\n",
    ".gitignore": "/.ralph/logs/\n",
}
BASH = """\
for ((i = 0; i < {n}; i++)); do
    "{agent}" < @fix_plan.md
    .ralph/validate.sh && git add -A && git commit -q -m again && git push -q origin HEAD
done
"""
PARTS = (
    ("evidence", "agentExited", "evidenceGathered"),
    ("validation", "evidenceGathered", "validated"),
    ("commit", "validated", "committed"),
    ("push", "committed", "pushed"),
    ("the rest", "pushed", "iterationEnded"),
)


def measure() -> Iterator[Figure]:
    """The median gap, what it is of bash's, and the median of each part."""
    with place(FILES) as here:
        agent, times = _agent(here)
        here.call("bash", "-c", BASH.format(n=N_ITERATIONS, agent=agent))
        bash = statistics.median(_gaps(times))
    with place(FILES) as here:
        agent, times = _agent(here)
        here.call(*COMMAND, "allow", "--yes")
        events = here.run(N_ITERATIONS, agent)
        ours = statistics.median(_gaps(times))
    parts = [
        f"{name} {statistics.median(between(events, first, second)):.0f}"
        for name, first, second in PARTS
    ]
    yield Figure(
        name="everything: on",
        figure=f"{ours:.0f} ms (median of {N_ITERATIONS - 1})",
        ratio=f"{ours / bash:.1f} x the same in bash ({bash:.0f} ms)",
        target="none",
    )
    yield Figure(name="everything: its parts", figure="ms", ratio=", ".join(parts), target="none")


def _agent(here: Place) -> tuple[Path, Path]:
    """The agent, and the file in which it notes when it began and ended."""
    times = here.home / "times"
    here.git("init", "-q", "--bare", str(here.home / "remote.git"))
    here.git("remote", "add", "origin", str(here.home / "remote.git"))
    agent = here.agent(
        f'began=$EPOCHREALTIME\necho again >> work.txt\necho "$began $EPOCHREALTIME" >> {times}'
    )
    return agent, times


def _gaps(times: Path) -> list[float]:
    rows = [line.split() for line in times.read_text(encoding="utf-8").splitlines()]
    if len(rows) != N_ITERATIONS:
        raise RuntimeError(f"the agent ran {len(rows)} times instead of {N_ITERATIONS}")
    return [
        (float(following[0]) - float(row[1])) * 1000 for row, following in itertools.pairwise(rows)
    ]
