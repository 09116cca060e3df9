"""Which promises count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.signals.promises import (
    MAX_PROMISE_CHARACTERS,
    check_tag,
    find_promise_tags,
    find_promises,
    first_promise_by_priority,
)
from ralph_ls.core.markdown_fences import fence_spans
from ralph_ls.protocol.run.report import Promise, PromiseKind

COMPLETE = "<promise>COMPLETE</promise>"


def read(text: str, complete_word: str = "COMPLETE") -> list[tuple[str, str]]:
    tags = find_promise_tags(text)
    found = find_promises(text, tags, fence_spans(text), complete_word=complete_word)
    return [(promise.kind.value, promise.text) for promise in found]


@pytest.mark.parametrize(
    ("text", "promises"),
    [
        pytest.param(COMPLETE, [("complete", "")], id="alone"),
        pytest.param(f"text\n{COMPLETE}\ntext", [("complete", "")], id="between-lines"),
        pytest.param(f"   {COMPLETE} \t", [("complete", "")], id="spaces-around"),
        pytest.param(f"**{COMPLETE}**", [("complete", "")], id="bold"),
        pytest.param(f"_{COMPLETE}_", [("complete", "")], id="italic"),
        pytest.param("<promise> COMPLETE </promise>", [("complete", "")], id="spaces-inside"),
        pytest.param("<promise>\nCOMPLETE\n</promise>", [("complete", "")], id="lines-inside"),
        pytest.param("<promise>BLOCKED:no key</promise>", [("blocked", "no key")], id="blocked"),
        pytest.param(
            "<promise>BLOCKED: no: key </promise>", [("blocked", "no: key")], id="colon-in-reason"
        ),
        pytest.param("<promise>DECIDE:A or B?</promise>", [("decide", "A or B?")], id="decide"),
        pytest.param(
            "<promise>DECIDE:A?\n\n- one\n- two</promise>",
            [("decide", "A?\n\n- one\n- two")],
            id="question-over-lines",
        ),
        pytest.param(
            "<promise>DECIDE:which?\n```\na\n```\nor b</promise>",
            [("decide", "which?\n```\na\n```\nor b")],
            id="fence-in-question",
        ),
        pytest.param(
            f"{COMPLETE}\n<promise>BLOCKED:x</promise>\n<promise>BLOCKED:y</promise>",
            [("complete", ""), ("blocked", "x"), ("blocked", "y")],
            id="several-in-order",
        ),
        pytest.param(
            f"the </promise> tag\n{COMPLETE}", [("complete", "")], id="after-an-end-without-start"
        ),
        pytest.param(
            f"the <promise> tag\n{COMPLETE}", [("complete", "")], id="after-an-unclosed-mention"
        ),
        pytest.param(
            f"```\nx\n```\n{COMPLETE}\n```\ny\n```", [("complete", "")], id="between-fences"
        ),
    ],
)
def test_a_promise_on_a_separate_line_counts(text: str, promises: list[tuple[str, str]]) -> None:
    assert read(text) == promises


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"I will not output {COMPLETE}", id="prose-before"),
        pytest.param(f"{COMPLETE} is what I would say", id="prose-after"),
        pytest.param(f"`{COMPLETE}`", id="backticks"),
        pytest.param(f'"{COMPLETE}"', id="quotation-marks"),
        pytest.param(f"> {COMPLETE}", id="block-quote"),
        pytest.param(f"```\n{COMPLETE}\n```", id="fence"),
        pytest.param(f"```\n{COMPLETE}", id="fence-never-closed"),
        pytest.param("<promise>DECIDE:a\n```\nb</promise>\n```", id="ends-in-a-fence"),
        pytest.param(f"    {COMPLETE}", id="indented-code"),
        pytest.param(f"\t{COMPLETE}", id="indented-by-a-tab"),
        pytest.param(f"- {COMPLETE}", id="list-mark"),
        pytest.param(f"**{COMPLETE}", id="unbalanced-bold"),
        pytest.param(f"{'x' * 50}{COMPLETE}", id="far-behind-the-line-start"),
        pytest.param("<promise>COMPLETE", id="never-closed"),
        pytest.param("</promise>\n", id="never-opened"),
        pytest.param("<promise></promise>", id="empty"),
        pytest.param("<promise>complete</promise>", id="lower-case"),
        pytest.param("<promise>DONE</promise>", id="unknown-word"),
        pytest.param("<promise>DONE:all</promise>", id="unknown-word-with-text"),
        pytest.param("<promise>BLOCKED</promise>", id="blocked-without-colon"),
        pytest.param("<promise>BLOCKED:</promise>", id="empty-reason"),
        pytest.param("<promise>DECIDE: \n </promise>", id="blank-question"),
        pytest.param("<promise>DECIDE:...</promise>", id="dots"),
        pytest.param("<promise>BLOCKED:reason</promise>", id="reason"),
        pytest.param("<promise>BLOCKED:<reason></promise>", id="reason-in-angles"),
        pytest.param("<promise>BLOCKED:[your reason here]</promise>", id="reason-in-brackets"),
        pytest.param("<promise>DECIDE:question</promise>", id="question"),
        pytest.param("<promise>DECIDE:<question></promise>", id="question-in-angles"),
        pytest.param("<promise>DECIDE:<what to ask></promise>", id="any-placeholder"),
        pytest.param(f"<promise>DECIDE:{'x' * MAX_PROMISE_CHARACTERS}</promise>", id="too-long"),
        pytest.param(f"<promise>COMPLETE\n{COMPLETE} x", id="the-inner-tag-is-not-alone"),
    ],
)
def test_a_mention_or_a_template_is_no_promise(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"```\n{COMPLETE}\n```", "it is in a code fence"),
        (f"> {COMPLETE}", "it is in a quote"),
        (f"`{COMPLETE}`", "it is in a quote"),
        (f'He said "{COMPLETE}"', "it is in a quote"),
        (f"     {COMPLETE}", "it is indented like code"),
        (f"\t{COMPLETE}", "it is indented like code"),
        # What users of such loops complain about most.
        (f"I will not output {COMPLETE} yet", "it is not on its own line"),
        (f"- {COMPLETE}", "it is not on its own line"),
        (f"  {COMPLETE} yet", "it is not on its own line"),
        (f"**{COMPLETE}", "it is not on its own line"),
        ("<promise> </promise>", "it is empty"),
        ("<promise>BLOCKED:</promise>", "it has no reason"),
        ("<promise>BLOCKED</promise>", "it has no reason"),
        ("<promise>DECIDE: ?</promise>", "it has no question"),
        (
            "<promise>DONE</promise>",
            "it is none of COMPLETE, BLOCKED:reason and DECIDE:question",
        ),
        (
            "<promise>BLOCKED:reason</promise>",
            "it is a template with nothing filled in",
        ),
    ],
)
def test_why_a_tag_is_no_promise(text: str, why: str) -> None:
    (tag,) = find_promise_tags(text)
    assert check_tag(text, tag, fence_spans(text), complete_word="COMPLETE") == why


def test_the_configured_word_replaces_complete() -> None:
    text = f"{COMPLETE}\n<promise>SHIP_IT_2</promise>\nSHIP_IT_2"
    assert read(text, "SHIP_IT_2") == [("complete", "")]


def test_a_question_of_the_longest_length_is_kept_whole() -> None:
    question = "é" * (MAX_PROMISE_CHARACTERS - len("DECIDE:"))
    assert read(f"<promise>DECIDE:{question}</promise>") == [("decide", question)]


@pytest.mark.parametrize(
    ("kinds", "first"),
    [
        ("decide blocked complete", "complete"),
        ("decide blocked", "blocked"),
        ("decide", "decide"),
    ],
)
def test_promises_are_checked_in_the_order_complete_blocked_decide(kinds: str, first: str) -> None:
    promises = [Promise(kind=PromiseKind(kind), text="x") for kind in kinds.split()]
    checked = first_promise_by_priority(promises)
    assert checked is not None
    assert checked.kind.value == first


def test_of_two_alike_the_first_in_the_text_is_checked() -> None:
    promises = [Promise(kind=PromiseKind.BLOCKED, text=text) for text in ("one", "two")]
    assert first_promise_by_priority(promises) is promises[0]


def test_without_promises_none_is_checked() -> None:
    assert first_promise_by_priority(()) is None


@given(st.text(), st.text())
def test_a_promise_between_any_lines_without_fences_is_found(before: str, after: str) -> None:
    # Between quote marks in the adjacent lines it is a quote.
    clear = str.maketrans("", "", "`~<\r\"'\u201c\u00ab\u2018")
    text = f"{before.translate(clear)}\n<promise>BLOCKED:no key</promise>\n{after.translate(clear)}"
    assert read(text) == [("blocked", "no key")]
