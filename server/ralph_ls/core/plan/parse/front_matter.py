"""Front matter of a specification: the flat part of YAML with keys, texts and lists of texts.

Quotes and comments are those of YAML. Anything deeper is reported with its place, and what can be
read beside it is read (docs/rules.md#specifications). Never raises; linear in the text.

Not PyYAML or python-frontmatter: they give up at the first invalid line, where this reports each
one and keeps the rest, and they turn ``1.10``, ``yes`` and dates into values that are no texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ralph_ls.core.plan.parse.lines import lines_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatterProblem:
    """Something in a document that is not as it should be, and where."""

    code: str
    message: str
    line: int
    """From 0."""
    start: int
    """Offsets in the text, in characters."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatterField:
    """One key with its values."""

    key: str
    """In lower case."""
    values: tuple[str, ...]
    """One for a text, any number for a list; none for an empty value."""
    line: int
    """From 0."""
    start: int
    """Of the key's line, without its indentation."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What is between the two lines of dashes."""

    fields: tuple[FrontMatterField, ...] = ()
    remarks: tuple[FrontMatterProblem, ...] = ()
    is_there: bool = False
    end_line: int = -1
    """The line of the closing fence, from 0; -1 where there is no front matter."""

    def find(self, key: str) -> FrontMatterField | None:
        """The first field with that key."""
        return next((field for field in self.fields if field.key == key), None)

    def values(self, key: str) -> tuple[str, ...]:
        """The values of that key; empty without one."""
        field = self.find(key)
        return () if field is None else field.values


def read_front_matter(text: str) -> FrontMatter:
    """Read it; total, and linear in its length."""
    lines = list(lines_of(text))
    if lines[0][1].removeprefix("\ufeff").rstrip() != "---":
        return FrontMatter()
    closing = next(
        (n for n, (_, line) in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), None
    )
    if closing is None:
        message = "the front matter is not closed; add a line of three dashes below its last key"
        start, line = lines[0]
        end = start + len(line)
        remark = FrontMatterProblem(
            code="front-matter-open", message=message, line=0, start=start, end=end
        )
        return FrontMatter(remarks=(remark,))
    reading = _Reading()
    for number, (start, line) in enumerate(lines[1:closing], 1):
        reading.take(number, start, line.rstrip())
    return FrontMatter(
        fields=tuple(reading.fields),
        remarks=tuple(reading.remarks),
        is_there=True,
        end_line=closing,
    )


_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?")
_LIST = re.compile(r"\[([^\[\]]*)\](?:[ \t]+#.*)?")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?:[ \t]+#.*)?""")
_BLOCK = re.compile(r"[>|][0-9+-]*(?:[ \t]+#.*)?")
"""What announces a text in the lines below; its lines are folded."""
_COMMENT = re.compile(r"[ \t]#")
_NOT_PLAIN = ("{", "[", "|", ">", "&", "*", "!", "%", "@", "`", '"', "'")
"""The characters that no plain text of YAML begins with."""


class _Reading:
    """Fields and remarks of the lines so far."""

    def __init__(self) -> None:
        self.fields: list[FrontMatterField] = []
        self.remarks: list[FrontMatterProblem] = []
        self._takes_items = False
        """The last key had no text, so that items below it are its list."""
        self._takes_text = False
        """The last key announced a text in the indented lines below it."""

    def take(self, number: int, start: int, line: str) -> None:
        if self._takes_text and line.startswith((" ", "\t")):
            last = self.fields[-1]
            text = " ".join([*last.values, line.strip()])
            self.fields[-1] = replace(last, values=(text,), end=start + len(line))
            return
        if not line or line.lstrip().startswith("#"):
            return
        key, item = _KEY.fullmatch(line), _ITEM.fullmatch(line)
        is_block = key is not None and _BLOCK.fullmatch(key[2] or "") is not None
        found = key or (item if self._takes_items else None)
        written = "" if found is None or is_block else found[found.re.groups] or ""
        values = None if found is None else _read_value(written)
        if values is None:
            message = "this line is not a key with a text or a list; use key: value"
            self._remark("front-matter-line", message, number, start, line)
        elif key is not None:
            n_before = len(self.fields)
            self._add(key[1].lower(), values, number, start, line)
            self._takes_text = is_block and len(self.fields) > n_before
            self._takes_items = self._takes_items and not is_block
        else:
            end = start + len(line)
            self.fields[-1] = replace(
                self.fields[-1], values=self.fields[-1].values + values, end=end
            )

    def _add(self, key: str, values: tuple[str, ...], number: int, start: int, line: str) -> None:
        # An empty list in brackets is a value without items below it.
        is_first = all(field.key != key for field in self.fields)
        self._takes_items = is_first and not values and not line.endswith("]")
        if not is_first:
            message = f"the key {key} is repeated; the first one counts"
            self._remark("front-matter-key-twice", message, number, start, line)
            return
        end = start + len(line)
        self.fields.append(
            FrontMatterField(key=key, values=values, line=number, start=start, end=end)
        )

    def _remark(self, code: str, message: str, number: int, start: int, line: str) -> None:
        self.remarks.append(
            FrontMatterProblem(
                code=code, message=message, line=number, start=start, end=start + len(line)
            )
        )


def _read_value(text: str) -> tuple[str, ...] | None:
    """The texts of a value; None where it is none that we read."""
    text = text.strip()
    if listed := _LIST.fullmatch(text):
        parts = [_read_text(part.strip()) for part in listed[1].split(",") if part.strip()]
        texts = tuple(part for part in parts if part is not None)
        return texts if len(texts) == len(parts) else None
    if not text or text.startswith("#"):
        return ()
    read = _read_text(text)
    return None if read is None else (read,)


def _read_text(text: str) -> str | None:
    if quoted := _QUOTED.fullmatch(text):
        if text.startswith('"'):
            return re.sub(r"\\(.)", r"\1", quoted[1][1:-1])
        return quoted[1][1:-1].replace("''", "'")
    if text.startswith(_NOT_PLAIN):
        return None
    return _COMMENT.split(text, maxsplit=1)[0].rstrip()
