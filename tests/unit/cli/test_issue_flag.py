"""What ``--issue`` names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ralph_ls.cli.flags import issue_overrides
from ralph_ls.protocol.errors import UsageError
from ralph_ls.store.run.launch import run_arguments


def test_without_it_nothing_is_set() -> None:
    assert issue_overrides(None, "spec") == {}


@pytest.mark.parametrize("profile", [None, "issue"])
@pytest.mark.parametrize(
    ("given", "github"),
    [
        ("12", "12"),
        (" #12 ", "#12"),
        ("ada/invoice#12", "ada/invoice#12"),
        ("https://github.com/ada/invoice/issues/12", "https://github.com/ada/invoice/issues/12"),
    ],
)
def test_an_issue_on_github(given: str, github: str, profile: str | None) -> None:
    told = issue_overrides(given, profile)
    assert told == {"profile": "issue", "issue.github": github, "issue.file": "", "issue.text": ""}


@pytest.mark.parametrize("given", ["issue.md", "./ada/invoice#12", "./12", "~/issue.md"])
def test_a_file_is_named_whole(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = issue_overrides(given, None)
    path = Path(told["issue.file"])
    assert path.is_absolute()
    assert path.name == Path(given).name
    assert told["issue.github"] == ""


def test_standard_input_is_no_file() -> None:
    told = issue_overrides("-", None)
    assert told == {"profile": "issue", "issue.file": "-", "issue.github": "", "issue.text": ""}


@pytest.mark.parametrize(
    ("given", "profile", "said"),
    [
        ("issue.md", "spec", "leave --profile out"),
        (" ", None, "--issue is empty"),
        ("https://github.com/ada/invoice/pull/12", None, "is not an issue on GitHub; write 123"),
    ],
)
def test_what_it_cannot_be(given: str, profile: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        issue_overrides(given, profile)


@pytest.mark.parametrize("given", ["#12", "-", "/notes/issue.md"])
def test_a_run_in_the_background_is_given_the_same(given: str) -> None:
    arguments = run_arguments(issue_overrides(given, None))
    assert arguments == ["run", "--profile", "issue", "--issue", given]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_gets_a_hint_how_to_end_the_request(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Keys(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setattr("sys.stdin", Keys())
    issue_overrides("-", None)
    assert ("Ctrl-D" in capsys.readouterr().err) == is_terminal
