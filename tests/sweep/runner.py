"""Runner: cases in a scratch home each, seeded by number, counted, and kept where they fail.

A case depends on the seed and its own number alone, so any of them can be repeated by itself.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from tests.conftest import FOREIGN_NAMES, FOREIGN_PREFIXES, GIT_CONFIG
from tests.sweep.processes import Watcher
from tests.sweep.violations import Kind, Violation

LONGEST_CASE = 600.0
"""Seconds after which a case has failed, whatever it waits for."""


@dataclass(kw_only=True)
class Case:
    """One attempt to break something, with its own scratch home."""

    scenario: str
    number: int
    seed: int
    folder: Path
    watcher: Watcher
    counts: Counter[str] = field(default_factory=Counter)
    largest: dict[str, int] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.scenario}/{self.number}")

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] += n

    def measure(self, what: str, value: int) -> None:
        """A figure of which the table shows the largest."""
        self.largest[what] = max(self.largest.get(what, 0), value)

    def note(self, text: str) -> None:
        """Write a line into the trace that is kept with a failing case."""
        seconds = time.monotonic() - self.started
        with (self.folder / "trace.txt").open("a", encoding="utf-8") as file:
            file.write(f"{seconds:8.3f} {text}\n")

    @property
    def name(self) -> str:
        return f"{self.scenario}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A family of cases."""

    name: str
    run: Callable[[Case], None]
    quick: Sequence[int]
    """The numbers of the cases of the quick form."""
    share: float
    """Of the time of a full run, relative to the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A case that failed, and how to repeat it."""

    case: str
    kind: Kind
    text: str
    folder: str
    seed: int

    def lines(self) -> str:
        return (
            f"FAILED {self.case} ({self.kind.value}): {self.text}\n"
            f"    kept in {self.folder}\n"
            f"    make sweep ONLY={self.case} SEED={self.seed}"
        )


@dataclass(kw_only=True)
class Tally:
    """The figures of one scenario."""

    cases: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    largest: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        failures = [{**asdict(one), "kind": one.kind.value} for one in self.failures]
        return {**vars(self), "failures": failures}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tally:
        failures = [Failure(**{**one, "kind": Kind(one["kind"])}) for one in data["failures"]]
        return cls(**{**data, "counts": Counter(data["counts"]), "failures": failures})


def merged(one: Tally, other: Tally) -> Tally:
    """The figures of both."""
    names = {*one.largest, *other.largest}
    return Tally(
        cases=one.cases + other.cases,
        seconds=one.seconds + other.seconds,
        counts=one.counts + other.counts,
        largest={name: max(one.largest.get(name, 0), other.largest.get(name, 0)) for name in names},
        failures=[*one.failures, *other.failures],
    )


Report = Callable[[str], None]


@dataclass(kw_only=True)
class Runner:
    """Runs cases one after the other."""

    seed: int
    root: Path
    """Scratch folder; a failing case's folder below it is kept."""
    report: Report
    part: int = 0
    parts: int = 1
    """This is one of so many runners, each of which does every so many-th case."""
    watcher: Watcher = field(default_factory=Watcher)
    tallies: dict[str, Tally] = field(default_factory=dict)

    def run_quick(self, scenarios: Sequence[Scenario]) -> None:
        cases = [(scenario, number) for scenario in scenarios for number in scenario.quick]
        for scenario, number in cases[self.part :: self.parts]:
            self.run_case(scenario, number)

    def run_for(self, scenarios: Sequence[Scenario], seconds: float) -> None:
        """Run until the time is over; the scenario with the least of its share is next."""
        until = time.monotonic() + seconds
        numbers = {scenario.name: count(self.part, self.parts) for scenario in scenarios}
        while time.monotonic() < until:
            following = min(scenarios, key=self._used)
            self.run_case(following, next(numbers[following.name]))

    def run_case(self, scenario: Scenario, number: int) -> None:
        tally = self.tallies.setdefault(scenario.name, Tally())
        folder = self.root / f"{scenario.name}-{number}"
        folder.mkdir(parents=True)
        case = Case(
            scenario=scenario.name,
            number=number,
            seed=self.seed,
            folder=folder,
            watcher=self.watcher,
        )
        with _home(folder):
            failure = self._try(scenario, case)
        tally.cases += 1
        tally.counts += case.counts
        for what, value in case.largest.items():
            tally.largest[what] = max(tally.largest.get(what, 0), value)
        tally.seconds += time.monotonic() - case.started
        if failure is None:
            _remove(folder)
        else:
            tally.failures.append(failure)
            self.report(failure.lines())

    def _try(self, scenario: Scenario, case: Case) -> Failure | None:
        self.watcher.begin()
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_CASE)
        try:
            scenario.run(case)
            self.watcher.expect_nothing_left()
        except Violation as violation:
            kind, text = violation.kind, str(violation)
            case.note(traceback.format_exc())
        except Exception as error:  # noqa: BLE001 - whatever breaks a case is a finding
            kind, text = Kind.WRONG, f"{type(error).__name__}: {error}"
            case.note(traceback.format_exc())
        else:
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.watcher.end_all()
        return Failure(
            case=case.name, kind=kind, text=text[:2000], folder=str(case.folder), seed=self.seed
        )

    def _used(self, scenario: Scenario) -> float:
        """How much of its share of the time it has had."""
        return self.tallies.get(scenario.name, Tally()).seconds / scenario.share


def _too_long(number: int, frame: object) -> NoReturn:
    raise Violation(Kind.DEAF, f"the case did not end in {LONGEST_CASE:g} s")


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """An empty home, state folder and git configuration, as each test has them."""
    before = dict(os.environ)
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    for name in before:
        if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN_NAMES:
            del os.environ[name]
    os.environ.update(environment_of(folder))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def environment_of(folder: Path) -> Mapping[str, str]:
    home = folder / "home"
    return {
        "HOME": str(home),
        "RALPH_STATE_DIR": str(folder / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "TERM": "dumb",
    }


def _remove(folder: Path) -> None:
    """Remove a case's folder, whatever an agent has done to its permissions."""

    def unlock(function: Callable[..., object], path: str, error: object) -> None:
        Path(path).parent.chmod(0o700)
        Path(path).chmod(0o700)
        function(path)

    shutil.rmtree(folder, onerror=unlock)


def read_descriptions(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Name and description of everything hostile that a folder of TOML files describes."""
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(folder.glob("*.toml")):
        found += tomllib.loads(path.read_text(encoding="utf-8")).items()
    return found
