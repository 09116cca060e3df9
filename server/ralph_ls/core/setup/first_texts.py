"""The texts that a profile begins with, apart from its plan (S, Bootstrap and Setup; R).

Each is a beginning that a person goes on with, so it says itself what belongs where. This module
must never know a folder.
"""

from __future__ import annotations

from datetime import date

from ralph_ls.core.plan.front_matter import read_front_matter

WRAPPER = """\
#!/bin/sh
# The loop of this repository: ./ralph runs to the end, ./ralph 20 at most 20 iterations.
# The program's own commands work too, such as ./ralph status and ./ralph stop.
set -eu
cd "$(dirname "$0")"
program=
IFS=:
for folder in $PATH; do
    if [ -f "$folder/ralph" ] && [ -x "$folder/ralph" ] && [ ! "$folder/ralph" -ef ./ralph ]; then
        program=$folder/ralph
        break
    fi
done
if [ -z "$program" ]; then
    echo "ralph: the program ralph is not on PATH; install ralph-ls, for example with pipx" >&2
    exit 127
fi
case ${1:-} in
"" | [0-9]* | -*) set -- run "$@" ;;
esac
exec "$program" "$@"
"""
"""``ralph`` in the root (S, Entry Point Script), which is executable.

It passes itself over on PATH, where somebody has put the root of the repository there.
"""

VALIDATE_EXAMPLE = """\
#!/bin/sh
# What has to hold after each iteration; where it fails, the run ends with code 5.
# To use it, put in what your project needs, then:
#   mv {path}.example {path}
#   chmod +x {path}
#   ralph allow
set -e

echo "Running tests..."
npm test

echo "Running linter..."
npm run lint

echo "Checking build..."
npm run build

echo "All validation passed"
"""

SPEC_NAME = "my-feature.md"
"""Within ``specs/``: the specification that a person begins with."""

PROGRESS_NOTES = """\
# Progress

Notes of each iteration for those that come after it.
"""

REQUIREMENTS = """\
# Requirements

What is to be built, and why: the stories of the plan say it piece by piece.
"""


def validate_example(path: str) -> str:
    """An example of the script whose path in the work tree this is (S, Optional Validation)."""
    return VALIDATE_EXAMPLE.format(path=path)


def spec_skeleton(*, created: date) -> str:
    """A specification with S's headings and nothing asked for (S, Example Spec Structure)."""
    return f"---\nstatus: active\ncreated: {created.isoformat()}\ntags: []\n---\n{_SPEC}"


def is_untouched_spec(text: str) -> bool:
    """Whether a specification still asks for nothing, since nobody has written into it."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = read_front_matter(text).end_line + 1
    return "\n".join(lines[end:]).strip() == _SPEC.strip()


_SPEC = """
# Feature: <name>

## Overview

<What it is, and what for>

## Requirements

- <What it has to do>

## Success Criteria

- <How one sees that it is done: a command, and what it has to give>

## Open Questions

- <What is to be settled yet>
"""
