"""Neutral words as LSP has them: columns in three encodings, links, severities, plain text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pytest_lsp import client_capabilities

from ralph_ls.core.views.model.diagnostic import Diagnostic, Severity
from ralph_ls.editor.lsp.conversion import (
    DisplayCapabilities,
    LinkTarget,
    PositionMapper,
    characters,
    code_units,
    display_capabilities,
    find_target,
    to_diagnostic,
    to_link,
    to_plain_text,
    to_uri,
    uri_within,
)
from ralph_ls.store.layout import RunFiles

UTF8 = types.PositionEncodingKind.Utf8
UTF16 = types.PositionEncodingKind.Utf16
UTF32 = types.PositionEncodingKind.Utf32
ENCODINGS = (UTF8, UTF16, UTF32)

LINES = [
    pytest.param("- [ ] Round", (11, 11, 11), id="ascii"),
    pytest.param("\t- [ ] x", (8, 8, 8), id="tab"),
    pytest.param("- [ ] 見積もりを直す", (6 + 7 * 3, 13, 13), id="cjk"),
    pytest.param("- [ ] 🚀 ship", (6 + 4 + 5, 13, 12), id="emoji"),
    pytest.param("- [ ] 👩‍👩‍👧 family", (6 + 18 + 7, 6 + 8 + 7, 6 + 5 + 7), id="joined-emoji"),
    pytest.param("- [ ] é na\u0308her", (6 + 2 + 3 + 2 + 3, 14, 14), id="combining"),
    pytest.param("- [ ] \u2028 still one line", (6 + 3 + 15, 22, 22), id="line-separator"),
]


@pytest.mark.parametrize(("line", "lengths"), LINES)
def test_a_line_is_as_long_as_the_client_counts(line: str, lengths: tuple[int, ...]) -> None:
    assert tuple(code_units(line, encoding) for encoding in ENCODINGS) == lengths


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("line", "lengths"), LINES)
def test_columns_go_to_the_client_and_back(
    line: str, lengths: tuple[int, ...], encoding: types.PositionEncodingKind
) -> None:
    for column in range(len(line) + 1):
        assert characters(line, code_units(line[:column], encoding), encoding) == column


@given(line=st.text(), units=st.integers(0, 200), encoding=st.sampled_from(ENCODINGS))
def test_any_place_of_a_client_is_before_a_whole_character(
    line: str, units: int, encoding: types.PositionEncodingKind
) -> None:
    column = characters(line, units, encoding)
    assert code_units(line[:column], encoding) <= units or column == 0
    if column < len(line):
        assert code_units(line[: column + 1], encoding) > units


def test_a_client_that_says_nothing_counts_in_utf16() -> None:
    assert code_units("🚀é", None) == 3
    assert characters("🚀é", 2, None) == 1


def test_a_place_inside_a_character_is_the_one_before_it() -> None:
    assert characters("a🚀b", 2, UTF16) == 1
    assert [characters("é", units, UTF8) for units in (0, 1, 2, 3)] == [0, 0, 1, 1]


class TestColumns:
    TEXT = "# 計画\r\n- [ ] 🚀 ship\rlast"

    @pytest.mark.parametrize(
        ("encoding", "start", "end"), [(UTF8, 6, 15), (UTF16, 6, 13), (UTF32, 6, 12)]
    )
    def test_a_range_is_in_the_clients_units(
        self, encoding: types.PositionEncodingKind, start: int, end: int
    ) -> None:
        shown = PositionMapper(self.TEXT, encoding).range(1, 6, 12)
        assert (shown.start.line, shown.start.character) == (1, start)
        assert (shown.end.line, shown.end.character) == (1, end)

    def test_a_whole_line_has_no_ending(self) -> None:
        columns = PositionMapper(self.TEXT, UTF16)
        assert columns.whole_line(0).end == types.Position(line=0, character=4)
        assert columns.whole_line(2).end == types.Position(line=2, character=4)

    def test_behind_the_last_line_there_is_nothing(self) -> None:
        assert PositionMapper("a", UTF16).whole_line(7).end == types.Position(line=7, character=0)


class TestUris:
    def test_a_path_may_hold_anything(self) -> None:
        assert to_uri(Path("/w/@fix plan#1 ü.md")) == "file:///w/%40fix%20plan%231%20%C3%BC.md"

    def test_a_file_of_a_work_tree_is_called_as_the_client_calls_the_folder(self) -> None:
        uri = uri_within(Path("/real/tree/.ralph/decide.txt"), Path("/real/tree"), "file:///link/")
        assert uri == "file:///link/.ralph/decide.txt"

    def test_a_file_elsewhere_has_its_own_uri(self) -> None:
        assert uri_within(Path("/else/a"), Path("/real/tree"), "file:///link") == "file:///else/a"

    def test_a_folder_that_is_no_file_helps_nothing(self) -> None:
        assert uri_within(Path("/w/a"), Path("/w"), "untitled:1") == "file:///w/a"


class TestTargets:
    @pytest.fixture
    def files(self, tmp_path: Path) -> RunFiles:
        folder = tmp_path / "run"
        folder.mkdir()
        return RunFiles(folder=folder)

    def test_a_file_of_the_work_tree(self, tmp_path: Path, files: RunFiles) -> None:
        (tmp_path / "decide.txt").touch()
        target = find_target("file:decide.txt", tmp_path, files)
        assert target == LinkTarget(path=tmp_path / "decide.txt", title="decide.txt")

    def test_the_newest_attempt_of_an_iteration(self, tmp_path: Path, files: RunFiles) -> None:
        files.output(3, 1, "out").write_text("first")
        assert find_target("start:3:3", tmp_path, files) == LinkTarget(
            path=files.output(3, 1, "out"), title="output of iteration 3"
        )
        files.output(3, 2, "out").write_text("second")
        target = find_target("start:3:3", tmp_path, files)
        assert target is not None
        assert target.path == files.output(3, 2, "out")

    def test_a_repeated_start_is_titled_with_its_attempt(
        self, tmp_path: Path, files: RunFiles
    ) -> None:
        files.output(4, 1, "out").write_text("said")
        target = find_target("start:4:3:2", tmp_path, files)
        assert target is not None
        assert target.title == "output of iteration 3, attempt 2"

    def test_where_the_agent_reported_something(self, tmp_path: Path, files: RunFiles) -> None:
        files.output(1, 1, "out").touch()
        silent = find_target("start:1:1", tmp_path, files)
        assert silent is not None
        assert silent.path == files.output(1, 1, "out")
        files.output(1, 1, "err").write_text("no such model")
        target = find_target("start:1:1", tmp_path, files)
        assert target is not None
        assert target.path == files.output(1, 1, "err")

    def test_the_last_words_of_an_engine(self, tmp_path: Path, files: RunFiles) -> None:
        files.engine_errors.write_text("killed")
        target = find_target("engine:", tmp_path, files)
        assert target is not None
        assert target.path == files.engine_errors

    @pytest.mark.parametrize(
        "link", [None, "", "file:gone.txt", "start:9:9", "start:x:x", "engine:", "other:1"]
    )
    def test_what_is_not_there(self, link: str | None, tmp_path: Path, files: RunFiles) -> None:
        assert find_target(link, tmp_path, files) is None

    def test_a_work_tree_without_a_run(self, tmp_path: Path) -> None:
        assert find_target("start:1:1", tmp_path, None) is None


REMARK = Diagnostic(
    line=1, start=6, end=12, severity=Severity.WARNING, code="report", message="it says so"
)
TARGET = LinkTarget(path=Path("/w/a b"), title="a b")
EVERYTHING = DisplayCapabilities(code_link=True, related=True, data=True)


class TestDiagnostics:
    def test_a_client_that_can_do_all_gets_all(self) -> None:
        shown = to_diagnostic(
            REMARK,
            PositionMapper(TestColumns.TEXT, UTF16),
            EVERYTHING,
            target=TARGET,
            data={"workspace": "file:///w"},
        )
        assert shown == types.Diagnostic(
            range=types.Range(
                start=types.Position(line=1, character=6), end=types.Position(line=1, character=13)
            ),
            message="it says so",
            severity=types.DiagnosticSeverity.Warning,
            code="report",
            source="ralph",
            code_description=types.CodeDescription(href="file:///w/a%20b"),
            related_information=[
                types.DiagnosticRelatedInformation(
                    location=types.Location(
                        uri="file:///w/a%20b",
                        range=types.Range(
                            start=types.Position(line=0, character=0),
                            end=types.Position(line=0, character=0),
                        ),
                    ),
                    message="a b",
                )
            ],
            data={"workspace": "file:///w"},
        )

    def test_a_client_that_can_do_nothing_gets_the_words(self) -> None:
        shown = to_diagnostic(
            REMARK,
            PositionMapper("a\nb", UTF8),
            DisplayCapabilities(),
            target=TARGET,
            data={"run": "r"},
        )
        assert (shown.code_description, shown.related_information, shown.data) == (None,) * 3

    def test_a_remark_without_a_cause_links_nowhere(self) -> None:
        shown = to_diagnostic(REMARK, PositionMapper("a\nb", UTF8), EVERYTHING)
        assert (shown.code_description, shown.related_information, shown.data) == (None,) * 3

    @pytest.mark.parametrize(
        ("severity", "number"), list(zip(Severity, types.DiagnosticSeverity, strict=True))
    )
    def test_severities(self, severity: Severity, number: types.DiagnosticSeverity) -> None:
        remark = Diagnostic(line=0, start=0, end=1, severity=severity, code="c", message="m")
        assert (
            to_diagnostic(remark, PositionMapper("a", UTF8), DisplayCapabilities()).severity
            is number
        )


class TestAbilities:
    def test_vs_code_can_do_all(self) -> None:
        abilities = display_capabilities(client_capabilities("visual-studio-code@v1.65.2"))
        assert abilities == DisplayCapabilities(
            code_link=True,
            related=True,
            data=True,
            markdown=True,
            code_actions=True,
            lens_refresh=True,
            hint_refresh=False,
            token_refresh=True,
            progress=True,
        )

    def test_neovim_cannot_be_asked_to_refresh_lenses(self) -> None:
        abilities = display_capabilities(client_capabilities("neovim@v0.11.0"))
        assert abilities == DisplayCapabilities(
            code_link=False,
            related=True,
            data=True,
            markdown=True,
            code_actions=True,
            lens_refresh=False,
            hint_refresh=True,
            token_refresh=True,
            progress=True,
        )

    def test_a_client_that_says_nothing_can_do_nothing(self) -> None:
        assert display_capabilities(types.ClientCapabilities()) == DisplayCapabilities()


class TestTexts:
    def test_markup_of_the_patched_one_goes_and_strangers_words_stay(self) -> None:
        markdown = "**Round \\*half\\*** up\n\n- Done: in iteration 2, commit `abc1234`\n- C:\\\\x"
        plain = "Round *half* up\n\n- Done: in iteration 2, commit abc1234\n- C:\\x"
        assert to_plain_text(markdown) == plain

    def test_a_link_is_distinct_from_its_title(self) -> None:
        target = LinkTarget(path=Path("/w/a (1) [x].md"), title="[x] `y`")
        assert to_link(target) == "[\\[x\\] \\`y\\`](<file:///w/a%20%281%29%20%5Bx%5D.md>)"
