"""What waits for a client, and what gives way."""

from __future__ import annotations

import json
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.editor.lsp.framing import FrameReader, frame
from ralph_ls.editor.lsp.outbox import Outbox
from ralph_ls.protocol.lsp.methods import OutputParams
from tests.editor.wire_client import bodies

Stream = Literal["out", "err"]


def output(text: str, stream: Stream = "out") -> OutputParams:
    return OutputParams(workspace="w", run="r", start=1, stream=stream, text=text)


def take_all(outbox: Outbox, limit: int = 1 << 20) -> list[Any]:
    reader = FrameReader()
    taken = []
    while data := outbox.take(limit):
        taken += [json.loads(body) for body in bodies(reader, data)]
    return [each["params"] if isinstance(each, dict) else each for each in taken]


def shown(params: list[Any], stream: Stream = "out") -> list[tuple[int, str]]:
    return [(p["skipped"], p["text"]) for p in params if p != 0 and p.get("stream") == stream]


def test_output_of_one_stream_that_waits_becomes_one_frame() -> None:
    outbox = Outbox()
    for text in ("a", "b", "c"):
        outbox.put_output(output(text))
    assert shown(take_all(outbox)) == [(0, "abc")]


def test_it_keeps_its_place_among_the_others() -> None:
    outbox = Outbox()
    outbox.put_output(output("a"))
    outbox.put(frame(b"0"))
    outbox.put_output(output("b"))
    outbox.put_output(output("c", "err"))
    outbox.put_output(output("d"))
    texts = [each if each == 0 else each["text"] for each in take_all(outbox)]
    assert texts == ["a", 0, "b", "c", "d"]


def test_a_frame_has_a_bound() -> None:
    outbox = Outbox(frame_limit=10)
    for text in ("aaaa", "bbbb", "cccc", "d" * 30, "e"):
        outbox.put_output(output(text))
    assert [text for _, text in shown(take_all(outbox))] == ["aaaabbbb", "cccc", "d" * 30, "e"]


def test_the_oldest_gives_way_and_the_next_frame_counts_what_is_missing() -> None:
    outbox = Outbox(frame_limit=4, output_limit=10)
    for letter in "abcdefgh":
        outbox.put_output(output(letter * 4))
    assert len(outbox) == 8
    assert shown(take_all(outbox)) == [(24, "gggg"), (0, "hhhh")]


def test_what_is_missing_at_the_end_of_a_stream_is_counted_too() -> None:
    outbox = Outbox(frame_limit=4, output_limit=4)
    outbox.put_output(output("eeee", "err"))
    outbox.put_output(output("oooo"))
    taken = take_all(outbox)
    assert shown(taken) == [(0, "oooo")]
    assert shown(taken, "err") == [(4, "")]
    assert not outbox


def test_what_was_left_out_before_it_came_here_is_still_counted() -> None:
    outbox = Outbox()
    outbox.put_output(output("a"))
    outbox.put_output(output("b").model_copy(update={"skipped": 7}))
    assert shown(take_all(outbox)) == [(0, "a"), (7, "b")]


def spoken(params: list[Any]) -> list[tuple[int, list[int]]]:
    return [(p.get("skipped", 0), p["messages"]) for p in params if "messages" in p]


def test_messages_that_wait_become_one_frame_beside_the_output() -> None:
    outbox = Outbox()
    outbox.put_messages("w", "r", [b"1", b"2"])
    outbox.put_messages("w", "r", [b"3"])
    outbox.put_output(output("a"))
    outbox.put_messages("w", "r", [b"4"])
    outbox.put_messages("w", "other", [b"5"])
    taken = take_all(outbox)
    assert spoken(taken) == [(0, [1, 2, 3]), (0, [4]), (0, [5])]
    assert taken[1]["text"] == "a"
    assert (taken[0]["workspace"], taken[-1]["run"]) == ("w", "other")


def test_the_oldest_messages_give_way_and_are_counted() -> None:
    outbox = Outbox(frame_limit=4, output_limit=8)
    for number in range(6):
        outbox.put_messages("w", "r", [b"%d%d" % (number + 1, number)] * 2)
    assert spoken(take_all(outbox)) == [(8, [54, 54]), (0, [65, 65])]
    outbox.put_messages("w", "r", [b"1"])
    outbox.put_output(output("x" * 9))
    taken = take_all(outbox)
    assert spoken(taken) == [(1, [])]
    assert not outbox


steps = st.lists(
    st.one_of(
        st.none(), st.integers(1, 40), st.tuples(st.sampled_from(["out", "err"]), st.integers(0, 9))
    )
)


@given(steps)
def test_nothing_is_lost_without_being_counted(
    steps: list[int | tuple[Stream, int] | None],
) -> None:
    """None is a message, a number is a client that reads so much, a pair is output."""
    outbox = Outbox(frame_limit=8, output_limit=16)
    reader = FrameReader()
    n_messages = 0
    told: dict[Stream, int] = {"out": 0, "err": 0}
    taken: list[Any] = []

    def take(limit: int) -> bool:
        data = outbox.take(limit)
        taken.extend(json.loads(body) for body in bodies(reader, data))
        return bool(data)

    for step in steps:
        match step:
            case None:
                outbox.put(frame(b"0"))
                n_messages += 1
            case int():
                take(step)
            case (told_by, length):
                outbox.put_output(output("x" * length, told_by))
                told[told_by] += length
    while take(30):
        pass
    assert taken.count(0) == n_messages
    frames = [each["params"] for each in taken if each != 0]
    for stream, n_told in told.items():
        own = [each for each in frames if each["stream"] == stream]
        assert sum(len(each["text"]) + each["skipped"] for each in own) == n_told
    assert len(outbox) == 0
    assert not outbox
