"""Run the benchmarks and print a line each: name, figure, ratio, target."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from tests.bench import (
    everything,
    follow,
    git,
    keystroke,
    lines,
    memory,
    overhead,
    plan,
    reading,
    redaction,
    replay,
    start,
    viewers,
)
from tests.bench.figures import Figure

BENCHMARKS: dict[str, Callable[[], Iterable[Figure]]] = {
    "follow": follow.measure,
    "replay": replay.measure,
    "overhead": overhead.measure,
    "everything": everything.measure,
    "git": git.measure,
    "memory": memory.measure,
    "viewers": viewers.measure,
    "reading": reading.measure,
    "redaction": redaction.measure,
    "lines": lines.measure,
    "plan": plan.measure,
    "start": start.measure,
    "keystroke": keystroke.measure,
}


def main(names: list[str]) -> int:
    """Run the named ones, or all; 64 for a name that is none."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        known = ", ".join(BENCHMARKS)
        print(f"no benchmark is called {unknown[0]}; there are: {known}", file=sys.stderr)
        return 64
    print(f"{'name':<26}{'figure':<32}{'ratio':<40}target")
    for name in names or BENCHMARKS:
        for figure in BENCHMARKS[name]():
            print(
                f"{figure.name:<26}{figure.figure:<32}{figure.ratio:<40}{figure.target}", flush=True
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
