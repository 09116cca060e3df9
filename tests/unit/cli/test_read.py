"""``ralph read``: what an output says, what the gate makes of it, and what did not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.cli_runner import Ralph
from tests.unit.core.agent.decode.claude_streams import (
    answer,
    came_back,
    recording,
    result,
    stream,
    use,
)

BLOCK = (
    "---RALPH_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\n"
    "EXIT_SIGNAL: true\nRECOMMENDATION: Go on\n with the rest\n---END_RALPH_STATUS---\n"
)
COMPLETE = "<promise>COMPLETE</promise>\n"


def read(ralph: Ralph, folder: Path, text: str, *arguments: str) -> list[str]:
    """The lines that ``ralph read`` says of a text; it ends with 0 whatever it finds."""
    folder.mkdir(exist_ok=True)
    (folder / "out.txt").write_text(text, encoding="utf-8")
    said = ralph(folder, "read", "out.txt", *arguments)
    assert said.code == 0, said.err
    return said.out.splitlines()


def configure(folder: Path, text: str) -> None:
    (folder / ".ralph").mkdir(exist_ok=True)
    (folder / ".ralph/config.toml").write_text(text, encoding="utf-8")


class TestNotCounted:
    def test_each_overlooked_signal_is_reported_with_its_line(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        text = f"It is not done.\n\n```\n{COMPLETE}```\nI will not output {COMPLETE}"
        lines = read(ralph, tmp_path, text)
        assert lines[lines.index("Not counted:") - 1] == ""
        assert lines[lines.index("Not counted:") + 1 :] == [
            "  promise, line 4: <promise>COMPLETE</promise>",
            "    it is in a code fence",
            "  promise, line 6: <promise>COMPLETE</promise>",
            "    it is not on its own line",
            "  word, line 1: It is not done.",
            "    done: it is negated",
        ]

    def test_json_output_has_it_in_a_separate_key(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_text(f"- {COMPLETE}", encoding="utf-8")
        found = ralph(tmp_path, "read", "out.txt", "--json").json
        assert found["overlooked"] == [
            {
                "what": "promise",
                "text": "<promise>COMPLETE</promise>",
                "line": 1,
                "why": "it is not on its own line",
            }
        ]
        (tmp_path / "out.txt").write_text(BLOCK, encoding="utf-8")
        assert ralph(tmp_path, "read", "out.txt", "--json").json["overlooked"] == []

    def test_where_all_counts_there_is_no_such_list(self, ralph: Ralph, tmp_path: Path) -> None:
        assert "Not counted:" not in read(ralph, tmp_path, BLOCK + COMPLETE)

    def test_a_long_list_is_cut(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, f"- {COMPLETE}" * 25)
        assert lines[-1] == "  … and 5 more of this kind"

    def recorded(self, early: str) -> str:
        """A stream in which an agent says something before its last tool call."""
        records = (answer(early, use("Read")), came_back(), result("Working on."))
        return stream(*records).decode()

    def test_a_signal_where_nothing_counts_is_reported_by_its_place(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        text = self.recorded(BLOCK)
        lines = read(ralph, tmp_path, text, "--agent", "claude")
        assert "  STATUS: COMPLETE" in lines
        assert any("report-not-final" in line for line in lines)
        later = self.recorded(COMPLETE)
        lines = read(ralph, tmp_path, later, "--agent", "claude")
        assert "  promise: <promise>COMPLETE</promise>" in lines
        assert any("it is in an earlier text (line " in line for line in lines)

    def test_records_read_as_plain_text_are_noticed(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, stream(answer(BLOCK)).decode())
        assert lines[-1].startswith("This looks like JSON lines of an agent; name it with --agent")
        array = f"[{json.dumps(answer(BLOCK))}]"
        (tmp_path / "out.txt").write_text(array, encoding="utf-8")
        found = ralph(tmp_path, "read", "out.txt", "--json").json
        assert found["hint"] == lines[-1]
        found = ralph(tmp_path, "read", "out.txt", "--json", "--agent", "claude").json
        assert (found["hint"], found["report"]["kind"]) == (None, "ralphStatus")


class TestGate:
    @pytest.mark.parametrize(
        ("profile", "text", "words"),
        [
            ("fixplan", "All done. Everything is complete.\n" + BLOCK, "✓ this output has the"),
            ("fixplan", "x", "✗ the agent gave no report"),
            ("fixplan", BLOCK.replace("true", "false"), "✗ EXIT_SIGNAL is not true"),
            ("fixplan", BLOCK, "✗ 0 of 2 completion indicators so far"),
            ("fixplan", BLOCK.replace("COMPLETE", "BLOCKED"), "✗ the report asks for you"),
            ("stories", COMPLETE, "✓ this output has the signal"),
            ("stories", BLOCK, "✗ it does not promise COMPLETE"),
            ("issue", BLOCK, "✓ this output has the signal"),
            (
                "issue",
                BLOCK.replace("COMPLETE", "IN_PROGRESS"),
                "✗ STATUS is IN_PROGRESS and PR_READY is not true",
            ),
            ("issue", "", "✗ the agent gave no report"),
            ("spec", BLOCK, "· only the plan decides; no output of an agent does"),
            ("beads", BLOCK, "· only the plan decides; no output of an agent does"),
        ],
    )
    def test_it_says_what_it_makes_of_the_output(
        self, ralph: Ralph, tmp_path: Path, profile: str, text: str, words: str
    ) -> None:
        lines = read(ralph, tmp_path, text, "--profile", profile)
        gate = next(index for index, line in enumerate(lines) if line.startswith("Gate of"))
        assert lines[gate].startswith(f"Gate of {profile}: needs ")
        assert lines[gate + 1].startswith(f"  {words}")

    def test_a_signal_of_another_gate_is_named(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, COMPLETE, "--profile", "fixplan")
        assert "  ! the agent promises COMPLETE, which this gate ignores" in lines

    def test_without_a_profile_the_settings_here_are_asked(
        self, ralph: Ralph, repository: Path
    ) -> None:
        configure(
            repository,
            '[gate]\nrule = "verified"\n[promise]\ncomplete = "SHIPPED"\n',
        )
        lines = read(ralph, repository, "<promise>SHIPPED</promise>\n" + COMPLETE)
        assert "Promise: complete" in lines
        assert any("<promise>SHIPPED</promise> on its own line" in line for line in lines)
        assert "    it is none of SHIPPED, BLOCKED:reason and DECIDE:question" in lines

    def test_settings_that_cannot_be_read_are_left_out(
        self, ralph: Ralph, repository: Path
    ) -> None:
        configure(repository, "gate = 1\n")
        (repository / "out.txt").write_text(BLOCK, encoding="utf-8")
        for arguments, has_gate in (([], False), (["--profile", "issue"], True)):
            said = ralph(repository, "read", "out.txt", *arguments)
            assert said.code == 0
            assert said.err.startswith("ralph: the settings are ignored: ")
            assert "Report: ralphStatus" in said.out
            assert ("Gate of issue" in said.out) is has_gate


class TestOutput:
    def test_a_value_over_lines_stays_apart(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, BLOCK)
        start = lines.index("  RECOMMENDATION: Go on")
        assert lines[start + 1] == "    with the rest"

    def test_a_question_without_a_signal_is_reported(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, "I met two ways. Which one?\n")
        assert "Question without a signal: Which one?" in lines

    def test_what_only_records_contain_is_reported(self, ralph: Ralph, tmp_path: Path) -> None:
        lines = read(ralph, tmp_path, recording("limit").decode(), "--agent", "claude")
        assert any(line.startswith("Failed: ") for line in lines)
        assert any(line.startswith("Usage limit: ") for line in lines)
        assert any(line.startswith("Usage: ") for line in lines)

    def test_any_agent_of_the_settings_has_its_dialect(
        self, ralph: Ralph, repository: Path
    ) -> None:
        configure(
            repository,
            '[agents.mine]\nargv = ["x"]\ndialect = "claude"\n[agents.other]\nargv = ["x"]\n',
        )
        text = stream(result(BLOCK)).decode()
        assert "Report: ralphStatus" in read(ralph, repository, text, "--agent", "mine")
        assert "Report: none" in read(ralph, repository, text, "--agent", "other")
        said = ralph(repository, "read", "out.txt", "--agent", "nobody")
        assert said.code == 64
        assert "there is: command, demo, claude, codex, cline, gemini, " in said.err
        assert "copilot, mine, other" in said.err

    def test_json_lines_are_read_by_the_mapping_of_the_settings(
        self, ralph: Ralph, repository: Path
    ) -> None:
        configure(
            repository,
            '[agents.mine]\nargv = ["x"]\ndialect = "jsonl"\n'
            '[agents.mine.output]\nkind = "k"\nkinds = { text = ["say"], result = ["end"] }\n'
            'fields = { text = ["w"], input_tokens = ["n"] }\n'
            '[agents.plain]\nargv = ["x"]\ndialect = "jsonl"\n',
        )
        records = stream({"k": "say", "w": BLOCK}, {"k": "say", "w": "Bye."}, {"k": "end", "n": 3})
        lines = read(ralph, repository, records.decode(), "--agent", "mine")
        assert "Report: ralphStatus" in lines
        assert "Usage: inputTokens 3" in lines
        assert "Not in this output: cost, session, model" in lines
        found = ralph(repository, "read", "out.txt", "--agent", "mine", "--json").json
        assert (found["usage"]["inputTokens"], found["failed"]) == (3, False)
        other = ralph(repository, "read", "out.txt", "--agent", "plain", "--json").json
        assert (other["text"], other["report"], other["failed"]) == ("", None, True)

    @pytest.mark.parametrize(
        ("agent", "record"),
        [
            ("cline", {"type": "run_result", "finishReason": "completed", "text": BLOCK}),
            ("copilot", {"type": "assistant.message", "data": {"content": BLOCK}}),
        ],
    )
    def test_each_agent_that_is_built_in_has_its_own(
        self, ralph: Ralph, tmp_path: Path, agent: str, record: dict[str, Any]
    ) -> None:
        assert "Report: ralphStatus" in read(
            ralph, tmp_path, stream(record).decode(), "--agent", agent
        )

    def test_bad_bytes_are_read_too(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_bytes(b"\xff\x00\x1b[31m" + BLOCK.encode() + b"\x9f")
        said = ralph(tmp_path, "read", "out.txt")
        assert said.code == 0
        assert "\x1b" not in said.out
