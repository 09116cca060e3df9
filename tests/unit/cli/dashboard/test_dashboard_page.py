"""The page as a file: one document whose policy allows its script and style alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, timedelta, timezone
from functools import partial
from pathlib import Path

from ralph_ls.cli.dashboard.page import dashboard_html, dashboard_parts
from ralph_ls.protocol.dashboard import Dashboard
from ralph_ls.store.figures import read_dashboard, read_statistics
from ralph_ls.store.layout import find_worktree
from tests.sample_runs import write_runs
from tests.unit.core.views.run_states import NOON


def sample(folder: Path, *, runs: int = 3) -> Dashboard:
    state = write_runs(folder / "state", folder / "shop", runs=runs, iterations=4, until=NOON)
    return read_dashboard([(find_worktree(folder / "shop"), state)], now=NOON, zone=UTC)


def test_is_small_and_names_nothing_outside_of_itself(tmp_path: Path) -> None:
    page = dashboard_html(sample(tmp_path, runs=1), form="file", title="<Shop>")
    empty = dashboard_html(None, form="served", title="Shop")
    assert len(empty.encode()) <= 150_000
    assert "<title>&lt;Shop&gt;</title>" in page
    loads = r"(?:src|href)=[\"']?(?!data:)\w|@import|url\((?!data:|#)"
    assert re.search(loads, page.partition("<body")[0]) is None
    assert "connect-src" not in page
    assert "connect-src &#x27;self&#x27;" in empty


def test_allows_its_own_script_and_styles_by_their_digests(tmp_path: Path) -> None:
    parts = dashboard_parts(sample(tmp_path), form="report", other_styles=("p{}",))
    (script,) = re.findall(r"<script>(.*)</script>", parts.body, re.DOTALL)
    for text in (script, parts.style, "p{}"):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in parts.policy
    assert "unsafe" not in parts.policy


def test_carries_its_figures_in_a_form_that_ends_no_element(tmp_path: Path) -> None:
    figures = sample(tmp_path)
    columns = figures.folders[0].iterations.model_copy(update={"task_titles": ("</script><b>&",)})
    folder = figures.folders[0].model_copy(update={"iterations": columns})
    figures = figures.model_copy(update={"folders": (folder,)})
    page = dashboard_html(figures, form="file", title="Shop")
    assert "</script><b>" not in page
    (data,) = re.findall(r'id="figures">(.*?)</script>', page, re.DOTALL)
    assert Dashboard.model_validate(json.loads(data)) == figures


def test_has_the_figures_of_runs_from_their_files_as_from_their_journals(tmp_path: Path) -> None:
    first = sample(tmp_path)
    worktree = find_worktree(tmp_path / "shop")
    (state,) = (tmp_path / "state" / "worktrees").iterdir()
    kept = sorted(state.glob("runs/*/figures.json"))
    assert len(kept) == 3
    assert kept[0].stat().st_mode & 0o777 == 0o600
    from ralph_ls.store.layout import StateFolder

    again = read_dashboard([(worktree, StateFolder(folder=state))], now=NOON, zone=UTC)
    assert again == first
    # What is kept is really used, in the time zone that it was made for.
    digests = sorted(state.glob("runs/*/digest.json"))
    assert len(digests) == 3
    assert digests[0].stat().st_mode & 0o777 == 0o600
    text = digests[0].read_text("utf-8")
    digests[0].write_text(re.sub('"end":"[a-z]+"', '"end":"kept"', text), encoding="utf-8")
    read = partial(read_dashboard, [(worktree, StateFolder(folder=state))], now=NOON)
    assert read(zone=UTC).folders[0].runs[0].end == "kept"
    east = read(zone=timezone(timedelta(hours=9)))
    assert east.folders[0].runs == first.folders[0].runs
    assert east.ranges[0].totals == first.ranges[0].totals
    # A journal that was written since then, and a file that is broken, are measured again.
    kept[0].write_text("{", encoding="utf-8")
    journal = kept[1].with_name("journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    changed = read_statistics(worktree, StateFolder(folder=state))
    assert changed.runs[0] == read_statistics(worktree, StateFolder(folder=state)).runs[0]
    assert changed.runs[1].end == "crashed"
