"""``ralph simulate``: traces and journals for people and programs, and what it refuses."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from ralph_ls.cli.commands import simulate
from ralph_ls.core.replay.trace_fields import FIELD_NAMES
from ralph_ls.protocol.run.events import dump_event
from tests.unit.cli.cli_runner import Ralph
from tests.unit.core.loop.simulated_project import finishes, no_progress, progress
from tests.unit.core.loop.simulated_run import play

WORKS: dict[str, Any] = {"report": {"STATUS": "IN_PROGRESS", "FILES_MODIFIED": 2}}
IDLE: dict[str, Any] = {"report": {"STATUS": "IN_PROGRESS"}}
ASKS: dict[str, Any] = {**WORKS, "promise": "DECIDE:" + "which of the two? 漢字 " * 12}


def write(folder: Path, *lines: dict[str, Any] | str) -> str:
    """A trace in the folder; gives its name."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "trace.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return "trace.jsonl"


class TestForPrograms:
    def test_each_iteration_is_a_line_and_nothing_follows_an_end(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        name = write(tmp_path, IDLE, IDLE, IDLE, WORKS)
        said = ralph(tmp_path, "simulate", name, "--json")
        assert (said.code, said.err) == (0, "")
        assert said.events == [
            {
                "iteration": 1,
                "breaker": "CLOSED",
                "reason": "Initial state",
                "verdict": "continue",
                "exitCode": None,
            },
            {
                "iteration": 2,
                "breaker": "HALF_OPEN",
                "reason": "2 iterations without progress",
                "verdict": "continue",
                "exitCode": None,
            },
            {
                "iteration": 3,
                "breaker": "OPEN",
                "reason": "3 iterations without progress",
                "verdict": "stuck",
                "exitCode": 4,
            },
        ]

    def test_problems_are_reported_beside_it_each_kind_once(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        odd = {**WORKS, "nonsense": 1}
        name = write(tmp_path, odd, "", "{", odd, "[]", odd, WORKS, {"report": {}, "more": 1})
        said = ralph(tmp_path, "simulate", name, "--json")
        assert said.code == 0
        assert [line["iteration"] for line in said.events] == [1, 2, 3, 4, 5]
        told = said.err.splitlines()
        assert told[0] == "ralph: trace.jsonl, line 1: unknown field 'nonsense'"
        assert told[1].startswith("ralph: trace.jsonl, line 3: not valid JSON")
        assert told[2].startswith("ralph: trace.jsonl, line 5: an iteration must be a JSON object")
        assert told[3].startswith("ralph: trace.jsonl, line 8: ")
        assert told[4] == "ralph: trace.jsonl: unknown-field (nonsense): 2 more"
        assert len(told) == 5

    def test_problems_without_end_are_counted(self, ralph: Ralph, tmp_path: Path) -> None:
        name = write(tmp_path, *({**WORKS, f"field{number}": 1} for number in range(110)))
        said = ralph(tmp_path, "simulate", name, "--json", "--set", "max_iterations=500")
        told = said.err.splitlines()
        assert len(told) == simulate.KINDS_OF_PROBLEMS + 1
        assert told[-1] == "ralph: trace.jsonl: 10 more problems"

    def test_problems_of_one_kind_in_lines_that_are_no_object(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        said = ralph(tmp_path, "simulate", write(tmp_path, "{", "{", WORKS), "--json")
        assert said.err.splitlines()[-1] == "ralph: trace.jsonl: not-json: 1 more"

    def test_bytes_of_any_kind_are_no_crash(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "trace.jsonl").write_bytes(
            b"\xef\xbb\xbf"
            + json.dumps(WORKS).encode()
            + b'\n\x00\x00\n{"finalText": "\xff\xfe"}\n'
            + json.dumps(WORKS).encode("utf-16")
            + b'\n{"finalText": "\\ud800"}'
        )
        said = ralph(tmp_path, "simulate", "trace.jsonl", "--json")
        assert said.code == 0
        assert [line["iteration"] for line in said.events] == [1, 2, 3]

    @pytest.mark.parametrize("end", ["\n", ""])
    def test_a_line_that_is_too_long_is_left_out(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
    ) -> None:
        monkeypatch.setattr(simulate, "LONGEST_LINE", 100)
        name = write(tmp_path, WORKS, {**WORKS, "finalText": "x" * 450})
        path = tmp_path / name
        path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + end, encoding="utf-8")
        said = ralph(tmp_path, "simulate", name, "--json")
        assert len(said.events) == 1
        assert "line 2: longer than 100 bytes" in said.err


class TestPolicies:
    @pytest.mark.parametrize(
        ("profile", "verdict"),
        [
            ("fixplan", "continue"),
            ("spec", "continue"),
            ("stories", "complete"),
            ("beads", "continue"),
            ("issue", "continue"),
        ],
    )
    def test_each_profile_has_its_gate(
        self, ralph: Ralph, tmp_path: Path, profile: str, verdict: str
    ) -> None:
        name = write(tmp_path, {**WORKS, "promise": "COMPLETE"})
        said = ralph(tmp_path, "simulate", name, "--json", "--profile", profile)
        assert said.json["verdict"] == verdict

    def test_settings_are_toml_and_bare_words_are_texts(self, ralph: Ralph, tmp_path: Path) -> None:
        name = write(tmp_path, *[IDLE] * 5)
        sets = [
            "breaker.no_progress_open=4",
            "breaker.no_progress_half_open = 0",
            "gate.rule=marker",
            'promise.complete="SHIPPED"',
            "timeout=30m",
            "progress.evidence=commits, declared",
            'tools.deny=["Bash"]',
            "breaker.no_progress_open=5",
        ]
        flags = [part for given in sets for part in ("--set", given)]
        said = ralph(tmp_path, "simulate", name, "--json", *flags)
        assert said.err == ""
        assert [line["breaker"] for line in said.events] == ["CLOSED"] * 4 + ["OPEN"]

    def test_a_word_of_completion_that_is_set_is_read(self, ralph: Ralph, tmp_path: Path) -> None:
        name = write(tmp_path, {**WORKS, "finalText": "<promise>SHIPPED</promise>"})
        flags = ["--profile", "stories", "--set", "promise.complete=SHIPPED"]
        assert ralph(tmp_path, "simulate", name, "--json", *flags).json["exitCode"] == 0

    def test_a_date_is_a_text(self, ralph: Ralph, tmp_path: Path) -> None:
        name = write(tmp_path, WORKS)
        said = ralph(tmp_path, "simulate", name, "--set", "agent=2026-01-31", "--json")
        assert said.code == 0

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ("max_stuck", "write KEY=VALUE"),
            ("=3", "write KEY=VALUE"),
            ("max_stuk=3", "unknown setting max_stuk; did you mean max_stuck?"),
            ("breaker.nonsense=3", "unknown setting breaker.nonsense"),
            ("breaker=3", "breaker must be a table"),
            ("gate.rule=never", "gate.rule must be one of marker, dual"),
            ("max_stuck=0", "max_stuck must be at least 1"),
            ("max_stuck=", "max_stuck must be a whole number"),
            ("max_stuck=" + "[" * 5000, "max_stuck must be a whole number"),
            ("max_stuck=3\nmax_stuck2=4", "max_stuck must be a whole number"),
            ("profile=stories", "use --profile instead"),
            ("paths.decide=.ralph/blocked.txt", "give them different paths"),
        ],
    )
    def test_a_setting_that_cannot_be_is_refused(
        self, ralph: Ralph, tmp_path: Path, given: str, named: str
    ) -> None:
        said = ralph(tmp_path, "simulate", write(tmp_path, WORKS), "--set", given, "--json")
        assert (said.code, said.out) == (64, "")
        assert named in said.err

    def test_settings_that_do_not_fit_together_are_refused(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        flags = ["--set", "paths.decide=notes/a.txt", "--set", "paths.blocked=notes/a.txt"]
        said = ralph(tmp_path, "simulate", write(tmp_path, WORKS), *flags)
        assert said.code == 64
        assert "give them different paths" in said.err

    def test_an_unknown_profile_is_refused(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path, "simulate", write(tmp_path, WORKS), "--profile", "nobody")
        assert (said.code, said.out) == (64, "")
        assert "there is: spec, fixplan, stories, beads, issue" in said.err


class TestFiles:
    @pytest.mark.parametrize("name", ["missing.jsonl", ".", "a\x00b"])
    def test_what_cannot_be_read_is_refused(self, ralph: Ralph, tmp_path: Path, name: str) -> None:
        said = ralph(tmp_path, "simulate", name, "--json")
        assert (said.code, said.out) == (64, "")
        assert "cannot read " in said.err

    def test_a_file_that_breaks_on_the_way_is_reported(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Broken(io.BytesIO):
            def readline(self, size: int | None = -1, /) -> bytes:
                raise OSError(5, "Input/output error")

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Broken()))
        said = ralph(tmp_path, "simulate", "-")
        assert said.code == 64
        assert "Input/output error" in said.err

    @pytest.mark.parametrize("content", ["", "\n\n", "{\n"])
    def test_an_empty_trace_is_a_word_on_standard_error(
        self, ralph: Ralph, tmp_path: Path, content: str
    ) -> None:
        (tmp_path / "trace.jsonl").write_text(content, encoding="utf-8")
        for flags in ([], ["--json"]):
            said = ralph(tmp_path, "simulate", "trace.jsonl", *flags)
            assert (said.code, said.out) == (0, "")
            assert "has no iteration to replay" in said.err

    def test_standard_input_is_read(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = io.BytesIO(json.dumps(WORKS).encode() + b"\n{")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
        said = ralph(tmp_path, "simulate", "-", "--json")
        assert said.json["iteration"] == 1
        assert "standard input, line 2" in said.err


class TestJournals:
    @pytest.fixture
    def journal(self, tmp_path: Path) -> str:
        played = play(no_progress, no_progress, progress, finishes, max_iterations=30)
        lines = [dump_event(event) for event in played.events]
        (tmp_path / "journal.jsonl").write_bytes(b"\n".join([*lines, b'{"seq": 99, "ki']))
        return "journal.jsonl"

    def test_it_is_judged_by_its_own_settings(
        self, ralph: Ralph, tmp_path: Path, journal: str
    ) -> None:
        said = ralph(tmp_path, "simulate", journal, "--json")
        assert [line["verdict"] for line in said.events] == ["continue"] * 3 + ["complete"]

    def test_a_setting_overrides_its_own(self, ralph: Ralph, tmp_path: Path, journal: str) -> None:
        said = ralph(tmp_path, "simulate", journal, "--json", "--set", "max_stuck=2")
        assert [line["verdict"] for line in said.events] == ["continue", "stuck"]
        assert said.err == ""

    def test_a_profile_replaces_its_own(self, ralph: Ralph, tmp_path: Path, journal: str) -> None:
        said = ralph(tmp_path, "simulate", journal, "--json", "--profile", "beads")
        assert (
            said.events[-1]["reason"]
            == "✓ All work complete or blocked: nothing in the plan is open"
        )

    def test_a_line_that_is_no_event_is_left_out(
        self, ralph: Ralph, tmp_path: Path, journal: str
    ) -> None:
        path = tmp_path / journal
        first, *others = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([first, b"[]", *others]))
        said = ralph(tmp_path, "simulate", journal)
        assert said.code == 0
        assert "journal.jsonl, line 2: not an event" in said.err

    def test_a_journal_of_a_newer_engine_is_one_too(self, ralph: Ralph, tmp_path: Path) -> None:
        event = {"v": 9, "seq": 1, "at": "2026-01-31T12:00:00Z", "run": "r", "kind": "somethingNew"}
        said = ralph(tmp_path, "simulate", write(tmp_path, event), "--json")
        assert (said.code, said.out) == (0, "")
        assert "has no iteration to replay" in said.err

    def test_a_line_with_a_kind_alone_is_no_journal(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path, "simulate", write(tmp_path, {**WORKS, "kind": "mine"}), "--json")
        assert said.json["iteration"] == 1


class TestTextOutput:
    def test_a_table_fits_the_terminal(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for columns in (80, 40, 10):
            monkeypatch.setenv("COLUMNS", str(columns))
            said = ralph(tmp_path, "simulate", write(tmp_path, IDLE, IDLE, ASKS))
            *rows, _end = said.out.splitlines()
            assert max(cell_len(row) for row in rows) < max(columns, 60)
        assert said.code == 0

    def test_it_says_how_the_run_would_have_ended(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        said = ralph(tmp_path, "simulate", write(tmp_path, IDLE, IDLE, IDLE))
        assert said.out.splitlines() == [
            "iteration  breaker    verdict   reason",
            "        1  CLOSED     continue  Initial state",
            "        2  HALF_OPEN  continue  2 iterations without progress",
            "        3  OPEN       stuck     3 iterations without progress",
            "With these settings the run ends after iteration 3: stuck, exit code 4",
        ]

    def test_it_says_where_the_file_ends_before_the_run(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path, "simulate", write(tmp_path, WORKS))
        end = "With these settings the run continues after iteration 1, where the trace ends"
        assert said.out.splitlines()[-1] == end

    def test_a_run_may_end_before_its_first_iteration(self, ralph: Ralph, tmp_path: Path) -> None:
        name = write(tmp_path, WORKS)
        said = ralph(tmp_path, "simulate", name, "--set", "max_duration=0")
        assert said.out.splitlines()[-1].endswith("before its first iteration: limit, exit code 1")
        said = ralph(tmp_path, "simulate", name, "--set", "max_duration=0", "--json")
        assert (said.json["iteration"], said.json["exitCode"]) == (0, 1)

    def test_words_of_strangers_steer_no_terminal(self, ralph: Ralph, tmp_path: Path) -> None:
        trick = {**WORKS, "promise": {"kind": "blocked", "text": "\x1b[2Jgone\x00" + "x" * 200}}
        said = ralph(tmp_path, "simulate", write(tmp_path, trick))
        assert "\x1b" not in said.out
        assert "\\x1b[2Jgone\\x00" in said.out

    def test_help_describes_every_field(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path, "simulate", "--help")
        for name in FIELD_NAMES:
            assert re.search(rf"^ +{name} ", said.out, re.MULTILINE), name
