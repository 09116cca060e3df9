"""What a mapping of JSON lines may say, and how one that is wrong is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ralph_ls.protocol.config.agent import AgentConfig, JsonLinesConfig


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": ""}, "'' is not a path to a field; write its names with a dot between them"),
        ({"fields": {"text": ["a..b"]}}, "'a..b' is not a path to a field"),
        ({"fields": {"text": ["a" * 201]}}, "is not a path to a field"),
        (
            {"kinds": {"text": ["say"], "error": ["say"]}},
            "the kind 'say' cannot mean text and error; keep one",
        ),
        ({"kinds": {"tea": ["x"]}}, "Extra inputs are not permitted"),
        ({"counting": "never"}, "Input should be 'record' or 'total'"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        JsonLinesConfig.model_validate(given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"output": {}}, "but dialect is not set; set it, or remove output"),
        ({"output": {}, "dialect": "claude"}, "but dialect is 'claude'"),
    ],
)
def test_a_mapping_without_its_dialect_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        AgentConfig.model_validate(table)
    assert words in str(caught.value)


def test_the_dialect_alone_has_the_defaults() -> None:
    assert AgentConfig.model_validate({"dialect": "jsonl"}).output is None
    assert JsonLinesConfig().kinds.text == ("text",)
