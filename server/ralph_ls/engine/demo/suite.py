"""Running the sample project's own tests, and reading what came out.

Used by the agent and by those who judge its work. It must never know which tests there are.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.store.external.supervisor import run
from ralph_ls.store.own_python import own_command

TIMEOUT_SECONDS = 60.0

_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_FAILING = re.compile(r"^(?:FAIL|ERROR): (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What one run of the suite showed."""

    passed: bool
    """True only if at least one test ran and none failed."""
    n_tests: int
    failing: tuple[str, ...]
    """Names of the failing tests in the suite's order, each once; a name such as ``test_sum``."""
    output: str
    """What the suite printed, for people."""


def run_suite(folder: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> SuiteResult:
    """Run ``python -m unittest`` in ``folder`` and read the result; writes no file there.

    A suite that cannot be started or takes too long is a result which did not pass. No byte code is
    written: a source file that changes twice within a second must never be taken for the one that
    was compiled before.
    """
    try:
        finished = run(
            own_command("-B", "-X", "utf8", "-m", "unittest", "discover"),
            cwd=folder,
            environment=_clean_environment(os.environ),
            seconds=timeout_seconds,
        )
    except subprocess.TimeoutExpired:
        return _no_result(f"The tests took longer than {timeout_seconds:g} s and were ended")
    except OSError as error:
        return _no_result(f"The tests could not be started: {error}")
    printed = finished.stdout + finished.stderr
    return _read(finished.code, printed.decode("utf-8", "replace"))


def _clean_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what would lead Python or git astray."""
    return {
        name: value for name, value in caller.items() if not name.startswith(("PYTHON", "GIT_"))
    }


def _read(exit_code: int, output: str) -> SuiteResult:
    ran = _RAN.search(output)
    n_tests = int(ran.group(1)) if ran else 0
    return SuiteResult(
        passed=exit_code == 0 and n_tests > 0,
        n_tests=n_tests,
        failing=tuple(dict.fromkeys(_FAILING.findall(output))),
        output=output,
    )


def _no_result(reason: str) -> SuiteResult:
    return SuiteResult(passed=False, n_tests=0, failing=(), output=reason)
