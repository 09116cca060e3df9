"""What an agent said last, as a transcript has it, and whether it leaves the rest to the user."""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.agent.transcript_tail import final_text_of_transcript, has_halting_promise


@pytest.mark.parametrize(
    ("said", "halts"),
    [
        ("<promise>BLOCKED:no key</promise>", True),
        ("I cannot go on.\n\n<promise>DECIDE:A or B?</promise>", True),
        ("<promise>COMPLETE</promise>", False),
        ("<promise></promise>", False),
        ("<promise>BLOCKED:</promise>", False),
        ("I will not say <promise>BLOCKED:no key</promise> here", False),
        ("```\n<promise>BLOCKED:no key</promise>\n```", False),
        ("", False),
    ],
)
def test_blocked_and_decide_halt(said: str, halts: bool) -> None:
    assert has_halting_promise(said) is halts


def record(kind: str, *blocks: object, **more: object) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": list(blocks)}, **more})


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


CALL = {"type": "tool_use", "name": "Bash", "input": {}}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ""),
        ([record("assistant", text("one")), record("assistant", text("two"))], "one\ntwo"),
        ([record("assistant", text("one"), text("two"))], "one\ntwo"),
        (
            [record("assistant", text("one")), record("user", {}), record("assistant", text("2"))],
            "2",
        ),
        ([record("assistant", text("one"), CALL, text("two"))], "two"),
        ([record("assistant", text("one"), CALL), record("user", {})], ""),
        (
            [
                record("assistant", text("mine")),
                record("assistant", text("a helper's"), isSidechain=True),
                record("system", text("a hook ran")),
                "no JSON",
                "[" * 100_000,
                "3",
            ],
            "mine",
        ),
        ([record("assistant", {"type": "thinking", "thinking": "hm"}, text("so"), "odd")], "so"),
        ([record("assistant", {"type": "text", "text": 3}, text("so"))], "so"),
        ([json.dumps({"type": "assistant", "message": {"content": "plain"}})], "plain"),
        ([json.dumps({"type": "assistant", "message": "odd"})], ""),
    ],
)
def test_it_is_the_text_behind_the_last_call(lines: list[str], words: str) -> None:
    assert final_text_of_transcript(reversed(lines)) == words
