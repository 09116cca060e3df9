"""What a start reports of the tools that an agent is given."""

from __future__ import annotations

import pytest

from ralph_ls.engine.agent.run_agents import emit_writing_tools
from ralph_ls.protocol.config.config import Config


@pytest.mark.parametrize(
    "tools",
    [None, {"deny": ["Bash"]}, {"allow": []}, {"allow": ["Read"]}, {"allow": ["Edit", "Bash"]}],
)
def test_a_list_that_is_what_it_looks_like_needs_no_words(tools: dict[str, list[str]]) -> None:
    assert emit_writing_tools(Config.model_validate({"tools": tools})) == ()


def test_a_list_that_seems_to_read_only_is_reported_once() -> None:
    allowed = ["Read", *(f"Bash({name} *)" for name in ("git diff", "find", "sed", "sort"))]
    (notice,) = emit_writing_tools(Config.model_validate({"tools": {"allow": allowed}}))
    assert notice.code == "tools-may-write"
    assert (
        "Bash(git diff *) (git diff --output=FILE), Bash(find *) (find -delete)" in notice.message
    )
    assert "sort" not in notice.message
