"""Takes the README's picture: runs the real demo in a separate terminal and draws its screen.

``python docs/pictures/make_pictures.py`` writes ``demo.svg`` beside this file. The screen is taken
at the first moment at which it shows the breaker half open, why, and the commit that is about to
close it; ids and times differ from run to run, nothing else does. It needs a system with
pseudo-terminals.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import tempfile
import termios
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS, ROWS = 114, 34

COMMAND = "ralph demo"

SHOWN = (
    re.compile(r"^▸ Breaker: CLOSED → HALF_OPEN", re.MULTILINE),
    re.compile(r"^ +Committed as [0-9a-f]{7}", re.MULTILINE),
    re.compile(r"^Phase .*running.*\n(?:.*\n){2,3}Breaker .*half-open.*\n.*\nTime ", re.MULTILINE),
)
"""What the screen has to show when it is taken."""

THEME = TerminalTheme(
    (24, 26, 31),
    (205, 210, 218),
    [
        (70, 75, 85),
        (240, 113, 120),
        (126, 198, 133),
        (229, 192, 103),
        (97, 175, 239),
        (198, 146, 233),
        (86, 182, 194),
        (205, 210, 218),
    ],
)

SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <!-- generated in docs/pictures from a real run -->
    <style>
    .{unique_id}-matrix {{
        font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
        font-variant-east-asian: full-width;
    }}
    .{unique_id}-title {{
        font-size: 18px;
        font-family: sans-serif;
    }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})"
       clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix" xml:space="preserve">
    {matrix}
    </g>
    </g>
</svg>
"""

_CONTROL = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")


class Screen:
    """As much of a terminal as ``ralph`` makes use of: lines, colours, the cursor going up."""

    def __init__(self) -> None:
        self._rows: list[list[tuple[str, Style]]] = [[]]
        self._row = self._column = 0
        self._style = Style()

    def write(self, text: str) -> None:
        """Take what a program printed."""
        position = 0
        for match in _CONTROL.finditer(text):
            self._print(text[position : match.start()])
            self._control(match[1], match[2])
            position = match.end()
        self._print(text[position:])

    def visible(self) -> list[Text]:
        """The last rows, as many as the screen holds."""
        lines = []
        for row in self._rows[-ROWS:]:
            line = Text()
            for style, cells in groupby(row, key=itemgetter(1)):
                line.append("".join(character for character, _ in cells), style)
            line.rstrip()
            lines.append(line)
        return lines

    def _print(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self._row += 1
                if self._row == len(self._rows):
                    self._rows.append([])
            elif character == "\r":
                self._column = 0
            else:
                self._put(character)

    def _put(self, character: str) -> None:
        if self._column + cell_len(character) > COLUMNS:
            self._print("\r\n")
        row = self._rows[self._row]
        row.extend([(" ", Style())] * (self._column + 1 - len(row)))
        row[self._column] = (character, self._style)
        self._column += 1

    def _control(self, parameters: str, final: str) -> None:
        match final:
            case "A":
                self._row = max(0, self._row - int(parameters or 1))
            case "K":
                # A line that is wiped below the last one is no line of the screen.
                self._rows[self._row] = []
                del self._rows[self._row + 1 :]
            case "m":
                styled = Text.from_ansi(f"\x1b[{parameters}mx")
                drawn = [span.style for span in styled.spans if isinstance(span.style, Style)]
                self._style = drawn[0] if drawn else Style()
            case "h" | "l":
                """The cursor is hidden or shown, which no picture shows."""
            case _:
                raise ValueError(f"this screen does not know the control {parameters}{final}")


def take_screens(folder: Path) -> Iterator[Screen]:
    """Run the demo in ``folder`` to its end; gives the screen after every piece of output."""
    process, terminal = pty.fork()
    if process == 0:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "RALPH_STATE_DIR": str(folder / "state"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }
        program = [sys.executable, "-P", "-m", "ralph_ls", "demo", str(folder / "invoice")]
        os.execve(sys.executable, program, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen, held = Screen(), b""
    while data := _read(terminal):
        text, held = _whole(held + data)
        screen.write(text)
        yield screen
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise RuntimeError(f"the demo ended with {os.waitstatus_to_exitcode(status)}")


def draw(lines: list[Text], path: Path, *, title: str = COMMAND, columns: int = COLUMNS) -> None:
    """Write the lines of a screen as a picture."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=columns, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for line in lines:
            console.print(line, no_wrap=True, crop=False, highlight=False)
    svg = console.export_svg(title=title, theme=THEME, code_format=SVG, unique_id="ralph")
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def main() -> int:
    """Take the picture; 1 where the demo never showed what it has to show."""
    target = Path(__file__).with_name("demo.svg")
    found: list[Text] | None = None
    with tempfile.TemporaryDirectory(prefix="ralph-") as name:
        for screen in take_screens(Path(name)):
            lines = screen.visible()
            text = "\n".join(line.plain for line in lines)
            if found is None and all(pattern.search(text) for pattern in SHOWN):
                found = lines
    if found is None:
        sys.stderr.write("the demo never showed the breaker half open and the commit after it\n")
        return 1
    draw(found, target)
    sys.stdout.write(f"{target.name} written\n")
    return 0


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # Linux says that a terminal whose program has ended cannot be read.
        return b""


def _whole(data: bytes) -> tuple[str, bytes]:
    """The part of ``data`` that is whole, and a cut character or control sequence at its end."""
    cut = re.search(rb"(?:\x1b(?:\[[?0-9;]*)?|[\xc0-\xff][\x80-\xbf]*)\Z", data)
    end = len(data)
    if cut is not None and not _is_character(cut.group()):
        end = cut.start()
    return data[:end].decode("utf-8", errors="replace"), data[end:]


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode("utf-8")) == 1 and not data.startswith(b"\x1b")
    except UnicodeDecodeError:
        return False


if __name__ == "__main__":
    sys.exit(main())
