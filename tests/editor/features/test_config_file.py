"""The config file: old keys and mistakes are reported, and a quick fix renames the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.sample_workspace import ask, desk_on, open_file, span, work_tree

pytestmark = pytest.mark.asyncio

CONFIG = 'profile = "fixplan"\n\n  timeout = "20m"  # slow tests: 漢字\n'


async def test_an_old_key_is_reported_and_renamed_in_its_place(tmp_path: Path) -> None:
    view = work_tree(tmp_path)
    editor = await desk_on(view)
    uri = open_file(editor, view, ".ralph/config.toml", CONFIG)
    (shown,) = (await editor.published(uri))["diagnostics"]
    assert (shown["code"], shown["severity"], span(shown["range"])) == (
        "setting-renamed",
        2,
        (2, 2, 2, 9),
    )
    assert shown["message"] == (
        "timeout is now timeouts.iteration; ralph 0.4 no longer reads the old key"
    )
    asking = {"range": shown["range"], "context": {"diagnostics": [shown]}}
    (action,) = await ask(editor, "codeAction", uri, **asking)
    assert (action["title"], action["isPreferred"]) == ("Rename to timeouts.iteration", True)
    ((change,),) = (one["edits"] for one in action["edit"]["documentChanges"])
    assert change["newText"] == '  timeouts.iteration = "20m"  # slow tests: 漢字\n'
    assert span(change["range"]) == (2, 0, 3, 0)


async def test_several_old_keys_have_one_fix(tmp_path: Path) -> None:
    view = work_tree(tmp_path)
    editor = await desk_on(view)
    uri = open_file(editor, view, ".ralph/config.toml", 'timeout = 3\nlog = "text"\n')
    shown = (await editor.published(uri))["diagnostics"]
    asking = {"range": shown[0]["range"], "context": {"diagnostics": shown[:1]}}
    (action,) = await ask(editor, "codeAction", uri, **asking)
    assert action["title"] == "Rename to the new keys (2)"
    assert await ask(editor, "codeAction", uri, **asking | {"context": {"diagnostics": []}}) == []


async def test_mistakes_are_reported_where_they_are(tmp_path: Path) -> None:
    view = work_tree(tmp_path)
    editor = await desk_on(view)
    uri = open_file(editor, view, ".ralph/config.toml", "max_iteration = 3\n[breaker]\nenabled = 2")
    first, second = (await editor.published(uri))["diagnostics"]
    assert (first["code"], first["severity"], span(first["range"])) == (
        "setting-wrong",
        1,
        (0, 0, 0, 17),
    )
    assert first["message"] == "unknown setting max_iteration; did you mean max_iterations?"
    assert span(second["range"]) == (2, 0, 2, 11)
    editor.close(uri)
    assert (await editor.published(uri))["diagnostics"] == []


@pytest.mark.parametrize(
    ("text", "line"), [("a = \n", 0), ("x = 1\n[breaker\n", 1), ("a = 9223372036854775808", 0)]
)
async def test_what_is_not_toml_is_reported(tmp_path: Path, text: str, line: int) -> None:
    view = work_tree(tmp_path)
    editor = await desk_on(view)
    uri = open_file(editor, view, ".ralph/config.toml", text)
    (shown,) = (await editor.published(uri))["diagnostics"]
    assert (shown["code"], shown["range"]["start"]["line"]) == ("setting-wrong", line)
