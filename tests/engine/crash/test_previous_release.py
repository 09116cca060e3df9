"""Runs of the release before: shown, watched, exported, resumed and rolled back by this one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

from ralph_ls.protocol.errors import WorkspaceBusy
from ralph_ls.protocol.version import SCHEMA_VERSION
from ralph_ls.store.run.lock import EARLIER_LOCK, EngineLock
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Ralph, told, warnings
from tests.previous_release.layout import NAMES, RECORDED, Before, lay_out


@pytest.fixture(params=NAMES)
def before(request: pytest.FixtureRequest, tmp_path: Path, ralph: Ralph) -> Before:
    return lay_out(request.param, tmp_path, ralph)


@pytest.fixture
def limit(tmp_path: Path, ralph: Ralph) -> Before:
    return lay_out("limit", tmp_path, ralph)


def test_they_have_one_number_for_start_and_iteration() -> None:
    for name in NAMES:
        (journal,) = (RECORDED / name / "state" / "runs").glob("*/journal.jsonl")
        started = [line for line in journal.read_text().splitlines() if "iterationStarted" in line]
        assert started
        assert not any("start" in json.loads(line) for line in started)


@pytest.mark.slow
def test_viewers_show_them(before: Before) -> None:
    for words in (["status"], ["status", "--json"], ["export", "--json"], ["stats"], ["doctor"]):
        shown = before(*words)
        assert shown.exit_code in {0, 1} if words == ["doctor"] else shown.exit_code == 0
        assert "Traceback" not in shown.stderr
        assert "schema" not in shown.stderr
    state = json.loads(before("status", "--json").stdout)
    assert before.run.name in json.dumps(state)
    assert before.lines()[0]["v"] == SCHEMA_VERSION


@pytest.mark.slow
def test_watching_ends_where_the_run_did(limit: Before) -> None:
    watched = limit("watch")
    assert watched.exit_code == 0
    assert "2 of 2 iterations" in watched.stdout


@pytest.mark.slow
def test_they_continue_with_the_numbers_that_follow(before: Before) -> None:
    n_lines = len(before.lines())
    if before.run.parent.parent.joinpath("inbox").is_dir() and "decide" in str(before.run):
        assert before("answer", "red").exit_code == 0
    words = ["run", "--resume", "--take-all", "--max-iterations", "4"]
    done = before(*words, "--agent-command", str(before.root.parent / "agent.sh"))
    assert done.exit_code in {1, 3}, done.stderr
    lines = before.lines()
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[n_lines]["kind"] == "runResumed"
    starts = [event.start for event in told(done, "iterationStarted")]
    assert starts == list(range(1, len(starts) + 1))


@pytest.mark.slow
def test_their_iterations_are_rolled_back(limit: Before) -> None:
    head = git(limit.root, "rev-parse", "HEAD~1").strip()
    done = limit("rollback", "1", "--yes")
    assert done.exit_code == 0, done.stderr
    assert git(limit.root, "rev-parse", "HEAD").strip() == head


@pytest.mark.slow
def test_a_run_of_a_newer_version_is_refused_and_named(limit: Before) -> None:
    text = limit.journal.read_text(encoding="utf-8")
    newer = text.replace(f'"v":{SCHEMA_VERSION},', f'"v":{SCHEMA_VERSION + 1},')
    assert newer != text
    limit.journal.write_text(newer, encoding="utf-8")
    refused = limit("run", "--resume", "--max-iterations", "4")
    assert refused.exit_code == 5
    assert f"in version {SCHEMA_VERSION + 1} of its schema" in refused.stderr
    assert limit.journal.read_text(encoding="utf-8") == newer
    status = limit("status")
    assert status.exit_code == 0
    assert "written by a newer ralph" in status.stderr
    checks = json.loads(limit("doctor", "--json").stdout)["checks"]
    assert [one["status"] for one in checks if one["code"] == "run-version"] == ["problem"]


def test_an_engine_of_the_release_before_keeps_this_one_out(tmp_path: Path) -> None:
    with FileLock(tmp_path / EARLIER_LOCK), pytest.raises(WorkspaceBusy):
        EngineLock(tmp_path).acquire()


def test_this_engine_keeps_one_of_the_release_before_out(tmp_path: Path) -> None:
    with EngineLock(tmp_path):
        other = FileLock(tmp_path / EARLIER_LOCK)
        assert not _can_take(other)
    assert _can_take(other)


def _can_take(lock: FileLock) -> bool:
    from filelock import Timeout

    try:
        with lock.acquire(timeout=0):
            return True
    except Timeout:
        return False


KEPT = """
profile = "fixplan"
max_iterations = 1
"""


@pytest.mark.slow
def test_a_run_that_continues_keeps_its_settings(limit: Before) -> None:
    agent = str(limit.root.parent / "agent.sh")
    config = limit.root / ".ralph" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(KEPT, encoding="utf-8")
    assert limit("run", "--agent-command", agent).exit_code == 1
    config.write_text(KEPT.replace("1", "9"), encoding="utf-8")
    done = limit("run", "--resume")
    assert done.exit_code == 1
    assert len(told(done, "iterationStarted")) == 1
    assert "settings-kept" in warnings(done)
    raised = limit("run", "--resume", "--max-iterations", "2")
    assert raised.exit_code == 1
    assert len(told(raised, "iterationStarted")) == 2
