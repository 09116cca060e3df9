"""What a benchmark hands back, and the small things that all of them need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the report."""

    name: str
    figure: str
    """What was measured, with its unit."""
    ratio: str
    """Against what it is held, measured in the same run."""
    target: str


def environment() -> dict[str, str]:
    """This process's environment, in which the package and these benchmarks can be imported."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)])}


def resident(pid: int, *, peak: bool = False) -> int:
    """Bytes of memory of a process, now or at most so far; 0 where it has ended."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)" if peak else r"VmRSS:\s+(\d+)", status)
    return 0 if found is None else int(found[1]) * 1024


def start_module(module: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Run one of these modules in a separate process, reachable over its stdin and stdout."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    )
