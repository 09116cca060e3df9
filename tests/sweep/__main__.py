"""The command line of the sweep: what to run, for how long, and the table at the end."""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.sweep import attackers, kills, repositories, signals, soak, texts, wire
from tests.sweep.runner import Runner, Scenario
from tests.sweep.violations import Kind

SCENARIOS: tuple[Scenario, ...] = (
    kills.SCENARIO,
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
    is_quick = asked.minutes == 0
    seed = (
        asked.seed
        if asked.seed is not None
        else QUICK_SEED
        if is_quick
        else secrets.randbelow(10**6)
    )
    root = Path(tempfile.mkdtemp(prefix="ralph-sweep-"))
    runner = Runner(seed=seed, root=root, report=_report)
    print(f"sweep with seed {seed}, in {root}", flush=True)
    chosen = [scenario for scenario in SCENARIOS if asked.only in {"", scenario.name}]
    name, _, number = asked.only.partition(":")
    if number:
        one = next(scenario for scenario in SCENARIOS if scenario.name == name)
        runner.run_case(one, int(number))
    elif is_quick:
        runner.run_quick(chosen)
    else:
        runner.run_for(chosen, asked.minutes * 60)
    return _show(runner)


def _report(text: str) -> None:
    print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0, help="0: the quick form")
    parser.add_argument("--seed", type=int, help="of an earlier sweep, to repeat it")
    parser.add_argument("--only", default="", metavar="NAME[:NUMBER]", help="one scenario, or case")
    return parser


def _show(runner: Runner) -> int:
    """Print the figures, and every failure once more."""
    total: Counter[str] = Counter()
    print(f"\n{'scenario':<14}{'cases':>7}{'minutes':>9}{'failed':>8}  figures")
    for name, tally in runner.tallies.items():
        total += tally.counts
        shown = [*sorted(tally.counts.items()), *sorted(tally.largest.items())]
        figures = ", ".join(f"{n} {what}" for what, n in shown)
        minutes = f"{tally.seconds / 60:.1f}"
        print(f"{name:<14}{tally.cases:>7}{minutes:>9}{len(tally.failures):>8}  {figures}")
    failures = [failure for tally in runner.tallies.values() for failure in tally.failures]
    kinds = Counter(failure.kind for failure in failures)
    print(
        f"\n{total['kills']} kills, {total['messages']} messages, {total['attacks']} attacks: "
        + ", ".join(f"{kinds[kind]} {kind.value}" for kind in Kind)
    )
    for failure in failures:
        print(failure.lines())
    if not failures:
        shutil.rmtree(runner.root)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
