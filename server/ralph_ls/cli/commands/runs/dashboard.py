"""``ralph dashboard``: the figures of runs as a page, in a file or served. It changes no run."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_text, write_json
from ralph_ls.cli.parameters import flag, option
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.store.layout import StateFolder, Worktree, state_root

if TYPE_CHECKING:
    from ralph_ls.protocol.dashboard import Dashboard

Place = tuple[Worktree, StateFolder]

NAME = "dashboard.html"


def dashboard_verb(
    output: Annotated[
        Path | None,
        option(
            "FILE", "Write the page to this file, and do not open it.", default="the state folder"
        ),
    ] = None,
    everywhere: Annotated[
        bool, flag("--all", text="Show all your repositories, not this one alone.")
    ] = False,
    no_open: Annotated[bool, flag("--no-open", text="Do not open a browser.")] = False,
    serve: Annotated[
        bool, flag("--serve", text="Serve it on this machine, with live updates, until Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None, option("PORT", "Port for --serve.", default="any that is free")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("NAME", "Host name of your tunnel, for --serve.", default="localhost"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the figures of your runs as a page: work, cost, time, and where it is stuck.

    The page is one file; it loads nothing from anywhere.
    """
    if not serve and (port is not None or allow_host):
        raise UsageError("--port and --allow-host go with --serve")
    if serve and (output is not None or as_json):
        raise UsageError("--serve writes no file; leave out --output and --json")
    places = _places(everywhere=everywhere)
    if serve:
        _serve(places, port=port or 0, hosts=allow_host or [], opens=not no_open)
        return
    figures = read(places)
    if as_json:
        write_json(figures.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    file = _write(figures, output or _own_file(places, everywhere=everywhere), output is not None)
    print_text(f"Wrote {file}")
    if output is None and not no_open:
        _open(file.absolute().as_uri())


def _places(*, everywhere: bool) -> list[Place]:
    from ralph_ls.store.run.state_index import every_worktree

    if everywhere:
        found = list(every_worktree(state_root(os.environ)))
        if not found:
            raise UsageError("there is no run in any repository yet; start one: ralph run")
        return found
    place = current_worktree()
    return [(place.worktree, place.state)]


def read(places: Sequence[Place], *, run: str | None = None) -> Dashboard:
    """The figures as they are now, without secrets and control characters."""
    from ralph_ls.core.redaction.redactor import Redactor, secrets_of
    from ralph_ls.core.views.model.control_chars import escape_control_chars
    from ralph_ls.core.views.report.dashboard import with_clean_texts
    from ralph_ls.store.figures import read_dashboard

    clock, redactor = SystemClock(), Redactor(secrets_of(os.environ))
    found = read_dashboard(places, now=clock.now(), zone=clock.local().tzinfo, run=run)
    return with_clean_texts(found, lambda text: escape_control_chars(redactor.redact(text)))


def _own_file(places: Sequence[Place], *, everywhere: bool) -> Path:
    return (state_root(os.environ) if everywhere else places[0][1].folder) / NAME


def _write(figures: Dashboard, file: Path, is_named: bool) -> Path:
    from ralph_ls.cli.dashboard.page import dashboard_html
    from ralph_ls.store.files import PRIVATE_FILE, PRIVATE_FOLDER, write_atomic

    title = "Ralph dashboard"
    if len(figures.folders) == 1:
        title = f"{figures.folders[0].name} · {title}"
    page = dashboard_html(figures, form="file", title=title)
    if not is_named:
        file.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    # A file that the user names is one to share.
    write_atomic(file, page.encode(), mode=0o644 if is_named else PRIVATE_FILE)
    return file


def _serve(places: Sequence[Place], *, port: int, hosts: Sequence[str], opens: bool) -> None:
    from ralph_ls.cli.dashboard.server import DashboardServer, Feed

    feed = Feed(places, partial(read, places))
    try:
        server = DashboardServer(feed, port=port, hosts=hosts, on_used=_show_next)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be used: {error}; choose another one") from error
    link = server.link(server.access.token)
    print_text(f"The dashboard: {link}")
    print_text("The link works once. Ctrl-C ends the dashboard.")
    sys.stdout.flush()
    if opens:
        _open(link)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print_text("")
    finally:
        feed.close()
        server.server_close()


def _show_next(link: str) -> None:
    print_text(f"Opened. For another browser: {link}")
    sys.stdout.flush()


def _open(url: str) -> None:
    """Open a browser where there is a screen for it; a text browser would take the terminal."""
    has_screen = sys.platform in {"win32", "darwin"} or any(
        os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_screen and sys.stdout.isatty():
        webbrowser.open(url)
