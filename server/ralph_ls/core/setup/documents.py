"""Initial documents of a set-up: wrapper, validation example, specifications and requests.

See docs/rules.md#set-up, docs/rules.md#specifications and docs/rules.md#requests. Each document is
a start for the user to continue, so it explains what belongs where. The description of a task
becomes a specification, since a list of criteria in a plan would be read as tasks. Works on texts
and names; reads, writes and fetches nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from datetime import date

from ralph_ls.core.plan.parse.front_matter import read_front_matter
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.specs import read_index, spec_index_skeleton
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.plan import read_reference

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
"""The executable ``ralph`` in the root of the repository (docs/rules.md#set-up).

It skips itself on a PATH that contains the root.
"""

VALIDATE_EXAMPLE = """\
#!/bin/sh
# Runs after each iteration. If a command fails, the run ends with code 5.
# To use it, write in the commands of your project, then:
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
"""Name of the initial specification in ``specs/``."""

PROGRESS_NOTES = """\
# Progress

Notes of each iteration, for later ones.
"""

REQUIREMENTS = """\
# Requirements

What should be built, and why: the stories of the plan describe it piece by piece.
"""


def validate_example(path: str) -> str:
    """Example of a validation script for this path in the work tree (docs/rules.md#validation)."""
    return VALIDATE_EXAMPLE.format(path=path)


def spec_skeleton(*, created: date) -> str:
    """An empty specification with the usual headings (docs/rules.md#specifications)."""
    return f"---\nstatus: active\ncreated: {created.isoformat()}\ntags: []\n---\n{_SPEC}"


def is_untouched_spec(text: str) -> bool:
    """Whether a specification is still empty, since the user has not edited it."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = read_front_matter(text).end_line + 1
    return "\n".join(lines[end:]).strip() == _SPEC.strip()


_SPEC = """
# Feature: <name>

## Overview

<What it is, and why>

## Requirements

- <What it has to do>

## Success Criteria

- <How to verify that it is done: a command, and its result>

## Open Questions

- <What is not decided yet>
"""


LONGEST_SLUG = 40
LONGEST_TITLE = 80
LONGEST_NAME = 48
LONGEST_SUMMARY = 200

_TAKEN = frozenset(
    {"readme", "con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
"""Names of the index, and names that some systems reserve."""


def spec_title(description: str) -> str:
    """The title of a description in one line: its first words that are not a label."""
    return _cut(_first_words(description), LONGEST_TITLE)


def task_title(description: str) -> str:
    """The first sentence of a description, as the title of a task."""
    return _cut(_SENTENCE_END.split(_first_words(description), maxsplit=1)[0], LONGEST_TITLE)


def spec_name(description: str) -> str:
    """A short heading: the beginning of the title, up to where it goes into details."""
    words = _first_words(description)
    short = _DETAILS.split(words, maxsplit=1)[0]
    naming = [word for word in short.split() if word.lower() not in _ARTICLES]
    sentence = _SENTENCE_END.split(words, maxsplit=1)[0]
    return _cut(short if len(naming) > 1 else sentence, LONGEST_NAME).removesuffix("…")


def _first_words(description: str) -> str:
    lines = [" ".join(_HEAD.sub("", line).split()) for line in description.splitlines()]
    texts = [line for line in lines if line]
    titles = (line for line in texts if not line.endswith((":", "\uff1a")))
    return next(titles, "") or "".join(texts[:1])


def _cut(title: str, limit: int) -> str:
    """A title of at most so many characters, cut between words."""
    if len(title) <= limit:
        return title
    words = title[:limit].rsplit(" ", 1)[0]
    return f"{words.rstrip(' ,;:')}…"


_ARTICLES = frozenset({"a", "an", "the"})
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")

_DETAILS = re.compile(
    r"[.:;,!?](?=\s|$)|\s+[\u2013\u2014-]\s+|\s+(?:that|which|who|so that|with|using|and then)\s+",
    re.IGNORECASE,
)
"""Where a sentence goes from naming its subject to describing it."""


def spec_file_name(description: str, taken: Collection[str]) -> str:
    """A free file name in ``specs/``; ``taken`` are the names in use."""
    slug = _slug(spec_title(description))
    in_use = {name.casefold() for name in taken}
    candidates = (slug if number == 1 else f"{slug}-{number}" for number in range(1, 10_000))
    return next(f"{one}.md" for one in candidates if f"{one}.md".casefold() not in in_use)


def branch_slug(text: str) -> str:
    """The beginning of a text as the last part of a branch's name."""
    return _slug(spec_title(text))


def spec_text(description: str, *, created: date) -> str:
    """The specification: front matter, a title, and the unchanged description."""
    body = description.replace("\r\n", "\n").strip()
    heading = "" if _HEADING.match(body) else f"# {spec_title(description)}\n\n"
    return f"---\nstatus: active\ncreated: {created.isoformat()}\n---\n\n{heading}{body}\n"


def is_text_of(text: str, description: str) -> bool:
    """Whether a specification has this description, whenever it was made."""
    body = description.replace("\r\n", "\n").strip()
    return bool(body) and text.replace("\r\n", "\n").rstrip().endswith(f"\n{body}")


def with_index_entry(index: str | None, name: str, description: str, *, today: date) -> str:
    """The index ``specs/README.md`` with an entry for the specification, below the active ones.

    An index that already names it is returned unchanged.
    """
    text = spec_index_skeleton() if index is None else index
    if any(entry.name == name for entry in read_index(text)):
        return text
    title = " ".join(re.sub(r"[\[\]()#]", " ", spec_name(description)).split())
    summary = " ".join(re.sub(r"[\[\]#]", " ", _first_words(description)).split())
    newline = "\r\n" if "\r\n" in text else "\n"
    entry = [
        f"### {title} ({name})",
        "",
        "- **Status:** Active",
        "- **Priority:** Medium",
        "- **Dependencies:** None",
        f"- **Last Updated:** {today}",
        f"- **Summary:** {_cut(summary, LONGEST_SUMMARY)}",
    ]
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    active = next((at for at, line in enumerate(lines) if _ACTIVE.match(line)), None)
    if active is None:
        lines += ["", "## Active Specifications"]
        active = len(lines) - 1
    end = next((at for at in range(active + 1, len(lines)) if _PART.match(lines[at])), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    lines[end:end] = ["", *entry]
    return newline.join([*lines, ""])


def _slug(title: str) -> str:
    """Letters and digits of any script in lower case, with dashes between."""
    words = unicodedata.normalize("NFC", title).lower()
    slug = re.sub(r"[^\w]+|_+", "-", words).strip("-")
    if len(slug) > LONGEST_SLUG:
        cut = slug[: LONGEST_SLUG + 1]
        slug = (cut.rsplit("-", 1)[0] if "-" in cut else cut[:LONGEST_SLUG]).strip("-")
    if not slug:
        return "task"
    return f"task-{slug}" if slug in _TAKEN else slug


_HEAD = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|[0-9]{1,9}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"#\s+\S")
_ACTIVE = re.compile(r"#{1,2}[ \t]+active\b", re.IGNORECASE)
_PART = re.compile(r"#{1,2}[ \t]")


REQUEST_FILE = "issue.md"
"""File for a request that the user gives as text."""


def issue_key(named: str) -> str:
    """The key of ``[issue]`` for what the user named: ``github``, else ``file``."""
    return "file" if read_reference(named) is None else "github"


def request_text(description: str, items: Sequence[DraftItem]) -> str:
    """The request as given, with a title if it is long; items become its parts."""
    body = description.replace("\r\n", "\n").strip()
    title = spec_title(body)
    has_title = _HEADING.match(body) or title == body
    text = body if has_title else f"# {title}\n\n{body}"
    lines = [line for item in items for line in _lines_of(item)]
    return "\n".join([text, *(["", "## What belongs to it", "", *lines] if lines else []), ""])


def _lines_of(item: DraftItem) -> list[str]:
    details = [fold_whitespace(line) for line in item.detail.splitlines() if line.strip()]
    return [f"- {fold_whitespace(item.title)}", *(f"  {line}" for line in details)]
