"""Fuzz of everything that is read from files: journals, commands, settings and plans.

Most of it is read in this process, where thousands a second are possible; the rest by a real
``ralph``, that has to answer without a traceback.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.plan.formats.dispatch import check_plan, parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.run.inbox import collect_commands
from ralph_ls.store.run.journal import JournalReader
from tests.engine.project_builder import ROOT, make_repository, write_agent
from tests.histories import profiles
from tests.sweep import invariants
from tests.sweep.engines import Engine, ralph
from tests.sweep.mutations import encoded, mutate_bytes, mutate_json, mutate_text
from tests.sweep.processes import wait_until
from tests.sweep.runner import Case, Scenario
from tests.sweep.violations import Kind, Violation, require

TESTS = ROOT / "tests"
SLOWEST = 20.0
"""Seconds that one input may take to be read, on a busy machine."""
INPUTS = 400
STOP_SECONDS = 30.0

CONFIG = """\
profile = "fixplan"
agent = "mine"
max_iterations = 7
timeout = "30m"
fallback = ["claude", "codex"]
on_question = ["notify", "-x"]
optional_sections = ["Later"]
[agents.mine]
argv = ["./agent.sh", "{prompt}"]
prompt = "argument"
[breaker]
no_progress_open = 4
[attempts]
limit = 3
counts = "not-done"
[progress]
evidence = ["commits", "tasks"]
[paths]
plan = "docs/plan.md"
[prices]
"claude-*" = { input = 3.0, output = 15.0 }
"""


def run(case: Case) -> None:
    """One family of inputs; the number says which."""
    families = [_plans, _journals, _settings, _commands, _live_inbox, _damaged_state]
    families[case.number % len(families)](case)


# --------------------------------------------------------------------------------- in this process


def _plans(case: Case) -> None:
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((TESTS / "data/plans").glob("*.md"))
    ]
    texts += [profiles.STORIES_FILE, profiles.TWO_TASKS, profiles.REQUEST]
    for _ in range(INPUTS):
        text = mutate_text(case.rng.choice(texts), case.rng)
        for kind in PlanKind:
            _try(case, text.encode("utf-8", "surrogatepass"), partial(_read_plan, text, kind))


def _read_plan(text: str, kind: PlanKind) -> None:
    parsed = parse_plan(text, kind, optional_sections=("Later",))
    check_plan(parsed, text, kind)
    again = parse_plan(text, kind, optional_sections=("Later",))
    titles = [task.title for task in parsed.plan.tasks]
    assert titles == [task.title for task in again.plan.tasks]


def _journals(case: Case) -> None:
    names = sorted((TESTS / "histories").glob("*.jsonl"))
    for _ in range(INPUTS // 4):
        lines = case.rng.choice(names).read_bytes().splitlines()
        data = b"\n".join(_mutated_lines(case, lines)) + b"\n"
        _try(case, data, partial(_fold, data))


def _fold(data: bytes) -> None:
    reader, state = JournalReader(), RunState()
    for start in range(0, len(data), 997):
        state = fold(reader.feed(data[start : start + 997]), state)


def _mutated_lines(case: Case, lines: Sequence[bytes]) -> list[bytes]:
    """Lines of a journal of which some were changed, lost, doubled or moved."""
    rng, changed = case.rng, list(lines)
    for _ in range(rng.choice([1, 3, 10])):
        index = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                del changed[index : index + rng.choice([1, 5])]
            case 1:
                changed.insert(rng.randrange(len(changed) + 1), changed[index])
            case 2:
                changed[index] = mutate_bytes(changed[index], rng)
            case _:
                changed[index] = _mutated_line(changed[index], case)
        changed = changed or [b""]
    return changed


def _mutated_line(line: bytes, case: Case) -> bytes:
    try:
        return encoded(mutate_json(json.loads(line), case.rng))
    except ValueError:
        return line


def _settings(case: Case) -> None:
    repository = make_repository(case.folder / "repository")
    path = repository / ".ralph" / "config.toml"
    path.parent.mkdir()
    for number in range(INPUTS):
        data = mutate_text(CONFIG, case.rng).encode("utf-8", "surrogatepass")
        if number % 3 == 0:
            data = mutate_bytes(data, case.rng)
        path.write_bytes(data)
        _try(case, data, lambda: load_settings(repository, environment={}, overrides={}))


def _commands(case: Case) -> None:
    inbox = case.folder / "inbox"
    inbox.mkdir()
    for _ in range(INPUTS // 10):
        for number in range(10):
            (inbox / f"{number}.json").write_bytes(_command(case))
        _try(case, b"", lambda: collect_commands(inbox))


def _command(case: Case) -> bytes:
    path = case.rng.choice(sorted((TESTS / "golden/commands").glob("*.json")))
    document = json.loads(path.read_bytes())
    data = encoded(mutate_json(document, case.rng))
    return mutate_bytes(data, case.rng) if case.rng.random() < 0.2 else data


def _try(case: Case, data: bytes, read: Callable[[], Any]) -> None:
    started = time.monotonic()
    case.count("texts")
    try:
        read()
    except RalphError:
        pass
    except Exception as error:
        (case.folder / "input").write_bytes(data)
        raise Violation(Kind.WRONG, f"{type(error).__name__}: {error}"[:500]) from error
    taken = time.monotonic() - started
    if taken > SLOWEST:
        (case.folder / "input").write_bytes(data)
        raise Violation(Kind.DEAF, f"one input took {taken:.1f} s")


# ----------------------------------------------------------------------------- by a real program


def _live_inbox(case: Case) -> None:
    """Commands that nobody could have sent reach a living engine, which stays reachable."""
    repository = make_repository(case.folder / "repository")
    agent = write_agent(case.folder / "bin", "cat >/dev/null; exec sleep 100")
    engine = Engine(case, repository, "run", "1", "--agent-command", agent)
    inbox = _inbox_of(repository, engine)
    for number in range(60):
        temporary = inbox / f".{number}"
        temporary.write_bytes(_command(case))
        temporary.replace(inbox / f"{number}.json")
        case.count("texts")
    ralph(case, repository, "stop", "--now", seconds=STOP_SECONDS)
    ended = engine.wait(STOP_SECONDS)
    for journal in invariants.journals():
        invariants.journal_is_contiguous(journal)
    invariants.exit_code_is_true(invariants.newest_events(), ended.code)


def _inbox_of(repository: Path, engine: Engine) -> Path:
    wait_until(lambda: len(invariants.newest_events()) > 3 or not engine.is_alive, seconds=30)
    require(engine.is_alive, Kind.WRONG, f"the engine has ended: {engine.text}")
    inbox = invariants.journals()[-1].parents[2] / "inbox"
    inbox.mkdir(exist_ok=True)
    return inbox


def _damaged_state(case: Case) -> None:
    """Verbs that read a run, on journals and snapshots that are damaged."""
    repository = make_repository(case.folder / "repository")
    agent = write_agent(case.folder / "bin", "cat >/dev/null; echo x >>work; echo done")
    ralph(case, repository, "run", "2", "--agent-command", agent)
    journal = invariants.journals()[-1]
    whole, snapshot = journal.read_bytes(), journal.with_name("state.json").read_bytes()
    for _ in range(6):
        journal.write_bytes(b"\n".join(_mutated_lines(case, whole.splitlines())) + b"\n")
        if case.rng.random() < 0.5:
            journal.with_name("state.json").write_bytes(mutate_bytes(snapshot, case.rng))
        for words in (["status"], ["stats"], ["export"], ["watch"], ["run", "--resume"], ["read"]):
            given = [*words, "--agent-command", agent] if "run" in words else words
            ralph(case, repository, *given, seconds=30)
            case.count("texts")
        journal.write_bytes(whole)


SCENARIO = Scenario(name="texts", run=run, quick=range(6), share=1.0)
