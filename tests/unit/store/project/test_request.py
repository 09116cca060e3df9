"""A request, as a run keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.protocol.errors import RequestMissing
from ralph_ls.protocol.plan import Request, RequestKind
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.request import FILE_NAME, load_request, read_request, save_request

REQUEST = Request(
    kind=RequestKind.GITHUB,
    title="Lost",
    source="ada/invoice#12",
    text="# Lost\n\n漢字",
    url="https://github.com/ada/invoice/issues/12",
    is_closed=True,
    comments_left_out=3,
)


def test_it_is_kept_as_it_was_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    save_request(folder, REQUEST)
    assert load_request(folder) == REQUEST
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("data", [None, b"", b"{}", b"\xff", b"null"])
def test_one_that_is_gone_or_broken_says_what_to_do(tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(RequestMissing, match="start a new run: ralph run --issue"):
        load_request(tmp_path)


def test_secrets_of_the_caller_and_of_the_agents_settings_are_taken_out(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text("# abcdefgh\n\nijklmnop ghp_" + "x" * 36, encoding="utf-8")
    table = {"argv": ["agent"], "env": {"MAIL_KEY": "ijklmnop"}}
    given = {"profile": "issue", "issue.file": "issue.md", "agents.a": table, "agent": "a"}
    settings = load_settings(tmp_path, {}, given)
    read = read_request(tmp_path, settings, {"DB_PASSWORD": "abcdefgh"})
    assert read.title == "[redacted DB_PASSWORD]"
    assert "ijklmnop" not in read.text
    assert "[redacted MAIL_KEY]" in read.text
    assert "xxxx" not in read.text


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("issue.md", "issue.md"),
        ("./docs/../issue.md", "issue.md"),
        ("../other.md", "../other.md"),
    ],
)
def test_a_file_is_called_by_its_place_in_the_tree(tmp_path: Path, name: str, source: str) -> None:
    root = tmp_path / "tree"
    (root / "docs").mkdir(parents=True)
    (root / "issue.md").write_bytes(b"\xef\xbb\xbfPaint it\r\nblue\r")
    (tmp_path / "other.md").write_bytes(b"Paint it\r\nblue\r")
    settings = load_settings(root, {}, {"profile": "issue", "issue.file": name})
    read = read_request(root, settings, {})
    assert (read.kind, read.source, read.text) == (RequestKind.FILE, source, "Paint it\nblue")
    assert read.title == "Paint it"


def test_a_flag_is_stronger_than_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "config.toml").write_text('[issue]\ngithub = "#12"\n', encoding="utf-8")
    (tmp_path / "issue.md").write_text("Paint it", encoding="utf-8")
    given = {"profile": "issue", "issue.file": "issue.md", "issue.github": ""}
    read = read_request(tmp_path, load_settings(tmp_path, {}, given), {})
    assert read.title == "Paint it"
