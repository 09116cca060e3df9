"""The stop hook in an agent's settings: put in once, and nothing else changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.setup.hooks import (
    HOOK_COMMAND,
    HOOK_PLACES,
    hook_in,
    launcher,
    with_stop_hook,
    words_of_hook,
)
from ralph_ls.protocol.config.agent_facts import HookPlace

PLACE = HookPlace(path=".agent/settings.json", event="Stop")
OURS = launcher(lambda *words: ["/opt/my tools/python", "-I", *words])
ENTRY = {"hooks": [{"type": "command", "command": OURS, "timeout": 60}]}
TAIL = json.dumps(ENTRY, indent=2)

TEXTS = {
    "one line": '{"a":1}',
    "empty object": "{}",
    "empty object over lines": "{\n}\n",
    "tabs": '{\n\t"a": 1\n}\n',
    "four blanks": '{\n    "a": {\n        "b": [1]\n    }\n}',
    "windows": '{\r\n  "a": 1\r\n}\r\n',
    "hooks of another event": '{\n  "hooks": {\n    "PreToolUse": []\n  },\n  "z": 1\n}\n',
    "an empty event": '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "another hook": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    "another hook in one line": '{\n "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}\n}\n',
    "odd values": '{"hooks": {"Stop": [1, {"hooks": 2}, {"command": 3}]}}',
    "a mark of the byte order": '\ufeff{\n  "a": "ü"\n}\n',
    "a key that comes twice": '{"hooks": 1, "hooks": {}}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_is_added_at_the_end_and_nothing_else_moves(text: str) -> None:
    merged = with_stop_hook(text, PLACE, OURS)
    assert (merged.problem, merged.line) == ("", None)
    before, after = (json.loads(one.removeprefix("\ufeff")) for one in (text, merged.text))
    events = after["hooks"]["Stop"]
    assert events[-1] == ENTRY
    known = before.get("hooks", {})
    assert events[:-1] == known.get("Stop", [])
    assert {**after, "hooks": None} == {**before, "hooks": None}
    assert {**after["hooks"], "Stop": None} == {**known, "Stop": None}
    # What was there is still there, in its order.
    rest = iter(merged.text)
    assert all(char in rest for char in "".join(text.split()))
    assert ("\r\n" in text) == ("\r\n" in merged.text)
    assert with_stop_hook(merged.text, PLACE, OURS).text == merged.text


@pytest.mark.parametrize("text", ["", " \n", "\ufeff\n"])
def test_where_there_is_nothing_it_is_a_separate_file(text: str) -> None:
    merged = with_stop_hook(text, PLACE, OURS)
    assert merged.text == json.dumps({"hooks": {"Stop": [ENTRY]}}, indent=2) + "\n"


def test_it_is_laid_out_as_the_file_is() -> None:
    merged = with_stop_hook('{\n\t"hooks": {\n\t\t"A": []\n\t}\n}\n', PLACE, OURS)
    lines = merged.text.split("\n")
    assert lines[:6] == [
        *("{", '\t"hooks": {', '\t\t"A": [],', '\t\t"Stop": [', "\t\t\t{", '\t\t\t\t"hooks": [')
    ]
    in_line = with_stop_hook('{\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n', PLACE, OURS)
    assert in_line.text.count("\n") == 3


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ('{\n  "a": [}\n', "this is not JSON: ", 2),
        ('{\n  "a": 1,\n}\n', "this is not JSON: remove this comma", 2),
        ('{\n  // mine\n  "a": 1\n}\n', "this is not JSON: JSON has no comments", 2),
        ("\n[1]\n", "this is not a JSON object", 2),
        ("what", "this is not JSON: ", 1),
        ('{\n "hooks": []}', "hooks is not a JSON object", 2),
        ('{"hooks": {\n\n"Stop": {}}}', "hooks.Stop is not a list", 3),
    ],
)
def test_what_cannot_be_merged_stays_and_is_reported(text: str, problem: str, line: int) -> None:
    merged = with_stop_hook(text, PLACE, OURS)
    assert merged.text == text
    assert merged.problem.startswith(problem)
    assert merged.line == line


def test_comments_stay_where_the_program_knows_them() -> None:
    text = '{\n  // mine\n  "a": 1 // and this\n}\n'
    merged = with_stop_hook(text, HOOK_PLACES["qwen"], OURS)
    assert merged.problem == ""
    assert "  // mine\n" in merged.text
    assert " // and this\n}" in merged.text
    assert with_stop_hook(merged.text, HOOK_PLACES["qwen"], OURS).text == merged.text


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.just("hooks"), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    value=st.dictionaries(st.text(max_size=5) | st.just("hooks"), JSONS, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_settings_keep_all_that_they_had(value: dict[str, object], indent: int | str) -> None:
    text = json.dumps(value, indent=indent)
    merged = with_stop_hook(text, PLACE, OURS)
    if merged.problem:
        assert merged.text == text
        return
    after = json.loads(merged.text)
    assert after["hooks"]["Stop"][-1] == ENTRY
    assert {**after, "hooks": None} == {**value, "hooks": None}
    assert with_stop_hook(merged.text, PLACE, OURS).text == merged.text


def test_the_launcher_is_absolute_and_isolated() -> None:
    assert OURS == "'/opt/my tools/python' -I -m ralph_ls hook stop"
    words = ("/opt/my tools/python", "-I", "-m", "ralph_ls", "hook", "stop")
    assert words_of_hook(OURS) == words


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        (HOOK_COMMAND, True),
        ("/usr/local/bin/ralph hook stop", True),
        ("'/a b/ralph' hook stop", True),
        ("python3 -P -m ralph_ls hook stop", True),
        ("python3 -m ralph_ls hook stop", False),
        ("python3 -I -m other hook stop", False),
        ("ralph hook stop || true", False),
        ("notralph hook stop", False),
        ("hook stop", False),
        ("ralph 'hook stop", False),
        ("", False),
    ],
)
def test_only_what_is_nothing_but_our_hook_is_known(command: str, *, is_ours: bool) -> None:
    assert (words_of_hook(command) is not None) is is_ours
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}})
    assert hook_in(text, PLACE) == (command if is_ours else None)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hooks": 1}', '{"hooks": {"Stop": 1}}'])
def test_where_there_is_no_hook_none_is_found(text: str) -> None:
    assert hook_in(text, PLACE) is None


@pytest.mark.parametrize("place", HOOK_PLACES.values(), ids=list(HOOK_PLACES))
def test_what_an_earlier_release_wrote_is_renewed_in_place(place: HookPlace) -> None:
    old = with_stop_hook('{\n  "a": 1\n}\n', place, HOOK_COMMAND).text
    renewed = with_stop_hook(old, place, OURS).text
    assert renewed == old.replace(json.dumps(HOOK_COMMAND), json.dumps(OURS))
    assert with_stop_hook(renewed, place, OURS).text == renewed
    assert hook_in(renewed, place) == OURS


def test_a_line_of_the_users_own_around_the_hook_stays() -> None:
    text = '{"hooks": {"Stop": [{"hooks": [{"command": "cd x && ralph hook stop"}]}]}}'
    assert with_stop_hook(text, PLACE, OURS).text == text
