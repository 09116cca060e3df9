"""What counts as a question that an agent ends with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.output_parser import parse_result, parse_text
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.core.agent.signals.question import COURTESY_PHRASES, MAX_QUESTION_CHARACTERS, shorten
from tests.unit.core.agent.signals.status_blocks import ANY_REPORT, clarity, ralph


def question(text: str) -> str:
    return parse_text(text).question


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Should I use Postgres or SQLite?", "Should I use Postgres or SQLite?"),
        ("I did it.\n\nI met two ways. Which one?", "Which one?"),
        ("Which one, e.g. Redis? And how long?", "Which one, e.g. Redis? And how long?"),
        ("Shall I **drop** the `users` table?**", "Shall I drop the `users` table?"),
        ("A question that is\n  wrapped over lines?", "A question that is wrapped over lines?"),
        ("数据库用哪个\uff1f", "数据库用哪个\uff1f"),
        ("The spec is unclear. Please clarify the format.", None),
        ("I looked around.\nPlease clarify the format.", "Please clarify the format."),
        (f"Which one?\n\n{ralph(ANY_REPORT)}", "Which one?"),
        (f"Which one?\n\n## Status:\n\n---\n\n```\n{ralph(ANY_REPORT)}```\n", "Which one?"),
        ("Which one?\n\n**Report:**\n<promise>COMPLETE</promise>\n", "Which one?"),
        ("Which one?\n\n```\na\nb\n```\n", "Which one?"),
        ("- I did it.\n- Which one?", "- Which one?"),
        ("Which one?\n\nLet me know, and I continue with it.", "Which one?"),
        ("Which one?\n\nI\u2019ll wait for your answer.", "Which one?"),
        ("Shall I go on? Sounds good?", "Shall I go on?"),
    ],
)
def test_a_last_paragraph_that_asks_is_noticed(text: str, asked: str | None) -> None:
    assert question(text) == (text if asked is None else asked)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All done.",
        "Why? Because it was slow.",
        "Which one?\n\nI took the first.",
        "I did it.\n\nLet me know how it goes.",
        "> Which one?",
        "I read this:\n> Which one?",
        "| Which one? |",
        "- [ ] Which one?",
        "```\nWhich one?\n```",
        "It prints `ready?`",
        'It prints "ready?"',
        "## What next?",
        "Which one?\n\n| a | b |",
        "Which one?\n<promise>DECIDE:Which one?</promise>",
        f"Which one?\n{clarity('STATUS: NEEDS_CLARIFICATION')}",
        f"Which one?\n{clarity('STATUS: IN_PROGRESS' + chr(10) + 'CLARIFICATION_NEEDED: true')}",
        ralph("STATUS: COMPLETE\nRECOMMENDATION: Which one?"),
    ],
)
def test_everything_else_is_no_question(text: str) -> None:
    assert question(text) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("anything-else", "Is there anything else I can help with?"),
        ("anything-else", "Is there something else you need?"),
        ("can-i-help", "How else can I help you today?"),
        ("what-next", "What would you like me to work on next?"),
        ("what-next", "What\u2019s next?"),
        ("what-next", "Ready for the next task?"),
        ("any-questions", "Do you have any questions?"),
        ("does-that-help", "Does that make sense?"),
        ("does-that-help", "Sounds good?"),
    ],
)
def test_courtesy_is_no_question(name: str, text: str) -> None:
    assert question(f"I fixed the parser. {text}") == ""
    assert COURTESY_PHRASES[name].search(text.lower().replace("\u2019", "'")) is not None


def test_a_question_through_a_tool_is_one() -> None:
    assert (
        parse_result(AgentResult(text="Working.", question="Which\none?")).question == "Which one?"
    )
    both = AgentResult(text="Shall I?", question="Which one?")
    assert parse_result(both).question == "Shall I?"
    signalled = AgentResult(text="<promise>DECIDE:A?</promise>", question="Which one?")
    assert parse_result(signalled).question == ""


def test_an_earlier_report_that_asks_is_a_signal() -> None:
    earlier = clarity("STATUS: NEEDS_CLARIFICATION")
    assert parse_result(AgentResult(text="Which one?", earlier_block=earlier)).question == ""


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("a bc", 4, "a bc"),
        ("a  b\nc", 5, "a b c"),
        ("aa bb cc", 7, "aa bb\u2026"),
        ("aaaaaaaa", 4, "aaa\u2026"),
    ],
)
def test_a_long_text_is_cut_between_words(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short


@given(st.text(alphabet="ab ?.\n*é", max_size=2_000))
def test_a_question_is_one_line_of_bounded_length(text: str) -> None:
    asked = question(f"{text} which?")
    assert len(asked) <= MAX_QUESTION_CHARACTERS
    assert "\n" not in asked
