"""Made-up runs: journals of weeks of work in several repositories, for dashboards and benchmarks.

The journals hold events as the engine writes them and are read by the real readers. One seed gives
the same runs on every machine.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunStarted,
    Validated,
    dump_event,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    BreakerState,
    CommitSeen,
    EndReason,
    Evidence,
    Outcome,
    Phase,
    PlanCountsView,
    TaskRef,
)
from ralph_ls.store.layout import StateFolder, find_worktree, state_folder
from ralph_ls.store.run.state_index import record_worktree

TITLES = (
    "Round half a cent up",
    "Retry the payment webhook with back-off",
    "Import customers from CSV, with a report of the rows that failed",
    "Paginate the order list",
    "Refresh tokens before they expire",
    "Move sessions to the database",
    "Show the tax of each line on the invoice",
    "Lock a basket while it is paid",
    "Delete a customer with all that is stored of them",
    "Search orders by customer and date",
    "Send the receipt again on request",
    "Archive orders after seven years",
)

AGENTS = (
    ("claude", "claude-sonnet-4-5", 200_000),
    ("codex", "gpt-5-codex", 272_000),
    ("gemini", None, None),
)
"""Agent, model, and the size of its context window; the last one reports no cost."""


@dataclass
class _Journal:
    run: str
    at: datetime
    lines: list[bytes] = field(default_factory=list)

    def add(self, kind: type[EventBase], after: float = 0.0, **fields: Any) -> None:
        self.at += timedelta(seconds=after)
        event = kind.model_validate(
            {"seq": len(self.lines) + 1, "at": self.at, "run": self.run, **fields}
        )
        self.lines.append(dump_event(event) + b"\n")


def write_runs(
    state_root: Path,
    root: Path,
    *,
    runs: int,
    iterations: int,
    until: datetime,
    seed: int = 1,
) -> StateFolder:
    """A new repository at ``root`` with so many runs, each of so many iterations on average."""
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    worktree = find_worktree(root)
    state = state_folder(state_root, worktree)
    chance = random.Random(seed)
    for at in _starts(until, runs, chance):
        run = f"{at:%Y%m%dT%H%M%SZ}-{chance.randrange(1 << 16):04x}"
        count = max(1, round(iterations * chance.uniform(0.3, 1.7))) if runs > 1 else iterations
        folder = state.run(run).folder
        folder.mkdir(parents=True, exist_ok=True)
        lines = _journal(run, root, at, count, chance, is_last=at + timedelta(hours=6) > until)
        (folder / "journal.jsonl").write_bytes(b"".join(lines))
    record_worktree(state, worktree)
    return state


def _starts(until: datetime, runs: int, chance: random.Random) -> Iterator[datetime]:
    """Times over three weeks, the last one shortly before the end."""
    step = timedelta(days=21) / max(1, runs)
    for index in range(runs):
        jitter = timedelta(minutes=chance.uniform(-90, 90)) if index < runs - 1 else timedelta(0)
        at = until - timedelta(hours=4) - step * (runs - 1 - index) + jitter
        yield at.replace(microsecond=0, tzinfo=UTC)


def _journal(
    run: str, root: Path, at: datetime, count: int, chance: random.Random, *, is_last: bool
) -> list[bytes]:
    journal = _Journal(run=run, at=at)
    agent, model, window = chance.choices(AGENTS, (6, 3, 1))[0]
    total = len(TITLES)
    done, task, opens = 0, chance.randrange(total), 0
    counts = PlanCountsView(total=total, open_required=total, required=total)
    config = Config(agent=agent, max_iterations=max(20, count))
    journal.add(
        RunStarted,
        version="0.1.0",
        pid=4711,
        workspace=str(root),
        state_dir=str(root),
        branch="main",
        plan="@fix_plan.md",
        config=config,
        counts=counts,
    )
    barren = 0
    for number in range(1, count + 1):
        ref = TaskRef(id=f"{task:08x}", title=TITLES[task])
        hard = task in {2, 8}
        progress = chance.random() > (0.55 if hard else 0.12)
        finishes = progress and chance.random() > (0.75 if hard else 0.3)
        passes = chance.random() > (0.35 if hard else 0.07)
        barren = 0 if progress else barren + 1
        breaker = (
            BreakerState.OPEN
            if barren >= 3
            else BreakerState.HALF_OPEN
            if barren == 2
            else BreakerState.CLOSED
        )
        opens += barren == 3
        seconds = chance.lognormvariate(5.2, 0.7)
        of_it = {"iteration": number, "start": number}
        journal.add(
            IterationStarted, 2, **of_it, task=ref, counts=counts, baseline=Baseline(head="a" * 40)
        )
        journal.add(PhaseChanged, 0, phase=Phase.RUNNING)
        journal.add(
            AgentStarted,
            1,
            **of_it,
            agent=agent,
            argv=(agent,),
            pid=4712,
            process_start_time=journal.at.timestamp(),
            model=model,
        )
        journal.add(AgentExited, seconds, **of_it, exit_code=0, seconds=seconds)
        files = chance.randrange(1, 14) if progress else 0
        done += finishes
        evidence = Evidence(
            files=files,
            paths=tuple(f"src/part_{task}_{index}.py" for index in range(files)),
            commits=(CommitSeen(hash=f"{number:040x}", subject=ref.title),) if progress else (),
            tasks_done=(ref.id,) if finishes else (),
            progress=progress,
            why=f"1 commit, {files} files" if progress else "nothing changed",
        )
        journal.add(EvidenceGathered, 1, **of_it, evidence=evidence)
        journal.add(Validated, 12, **of_it, ok=passes, exit_code=0 if passes else 1, seconds=12.0)
        usage = Usage(
            input_tokens=round(seconds * 620),
            output_tokens=round(seconds * 34),
            cached_tokens=round(seconds * 480),
            cost_usd=None if model is None else round(seconds * 0.0021, 4),
            estimated=agent == "codex" or None,
            turns=round(seconds / 9) + 1,
            context_tokens=None if window is None else round(window * chance.uniform(0.12, 0.78)),
            context_window=window,
        )
        counts = PlanCountsView(
            total=total,
            done=min(done, total),
            open_required=max(0, total - done),
            required=total,
            required_done=min(done, total),
        )
        errors = () if passes else (f"AssertionError: part {task} of the total is off by one",)
        journal.add(
            IterationEnded,
            0.2,
            **of_it,
            outcome=Outcome.PROGRESS if progress else Outcome.NO_PROGRESS,
            seconds=round(seconds + 16, 3),
            commit=f"{number:040x}" if progress else None,
            breaker=Breaker(state=breaker, total_opens=opens, consecutive_no_progress=barren),
            counts=counts,
            usage=usage,
            errors=errors,
        )
        if barren >= 3:
            break
        if chance.random() < 0.06:
            journal.add(QuestionAnswered, 90, question="Which one?", answer="The first", by="you")
        if finishes:
            task = (task + chance.randrange(1, 3)) % total
    _end(journal, at, barren, chance, is_last=is_last)
    return journal.lines


def _end(
    journal: _Journal, at: datetime, barren: int, chance: random.Random, *, is_last: bool
) -> None:
    if is_last:
        journal.add(
            QuestionAsked,
            0.5,
            question="Which rounding do invoices use: half up or half even?",
            path=".ralph/decide.txt",
            asked_at=journal.at,
        )
        journal.add(PhaseChanged, 1, phase=Phase.PARKED, reason="decide")
        return
    whole = (journal.at - at).total_seconds()
    if barren >= 3:
        reason, code, message = EndReason.STUCK, 3, "3 iterations without progress"
    elif chance.random() < 0.55:
        reason, code, message = EndReason.COMPLETE, 0, "all tasks are done"
    else:
        reason, code, message = EndReason.LIMIT, 2, "the limit of iterations is reached"
    journal.add(
        RunEnded, 1, reason=reason, exit_code=code, message=message, seconds=round(whole, 3)
    )
