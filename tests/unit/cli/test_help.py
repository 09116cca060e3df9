"""Help: every verb has a group, a summary, examples that work, and a page that fits."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from itertools import groupby
from typing import Any

import pytest

from ralph_ls.cli import completion
from ralph_ls.cli.command_line import help_of, make_command
from ralph_ls.cli.flags import with_sandbox_kind
from ralph_ls.cli.help_pages import default_of, listing
from ralph_ls.cli.output import columns, wrap_line
from ralph_ls.cli.verbs import VERBS, Group

COMMANDS: dict[str, Any] = make_command(*VERBS).commands

WIDTHS = (40, 80, 200)


def folded(text: str) -> str:
    return " ".join(text.split())


class TestTable:
    def test_groups_are_in_order_and_together(self) -> None:
        assert [group for group, _ in groupby(VERBS.values(), lambda one: one.group)] == [*Group]

    @pytest.mark.parametrize("name", VERBS)
    def test_a_summary_fits_beside_its_verb(self, name: str) -> None:
        summary = VERBS[name].summary
        assert 0 < len(summary) <= 60
        assert summary[0].isupper()
        assert summary[-1] not in ".…"

    @pytest.mark.parametrize("name", VERBS)
    def test_its_examples_can_be_typed(self, name: str) -> None:
        assert VERBS[name].examples
        for example in VERBS[name].examples:
            words = shlex.split(example.partition(" > ")[0], comments=True)
            assert words[:2] == ["ralph", name]
            COMMANDS[name].make_context(name, with_sandbox_kind(words[2:]))
            assert " # " in example


class TestPages:
    @pytest.mark.parametrize("width", WIDTHS)
    @pytest.mark.parametrize("name", ["", *VERBS])
    def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
        self, name: str, width: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        page = help_of(name) if name else listing()
        assert [line for line in page.splitlines() if columns(line) > min(width, 100)] == []
        texts = [VERBS[name].summary] if name else [verb.summary for verb in VERBS.values()]
        assert "…" not in "".join(texts)
        if name:
            shown = [one for one in COMMANDS[name].params if not getattr(one, "hidden", False)]
            texts += [folded(one.help or "") for one in shown]
        assert [text for text in texts if text not in folded(page)] == []

    @pytest.mark.parametrize("name", VERBS)
    def test_an_option_with_a_value_names_it_and_its_default(self, name: str) -> None:
        for param in COMMANDS[name].params:
            if getattr(param, "hidden", False):
                continue
            assert param.help, param.name
            if not getattr(param, "is_flag", False) and not param.required:
                assert param.metavar, f"{name} {param.opts}: name its value with metavar"
                is_said = param.multiple or "default" in param.help or default_of(param)
                assert is_said, f"{name} {param.opts}: state the default with show_default"

    @pytest.mark.skipif(shutil.which("mandoc") is None, reason="install it: apt-get install mandoc")
    def test_the_man_page_is_well_formed(self) -> None:
        page = completion.SHELLS / "ralph.1"
        done = subprocess.run(
            ["mandoc", "-T", "lint", "-W", "error", str(page)],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.stdout == ""
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'^\.SS "ralph (\S+)', text, re.MULTILINE) == [
            name.replace("-", r"\-") for name in VERBS
        ]


class TestWrapping:
    def test_words_are_never_broken(self) -> None:
        path = "/a/very/long/path/to/something"
        assert wrap_line(f"look at {path} now", 16) == ["look at", path, "now"]

    def test_later_lines_are_indented(self) -> None:
        assert wrap_line("one two three", 9, indent=2, hanging=2) == ["  one two", "    three"]

    def test_wide_characters_take_two_columns(self) -> None:
        assert columns("日本e\u0301") == 5
