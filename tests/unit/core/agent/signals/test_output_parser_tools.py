"""Lists that look as if they only read."""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.tools import WRITING_USES, writing_commands


@pytest.mark.parametrize(
    ("allowed", "ways"),
    [
        (["Read", "Grep", "Glob"], []),
        (["Read", "Bash(git diff *)"], ["git diff --output=FILE"]),
        (["Read", "Bash(git diff:*)"], ["git diff --output=FILE"]),
        (["shell(git:*)"], ["git diff --output=FILE"]),
        (["bash(git log -p *)", "bash(find *)"], ["git log --output=FILE", "find -delete"]),
        (["bash(sort*)", "Bash( sed *)"], ["sort -o FILE", "sed -i"]),
        (["Bash(git status)", "Bash(git diff --stat)"], []),
        (["Bash(ls *)", "Bash(git status *)"], []),
        (["Bash(ls *)", "bash(cat *)"], []),
        (["Bash", "run_shell_command"], ["any command", "any command"]),
        (["Bash(*)"], ["any command"]),
        (["Edit", "Bash(git *)"], []),
        (["Edit(src/**)", "Bash(git *)"], []),
        (["write", "bash(sed *)"], []),
        ([], []),
    ],
)
def test_a_command_that_writes_is_named(allowed: list[str], ways: list[str]) -> None:
    assert [way for _, way in writing_commands(allowed)] == ways
    assert {word for word, _ in writing_commands(allowed)} <= set(allowed)


def test_every_way_is_of_its_command() -> None:
    for command, way in WRITING_USES.items():
        assert way.startswith(command.split()[0])
