"""Promises and words of completion that an agent only quotes: none of them ends a run.

Each case is what an agent writes of its orders, of a log or of another agent. What it says itself,
beside the quote, still counts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.ignored_signals import find_ignored_signals
from ralph_ls.core.agent.output_parser import ParsedOutput, parse_text
from ralph_ls.core.agent.signals.promises import find_promise_tags
from ralph_ls.core.agent.signals.prose import MENTION, mask_non_prose, mask_quotes
from ralph_ls.core.agent.text import lower
from ralph_ls.core.markdown_fences import fence_spans

TAG = "<promise>COMPLETE</promise>"
ASKS = "<promise>DECIDE:a or b?</promise>"


def said(text: str) -> tuple[int, tuple[str, ...]]:
    reading: ParsedOutput = parse_text(text)
    return len(reading.promises), reading.completion


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"> {TAG} every task is done", id="block-quote"),
        pytest.param(f"> The rule: {TAG} once asked, all tasks are done.", id="in-a-block-quote"),
        pytest.param(f"> > {TAG} all done", id="nested-block-quote"),
        pytest.param(f">> {TAG} all done\n>> everything is finished", id="nested-without-blank"),
        pytest.param(f"- > {TAG} all done", id="block-quote-in-a-list"),
        pytest.param(f"1. - > {TAG} all done", id="block-quote-in-nested-lists"),
        pytest.param(f"> - {TAG} every task is done\n> - all done", id="list-in-a-block-quote"),
        pytest.param(f"> 1. {TAG}\n> 2. nothing left to do", id="numbers-in-a-block-quote"),
        pytest.param(
            "> <promise>BLOCKED:no\n> key</promise> all tasks are done", id="tag-over-quoted-lines"
        ),
        pytest.param(f"`{TAG} every task is done`", id="code"),
        pytest.param(f"`every task is done {TAG}`", id="code-before-the-tag"),
        pytest.param(f"``{TAG} `x` all tasks are done``", id="backticks-in-code"),
        pytest.param(f"Print `{TAG}` or `{ASKS} all done`", id="several-in-code"),
        pytest.param(f"`{TAG}` `all done` `{TAG} finished`", id="codes-on-a-line"),
        pytest.param(f"`say {TAG}\nwhen all tasks are done, I am done`", id="code-over-lines"),
        pytest.param(f"`say {TAG}\nAll tasks are done.`", id="code-over-sentences"),
        pytest.param("`say so\nall tasks are done`", id="wrapped-code"),
        pytest.param(f'"{TAG} every task is done"', id="quotation-marks"),
        pytest.param(f'He said "every task is done {TAG}, finished".', id="quote-around-the-tag"),
        pytest.param(f'"{TAG}" and "{ASKS} all done"', id="several-quotes"),
        pytest.param(f'"say {TAG}\n- all tasks are done\n- finished"', id="list-in-quotes"),
        pytest.param('The prompt: "say that\nall tasks are done"', id="wrapped-quote"),
        pytest.param(
            '"<promise>BLOCKED:no "x" key</promise> all tasks are done"', id="quotes-in-the-tag"
        ),
        pytest.param(f"\u201c{TAG} all tasks are done\u201d", id="curly-quote"),
        pytest.param(
            "\u201cHe: \u201call done\u201d and all tasks are done\u201d", id="curly-in-curly"
        ),
        pytest.param(
            "\u201cHe: \u2018all done\u2019 and it is finished\u201d", id="single-in-curly"
        ),
        pytest.param("\u201ca " * 6 + "all done" + "\u201d" * 6, id="deeply-nested"),
        pytest.param("\u201csay that\nall tasks are done\u201d", id="wrapped-curly-quote"),
        pytest.param(f"\u201csay {TAG}\n- all done\n- finished\u201d", id="list-in-a-curly-quote"),
        pytest.param(f"\u201e{TAG} all tasks are done\u201c", id="low-quote"),
        pytest.param(f"\u00ab{TAG} all tasks are done\u00bb", id="guillemets"),
        pytest.param("\u00abit: \u00aball done\u00bb and finished\u00bb", id="nested-guillemets"),
        pytest.param(f"\u00absay {TAG}\n- all done\n- finished\u00bb", id="list-in-guillemets"),
        pytest.param("'It's all done'", id="apostrophe-in-a-quote"),
        pytest.param("\u2018It\u2019s all done\u2019", id="curly-apostrophe-in-a-quote"),
        pytest.param(f"<code>{TAG} all tasks are done</code>", id="html-code"),
        pytest.param("<blockquote>all tasks are done</blockquote>", id="html-quote"),
        pytest.param(f"| {TAG} | all done |", id="table"),
        pytest.param(f"- [ ] {TAG} all done", id="check-list"),
        pytest.param(f"~~{TAG} all done~~", id="struck-out"),
        pytest.param(f"I must never print {TAG} unless every task is done", id="hypothetical"),
        pytest.param(f'Only print\n"\n{TAG}\n"\nat the end', id="between-quotation-marks"),
        pytest.param(f"Only print `\n\n{TAG}\n`", id="between-backticks"),
        pytest.param(f"Only print (\u201c\n{TAG}\n\u201d)", id="between-curly-marks"),
        pytest.param(f"<pre>\n**{TAG}**\n</pre>", id="between-html"),
        pytest.param(f"<blockquote>\n{TAG}\n</blockquote>", id="between-html-quotes"),
    ],
)
def test_what_is_only_quoted_says_nothing(text: str) -> None:
    assert said(text) == (0, ())
    assert said(f"I read the orders.\n\n{text}\n\nI go on.") == (0, ())


@pytest.mark.parametrize(
    ("text", "promises", "words"),
    [
        pytest.param(f"`{TAG}`: every task is done.", 0, ("done",), id="beside-code"),
        pytest.param(f'As "{TAG}" says, every task is done.', 0, ("done",), id="behind-a-quote"),
        pytest.param(f"> {TAG} finished\nEvery task is done.", 0, ("done",), id="below-a-quote"),
        pytest.param(f"{TAG} every task is done.", 0, ("done",), id="on-the-tags-line"),
        pytest.param(f"Every task is done.\n{TAG}", 1, ("done",), id="above-a-promise"),
        pytest.param(f"{TAG}\nEvery task is done.", 1, ("done",), id="below-a-promise"),
        pytest.param(f'The "x"\n{TAG}\n"y" is done.', 1, ("done",), id="between-two-quotes"),
        pytest.param(f'"\n{TAG}\nand more', 1, (), id="below-a-lone-mark"),
        pytest.param(f"\u201c\n{TAG}\n\u00bb", 1, (), id="between-marks-of-two-kinds"),
        pytest.param(f"<pre>\n{TAG}\n</code>", 1, (), id="between-tags-of-two-kinds"),
        pytest.param(f'5" by 6".\n\n{TAG} said so. All work is done.', 0, ("done",), id="inches"),
        pytest.param("The ` key works.\nAll work is done.", 0, ("done",), id="a-lone-backtick"),
        pytest.param('The 5" disk.\nall work is done.', 0, ("done",), id="a-lone-inch"),
        pytest.param(
            f"I print {TAG} and {ASKS} at the end\n\n`a\n\nAll work is done. `",
            0,
            ("done",),
            id="code-ends-with-its-paragraph",
        ),
        pytest.param(f"{TAG} and {TAG}\nAll work is done.", 0, ("done",), id="tags-on-a-line"),
    ],
)
def test_what_the_agent_says_itself_counts(
    text: str, promises: int, words: tuple[str, ...]
) -> None:
    assert said(text) == (promises, words)


def test_the_user_is_shown_where_it_is() -> None:
    text = f'He said "{TAG} and every task is done".\n\n"\n{TAG}\n"'
    found = find_ignored_signals(parse_text(text))
    assert [(one.what, one.line, one.why) for one in found] == [
        ("promise", 1, "it is in a quote"),
        ("promise", 4, "it is in a quote"),
        ("word", 1, "done: it is in a quote"),
    ]


def test_of_quotes_in_quotes_the_outermost_is_given() -> None:
    text = "a \u201cb \u201cc\u201d d\u201d e"
    left, quotes = mask_quotes(text)
    assert (left.split(), quotes) == (["a", "e"], (((2, 11), "a quote"),))


pieces = st.lists(
    st.sampled_from(
        [
            *("all done", " ", "\n", "\n\n", "> ", "- ", "`", "``", '"', "'", "\u201c", "\u201d"),
            *(TAG, ASKS, "<promise>BLOCKED:a\n> b</promise>", "\u00ab", "\u00bb", "x", "```\n"),
        ]
    ),
    max_size=24,
).map("".join)


@given(pieces)
def test_setting_apart_moves_nothing(text: str) -> None:
    tags = find_promise_tags(text)
    apart = mask_non_prose(text, lower(text), fence_spans(text), tags)
    assert len(apart.text) == len(apart.lowered) == len(text)
    assert apart.lowered == lower(apart.text)
    changed = {now for was, now in zip(text, apart.text, strict=True) if was != now}
    assert changed <= {MENTION}
