"""Changes the rules in every small way that there is, and lists the changes that no test minds.

Branch coverage shows what the tests run, not what they look at; a change that no test minds is a
missing test, or no change at all. It all happens in a scratch copy, so nothing is left in the
tree, and the tests of one file are tried against that file alone. ``explained.toml`` says of each
survivor that may live why it may; any other one makes this end with 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).with_name("explained.toml")

SOURCE = "src"
"""What the copy's folder of packages is called: mutmut derives the names of modules from it."""

TESTS: Mapping[str, Sequence[str]] = {
    "core/loop/rules/breaker.py": ("tests/unit/core/loop/rules/test_breaker*.py",),
    "core/loop/rules/gate.py": ("tests/unit/core/loop/rules/test_gate*.py",),
    "core/agent/signals/status_block.py": (
        "tests/unit/core/agent/signals/test_status_block*.py",
        "tests/unit/core/agent/signals/test_output_parser*.py",
        "tests/unit/core/agent/signals/test_misplaced_signals*.py",
    ),
    "core/agent/signals/block_fields.py": (
        "tests/unit/core/agent/signals/test_block_fields*.py",
        "tests/unit/core/agent/signals/test_status_block*.py",
    ),
}
"""Each file below ``ralph_ls`` that is changed, and the tests that have to mind."""

SETTINGS = """
[tool.mutmut]
source_paths = ["{source}/"]
only_mutate = {files}
also_copy = ["tests", "pyproject.toml"]
pytest_add_cli_args = ["-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow"]
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
track_dependencies = false
"""

NO_TESTS = "no tests"
"""The fate of what no test reaches, in mutmut's words."""

EXAMPLES = """

from hypothesis import HealthCheck

settings.register_profile(
    "mutants", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("mutants")
"""
"""For the copy's conftest: each mutant gets the same examples, in a process with several runs."""

ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """One change that no test minded."""

    name: str
    fate: str
    """``survived``, ``no tests`` or whatever else it came to."""
    taken: tuple[str, ...]
    """Lines of the code, without their indentation."""
    put: tuple[str, ...]
    """What was there instead."""

    @property
    def function(self) -> str:
        """``breaker._count``: the last module name, and the function or method."""
        module, _, mangled = self.name.partition("__mutmut_")[0].rpartition(".")
        plain = mangled.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        return f"{module.rpartition('.')[2]}.{plain}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as asked; 1 where a survivor is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"some of: {', '.join(TESTS)}")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="side by side")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.files) - set(TESTS):
        parser.error(f"there is nothing to change in {', '.join(sorted(unknown))}")
    files = asked.files or list(TESTS)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ralph-mutants-") as folder:
        survivors = [
            survivor
            for file in files
            for survivor in try_file(Path(folder) / Path(file).stem, file, asked.processes)
        ]
    unexplained = tell(survivors, files)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if unexplained else 0


def try_file(copy: Path, file: str, processes: int) -> list[Survivor]:
    """Try every change of one file in a separate copy; raises RuntimeError where that fails."""
    tests = [path.relative_to(ROOT).as_posix() for glob in TESTS[file] for path in ROOT.glob(glob)]
    lay_out(copy, file, sorted(tests))
    print(f"{file}: {', '.join(sorted(tests))}", flush=True)
    done = mutmut(copy, "run", "--max-children", str(processes))
    if done.returncode:
        raise RuntimeError(f"mutmut failed on {file}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    last = done.stdout.replace("\r", "\n").strip().splitlines()[-2:]
    print("  " + "; ".join(line.strip() for line in last), flush=True)
    fates = dict(
        line.strip().split(": ", 1)
        for line in mutmut(copy, "results").stdout.splitlines()
        if "__mutmut_" in line
    )
    with ThreadPoolExecutor(processes) as several:
        return list(several.map(lambda item: to_survivor(copy, *item), fates.items()))


def lay_out(copy: Path, file: str, tests: Sequence[str]) -> None:
    """Copy the package, the tests and the settings; only ``file`` is to be changed."""
    ignored = shutil.ignore_patterns("__pycache__", "e2e")
    shutil.copytree(ROOT / "server", copy / SOURCE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=ignored)
    with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(EXAMPLES)
    settings = SETTINGS.format(
        source=SOURCE, files=[f"{SOURCE}/ralph_ls/{file}"], tests=list(tests)
    )
    whole = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + settings
    (copy / "pyproject.toml").write_text(whole, encoding="utf-8")


def mutmut(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=copy,
        env={**os.environ, **ENVIRONMENT},
        check=False,
        capture_output=True,
        text=True,
    )


def to_survivor(copy: Path, name: str, fate: str) -> Survivor:
    """What the change was; where no test reaches the function, one change is like the other."""
    diff = (
        []
        if fate == NO_TESTS
        else [
            line
            for line in mutmut(copy, "show", name).stdout.splitlines()
            if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}
        ]
    )
    return Survivor(
        name=name,
        fate=fate,
        taken=tuple(line[1:].strip() for line in diff if line[0] == "-"),
        put=tuple(line[1:].strip() for line in diff if line[0] == "+"),
    )


def tell(survivors: Iterable[Survivor], files: Sequence[str]) -> list[Survivor]:
    """Print every survivor and every stale explanation; gives back those without one."""
    known = explanations()
    unexplained: list[Survivor] = []
    used: set[tuple[str, tuple[str, ...], tuple[str, ...]]] = set()
    for survivor in survivors:
        key = (survivor.function, survivor.taken, survivor.put)
        if key in used:
            continue
        used.add(key)
        print(f"\n{survivor.fate}: {survivor.function}")
        changed = [f"  - {line}" for line in survivor.taken]
        print("\n".join([*changed, *(f"  + {line}" for line in survivor.put)]))
        if key in known:
            print(f"  may live: {known[key]}")
        else:
            unexplained.append(survivor)
    tried = {Path(file).stem for file in files}
    for function, taken, _ in known.keys() - used:
        if function.partition(".")[0] in tried:
            print(f"\n{EXPLAINED.name} explains what no longer survives: {function}: {taken}")
    print(f"\nsurvivors: {len(used)}, without an explanation: {len(unexplained)}")
    return unexplained


def explanations() -> dict[tuple[str, tuple[str, ...], tuple[str, ...]], str]:
    """Why a change may live, by the function, the lines that it takes and the lines it puts."""
    tables = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    return {
        (row["function"], tuple(row["taken"]), tuple(row["put"])): row["why"]
        for row in tables.get("survivor", [])
    }


if __name__ == "__main__":
    raise SystemExit(main())
