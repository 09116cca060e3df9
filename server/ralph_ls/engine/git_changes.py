"""Evidence from git: what happened to a work tree between two looks at it (SPEC §6).

It looks and never changes anything. It must never judge: whether a change is progress is the core's
to say. Whose a commit is, the caller knows; here it is only asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git import NESTED_DEPTH, OwnFiles, look_inside, read_head, repository_at
from ralph_ls.engine.git_history import (
    COMMITS_LIMIT,
    IsPersons,
    Made,
    commits_between,
    differing_paths,
    hash_algorithm,
    is_ancestor,
    nobody,
)
from ralph_ls.engine.git_status import GITLINK, HEX, disk_value
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git


def changes_between(
    root: Path,
    before: Baseline,
    after: Baseline,
    *,
    own: OwnFiles,
    since: datetime | None = None,
    is_persons: IsPersons = nobody,
    touched: Sequence[str] = (),
) -> Changes:
    """What happened to the work tree between two baselines; ``after`` is how it is now.

    Commits are those that ``after`` reaches and ``before`` does not, the newest 200, oldest first;
    also in nested repositories. Where HEAD went to another branch or history, commits from before
    ``since`` were there already and do not count. A file counts when its content differs: to commit
    what was dirty before is a commit and changes no file. One that differs by a person's commits
    alone does not count, unless it is among ``touched``: what the agent says that it wrote.
    Subjects are not redacted.
    """
    differing = differing_paths(root, before.head, after.head)
    commits: list[Made] = []
    if after.head is not None and after.head != before.head:
        if since is not None and before.branch == after.branch:
            since = None if is_ancestor(root, before.head, after.head) else since
        commits = commits_between(
            root,
            before.head,
            after.head,
            counts=lambda path: not own.covers(path),
            since=since,
            is_persons=is_persons,
        )
    nested = _nested_commits(root, before, after, differing, own, is_persons=is_persons)
    changed = set(_changed(root, before, after, differing, own))
    changed -= _of_persons(changed, commits, nested, before, after) - set(touched)
    return Changes(
        commits=tuple(made.seen for made in [*commits, *nested]),
        files=len(changed),
        paths=tuple(sorted(changed)),
        fingerprint=after.fingerprint,
    )


def _of_persons(
    changed: set[str],
    commits: Sequence[Made],
    nested: Sequence[Made],
    before: Baseline,
    after: Baseline,
) -> set[str]:
    """The paths that differ by a person's commits alone, as far as that can be told.

    Nothing of the agent's lay there before or lies there now. What the agent wrote in between, and
    a person committed, looks just the same as what the person wrote.
    """
    if len(commits) >= COMMITS_LIMIT:
        return set()
    persons = {path for made in commits if made.seen.by_person for path in made.paths}
    agents = {path for made in commits if not made.seen.by_person for path in made.paths}
    inside: dict[str, bool] = {}
    for made in nested:
        repository = made.seen.repository
        inside[repository] = inside.get(repository, True) and made.seen.by_person
    for repository, is_persons in inside.items():
        was, now = before.dirty.get(repository, ""), after.dirty.get(repository, "")
        heads = (before.nested_heads.get(repository, ""), after.nested_heads.get(repository, ""))
        is_clean = all(
            value in {"", f"{GITLINK} {head[:HEX]}"}
            for value, head in zip((was, now), heads, strict=True)
        )
        (persons if is_persons and is_clean else agents).add(repository)
    dirty = (before.dirty.keys() | after.dirty.keys()) - inside.keys()
    return {path for path in changed & persons if path not in agents and path not in dirty}


def _changed(
    root: Path,
    before: Baseline,
    after: Baseline,
    differing: Mapping[str, tuple[str, str]],
    own: OwnFiles,
) -> Iterator[str]:
    """The paths whose content is not what it was, whether that is committed or not."""
    for path in differing.keys() | before.dirty.keys() | after.dirty.keys():
        if own.covers(path):
            continue
        was = before.dirty.get(path)
        value = after.dirty.get(path)
        committed = differing.get(path)
        match was, value, committed:
            case None, None, _:
                yield path
            case None, _, None:
                yield path
            case None, _, (committed_before, _):
                if value != committed_before:
                    yield path
            case _, None, _:
                # Clean now: committed as it was, put back, or changed and committed.
                now = None if committed is None else committed[1]
                if was not in (now, _value_on_disk(root / path, str(was), after, own.inside(path))):
                    yield path
            case _:
                if was != value:
                    yield path


def _value_on_disk(path: Path, was: str, after: Baseline, own: OwnFiles) -> str:
    if was.startswith(GITLINK):
        return look_inside(path, own, depth=NESTED_DEPTH)[0]
    return disk_value(path, algorithm=hash_algorithm(after.head))


def _nested_commits(
    root: Path,
    before: Baseline,
    after: Baseline,
    differing: Mapping[str, tuple[str, str]],
    own: OwnFiles,
    *,
    is_persons: IsPersons,
) -> list[Made]:
    """The commits that appeared in repositories inside this one."""
    links = {
        path
        for path, values in differing.items()
        if any(value.startswith(GITLINK) for value in values)
    }
    commits: list[Made] = []
    for path in sorted(links | before.nested_heads.keys() | after.nested_heads.keys()):
        place = repository_at(root / path)
        if place is None or own.covers(path):
            continue
        try:
            new = after.nested_heads.get(path)
            if new is None:
                new = read_head(place.git_dir, place.common_dir).commit
            old = before.nested_heads.get(path) or _linked(root, before.head, path)
            if new and new != old:
                inside = own.inside(path)
                commits += commits_between(
                    place.root,
                    old,
                    new,
                    counts=lambda name, inside=inside: not inside.covers(name),  # type: ignore[misc]
                    is_persons=is_persons,
                    repository=path,
                )
        except RalphError:
            # A repository that was broken meanwhile changes the tree around it, no more.
            continue
    return commits


def _linked(root: Path, commit: str | None, path: str) -> str | None:
    """The commit of the submodule at ``path`` that the commit names."""
    if commit is None:
        return None
    literally = f":(literal){path}"
    printed = run_git(root, "ls-tree", "-z", "--full-tree", commit, "--", literally)
    entry = printed.partition(b"\t")[0]
    mode, _, rest = entry.partition(b" ")
    return rest.rpartition(b" ")[2].decode() if mode == GITLINK.encode() else None
