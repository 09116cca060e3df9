"""Scanner for shell scripts: commands as words whose unknown parts are marked.

Splits a script like a POSIX shell or bash: quotes, expansions, substitutions, comments,
redirections and here-documents. What only a running shell can compute (the value of a computed
variable, a function's arguments) is a part without text. Accepts any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

DEEPEST_NESTING = 8
"""Maximum depth of nested substitutions."""


@dataclass(frozen=True, slots=True)
class ShellPart:
    """A stretch of a word: a text, a variable's value, or an unknown value."""

    text: str = ""
    variable: str = ""
    is_known: bool = True


COMPUTED = ShellPart(is_known=False)

ShellWord = tuple[ShellPart, ...]


@dataclass(slots=True)
class ShellCommand:
    """The words of one simple command."""

    line: int
    """Line where it begins, from 1."""
    words: list[ShellWord] = field(default_factory=list)
    inputs: list[ShellWord] = field(default_factory=list)
    """Files that it reads as standard input."""
    document: str | None = None
    """A here-document or here-string on its standard input."""


def literal_text(word: ShellWord) -> str | None:
    """The text of a word without unknown parts; None for any other."""
    if all(part.is_known and not part.variable for part in word):
        return "".join(part.text for part in word)
    return None


def shell_commands(text: str, *, line: int = 1, depth: int = 0) -> Iterator[ShellCommand]:
    """All simple commands, including those within substitutions."""
    return iter(_Scanner(text, line, depth).run())


_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_PLAIN = re.compile(r"[^ \t\r\n\f\v'\"\\$`#;&|()<>]+")
_NAME = re.compile(r"\{[!#]?(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*|[@*#?$!0-9-])")
_REDIRECTION = re.compile(r"\d*(?P<sign><<<|<<-?|<>|[<>]&|>>|>\||&>>?|[<>](?!\())")
_BACK_TICKS = re.compile(r"`((?:[^`\\]|\\.)*)`?", re.DOTALL)
_QUOTED_PLAIN = re.compile(r"[^\"\\$`]+")


class _Scanner:
    """One pass over a text."""

    def __init__(self, text: str, line: int, depth: int) -> None:
        self._text = text
        self._at = 0
        self._lines = (0, line)
        """Offset up to which lines were counted, and the line number there."""
        self._depth = depth
        self._found: list[ShellCommand] = []
        self._command = ShellCommand(line=line)
        self._documents: list[tuple[ShellCommand, str, bool]] = []
        """Here-documents that begin after this line: command, delimiter, whether tabs are stripped.
        """

    def run(self) -> list[ShellCommand]:
        text = self._text
        while self._at < len(text):
            if blank := _BLANK.match(text, self._at):
                self._at = blank.end()
            elif redirection := _REDIRECTION.match(text, self._at):
                self._redirect(redirection)
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif text[self._at] in "\n\f\v":
                self._end_command()
                self._at += 1
                self._read_documents()
            elif text[self._at] in ";&|()":
                self._end_command()
                self._at += 1
            else:
                if not self._command.words:
                    self._command.line = self._line()
                self._command.words.append(self._word())
        self._end_command()
        return self._found

    def _line(self) -> int:
        at, number = self._lines
        self._lines = (self._at, number + self._text.count("\n", at, self._at))
        return self._lines[1]

    def _end_command(self) -> None:
        if self._command.words:
            self._found.append(self._command)
        self._command = ShellCommand(line=self._line())

    def _redirect(self, found: re.Match[str]) -> None:
        """Read the target of a redirection; it is not a word of the command."""
        self._at = found.end()
        if blank := _BLANK.match(self._text, self._at):
            self._at = blank.end()
        sign, word = found["sign"], self._word()
        if sign in {"<<", "<<-"}:
            self._documents.append((self._command, literal_text(word) or "", sign == "<<-"))
        elif sign == "<<<":
            self._command.document = "".join(part.text for part in word)
        elif sign in {"<", "<>"}:
            self._command.inputs.append(word)

    def _read_documents(self) -> None:
        for command, end, is_indented in self._documents:
            lines: list[str] = []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[self._at : stop]
                self._at = stop + 1
                line = line.lstrip("\t") if is_indented else line
                if line.rstrip("\r") == end:
                    break
                lines.append(line)
            command.document = "\n".join(lines)
        self._documents = []

    def _word(self) -> ShellWord:
        """The word at the current position; empty where there is none."""
        parts: list[ShellPart] = []
        text = self._text
        while self._at < len(text):
            if plain := _PLAIN.match(text, self._at):
                parts.append(ShellPart(plain[0]))
                self._at = plain.end()
                continue
            match text[self._at]:
                case "'":
                    parts.append(ShellPart(self._until("'")))
                case '"':
                    parts += self._double_quoted()
                case "\\":
                    escaped = text[self._at + 1 : self._at + 2]
                    parts.append(ShellPart("" if escaped == "\n" else escaped))
                    self._at += 2
                case "$" | "`":
                    parts.append(self._expansion())
                case "#":
                    parts.append(ShellPart("#"))
                    self._at += 1
                case "<" | ">" if parts == [] and text[self._at + 1 : self._at + 2] == "(":
                    # A process substitution: the word is a computed file name.
                    self._at += 1
                    self._substitution(self._within("(", ")"))
                    parts.append(COMPUTED)
                case _:
                    break
        return tuple(parts)

    def _until(self, quote: str) -> str:
        """The text up to the closing quote, or to the end where there is none."""
        end = self._text.find(quote, self._at + 1)
        end = len(self._text) if end < 0 else end
        found = self._text[self._at + 1 : end]
        self._at = end + 1
        return found

    def _double_quoted(self) -> list[ShellPart]:
        self._at += 1
        # An empty quoted word is a word.
        parts: list[ShellPart] = [ShellPart()]
        text = self._text
        while self._at < len(text) and text[self._at] != '"':
            if plain := _QUOTED_PLAIN.match(text, self._at):
                parts.append(ShellPart(plain[0]))
                self._at = plain.end()
            elif text[self._at] == "\\":
                escaped = text[self._at + 1 : self._at + 2]
                kept = escaped if escaped in '"\\$`' else f"\\{escaped}"
                parts.append(ShellPart("" if escaped == "\n" else kept))
                self._at += 2
            else:
                parts.append(self._expansion())
        self._at += 1
        return parts

    def _expansion(self) -> ShellPart:
        """An expansion, which begins with a dollar sign or a backtick."""
        if self._text[self._at] == "`":
            found = _BACK_TICKS.match(self._text, self._at)
            self._at = len(self._text) if found is None else found.end()
            self._substitution("" if found is None else found[1].replace("\\`", "`"))
            return COMPUTED
        self._at += 1
        if name := _NAME.match(self._text, self._at):
            self._at = name.end()
            return ShellPart(variable=name["braced"] or name["bare"])
        match self._text[self._at : self._at + 1]:
            case "(":
                self._substitution(self._within("(", ")"))
                return COMPUTED
            case "{":
                self._within("{", "}")
                return COMPUTED
            case "'":
                return ShellPart(self._until("'"))
            case '"':
                return ShellPart("".join(part.text for part in self._double_quoted()))
            case _:
                return ShellPart("$")

    def _within(self, opening: str, closing: str) -> str:
        """The text within brackets that open here; quoted brackets are skipped."""
        begin, depth, text = self._at + 1, 0, self._text
        while self._at < len(text):
            sign = text[self._at]
            if sign == "'":
                self._until("'")
                continue
            if sign == '"':
                self._skip_double_quoted()
                continue
            if sign == "\\":
                self._at += 2
                continue
            depth += (sign == opening) - (sign == closing)
            self._at += 1
            if depth == 0:
                return text[begin : self._at - 1]
        return text[begin:]

    def _skip_double_quoted(self) -> None:
        self._at += 1
        text = self._text
        while self._at < len(text) and text[self._at] != '"':
            if text.startswith("$(", self._at):
                self._at += 1
                self._within("(", ")")
            else:
                self._at += 2 if text[self._at] == "\\" else 1
        self._at += 1

    def _substitution(self, text: str) -> None:
        """The commands of a substitution belong to the script."""
        if self._depth < DEEPEST_NESTING:
            self._found += shell_commands(text, line=self._line(), depth=self._depth + 1)
