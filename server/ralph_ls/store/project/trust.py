"""Trust: what a repository brings that would run, and which of it the user has approved.

A clone must not run its own commands: agent command, validation script, prompts. ``ralph allow``
shows each and stores a hash outside the tree; a changed one needs approval again. What the user
gives on the command line or in the environment needs none (docs/rules.md#trust).

`RunTrust` has the approvals of one run, read when its engine starts and never again: a file that an
agent can write must not decide what the loop executes next. A later approval reaches a live run
only as a command, which an iteration cannot give; one that appears in the file is removed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field, ValidationError

from ralph_ls.core.loop.profiles import is_parallel, profile_of
from ralph_ls.core.loop.rules.agent_choice import other_agents
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import NotAllowed
from ralph_ls.store.files import (
    PRIVATE_FILE,
    files_below,
    make_private_folder,
    names_in,
    printable_path,
    read_if_there,
    read_regular,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.scripts import files_run_by, validation_files

LANE_SETUP = "lane.setup"
"""Setting with the command that prepares each lane of a parallel run."""

COMMANDS = (LANE_SETUP, "notify.command", "on_pr_ready")
"""Settings with a command that runs beside the agent, with dots."""

SANDBOX = "sandbox"
"""Settings of the sandbox."""

LARGEST_FILE = 64 << 20
"""Most bytes of a file that can be shown and approved."""

BD_HOOKS = ".beads/hooks"
"""Folder of the scripts that ``bd`` runs."""


LESSONS_FOLDER = ".ralph/lessons"
"""Folder of the lessons that a repository brings."""

VERIFY = "verify: "
"""Prefix of the keys of commands in a plan (docs/rules.md#verification)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One command, file or prompt that the repository would have run or sent to an agent."""

    key: str
    """``agents.command``, or the path of a file in the tree."""
    text: str
    """Shown for approval: the setting, or the content of the file."""
    digest: str
    agent: str | None = None
    """The agent that it belongs to; None where every run uses it."""
    path: str | None = None
    """The file of the tree with this content; None for a setting."""
    is_private: bool = False
    """A file that git ignores: only its hash is shown, not its content."""
    not_covered: tuple[str, ...] = ()
    """What it runs that no claim covers, in words."""


class TrustRecord(WireModel):
    """Approvals of one work tree: key to digest."""

    root: str = ""
    allowed: dict[str, str] = Field(default_factory=dict)


def claims_of(
    root: Path, config: Config, from_file: Mapping[str, Any], approved: Collection[str] = ()
) -> tuple[Claim, ...]:
    """Everything in this repository that could run, sorted by key.

    ``approved`` are the keys of earlier approvals: a covered file stays covered, even if it looks
    like a build product now. Raises ``StateUnusable`` for a file that is unreadable or too large
    to be shown.
    """
    claims: list[Claim] = []
    for name, table in from_file.get("agents", {}).items():
        claims += _claims_of_words(root, f"agents.{name}", table, table, approved, agent=name)
    if table := from_file.get(SANDBOX):
        words = {"argv": (*table.get("prefix", ()), *table.get("stop", ()))}
        claims += _claims_of_words(root, SANDBOX, table, words, approved)
    for key in COMMANDS:
        if words := _setting_at(from_file, key):
            claims += _claims_of_command(root, key, tuple(words), approved)
    for path in _scripts_and_prompts(root, config):
        data = read_regular(root / path, LARGEST_FILE) or b""
        if PurePosixPath(path).suffix == ".md":
            claims.append(claim_of_file(path, data))
        else:
            claims += claims_of_script(root, path, data, approved)
    return tuple(sorted(claims, key=lambda claim: claim.key))


def _setting_at(tables: Mapping[str, Any], key: str) -> Any:
    table, _, last = key.rpartition(".")
    return (tables.get(table, {}) if table else tables).get(last)


def claims_of_run(
    claims: Iterable[Claim], config: Config, overrides: Iterable[str]
) -> tuple[Claim, ...]:
    """The claims that a run needs; an agent given with the run needs no approval.

    Only a parallel run sets up lanes; what that writes there is no claim of the runs in them. No
    run needs lessons: those that are not approved are left out of its prompts.
    """
    given = set(overrides)
    judge = config.judge.agent if config.judge.is_on else None
    names = (config.agent, *other_agents(config), *([] if judge is None else [judge]))
    used = {name for name in names if f"agents.{name}" not in given}
    return tuple(
        claim
        for claim in claims
        if (claim.agent is None or claim.agent in used)
        and (is_parallel(config) or claim.key.partition(": ")[0] != LANE_SETUP)
        and not is_lesson(claim.path or "")
    )


def is_lesson(path: str) -> bool:
    """Whether a path of the tree is that of a lesson."""
    folder, _, name = path.rpartition("/")
    return folder == LESSONS_FOLDER and name.endswith(".md")


def claim_of_file(path: str, data: bytes) -> Claim:
    """Claim of a file of the tree, with the exact bytes that will be used."""
    return _claim(printable_path(path), data, path=printable_path(path))


def claims_of_script(
    root: Path, path: str, data: bytes, approved: Collection[str] = ()
) -> tuple[Claim, ...]:
    """Claims of a script with this content, and of the files that it runs."""
    return tuple(_with_what_it_runs(root, claim_of_file(path, data), data, approved))


def require_unchanged_command(
    root: Path,
    key: str,
    argv: tuple[str, ...],
    claims: Iterable[Claim],
    is_approved: Callable[[str, str], bool] = lambda _key, _digest: False,
) -> None:
    """Raise ``NotAllowed`` where a command of the repository differs from the approved one.

    ``claims`` are those at the start of the run; ``is_approved`` returns for a key and a digest
    whether the user has approved it since. Commands that are not the repository's need none.
    """
    known = {claim.key: claim.digest for claim in claims}
    if key not in known:
        return
    changed = [
        claim.key
        for claim in _claims_of_command(root, key, argv, known)
        if known.get(claim.key) != claim.digest and not is_approved(claim.key, claim.digest)
    ]
    if changed:
        raise NotAllowed(
            f"{', '.join(changed)} changed since the run began, so it will not run; check it and "
            "approve it with: ralph allow"
        )


def claims_of_commands(commands: Iterable[str]) -> tuple[Claim, ...]:
    """Claims of the verification commands in a plan."""
    return tuple(_claim(f"{VERIFY}{command}", command.encode()) for command in commands)


def require_allowed(state: StateFolder, claims: Iterable[Claim]) -> None:
    """Raise ``NotAllowed`` with every claim that is not approved in its present form."""
    refuse_claims(unapproved_claims(state, claims))


def refuse_claims(missing: Iterable[Claim]) -> None:
    """Raise ``NotAllowed`` with these claims, if there are any."""
    missing = tuple(missing)
    if missing:
        names = ", ".join(claim.key for claim in missing)
        raise NotAllowed(
            f"this repository wants to run commands you haven't approved: {names}; review and "
            "approve them with: ralph allow"
        )


def unapproved_claims(state: StateFolder, claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims that were never approved, or have changed since."""
    allowed = read_record(state).allowed
    return tuple(claim for claim in claims if allowed.get(claim.key) != claim.digest)


def digest_of(claims: Iterable[Claim]) -> str:
    """Hash of everything that these claims show, which identifies what was approved."""
    shown = sorted(f"{claim.key}\0{claim.digest}" for claim in claims)
    return hashlib.sha256("\n".join(shown).encode("utf-8", errors="replace")).hexdigest()


def allow(state: StateFolder, root: Path, claims: Iterable[Claim]) -> None:
    """Store these claims as approved, and no others except the commands of a plan.

    Those come and go with its tasks, and the key of each is its full text.
    """
    known = read_record(state).allowed
    kept = {key: digest for key, digest in known.items() if key.startswith(VERIFY)}
    given = {claim.key: claim.digest for claim in claims}
    write_record(state, TrustRecord(root=str(root), allowed={**kept, **given}))


def write_record(state: StateFolder, record: TrustRecord) -> None:
    """Store the approvals; raises ``StateUnusable`` where that fails."""
    make_private_folder(state.folder)
    data = record.model_dump_json(by_alias=True, indent=2).encode() + b"\n"
    write_atomic(_record_path(state), data, mode=PRIVATE_FILE)


def read_record(state: StateFolder) -> TrustRecord:
    """The stored approvals; an unreadable record approves nothing."""
    data = read_if_there(_record_path(state))
    if data is None:
        return TrustRecord()
    try:
        return TrustRecord.model_validate_json(data)
    except ValidationError:
        return TrustRecord()


def _record_path(state: StateFolder) -> Path:
    return state.folder / "trust.json"


def _scripts_and_prompts(root: Path, config: Config) -> list[str]:
    found = validation_files(root, config)
    prompts = root / config.paths.prompts
    names = [name for name in names_in(prompts) if fnmatch(name, "PROMPT_*.md")]
    found += [(prompts / name).relative_to(root).as_posix() for name in names]
    lessons = [f"{LESSONS_FOLDER}/{name}" for name in names_in(root / LESSONS_FOLDER)]
    found += filter(is_lesson, lessons)
    if profile_of(config.profile).plan_kind is PlanKind.BEADS:
        # bd runs them whenever an issue changes, also when the loop changes one.
        found += [path.relative_to(root).as_posix() for path in files_below(root / BD_HOOKS)]
    return [path for path in found if (root / path).is_file()]


def _files_named_by(root: Path, table: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Files of the tree that an agent's table names, with their content."""
    real_root = root.resolve()
    for word in dict.fromkeys(_words(table)):
        path = root / word
        if "\0" in word or len(word) >= 4096 or not path.is_file():
            continue
        target = path.resolve()
        if target.is_relative_to(real_root):
            yield word, read_regular(path, LARGEST_FILE) or b""
        elif not Path(word).is_absolute() and ".." not in Path(word).parts:
            # The repository can change the target of a link at any time.
            yield word, os.fsencode(f"a link to {target}")


def _words(table: Mapping[str, Any]) -> Iterator[str]:
    """Words of a table that may name a file: arguments, words of ``sh -c``, variables."""
    argv = [str(part) for part in table.get("argv", ())]
    yield from argv
    for option, script in itertools.pairwise(argv):
        if re.fullmatch(r"-\w*c", option):
            yield from filter(None, re.split(r"[\s\"'`;|&<>()=,$:]+", script))
    for value in table.get("env", {}).values():
        yield value
        yield from filter(None, re.split(r"[\s:;=,]+", value))


def _claims_of_command(
    root: Path, key: str, argv: tuple[str, ...], approved: Collection[str]
) -> list[Claim]:
    """Claims of a command in the settings, and of the files that it names."""
    return _claims_of_words(root, key, argv, {"argv": argv}, approved)


def _claims_of_words(
    root: Path,
    key: str,
    setting: Any,
    table: Mapping[str, Any],
    approved: Collection[str],
    *,
    agent: str | None = None,
) -> list[Claim]:
    """Claims of a setting with programs, of its files in the tree, and of what those run."""
    is_table = isinstance(setting, dict)
    text = json.dumps(
        setting, ensure_ascii=False, indent=2 if is_table else None, sort_keys=is_table
    )
    found = [_claim(key, text.encode(), agent=agent)]
    for path, data in _files_named_by(root, table):
        claim = _claim(f"{key}: {path}", data, agent=agent, path=path)
        found += _with_what_it_runs(root, claim, data, approved, owner=key)
    # Several words or files may name the same file.
    return list({claim.key: claim for claim in found}.values())


def _with_what_it_runs(
    root: Path, claim: Claim, data: bytes, approved: Collection[str], *, owner: str | None = None
) -> Iterator[Claim]:
    """Claim of a script, and one for each file that it runs."""
    owner = owner or claim.key
    path = claim.path or ""
    names = {key.removeprefix(f"{owner}: ") for key in approved if key.startswith(f"{owner}: ")}
    found = files_run_by(root, path, data, limit=LARGEST_FILE, approved=names)
    yield replace(claim, not_covered=tuple(found.not_covered))
    for file in found.files.values():
        made = _claim(
            f"{owner}: {printable_path(file.name)}", file.data, agent=claim.agent, path=file.path
        )
        yield replace(made, is_private=file.is_ignored)


def _claim(key: str, data: bytes, *, agent: str | None = None, path: str | None = None) -> Claim:
    return Claim(
        key=key,
        text=data.decode("utf-8", errors="replace"),
        digest=hashlib.sha256(data).hexdigest(),
        agent=agent,
        path=path,
    )


class RunTrust:
    """Approvals of one run."""

    def __init__(self, allowed: Mapping[str, str]) -> None:
        self._allowed = dict(allowed)
        self._lock = threading.Lock()

    def missing(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """The claims that are not approved in their present form."""
        return tuple(claim for claim in claims if self._allowed.get(claim.key) != claim.digest)

    @property
    def keys(self) -> frozenset[str]:
        """Keys of all approvals, in any form."""
        return frozenset(self._allowed)

    def require(self, claims: Iterable[Claim]) -> None:
        """Raise ``NotAllowed`` with every claim that is not approved in its present form."""
        refuse_claims(self.missing(claims))

    def is_approved(self, key: str, digest: str) -> bool:
        """Whether exactly this content is approved under its key."""
        return self._allowed.get(key) == digest

    def accept(self, approved: Mapping[str, str]) -> None:
        """Add approvals that the user gave since; the caller stores them."""
        with self._lock:
            self._allowed |= approved

    def remove_unapproved(self, state: StateFolder) -> tuple[str, ...]:
        """Remove approvals from the file that were neither there at the start nor accepted since.

        Returns their keys; one that was approved in another form gets that form again. Raises
        ``StateUnusable`` where the file cannot be written.
        """
        with self._lock:
            record = read_record(state)
            added = [
                key for key, digest in record.allowed.items() if self._allowed.get(key) != digest
            ]
            if not added:
                return ()
            known = [key for key in record.allowed if key in self._allowed]
            kept = {key: self._allowed[key] for key in known}
            write_record(state, record.model_copy(update={"allowed": kept}))
            return tuple(sorted(added))


def read_run_trust(state: StateFolder, claims: Iterable[Claim]) -> RunTrust:
    """The present approvals; raises ``NotAllowed`` where a claim lacks one."""
    found = RunTrust(read_record(state).allowed)
    found.require(claims)
    return found
