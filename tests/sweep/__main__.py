"""The command line of the sweep: what to run, for how long, side by side; the table at the end."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.sweep import attackers, kills, lanes, repositories, signals, soak, texts, wire
from tests.sweep.runner import Runner, Scenario, Tally, merged
from tests.sweep.violations import Kind

SCENARIOS: tuple[Scenario, ...] = (
    kills.SCENARIO,
    lanes.SCENARIO,
    repositories.SCENARIO,
    attackers.SCENARIO,
    signals.SCENARIO,
    wire.SCENARIO,
    texts.SCENARIO,
    soak.SCENARIO,
)
QUICK_SEED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 1 where anything failed."""
    asked = _parser().parse_args(arguments)
    if asked.seed is None:
        asked.seed = secrets.randbelow(10**6) if asked.minutes else QUICK_SEED
    if asked.figures is not None:
        tallies = _sweep(asked, Path(asked.root))
        data = {name: tally.as_json() for name, tally in tallies.items()}
        Path(asked.figures).write_text(json.dumps(data), encoding="utf-8")
        return 0
    root = Path(tempfile.mkdtemp(prefix="ralph-sweep-"))
    _report(f"sweep with seed {asked.seed}, in {root}")
    if ":" in asked.only or asked.jobs == 1:
        tallies = _sweep(asked, root)
    else:
        tallies = _side_by_side(asked, root)
    return _show(tallies, root)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0, help="0: the quick form")
    parser.add_argument("--seed", type=int, help="of an earlier sweep, to repeat it")
    parser.add_argument("--only", default="", metavar="NAME[:NUMBER]", help="one scenario, or case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="side by side")
    parser.add_argument("--part", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    parser.add_argument("--figures", help=argparse.SUPPRESS)
    return parser


def _sweep(asked: argparse.Namespace, root: Path) -> dict[str, Tally]:
    """Run in this process: all of it, or the part of it that one of several jobs does."""
    is_part = asked.figures is not None
    runner = Runner(
        seed=asked.seed,
        root=root,
        report=_report,
        part=asked.part,
        parts=asked.jobs if is_part else 1,
    )
    name, _, number = asked.only.partition(":")
    chosen = [scenario for scenario in SCENARIOS if name in {"", scenario.name}]
    if not chosen:
        sys.exit(f"there is no scenario {name}; there are: {', '.join(s.name for s in SCENARIOS)}")
    if number:
        runner.run_case(chosen[0], int(number))
    elif asked.minutes:
        runner.run_for(chosen, asked.minutes * 60)
    else:
        runner.run_quick(chosen)
    return runner.tallies


def _side_by_side(asked: argparse.Namespace, root: Path) -> dict[str, Tally]:
    """Run in several processes, each with every so many-th case."""
    given = ["--minutes", str(asked.minutes), "--seed", str(asked.seed), "--only", asked.only]
    jobs = []
    for part in range(asked.jobs):
        own = ["--jobs", str(asked.jobs), "--part", str(part), "--root", str(root)]
        command = [sys.executable, "-m", "tests.sweep", *given, *own]
        jobs.append(subprocess.Popen([*command, "--figures", str(root / f"part-{part}.json")]))
    tallies: dict[str, Tally] = {}
    for part, job in enumerate(jobs):
        if job.wait():
            raise RuntimeError(f"part {part} of the sweep ended with {job.returncode}")
        figures = json.loads((root / f"part-{part}.json").read_text(encoding="utf-8"))
        for name, data in figures.items():
            tallies[name] = merged(tallies.get(name, Tally()), Tally.from_json(data))
    return {
        scenario.name: tallies[scenario.name] for scenario in SCENARIOS if scenario.name in tallies
    }


def _report(text: str) -> None:
    print(text, flush=True)


def _show(tallies: Mapping[str, Tally], root: Path) -> int:
    """Print the figures, and every failure once more."""
    total: Counter[str] = Counter()
    print(f"\n{'scenario':<14}{'cases':>7}{'minutes':>9}{'failed':>8}  figures")
    for name, tally in tallies.items():
        total += tally.counts
        shown = [*sorted(tally.counts.items()), *sorted(tally.largest.items())]
        figures = ", ".join(f"{n} {what}" for what, n in shown)
        minutes = f"{tally.seconds / 60:.1f}"
        print(f"{name:<14}{tally.cases:>7}{minutes:>9}{len(tally.failures):>8}  {figures}")
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    kinds = Counter(failure.kind for failure in failures)
    print(
        f"\n{total['kills']} kills, {total['messages']} messages, {total['attacks']} attacks: "
        + ", ".join(f"{kinds[kind]} {kind.value}" for kind in Kind)
    )
    for failure in failures:
        print(failure.lines())
    if not failures:
        shutil.rmtree(root)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
