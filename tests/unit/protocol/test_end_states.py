"""End states: a value that never changes, however many later ones share its memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndStates

fingerprints = st.sampled_from(["", "a", "b", "c", "d"])


@given(st.lists(st.tuples(st.integers(min_value=0), fingerprints)))
def test_each_value_has_what_it_was_made_with_whatever_is_made_of_it_later(
    additions: list[tuple[int, str]],
) -> None:
    made: list[tuple[EndStates, list[str]]] = [(EndStates(), [])]
    for chosen, fingerprint in additions:
        value, content = made[chosen % len(made)]
        is_new = fingerprint != "" and fingerprint not in content
        made.append((value.plus(fingerprint), content + [fingerprint] * is_new))
    for value, content in made:
        assert list(value) == content
        assert len(value) == len(content)
        assert [one in value for one in "abcd"] == [one in content for one in "abcd"]
        assert value == EndStates(content)
        assert hash(value) == hash(EndStates(content))


def test_others_share_the_memory_of_the_newest() -> None:
    one = EndStates(("a",))
    assert one.plus("a") is one is one.plus("")
    assert one != ("a",)
    assert repr(one) == "EndStates('a',)"


def test_a_state_is_read_and_written_with_a_list_of_them() -> None:
    state = RunState(seen=EndStates(("a", "b")))
    written = state.model_dump_json(by_alias=True)
    assert '"seen":["a","b"]' in written
    assert RunState.model_validate_json(written) == state
