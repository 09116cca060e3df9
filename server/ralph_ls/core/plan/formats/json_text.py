"""JSON with positions: a tolerant parser that knows where each value is in the text.

Python's parser gives no positions and stops at the first error. An editor shows a file while it is
being typed, and an edit needs to know which characters to replace. Where this parser finds no
error, the value is the one that ``json`` gives, and where ``json`` fails this finds an error.

Total and linear. Does not know what the values mean.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from ralph_ls.core.plan.parse.lines import lines_of

DEEPEST = 100
"""The maximum depth of nesting; deeper values are no plan."""

MOST_PARTS = 500_000
"""Keys, values, commas and comments that are read, ten times those of a thousand stories; each
takes about two microseconds and 200 bytes."""

MOST_FAULTS = 100
"""The maximum number of errors that are reported."""


class JsonNode(NamedTuple):
    """One value with its position in the text."""

    start: int
    end: int
    scalar: str | int | float | bool | None = None
    """The value, unless it is a list or an object."""
    items: tuple[JsonNode, ...] | None = None
    """The items of a list."""
    members: tuple[JsonMember, ...] | None = None
    """The members of an object in the order of the text, also those with a repeated key."""

    @property
    def elements(self) -> tuple[JsonNode, ...]:
        """The items of a list; none for any other value."""
        return self.items or ()


class JsonMember(NamedTuple):
    """One member of an object."""

    key: str
    start: int
    """Where its key begins, with the quotes."""
    end: int
    """Where its key ends."""
    node: JsonNode


class JsonFault(NamedTuple):
    """A place where the text is no JSON."""

    message: str
    start: int
    end: int


class ScannedJson(NamedTuple):
    """A text as JSON."""

    root: JsonNode | None
    """None where the text does not begin with a value."""
    faults: tuple[JsonFault, ...]
    """By their place; empty where the text is JSON."""


def scan_json(text: str) -> ScannedJson:
    """Read a text; never raises. A mark of the byte order is passed over."""
    scanner = _Scanner(text)
    root = scanner.read_all()
    return ScannedJson(root, tuple(scanner.faults))


def value_of(node: JsonNode) -> object:
    """The value as ``json`` gives it: of a repeated key the last one counts."""
    if node.items is not None:
        return [value_of(item) for item in node.items]
    if node.members is not None:
        return {member.key: value_of(member.node) for member in node.members}
    return node.scalar


def last_members(node: JsonNode) -> dict[str, JsonMember]:
    """The members of an object by key, the last one of each; none for any other value."""
    return {member.key: member for member in node.members or ()}


def repeated_members(node: JsonNode) -> Iterator[JsonMember]:
    """The members, here and in every nested value, whose key is repeated later in its object."""
    left = [node]
    while left:
        one = left.pop()
        last = last_members(one)
        for member in one.members or ():
            if last[member.key] is not member:
                yield member
            if member.node.members or member.node.items:
                left.append(member.node)
        left.extend(one.items or ())


class LineIndex:
    """The lines of one text, for conversion of offsets."""

    def __init__(self, text: str) -> None:
        found = list(lines_of(text))
        self._starts = [start for start, _ in found]
        self._lengths = [len(line) for _, line in found]

    def number(self, place: int) -> int:
        """The line, from 0, that a place is in."""
        return bisect_right(self._starts, place) - 1

    def bounds(self, number: int) -> tuple[int, int]:
        """Where a line begins and ends, without its ending."""
        start = self._starts[number]
        return start, start + self._lengths[number]

    def place(self, start: int, end: int) -> tuple[int, tuple[int, int]]:
        """The line in which a range begins, with the columns of the range in it."""
        number = self.number(start)
        begin, line_end = self.bounds(number)
        first = min(start, line_end) - begin
        return number, (first, max(first, min(end, line_end) - begin))

    def words(self, node: JsonNode) -> tuple[int, int, int]:
        """The same of a value, flat and without the quotes of a text."""
        inset = 1 if isinstance(node.scalar, str) and node.end > node.start + 2 else 0
        number, (first, last) = self.place(node.start + inset, node.end - inset)
        return number, first, last


_STRING = re.compile(r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"')
_REST_OF_STRING = re.compile(r'"[^\r\n]*')
_CONTROL = re.compile(r"[\x00-\x1f]")
_WORD = re.compile(r'[^ \t\r\n,:\[\]{}"]+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}
_END_OF = {"{": "}", "[": "]"}


class _Scanner:
    def __init__(self, text: str) -> None:
        self.faults: list[JsonFault] = []
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0
        self._open: list[str] = []
        self._has_given_up = False
        self._n_parts = 0

    def read_all(self) -> JsonNode | None:
        self._pass_space()
        if not self._peek():
            self._report("the file is empty; a story file is a JSON object", self._at)
            return None
        root = self._read_value()
        self._pass_space()
        if self._peek():
            self._report("the value has already ended; remove this", self._at, len(self._text))
        return root

    def _read_value(self) -> JsonNode | None:
        """The value that begins here, which may be none; at least one character is passed."""
        char = self._peek()
        if char in _END_OF:
            return self._read_inside(char)
        if char == '"':
            return self._read_string()
        word = _WORD.match(self._text, self._at)
        if word is None:
            self._report(f"a value is missing before {char}", self._at)
            self._at += 1
            return None
        self._at = word.end()
        if word[0] in _CONSTANTS:
            return JsonNode(*word.span(), scalar=_CONSTANTS[word[0]])
        number = _NUMBER.fullmatch(word[0])
        try:
            if number is not None:
                is_whole = number[1] is None and number[2] is None
                return JsonNode(*word.span(), scalar=int(word[0]) if is_whole else float(word[0]))
        except ValueError:
            self._report("the number has too many digits", *word.span())
            return None
        self._report(f"{word[0][:30]} is not a JSON value{_hint(word[0])}", *word.span())
        return None

    def _read_string(self) -> JsonNode:
        start = self._at
        found = _STRING.match(self._text, start)
        if found is None:
            rest = _REST_OF_STRING.match(self._text, start)
            self._at = len(self._text) if rest is None else rest.end()
            self._report("the text has no closing quote on this line", start, self._at)
            return JsonNode(start, self._at, scalar=self._text[start + 1 : self._at])
        self._at = found.end()
        inside = found[0][1:-1]
        if _CONTROL.search(inside):
            self._report("write a tab or another control character as \\t", start, found.end())
        if "\\" not in inside:
            return JsonNode(start, found.end(), scalar=inside)
        try:
            decoded = json.loads(found[0], strict=False)
        except ValueError:
            self._report("this \\ has no meaning; write \\\\ for a backslash", *found.span())
            decoded = inside
        return JsonNode(start, found.end(), scalar=decoded)

    def _read_inside(self, opening: str) -> JsonNode:
        """A list or an object, up to its end, or to where it must have ended."""
        start = self._at
        self._at += 1
        if len(self._open) >= DEEPEST:
            self._report(f"more than {DEEPEST} nested levels", start)
            self._give_up()
        self._open.append(opening)
        items: list[JsonNode] = []
        members: list[JsonMember] = []
        n_read, comma = 0, -1
        while self._has_next(opening, start, comma):
            if self._peek() == ",":
                if comma >= 0 or not n_read:
                    self._report("a value is missing before the comma", self._at)
                comma = self._at
                self._at += 1
                continue
            if n_read and comma < 0:
                self._report("a comma is missing before this", self._at)
            n_read, comma = n_read + 1, -1
            if opening == "{":
                member = self._read_member()
                members += [] if member is None else [member]
            else:
                item = self._read_value()
                items += [] if item is None else [item]
        self._open.pop()
        if opening == "{":
            return JsonNode(start, self._at, members=tuple(members))
        return JsonNode(start, self._at, items=tuple(items))

    def _has_next(self, opening: str, start: int, comma: int) -> bool:
        """Whether there is another element; consumes the end."""
        self._pass_space()
        char = self._peek()
        if not char:
            self._report(f"this {opening} is never closed", start)
            return False
        if char not in "]}":
            return True
        if char != _END_OF[opening]:
            self._report(f"{_END_OF[opening]} is missing before {char}", self._at)
            # It ends the enclosing value, too; else it is superfluous and ends this one.
            self._at += all(_END_OF[other] != char for other in self._open)
            return False
        if comma >= 0:
            self._report("remove this comma: JSON has no trailing commas", comma)
        self._at += 1
        return False

    def _read_member(self) -> JsonMember | None:
        start = self._at
        if self._peek() == '"':
            key = str(self._read_string().scalar)
        else:
            word = _WORD.match(self._text, start)
            self._at = start + 1 if word is None else word.end()
            key = "" if word is None else word[0]
            self._report("a key in double quotes is missing", start, self._at)
            if not key:
                return None
        end = self._at
        self._pass_space()
        if self._peek() == ":":
            self._at += 1
            self._pass_space()
        else:
            self._report("a colon is missing after the key", start, end)
        if self._peek() in {"", ",", "}", "]"}:
            self._report("a value is missing after the key", start, end)
            return None
        node = self._read_value()
        return None if node is None else JsonMember(key, start, end, node)

    def _pass_space(self) -> None:
        while True:
            self._n_parts += 1
            if self._n_parts > MOST_PARTS and not self._has_given_up:
                message = "the file is larger than a story file may be"
                self.faults.append(JsonFault(message, self._at, self._at + 1))
                self._give_up()
            found = _SPACE.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            comment = _COMMENT.match(self._text, self._at) if self._peek() == "/" else None
            if comment is None:
                return
            self._report("JSON has no comments; remove it", *comment.span())
            self._at = comment.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _report(self, message: str, start: int, end: int | None = None) -> None:
        if not self._has_given_up and len(self.faults) < MOST_FAULTS:
            self.faults.append(JsonFault(message, start, start + 1 if end is None else end))

    def _give_up(self) -> None:
        self._at = len(self._text)
        self._has_given_up = True


def _hint(word: str) -> str:
    if word.lower() in _CONSTANTS:
        return f"; write {word.lower()}"
    return (
        "; write null" if word in {"None", "undefined", "nil"} else "; put a text in double quotes"
    )
