"""Request: the text that an ``issue`` run works on, from a file, standard input or a GitHub issue.

It is read once when a run starts and stored in the run's folder, so that it does not change under
the run or when the run is resumed (docs/rules.md#requests). Secrets are redacted before it is
stored or shown.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.core.plan.formats.request import render_issue, request_title
from ralph_ls.core.redaction.redactor import Redactor, secrets_of
from ralph_ls.protocol.config.config import MAX_REQUEST, Config
from ralph_ls.protocol.errors import ConfigError, RequestMissing, StateUnusable
from ralph_ls.protocol.plan import STDIN, IssueReference, Request, RequestKind, read_reference
from ralph_ls.store.external.gh import find_gh, view_issue
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    read_if_there,
    read_regular,
    write_atomic,
)
from ralph_ls.store.project.config_file import LoadedSettings

LARGEST_REQUEST = MAX_REQUEST
"""Most bytes: an agent reads all of it in every iteration."""

TYPED = "command line"
"""Source of a request that is given as a text."""

FILE_NAME = "request.json"
"""Name of the request's file in the folder of its run."""


def read_request(root: Path, settings: LoadedSettings, environment: Mapping[str, str]) -> Request:
    """The request that the settings name, with secrets redacted.

    Raises ``RequestMissing`` where none is named or it cannot be read, and ``ConfigError`` where
    two are named.
    """
    issue = settings.config.issue
    named = [key for key in ("file", "github", "text") if getattr(issue, key)]
    if len(named) > 1:
        both = " and ".join(f"issue.{key} ({getattr(issue, key)!r:.60})" for key in named)
        raise ConfigError(
            f"{both} are set, but a run works on one request; "
            "remove all but one, or name one with --issue"
        )
    if issue.text:
        read = _of_text(issue.text.encode(errors="replace"), RequestKind.STDIN, TYPED)
    elif issue.file == STDIN:
        read = _of_text(read_stdin(), RequestKind.STDIN, "standard input")
    elif issue.file:
        read = _of_file(root, settings, issue.file)
    elif (reference := read_reference(issue.github or "")) is not None:
        read = _of_github(root, reference, environment)
    else:
        raise RequestMissing(
            "the profile issue needs a request; give one with --issue: a file, - for standard "
            "input, or an issue on GitHub such as 123 or owner/name#123; or in a sentence: ralph "
            "run -p 'Fix the login'. To use it in every run, set file or github under [issue] in "
            ".ralph/config.toml"
        )
    return _without_secrets(read, settings.config, environment)


def read_stdin() -> bytes:
    """Standard input, up to just above the limit; empty where it is closed."""
    data = b""
    if sys.__stdin__ is None:
        return data
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.__stdin__.fileno()
        while len(data) <= LARGEST_REQUEST and (more := os.read(descriptor, 1 << 16)):
            data += more
    return data


def save_request(folder: Path, request: Request) -> None:
    """Store the request with the run's files; raises ``StateUnusable``."""
    make_private_folder(folder)
    data = request.model_dump_json(by_alias=True, exclude_none=True).encode()
    write_atomic(folder / FILE_NAME, data, mode=PRIVATE_FILE)


def load_request(folder: Path) -> Request:
    """The request of the run with this folder; raises ``RequestMissing``."""
    data = read_if_there(folder / FILE_NAME)
    if data is None:
        raise RequestMissing(
            f"the request of the run in {folder} is gone, so the run cannot continue; start a new "
            "run: ralph run --issue …"
        )
    try:
        return Request.model_validate_json(data)
    except ValidationError as error:
        raise RequestMissing(
            f"{folder / FILE_NAME} no longer contains a request, so the run cannot continue; "
            "start a new run: ralph run --issue …"
        ) from error


def _of_file(root: Path, settings: LoadedSettings, name: str) -> Request:
    path = root / name
    source = _display_name(root, path, name)
    brought = settings.from_file.get("issue", {}).get("file")
    if brought == name and "issue.file" not in settings.overrides and not _is_inside(root, path):
        # A path from the repository must be inside of it: it could send any file to an agent.
        raise ConfigError(
            f"issue.file in .ralph/config.toml is {name!r}, which leads out of the work tree; if "
            f"you mean that file, say so: ralph run --issue {name}"
        )
    try:
        data = read_regular(path, LARGEST_REQUEST)
    except StateUnusable as error:
        raise RequestMissing(f"the request cannot be read: {error.message}") from error
    if data is None:
        raise RequestMissing(
            f"there is no request at {path}; write it, or name another file or issue with --issue"
        )
    return _of_text(data, RequestKind.FILE, source)


def _of_text(data: bytes, kind: RequestKind, source: str) -> Request:
    if len(data) > LARGEST_REQUEST:
        raise RequestMissing(
            f"the request in {source} is larger than {LARGEST_REQUEST} bytes; summarise it, and "
            "name the files with the details"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestMissing(
            f"the request in {source} is not UTF-8 (byte {error.start + 1}); save it as UTF-8"
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise RequestMissing(f"the request in {source} is empty; say what you want")
    return Request(kind=kind, title=request_title(text), source=source, text=text)


def _of_github(root: Path, reference: IssueReference, environment: Mapping[str, str]) -> Request:
    issue = view_issue(find_gh(root, environment), reference)
    rendered = render_issue(issue, limit=LARGEST_REQUEST)
    known = read_reference(issue.url) or reference
    return Request(
        kind=RequestKind.GITHUB,
        title=issue.title,
        source=str(known),
        text=rendered.text,
        url=issue.url or None,
        is_closed=not issue.is_open,
        comments_left_out=rendered.left_out,
    )


def _without_secrets(request: Request, config: Config, environment: Mapping[str, str]) -> Request:
    agent = config.agents.get(config.agent)
    secrets = secrets_of({**environment, **({} if agent is None else agent.env)})
    redact = Redactor(secrets=secrets).redact
    return request.model_copy(update={"title": redact(request.title), "text": redact(request.text)})


def _display_name(root: Path, path: Path, name: str) -> str:
    """Path of a file relative to the root if it is below, else as given."""
    absolute = Path(os.path.normpath(path))
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else name


def _is_inside(root: Path, path: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
