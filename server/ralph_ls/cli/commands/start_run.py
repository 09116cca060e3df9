"""Starting a run: its request, the question for its profile, an engine here or in the background,
or only a look at what would start.

The question appears if several plans are here and a terminal can ask (docs/rules.md#profiles).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from ralph_ls.cli.context import current_worktree, worktree_at
from ralph_ls.cli.flags import issue_overrides
from ralph_ls.cli.output import emit_document, print_error, print_text
from ralph_ls.cli.show.live import RunViewer, choose_own_renderer, reading_keys
from ralph_ls.cli.show.renderers import header_of
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.text.summary import run_lines
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import (
    RalphError,
    RequestMissing,
    StateUnusable,
    UsageError,
    WorkspaceBusy,
)
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.run.values import Mode, Phase
from ralph_ls.store.files import read_regular
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import DetectedPlan
from ralph_ls.store.project.plan_choice import find_named, progress_of
from ralph_ls.store.project.request import LARGEST_REQUEST, read_stdin
from ralph_ls.store.run.journal import offset_behind
from ralph_ls.store.run.launch import StartOrder, start_detached
from ralph_ls.store.run.runs import load_state


def iteration_count(text: str | int) -> int:
    """The number of iterations in ``[N]``; raises ``UsageError``."""
    try:
        count = int(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a number of iterations; "
            f"to work on a sentence: ralph run -p {shlex.quote(str(text))}"
        ) from error
    if count < 1:
        raise UsageError(f"{count} iterations are too few; give 1 or more, such as: ralph run 20")
    return count


def request_overrides(
    *,
    issue: str | None,
    text: str | None,
    file: str | None,
    profile: str | None,
    resume: bool,
    dry_run: bool,
) -> dict[str, str]:
    """The settings that ``--issue``, ``-p`` and ``--prompt`` make; empty without any of them.

    With a profile that plans from specifications, the text becomes one. Raises ``UsageError``, and
    ``RequestMissing`` for a file that cannot be read or is empty.
    """
    given = {"--issue": issue, "-p": text, "--prompt": file}
    flags = [flag for flag, value in given.items() if value is not None]
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} do not go together; leave all but one out")
    if flags and resume:
        raise UsageError(
            f"a run keeps the request that it began with, so {flags[0]} and --resume do not go "
            "together; leave one of them out"
        )
    if issue is not None or not flags:
        return issue_overrides(issue, profile)
    if STDIN in {text, file}:
        return issue_overrides(STDIN, profile)
    words = _prompt_text(text, file)
    if profile in PLANNED_FROM_SPECS:
        _write_spec(ProfileName(profile), words, flags[0], dry_run=dry_run)
        return {}
    own = ProfileName.ISSUE.value
    if profile not in {None, own}:
        raise UsageError(
            f"{flags[0]} works without a plan, and the profile {profile} has one; "
            "leave --profile out, or add a task to the plan: ralph init --task '…'"
        )
    if file is not None:
        return issue_overrides(f"./{file}" if "://" in file or "#" in file else file, profile)
    return {"profile": own, "issue.text": words, "issue.file": "", "issue.github": ""}


PLANNED_FROM_SPECS = frozenset({ProfileName.FIXPLAN.value, ProfileName.SPEC.value})
"""Profiles whose first iteration writes a plan from the specifications."""


def _prompt_text(text: str | None, file: str | None) -> str:
    if file is None:
        words = (text or "").strip()
        if not words:
            raise UsageError("-p is empty; say what to do, such as: ralph run -p 'Fix the login'")
        return words
    if not file.strip():
        raise UsageError("--prompt is empty; name a file, such as: ralph run --prompt PROMPT.md")
    path = Path(file).expanduser()
    try:
        data = read_regular(path, LARGEST_REQUEST)
    except StateUnusable as error:
        raise RequestMissing(f"--prompt {file}: {error.message}") from error
    if data is None:
        raise RequestMissing(
            f"--prompt {file}: there is no such file; write the prompt there, "
            "or give it as a sentence: ralph run -p '…'"
        )
    words = data.decode("utf-8", errors="replace").strip()
    if not words:
        raise RequestMissing(f"--prompt {file}: the file is empty; write the prompt into it")
    return words


def _write_spec(profile: ProfileName, text: str, flag: str, *, dry_run: bool) -> None:
    """Write the text as the specification that a plan is made from (docs/rules.md#plan-mode)."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.protocol.lsp.setup import SetupFileAction
    from ralph_ls.store.setup.documents import specification_of, write_files

    root = current_worktree().worktree.root
    plan = next((name for name in profile_of(profile).plan_files if (root / name).exists()), None)
    if plan is not None:
        raise UsageError(
            f"{flag} with --profile {profile.value} writes a plan, and {plan} is here already; "
            "leave --profile out to work without the plan, or add a task: ralph init --task '…'"
        )
    file = specification_of(root, text, today=SystemClock().local().date())
    if dry_run or file.action is SetupFileAction.KEEP:
        return
    write_files(root, [file])
    print_error(f"wrote {file.path}; the first iteration writes the plan from it")


def prompt_profile(overrides: Mapping[str, Any]) -> str | None:
    """The profile that the user chooses; None without a choice or without a terminal.

    What is wrong with the settings is said by the start, which reads them again.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        detected = load_settings(current_worktree().worktree.root, os.environ, overrides).detected
    except RalphError:
        return None
    if len(detected) < 2:
        return None
    print_text("There are several plans:")
    for one in detected:
        print_text(f"  {one.profile.value:8} {one.sign}")
    names = [one.profile.value for one in detected]

    def checked(typed: str) -> str:
        if typed.strip() not in names:
            raise typer.BadParameter(f"it must be one of {', '.join(names)}")
        return typed.strip()

    return str(typer.prompt("Which one?", value_proc=checked))


def prompt_plan(overrides: Mapping[str, Any]) -> str | None:
    """The plan that the user chooses of those of other tools; as ``prompt_profile``."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    root = current_worktree().worktree.root
    try:
        plans = load_settings(root, os.environ, overrides).plans
    except RalphError:
        return None
    return ask_plan(root, plans) if len(plans) > 1 else None


def ask_plan(root: Path, plans: Sequence[DetectedPlan]) -> str:
    """The path of the plan that the user chooses by its number or name."""
    print_text("There are several plans:")
    for number, one in enumerate(plans, 1):
        done, total = progress_of(root, one)
        print_text(f"{number:3}  {one.name}  {done}/{total} tasks done  {one.address}")

    def checked(typed: str) -> str:
        word = typed.strip()
        if word.isdecimal() and 1 <= int(word) <= len(plans):
            return plans[int(word) - 1].address
        named = find_named(plans, word)
        if named is None:
            raise typer.BadParameter(f"type a number from 1 to {len(plans)}, or a name")
        return named.address

    return str(typer.prompt("Which one?", value_proc=checked))


def run_detached(
    overrides: dict[str, Any],
    *,
    resume: bool,
    as_json: bool,
    settle: OwnershipOrder | None = None,
) -> None:
    """Start an engine in the background and say what became of it."""
    from ralph_ls.engine.clock import SystemClock

    place = current_worktree()
    order = StartOrder(
        environment=os.environ,
        overrides=overrides,
        resume=resume,
        settle=settle,
        read_stdin=read_stdin,
    )
    begun = start_detached(place.worktree, place.state, order, SystemClock().now())
    if as_json:
        from ralph_ls.protocol.verb_output import DetachedRun

        emit_document(DetachedRun(run=begun.run, pid=begun.pid))
    else:
        print_text(f"Run {begun.run} is running in the background (pid {begun.pid})")
        for line in header_of(load_state(begun.files))[1:]:
            print_text(line)
        print_text("Watch: ralph watch   Status: ralph status   Stop: ralph stop")


def run_in_foreground(
    folder: Path,
    overrides: dict[str, Any],
    *,
    resume: bool = False,
    as_json: bool = False,
    run_id: str | None = None,
    by: str = "ralph run",
    order: OwnershipOrder | None = None,
) -> int:
    """Run the engine in this process, shown by a thread; the summary comes at the end."""
    from ralph_ls.engine.parallel.engine import engine_of
    from ralph_ls.engine.run.preparation import RunRequest
    from ralph_ls.engine.run.runner import run_engine

    running = threading.Event()
    running.set()
    shown = contextlib.ExitStack()
    viewers: list[RunViewer] = []
    run_files: list[RunFiles] = []
    ending: list[Callable[[], None]] = []

    def show(files: RunFiles) -> None:
        run_files.append(files)
        known = load_state(files) if resume else None
        keys = None
        if not as_json and run_id is None:
            keys = shown.enter_context(reading_keys(worktree_at(folder), by))
            if keys is not None and keys.end_full_screen is not None:
                ending.append(keys.end_full_screen)
        viewers.append(
            RunViewer(
                files,
                choose_own_renderer(as_json=as_json, state=known, keys=keys),
                is_live=running.is_set,
                after_seq=0 if known is None else known.seq,
                offset=0 if known is None else offset_behind(files.journal, known.seq),
                output=not as_json,
                # The agent of a killed engine is gone; what it said was shown then.
                catch_up=0,
            )
        )

    request = RunRequest(
        folder=folder,
        environment=dict(os.environ),
        overrides=overrides,
        resume=resume,
        run_id=run_id,
        by=by,
        order=order,
    )
    try:
        code = run_engine(request, on_ready=show, engine_of=engine_of)
    except WorkspaceBusy as error:
        raise WorkspaceBusy(_with_what_it_waits_for(error)) from error
    finally:
        running.clear()
        for end in ending:
            end()
        all_shown = not viewers or viewers[0].finish()
        shown.close()
    if not all_shown:
        # The reader does not read; the run is over and must not hang on it.
        os._exit(code)
    _show_summary(run_files[0], as_json=as_json)
    return code


def _show_summary(files: RunFiles, *, as_json: bool) -> None:
    """The summary of the run; on standard error when standard output is for a program.

    See docs/rules.md#exit-codes.
    """
    from ralph_ls.core.views.text.receipts import receipt_lines
    from ralph_ls.core.views.text.run_end import next_step, summary_lines
    from ralph_ls.engine.git.work_branch import load_branch
    from ralph_ls.store.project.github_records import lines_to_close
    from ralph_ls.store.project.plan_file import skipped_optional_titles
    from ralph_ls.store.run.summary_file import shown_summary

    state = load_state(files)
    if state.end is None:
        raise StateUnusable(
            f"the files of this run were removed from {files.folder} while it was active, so its "
            "state is lost; see its commits with git log, then start a new run: ralph run"
        )
    where = shown_summary(state.config, files)
    lines = ["", *summary_lines(state, where, optional=skipped_optional_titles(state))]
    lines += (*receipt_lines(state), *lines_to_close(state, os.environ))
    if (branch := load_branch(files.folder)) is not None:
        lines.append(f"Branch:      {branch.outcome}")
    if (step := next_step(state)) is not None:
        lines.append(f"Next:        {step}")
    stream = sys.stderr if as_json else sys.stdout
    stream.write("\n".join(lines) + "\n")
    stream.flush()


def _with_what_it_waits_for(error: WorkspaceBusy) -> str:
    from ralph_ls.core.loop.rules.waits import parked_words

    found = current_worktree().find_run()
    if found is not None and found.live and found.phase is Phase.PARKED:
        return f"{error.message}. That run is waiting for {parked_words(found.state)}"
    return error.message


def show_preview(overrides: dict[str, Any], *, as_json: bool) -> None:
    """Print what would start; start nothing."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.run.preparation import RunRequest
    from ralph_ls.engine.run.preview import preview_run
    from ralph_ls.store.project.settings_listing import as_toml

    request = RunRequest(folder=Path.cwd(), environment=dict(os.environ), overrides=overrides)
    preview = preview_run(request, SystemClock().now())
    first = preview.next
    if as_json:
        from ralph_ls.protocol.verb_output import RunPreview

        emit_document(
            RunPreview(
                agent=preview.agent,
                model=preview.model,
                argv=tuple(preview.argv),
                mode=mode_word(preview.settings.profile, preview.mode),
                task=first.task,
                plan=preview.plan_path,
                branch=preview.about.branch,
                choices=preview.about.choices,
                prompt=first.prompt,
                template=first.template,
                instead=first.instead or None,
                not_allowed=tuple(first.not_allowed),
                settings=preview.settings.model_dump(mode="json", by_alias=True),
            )
        )
        return
    for line in run_lines(preview.about):
        print_text(escape_control_chars(line))
    print_text(f"Plan: {preview.plan_path}")
    print_text(
        f"Task: {first.task or ('write the plan' if preview.mode is Mode.PLAN else 'none is open')}"
    )
    print_text(f"Agent: {shlex.join(preview.argv)}")
    print_text(f"Model: {preview.model or 'its own choice'}")
    if first.not_allowed:
        print_text(f"Not approved yet: {', '.join(first.not_allowed)} (ralph allow)")
    addresses = secrets_of_addresses(preview.sources.config.notify.urls)
    hide = Redactor(secrets_of(os.environ) | addresses)
    shown = hide.redact(as_toml(preview.sources, os.environ))
    print_text("\nSettings that differ from the defaults:\n")
    for line in shown.splitlines() or ["# none"]:
        print_text(f"  {line}".rstrip())
    print_text("")
    if first.instead:
        print_text(f"No agent would be started: {first.instead}")
        return
    print_text(f"Template: {first.template or 'the built-in one'}")
    if first.passed_over is not None:
        print_text(f"Note: {first.passed_over}")
    print_text(f"Prompt:\n\n{first.prompt}")
