"""Lesson: a short note about earlier work, as a Markdown file with front matter.

The front matter has ``scope`` (``repository``, ``language``, ``framework`` or ``everywhere``),
``match`` with the languages or frameworks, ``files`` and ``tasks`` that narrow it down, ``source``,
``date`` and ``hits``. The first heading is the title, the rest the text. Reading never fails: what
is wrong is reported, and a lesson with an error is used nowhere (docs/rules.md#lessons).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ralph_ls.core.plan.parse.front_matter import FrontMatter, read_front_matter
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.lessons import LessonScope

LESSON_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
"""Ids, which are the names of the files without ``.md``."""

MAX_TITLE = 160
"""Characters of a title."""

MAX_TEXT = 4000
"""Characters of a text: a lesson is a note, and shares its room with others."""

KEYS = ("scope", "match", "files", "tasks", "source", "date", "hits")
"""Keys of the front matter, in the order in which they are written."""

LANGUAGES: dict[str, tuple[str, ...]] = {
    "c": (".c", ".h"),
    "c++": (".cc", ".cpp", ".cxx", ".hh", ".hpp"),
    "c#": (".cs",),
    "clojure": (".clj", ".cljs"),
    "css": (".css", ".scss"),
    "dart": (".dart",),
    "elixir": (".ex", ".exs"),
    "go": (".go",),
    "haskell": (".hs",),
    "html": (".html", ".htm"),
    "java": (".java",),
    "javascript": (".cjs", ".js", ".jsx", ".mjs"),
    "kotlin": (".kt", ".kts"),
    "lua": (".lua",),
    "perl": (".pl", ".pm"),
    "php": (".php",),
    "python": (".py", ".pyi"),
    "r": (".r",),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "shell": (".bash", ".sh", ".zsh"),
    "sql": (".sql",),
    "swift": (".swift",),
    "terraform": (".tf",),
    "typescript": (".cts", ".mts", ".ts", ".tsx"),
    "zig": (".zig",),
}
"""Endings of the files of each language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One lesson."""

    id: str
    title: str
    text: str
    scope: LessonScope = LessonScope.REPOSITORY
    match: tuple[str, ...] = ()
    """Languages or frameworks, in lower case; empty for the other scopes."""
    files: tuple[str, ...] = ()
    """Globs: it fits only a project that has such a file."""
    tasks: tuple[str, ...] = ()
    """Words: it fits only a task whose title has one of them."""
    source: str = ""
    """Where it comes from, in words, with the iterations."""
    date: str = ""
    """When it was written or accepted, as ``2026-01-31``."""
    hits: int = 0
    """Iterations that had shown it, or on which it rests, when the file was written."""
    problems: tuple[str, ...] = ()
    """Why it cannot be used, in words; empty where it can."""


def read_lesson(lesson_id: str, text: str) -> Lesson:
    """Read a lesson; total."""
    matter = read_front_matter(text)
    title, body = _title_and_text(text, matter)
    problems = [f"line {remark.line + 1}: {remark.message}" for remark in matter.remarks]
    problems += [
        f"unknown key {field.key}{did_you_mean(field.key, KEYS)}"
        for field in matter.fields
        if field.key not in KEYS
    ]
    if not LESSON_ID.fullmatch(lesson_id):
        problems.append("its file name needs small letters, digits and dashes, such as use-uv.md")
    problems += _length_problems(title, body)
    scope, wrong = _scope(_one(matter, "scope"))
    match = tuple(word.lower() for word in matter.values("match"))
    problems += [*wrong, *_match_problems(scope, match)]
    written, hits = _one(matter, "date"), _one(matter, "hits") or "0"
    if written and not _is_date(written):
        problems.append(f"date: {written!r} is not a date; write it as 2026-01-31")
    if not re.fullmatch(r"\d{1,9}", hits, re.ASCII):
        problems.append(f"hits: {hits!r} is not a whole number")
    return Lesson(
        id=lesson_id,
        title=title,
        text=body,
        scope=scope,
        match=match,
        files=matter.values("files"),
        tasks=matter.values("tasks"),
        source=_one(matter, "source"),
        date=written,
        hits=0 if problems else int(hits),
        problems=tuple(problems),
    )


def write_lesson(lesson: Lesson) -> str:
    """The file of a lesson; ``read_lesson`` gives it back as it was."""
    values = {
        "scope": lesson.scope.value,
        "match": _listed(lesson.match),
        "files": _listed(lesson.files),
        "tasks": _listed(lesson.tasks),
        "source": _quoted(lesson.source) if lesson.source else "",
        "date": lesson.date,
        "hits": str(lesson.hits) if lesson.hits else "",
    }
    lines = [f"{key}: {values[key]}".replace(": \n", ":\n") for key in KEYS if values[key]]
    head = "\n".join(("---", *lines, "---"))
    return f"{head}\n\n# {' '.join(lesson.title.split())}\n\n{lesson.text.strip()}\n"


def lesson_id_of(words: str) -> str:
    """An id made of the words of a title, such as ``run-the-formatter-first``."""
    found = re.findall(r"[a-z0-9]+", words.lower())
    kept: list[str] = []
    for word in found:
        if len("-".join((*kept, word))) > MAX_ID:
            break
        kept.append(word)
    return "-".join(kept) or "lesson"


MAX_ID = 60
"""Characters of an id that is made of words."""


def _title_and_text(text: str, matter: FrontMatter) -> tuple[str, str]:
    after = matter.end_line if matter.is_there else -1
    lines = [line for number, (_, line) in enumerate(lines_of(text)) if number > after]
    body = "\n".join(lines).strip().removeprefix("\ufeff")
    first, _, rest = body.partition("\n")
    heading = _HEADING.fullmatch(first)
    return (heading[1], rest.strip()) if heading is not None else ("", body)


_HEADING = re.compile(r"#[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*")


def _length_problems(title: str, body: str) -> list[str]:
    problems = []
    if not title:
        problems.append("it has no title; begin the text with a line such as: # Use uv")
    if len(title) > MAX_TITLE:
        problems.append(f"its title is longer than {MAX_TITLE} characters")
    if len(body) > MAX_TEXT:
        problems.append(f"its text is longer than {MAX_TEXT} characters; shorten or split it")
    return problems


def _scope(written: str) -> tuple[LessonScope, list[str]]:
    known = [scope.value for scope in LessonScope]
    if written in known:
        return LessonScope(written), []
    listed = f"write one of: {', '.join(known)}"
    if not written:
        return LessonScope.REPOSITORY, [f"it has no scope; {listed}"]
    meant = did_you_mean(written, known, otherwise=listed)
    return LessonScope.REPOSITORY, [f"unknown scope {written!r}{meant}"]


def _match_problems(scope: LessonScope, match: Sequence[str]) -> list[str]:
    if scope is LessonScope.LANGUAGE:
        if not match:
            return ["match names no language; write for example: match: [python]"]
        return [
            f"unknown language {word!r}{did_you_mean(word, LANGUAGES)}"
            for word in match
            if word not in LANGUAGES
        ]
    if scope is LessonScope.FRAMEWORK:
        return [] if match else ["match names no framework; write for example: match: [django]"]
    return [f"match has no meaning with the scope {scope.value}; remove it"] if match else []


def _one(matter: FrontMatter, key: str) -> str:
    return " ".join(matter.values(key)).strip()


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2026-01-31")


def _listed(words: Sequence[str]) -> str:
    if any(set(word) & set(",[]") for word in words):
        # In brackets, the reader separates values at every comma, also inside quotes.
        return "".join(f"\n  - {_quoted(word)}" for word in words)
    return f"[{', '.join(map(_quoted, words))}]" if words else ""


def _quoted(text: str) -> str:
    """Text for front matter, on one line, quoted where it is no plain word."""
    folded = " ".join(text.split())
    if re.fullmatch(r"[\w./*+-]+", folded) and not folded.startswith(("*", "-")):
        return folded
    return '"' + folded.replace("\\", "\\\\").replace('"', '\\"') + '"'
