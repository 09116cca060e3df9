"""How an issue on GitHub is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.protocol.plan import IssueReference, Request, RequestKind, read_reference


@pytest.mark.parametrize(
    ("text", "number", "repository"),
    [
        ("12", 12, None),
        ("#12", 12, None),
        (" #12 ", 12, None),
        ("ada/invoice#12", 12, "ada/invoice"),
        ("ada/.github#1", 1, "ada/.github"),
        ("git.example.com/ada/invoice#12", 12, "git.example.com/ada/invoice"),
        ("https://github.com/ada/invoice/issues/12", 12, "ada/invoice"),
        ("http://www.github.com/ada/invoice/issues/12/", 12, "ada/invoice"),
        ("https://GitHub.com/ada/invoice/issues/12#issuecomment-3", 12, "ada/invoice"),
        ("https://github.com/ada/invoice/issues/12?x=1", 12, "ada/invoice"),
        ("https://git.example:8443/ada/it/issues/7", 7, "git.example:8443/ada/it"),
    ],
)
def test_a_name_of_an_issue(text: str, number: int, repository: str | None) -> None:
    assert read_reference(text) == IssueReference(number=number, repository=repository)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "0",
        "#0",
        "012",
        "issue.md",
        "./ada/invoice#12",
        "/ada/invoice#12",
        "../invoice#12",
        "invoice#12",
        "ada/invoice",
        "ada/invoice#",
        "--repo/x#1",
        "ada/invoice#12 --web",
        "a b/c#1",
        "https://github.com/ada/invoice/pull/12",
        "https://github.com/ada/invoice",
        "file:///ada/invoice/issues/12",
        "1" * 11,
        "\u0661\u0662",
    ],
)
def test_what_names_no_issue(text: str) -> None:
    assert read_reference(text) is None


def test_a_reference_is_read_as_it_is_written() -> None:
    for named in ("#12", "ada/invoice#12", "git.example/ada/invoice#12"):
        reference = read_reference(named)
        assert reference is not None
        assert str(reference) == named


@given(st.text())
def test_no_part_of_a_reference_is_an_option(text: str) -> None:
    reference = read_reference(text)
    if reference is not None and reference.repository is not None:
        assert not reference.repository.startswith("-")


def test_what_a_viewer_gets_of_a_request() -> None:
    request = Request(kind=RequestKind.STDIN, title="Lost", source="standard input", text="Lost!")
    view = request.view
    assert (view.kind, view.title, view.source) == (RequestKind.STDIN, "Lost", "standard input")
    assert view.url is None
