"""From the end of one agent to the start of the next: ``ralph run`` against a bare bash loop.

The agent is a bash script that appends a line to a file and notes when it began and ended, so the
same two clocks are read around either loop. What git costs is taken from the journal: from the
agent's exit to the evidence, which is all that the engine asks of git between two agents.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure, environment

N_ITERATIONS = 40

AGENT = """\
#!/usr/bin/env bash
began=$EPOCHREALTIME
echo again >> {work}
echo "$began $EPOCHREALTIME" >> {times}
"""

GIT_CONFIG = """\
[user]
    name = Ada Example
    email = ada@example.com
[commit]
    gpgSign = false
"""


def measure() -> Iterator[Figure]:
    """Medians in milliseconds of the gaps, and what they are of those of bash."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
        bash = statistics.median(_bash_gaps(home))
        gaps, git_parts = _ralph_gaps(home)
        whole = statistics.median(gaps)
        without_git = statistics.median(
            gap - git_part for gap, git_part in zip(gaps, git_parts, strict=True)
        )
    yield Figure(
        name="overhead: with git",
        figure=f"{whole:.1f} ms (median of {len(gaps)})",
        ratio=f"{whole / bash:.1f} x bash ({bash:.1f} ms)",
        target="none",
    )
    yield Figure(
        name="overhead: git not counted",
        figure=f"{without_git:.1f} ms (median of {len(gaps)})",
        ratio=f"{without_git / bash:.1f} x bash ({bash:.1f} ms)",
        target="<= 10 ms, <= 2.5 x bash",
    )


def _bash_gaps(home: Path) -> list[float]:
    project, agent, times = _project(home, "bare")
    loop = f'for ((i = 0; i < {N_ITERATIONS}; i++)); do "{agent}" < @fix_plan.md; done'
    subprocess.run(["bash", "-c", loop], cwd=project, check=True, env=environment())
    return _gaps(times)


def _ralph_gaps(home: Path) -> tuple[list[float], list[float]]:
    """Each gap, and the part of it in which git was asked, in milliseconds."""
    project, agent, times = _project(home, "ours")
    command = [sys.executable, "-m", "ralph_ls", "run", str(N_ITERATIONS), "--json"]
    own_places = {
        "HOME": str(home),
        "RALPH_STATE_DIR": str(home / "state"),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    run = subprocess.run(
        [*command, "--agent-command", str(agent)],
        cwd=project,
        check=False,
        capture_output=True,
        text=True,
        env={**environment(), **own_places},
    )
    events = [json.loads(line) for line in run.stdout.splitlines()]
    # 1: all iterations were used up, as they should be.
    if run.returncode != 1 or not events:
        raise RuntimeError(f"ralph run ended with {run.returncode}: {run.stderr[-2000:]}")
    return _gaps(times), _git_parts(events)[:-1]


def _git_parts(events: list[dict[str, Any]]) -> list[float]:
    def moments(kind: str) -> list[datetime]:
        return [datetime.fromisoformat(event["at"]) for event in events if event["kind"] == kind]

    pairs = zip(moments("agentExited"), moments("evidenceGathered"), strict=True)
    return [(seen - exited).total_seconds() * 1000 for exited, seen in pairs]


def _gaps(times: Path) -> list[float]:
    """From each end to the next beginning, in milliseconds."""
    rows = [line.split() for line in times.read_text(encoding="utf-8").splitlines()]
    if len(rows) != N_ITERATIONS:
        raise RuntimeError(f"the agent ran {len(rows)} times instead of {N_ITERATIONS}")
    return [
        (float(following[0]) - float(row[1])) * 1000 for row, following in itertools.pairwise(rows)
    ]


def _project(home: Path, name: str) -> tuple[Path, Path, Path]:
    """A repository with an open plan, the agent, and the file in which it notes its times."""
    project, agent, times = home / name, home / f"{name}-agent.sh", home / f"{name}-times"
    project.mkdir()
    agent.write_text(AGENT.format(work=project / "work.txt", times=times), encoding="utf-8")
    agent.chmod(0o755)
    tasks = "".join(f"- [ ] Task number {number}\n" for number in range(20))
    plan = f"# Fix plan\n\n## High Priority\n\n{tasks}"
    (project / "@fix_plan.md").write_text(plan, encoding="utf-8")
    (project / ".ralph").mkdir()
    # The agent does the same again and again, which would end the run.
    settings = "[progress]\nchurn = false\n[attempts]\nunfinished = 0\n"
    (project / ".ralph" / "config.toml").write_text(settings, encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *arguments],
            cwd=project,
            check=True,
        )
    return project, agent, times
