"""``ralph help TOPIC``: pages of the documentation in a terminal and in a pipe."""

from __future__ import annotations

import io
import re
import sys
import tomllib
from pathlib import Path

import pytest

from ralph_ls.cli import help_pages
from ralph_ls.cli.help_pages import IN_WHEEL, TOPICS, topic_text
from ralph_ls.cli.verbs import VERBS
from ralph_ls.protocol.errors import StateUnusable
from tests.unit.cli.cli_runner import Ralph

ROOT = Path(__file__).resolve().parents[3]


def test_each_page_is_in_the_wheel() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = tables["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    pages = {place: page for place, page in included.items() if place.endswith(".md")}
    assert pages == {f"docs/{page}": f"ralph_ls/{IN_WHEEL}/{page}" for page in TOPICS.values()}


def test_no_topic_has_the_name_of_a_verb() -> None:
    assert TOPICS.keys() & VERBS.keys() == set()


@pytest.mark.parametrize("name", TOPICS)
def test_each_can_be_read_without_a_browser(name: str) -> None:
    text = topic_text(name)
    assert text.startswith("# ")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\]\((?!https?://)[^)]*\)|<!--", prose) == []


def test_links_become_commands_and_code_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / IN_WHEEL).mkdir()
    (tmp_path / IN_WHEEL / "faq.md").write_text(
        "# FAQ\n\n![A picture](a.svg)\n\n<!-- run -->\n\n```sh\n[a](safety.md)\n```\n\n"
        "See [safety](safety.md#a), [this](faq.md), [rules](rules.md), [it](https://a.example/).\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(help_pages, "_PACKAGE", tmp_path)
    assert topic_text("faq") == (
        "# FAQ\n\n```sh\n[a](safety.md)\n```\n\n"
        "See safety, this, rules, [it](https://a.example/).\n"
        "\n## See also\n\n- `ralph help safety`\n"
    )
    with pytest.raises(StateUnusable, match=r"\(safety\.md\); install it again"):
        topic_text("safety")


def test_a_terminal_gets_it_set(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    help_pages.show_topic("safety")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    assert "Safety" in lines[0]
    assert "# Safety" not in lines[0]
    assert max(map(len, lines)) <= 40


def test_a_pipe_gets_markdown(ralph: Ralph, tmp_path: Path) -> None:
    said = ralph(tmp_path, "help", "safety")
    assert said.out.startswith("# Safety\n")


def test_they_are_listed_and_a_near_one_is_suggested(ralph: Ralph, tmp_path: Path) -> None:
    assert "quick-start, overnight, safety" in ralph(tmp_path, "help").out
    refused = ralph(tmp_path, "help", "quickstart")
    assert (refused.code, "did you mean quick-start?" in refused.err) == (64, True)
