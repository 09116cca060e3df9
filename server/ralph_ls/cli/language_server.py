"""``ralph-ls`` and ``ralph serve``: the language server as editors start it, and its log.

Imports nothing slow and nothing of the command line: an editor waits for the start. Standard output
carries the protocol alone, so all text for users goes to standard error.
"""

from __future__ import annotations

import gc
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ralph_ls import __version__

if TYPE_CHECKING:
    from ralph_ls.core.redaction.redactor import Redactor
    from ralph_ls.editor.lsp.stdio import StdioDescriptors

LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
DEFAULT_LEVEL = "info"

LARGEST_LOG = 10 * 1024 * 1024
"""Bytes; then it is moved to the same name with ``.1``, which takes the place of the one before."""

PRIVATE = 0o600


class LogFileError(Exception):
    """The log file cannot be written; the message says why."""


def start_logging(*, level: str = DEFAULT_LEVEL, path: Path | None = None) -> None:
    """Log to ``path``, else to standard error. Raises ``LogFileError``."""
    handler: logging.Handler
    if path is None:
        handler, head = logging.StreamHandler(sys.stderr), ""
    else:
        handler, head = _open_file(path), f"%(asctime)s [{os.getpid()}] "
    handler.setFormatter(_SafeFormatter(f"{head}%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=LEVELS[level], force=True)
    # The one logs every message; the other that it was stopped while something happened.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("watchdog").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(max(LEVELS[level], logging.INFO))


def _open_file(path: Path) -> logging.Handler:
    try:
        if path.exists() and not path.is_file():
            raise LogFileError(f"{path} is not a file to write a log to")
        return _PrivateFile(path, maxBytes=LARGEST_LOG, backupCount=1, encoding="utf-8")
    except OSError as error:
        raise LogFileError(f"{path} cannot be written: {error.strerror or error}") from error


LONGEST_RECORD = 20_000
"""Characters: what a client sent may be in a message, and may be as long as it likes."""


class _PrivateFile(RotatingFileHandler):
    """Readable by its owner alone, whatever it was before."""

    def _open(self) -> TextIOWrapper:
        # Without waiting, should it be a pipe by now.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self.baseFilename, flags, PRIVATE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("it is not a regular file")
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, PRIVATE)
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors="backslashreplace")


class _SafeFormatter(logging.Formatter):
    """Without secrets of the environment, and with one record never looking like two."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._redactor: Redactor | None = None

    def format(self, record: logging.LogRecord) -> str:
        from ralph_ls.core.redaction.redactor import Redactor, secrets_of
        from ralph_ls.core.views.model.control_chars import escape_control_chars

        if self._redactor is None:
            self._redactor = Redactor(secrets_of(os.environ))
        text = escape_control_chars(self._redactor.redact(super().format(record)))
        if len(text) > LONGEST_RECORD:
            text = f"{text[:LONGEST_RECORD]} … ({len(text)} characters)"
        # What follows the first line is a traceback, or would look like a record.
        return text.replace("\n", "\n    ")


USAGE = 64
"""Bad flags."""
UNAVAILABLE = 69
"""The editor's socket cannot be reached."""
CANNOT_WRITE = 73
"""The log file cannot be made."""

NO_TCP = (
    "the language server listens on no port, which would let anybody on this machine start "
    "agents; leave --tcp out, or have the editor listen: --socket PORT"
)

NOT_ON_WINDOWS = "sockets are not served on Windows; use --stdio"

HELP = f"""\
Usage: ralph-ls [--stdio | --pipe PATH | --socket PORT] [--read-only] [--log-file FILE]
                [--log-level LEVEL]
       ralph-ls --replay SESSION [--report FILE]
       ralph-ls --neovim-plugin

The language server of the Ralph Loop, as an editor starts it: it speaks LSP over standard input
and output. A loop that it starts keeps running when the editor closes. The same as: ralph serve

Options:
  --stdio                Speak over standard input and output; the default.
  --pipe PATH            Connect to the editor's socket file, which must be yours alone.
  --socket PORT          Connect to the editor's port on this machine. Nothing is listened on.
  --read-only            Show plans and runs, but start and change nothing, whatever the editor
                         asks: for folders that are not trusted.
  --log-file FILE        Log to this file, for its owner alone, instead of to standard error. At
                         10 MB it is moved to FILE.1.
  --log-level LEVEL      {", ".join(LEVELS)}; {DEFAULT_LEVEL} if not given. With debug
                         each message of the protocol is logged.
  --clientProcessId PID  Also end when this process ends.
  --replay SESSION       For authors of clients: play a recorded session instead of serving, and
                         report what the client does wrong. Nothing is started.
  --report FILE          Write that report to this file as JSON, too.
  --neovim-plugin        Show the folder of the plugin for Neovim.
  --version              Show the version.
  --help                 Show this.

Set up your editor: ralph help editors
"""


@dataclass(slots=True)
class ServeOptions:
    """What the server is started with."""

    read_only: bool = False
    log_file: Path | None = None
    log_level: str = DEFAULT_LEVEL
    client: int | None = None
    """The process id of the editor."""
    pipe: Path | None = None
    """The editor's socket file."""
    port: int | None = None
    """The editor's port; without either it is at standard input and output."""
    replay: str | None = None
    """A recorded session to play instead of serving: its name, or a file."""
    report: Path | None = None
    """Where what the client did wrong is written then."""


class ServeOptionError(Exception):
    """An option that makes no sense; the message says which."""


def run_language_server(arguments: Sequence[str]) -> NoReturn:
    """The program ``ralph-ls``; ends the process."""
    try:
        options = read_options(arguments)
    except ServeOptionError as error:
        _refuse(str(error))
    if options.replay is not None:
        from ralph_ls.client.replay import replay

        sys.exit(replay(options.replay, options.report))
    serve(options)


def read_options(arguments: Sequence[str]) -> ServeOptions:
    """Raises ``ServeOptionError``; ``--version`` and ``--help`` end the process."""
    options = ServeOptions()
    words = _split(arguments)
    for word in words:
        match word:
            case "--stdio":
                pass
            case "--read-only":
                options.read_only = True
            case "--log-file":
                options.log_file = Path(_value(word, words))
            case "--log-level":
                options.log_level = check_level(_value(word, words))
            case "--clientProcessId":
                options.client = check_process_id(_value(word, words))
            case "--pipe":
                options.pipe = Path(_value(word, words))
            case "--socket":
                options.port = check_port(_value(word, words))
            case "--replay":
                options.replay = _value(word, words)
            case "--report":
                options.report = Path(_value(word, words))
            case "--neovim-plugin":
                _print_line(f"{neovim_plugin()}\n")
            case "--version" | "--help" | "-h":
                _print_line(f"ralph-ls {__version__}\n" if word == "--version" else HELP)
            case "--tcp":
                raise ServeOptionError(NO_TCP)
            case _:
                raise ServeOptionError(f"unknown argument {word!r}; see: ralph-ls --help")
    return options


def neovim_plugin() -> Path:
    """The folder of the plugin: in the package, or in the source that it runs from."""
    package = Path(__file__).parents[1]
    in_wheel = package / "neovim"
    return in_wheel if in_wheel.is_dir() else package.parents[1] / "docs" / "editors" / "neovim"


def check_level(name: str) -> str:
    """The level that is meant; raises ``ServeOptionError``."""
    level = {"warn": "warning"}.get(name.lower(), name.lower())
    if level not in LEVELS:
        raise ServeOptionError(f"--log-level {name!r}: it must be one of {', '.join(LEVELS)}")
    return level


def check_process_id(text: str) -> int:
    """A process id; raises ``ServeOptionError``."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 1 << 31):
        raise ServeOptionError(f"--clientProcessId {text!r}: it must be the id of a process")
    return int(text)


def check_port(text: str) -> int:
    """A port; raises ``ServeOptionError``."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 1 << 16):
        raise ServeOptionError(f"--socket {text!r}: it must be a port")
    return int(text)


def serve(options: ServeOptions) -> NoReturn:
    """Serve the editor until it leaves; ends the process.

    With ``read_only`` nothing is started or changed, and no option of the client's undoes that.
    """
    try:
        start_logging(level=options.log_level, path=options.log_file)
    except LogFileError as error:
        _refuse(f"--log-file: {error}", code=CANNOT_WRITE)
    # Imports make many objects that all stay: looking for garbage among them is time lost.
    gc.disable()
    from ralph_ls.editor.lsp.language_server import run_stdio
    from ralph_ls.editor.lsp.stdio import NoConnection
    from ralph_ls.editor.server import make_server
    from ralph_ls.engine.clock import SystemClock

    server = make_server(now=SystemClock().now, read_only=options.read_only)
    gc.freeze()
    gc.enable()
    try:
        run_stdio(server, client=options.client, connect=_connection_of(options))
    except NoConnection as error:
        _refuse(f"no editor to serve: {error}", code=UNAVAILABLE)


def _connection_of(options: ServeOptions) -> Callable[[], StdioDescriptors] | None:
    from ralph_ls.editor.lsp.stdio import connect_to_port, connect_to_socket

    if options.pipe is None and options.port is None:
        return None
    if sys.platform == "win32":
        _refuse(NOT_ON_WINDOWS)
    if options.pipe is not None:
        return partial(connect_to_socket, options.pipe)
    return partial(connect_to_port, options.port or 0)


def _split(arguments: Sequence[str]) -> Iterator[str]:
    """``--name=value`` as two words."""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name.startswith("--"):
            yield from (name, value)
        else:
            yield argument


def _value(option: str, words: Iterator[str]) -> str:
    value = next(words, "")
    if not value:
        raise ServeOptionError(f"{option} needs a value; see: ralph-ls --help")
    return value


def _print_line(text: str) -> NoReturn:
    sys.stdout.write(text)
    sys.exit(0)


def _refuse(why: str, *, code: int = USAGE) -> NoReturn:
    sys.stderr.write(f"ralph-ls: {why}\n")
    sys.exit(code)
