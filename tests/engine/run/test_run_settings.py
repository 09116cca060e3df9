"""A run keeps its settings in full beside its journal, and a resumed run uses them."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.run.run_settings import (
    LARGEST,
    keep_settings,
    kept_settings,
    settings_on_resume,
)
from ralph_ls.protocol.config.config import Config, TimeoutsConfig
from ralph_ls.protocol.run.events import EventBase, RunResumed, RunStarted
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.run.journal import Journal
from tests.engine.ralph_runner import Project, told, warnings
from tests.unit.core.views.document_contexts import event

AGENT = "work; commit; report 'STATUS: IN_PROGRESS'"

CHOSEN = Config.model_validate({"max_iterations": 7, "max_confirmations": 3, "retry": {"tries": 2}})


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(folder=tmp_path)


def write_journal(files: RunFiles, *events: EventBase) -> None:
    journal = Journal(files.journal)
    journal.append(events)
    journal.close()


def started(digest: str | None) -> EventBase:
    fields: dict[str, Any] = {"version": "1", "pid": 1, "workspace": "/", "state_dir": "/"}
    return event(RunStarted, **fields, plan="", config=Config(), settings_digest=digest)


def resumed(digest: str | None) -> EventBase:
    return event(
        RunResumed, version="1", pid=1, by="ralph run", config=Config(), settings_digest=digest
    )


class TestKept:
    def test_they_are_read_as_they_were_written(self, files: RunFiles) -> None:
        write_journal(files, started(keep_settings(files, CHOSEN)))
        assert kept_settings(files) == CHOSEN

    def test_the_file_has_every_setting_for_its_owner_alone(self, files: RunFiles) -> None:
        digest = keep_settings(files, Config())
        data = files.settings.read_bytes()
        assert json.loads(data).keys() == Config.model_fields.keys()
        assert stat.S_IMODE(files.settings.stat().st_mode) == 0o600
        assert hashlib.blake2b(data, digest_size=16).hexdigest() == digest

    def test_the_newest_engine_counts(self, files: RunFiles) -> None:
        first = keep_settings(files, Config())
        write_journal(files, started(first), resumed(keep_settings(files, CHOSEN)))
        assert kept_settings(files) == CHOSEN

    def test_a_file_that_the_journal_does_not_name_is_not_used(self, files: RunFiles) -> None:
        first = keep_settings(files, Config())
        write_journal(files, started(first))
        keep_settings(files, CHOSEN)
        assert kept_settings(files) is None

    def test_a_run_of_an_earlier_version_has_none(self, files: RunFiles) -> None:
        assert kept_settings(files) is None
        write_journal(files, started(None))
        assert kept_settings(files) is None
        keep_settings(files, CHOSEN)
        assert kept_settings(files) is None

    def test_a_file_that_cannot_be_read_is_none(self, files: RunFiles) -> None:
        write_journal(files, started(keep_settings(files, CHOSEN)))
        files.settings.write_bytes(b" " * (LARGEST + 1))
        assert kept_settings(files) is None
        files.settings.unlink()
        assert kept_settings(files) is None
        files.settings.mkdir()
        assert kept_settings(files) is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"max_iterations": 7, "of_a_newer_version": 1}', Config(max_iterations=7)),
            ('{"max_iterations": "many"}', None),
            ("{", None),
        ],
    )
    def test_settings_of_another_version(
        self, files: RunFiles, text: str, expected: Config | None
    ) -> None:
        files.settings.write_text(text, encoding="utf-8")
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        write_journal(files, started(digest))
        assert kept_settings(files) == expected


def test_a_setting_that_is_back_at_its_default_since_is_kept() -> None:
    earlier = RunState(config=Config(max_confirmations=3, timeouts=TimeoutsConfig(git=5.0)))
    now = LoadedSettings(config=Config(), from_file={}, overrides={})
    kept, notices = settings_on_resume(now, earlier, {}, {})
    assert (kept.config.max_confirmations, kept.config.timeouts.git) == (3, 5.0)
    assert [notice.code for notice in notices] == ["settings-kept"]
    assert "max_confirmations, timeouts.git" in notices[0].message


def without(journal: Path, name: str) -> None:
    """Take a setting out of the events of a journal, as a version that keeps it elsewhere would."""
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    for line in lines:
        line.get("config", {}).pop(name, None)
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


@pytest.mark.slow
def test_a_resumed_run_uses_the_file(project: Project) -> None:
    config = ".ralph/config.toml"
    project.plan(files={config: "max_iterations = 1\n"}).agent(AGENT)
    done = project.run()
    folder = project.run_folder()
    data = (folder / "settings.json").read_bytes()
    (begun,) = told(done, "runStarted")
    assert begun.settings_digest == hashlib.blake2b(data, digest_size=16).hexdigest()
    assert json.loads(data)["max_iterations"] == 1
    without(folder / "journal.jsonl", "maxIterations")
    project.file(config).write_text("max_iterations = 9\n", encoding="utf-8")
    again = project.run("--resume")
    assert len(told(again, "iterationStarted")) == 1
    assert "settings-kept" in warnings(again)
    (continued,) = told(again, "runResumed")
    assert continued.config.max_iterations == 1


@pytest.mark.slow
def test_a_secret_is_not_in_the_file(project: Project) -> None:
    secret = "sk-ant-0123456789abcdef0123456789abcdef"
    project.plan().agent(AGENT)
    project.command = f"{project.command} --key={secret}"
    project.run("1")
    text = (project.run_folder() / "settings.json").read_text(encoding="utf-8")
    assert secret not in text
    assert "[redacted " in text
