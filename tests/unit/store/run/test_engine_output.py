"""Where ralph's own output goes: files of streams, and files behind a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_ls.store.run import engine_output
from ralph_ls.store.run.engine_output import LAUNCHER_FILES, EngineOutput, launcher_variable

LINE = "▸ Iteration {}: no progress in 0s, no commit\n"


@contextmanager
def stream_to(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_the_file_of_a_stream_is_known(tmp_path: Path) -> None:
    output, root = EngineOutput(), tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    with stream_to(root / "sub" / "out.json") as out, stream_to(tmp_path / "err") as err:
        assert output.paths(root, (out, err)) == {"sub/out.json"}
        assert output.paths(tmp_path / "other", (out, err)) == frozenset()


def test_a_file_that_is_renamed_is_known_by_both_names(tmp_path: Path) -> None:
    output = EngineOutput()
    with stream_to(tmp_path / "a.json") as out:
        output.paths(tmp_path, (out,))
        (tmp_path / "a.json").rename(tmp_path / "b.json")
        assert output.paths(tmp_path, (out,)) == {"a.json", "b.json"}


def test_what_is_gone_or_no_file_is_not_known(tmp_path: Path) -> None:
    output = EngineOutput()
    with stream_to(tmp_path / "a.json") as out:
        (tmp_path / "a.json").unlink()
        assert output.paths(tmp_path, (out, 4711)) == frozenset()
    with stream_to(Path(os.devnull)) as null:
        assert output.paths(Path("/"), (null,)) == frozenset()


def test_the_launchers_files_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stream_to(tmp_path / "server.log") as out, stream_to(Path(os.devnull)) as null:
        told = launcher_variable((out, null))
        assert launcher_variable((null,)) == {}
    assert told == {LAUNCHER_FILES: str(tmp_path / "server.log")}
    gone = os.pathsep.join([told[LAUNCHER_FILES], str(tmp_path / "gone")])
    monkeypatch.setenv(LAUNCHER_FILES, gone)
    assert EngineOutput().paths(tmp_path, ()) == {"server.log"}


def written(*numbers: int) -> EngineOutput:
    output = EngineOutput()
    for number in numbers:
        output.record_output(LINE.format(number).encode(), ours=True)
        output.record_output(b"what the agent says\n", ours=False)
    return output


def said(*numbers: int) -> str:
    return "".join(LINE.format(number) + "what the agent says\n" for number in numbers)


PIPED = {
    "all of it": said(1, 2, 3),
    "a program that is late": said(1, 2),
    "a program that is late within a line": said(1, 2) + LINE.format(3)[:9],
    "appended to something": "earlier\n" + said(1, 2, 3),
}
NOT_PIPED = {
    "nothing": "",
    "what the agent says too": "what the agent says\n",
    "the agent's words behind ours": said(1, 2, 3) + "and my own\n",
    "other lines of that kind": said(7, 8),
}


@pytest.mark.parametrize("name", PIPED)
def test_a_file_behind_a_pipe_is_known(tmp_path: Path, name: str) -> None:
    path, output = tmp_path / "out.log", written(1, 2, 3)
    path.write_text(PIPED[name], encoding="utf-8")
    assert output.is_behind_pipe(path)
    assert output.paths(tmp_path, ()) == {"out.log"}
    path.write_text("changed", encoding="utf-8")
    assert output.is_behind_pipe(path)


@pytest.mark.parametrize("name", NOT_PIPED)
def test_another_file_is_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / "notes.md"
    path.write_text(NOT_PIPED[name], encoding="utf-8")
    assert not written(1, 2, 3).is_behind_pipe(path)
    assert not EngineOutput().is_behind_pipe(path)
    assert not written(1).is_behind_pipe(tmp_path)
    assert not written(1).is_behind_pipe(tmp_path / "gone")


def test_only_the_newest_output_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_output, "KEPT_BYTES", 100)
    path, output = tmp_path / "out.log", written(*range(50))
    path.write_text(said(*range(50)), encoding="utf-8")
    assert output.is_behind_pipe(path)
    path.write_text(said(1, 2), encoding="utf-8")
    assert not written(*range(50)).is_behind_pipe(path)


def test_a_pipe_is_known(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        assert EngineOutput().has_pipe((writer, 4711))
    finally:
        os.close(reader)
        os.close(writer)
    with stream_to(tmp_path / "a") as out:
        assert not EngineOutput().has_pipe((out,))
