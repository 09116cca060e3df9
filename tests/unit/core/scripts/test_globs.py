"""Which validation scripts an iteration asks for."""

from __future__ import annotations

import pytest

from ralph_ls.core.scripts.globs import (
    LINES_READ,
    changeable_globs,
    matches_globs,
    script_globs,
)


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("#!/bin/sh\n# ralph: globs = client/**, *.ts\nnpm test\n", ("client/**", "*.ts")),
        ("#!/usr/bin/env node\n// Ralph: Globs=src/\n", ("src/",)),
        ("# ralph: globs = a ,, b ,\r\n", ("a", "b")),
        ("#!/bin/sh\nexit 0\n", ()),
        ("", ()),
        ("# ralph: globs =\n# ralph: globs = later\n", ()),
        ("echo ralph: globs = a\n", ()),
        ("\n" * (LINES_READ - 1) + "# ralph: globs = a", ("a",)),
        ("\n" * LINES_READ + "# ralph: globs = a", ()),
    ],
)
def test_a_script_names_its_globs_in_its_first_lines(text: str, globs: tuple[str, ...]) -> None:
    assert script_globs(text) == globs


def test_it_names_what_may_change_besides() -> None:
    text = "#!/bin/sh\n# ralph: globs = a\n# ralph: may-change = src/**, b.py\n"
    assert (script_globs(text), changeable_globs(text)) == (("a",), ("src/**", "b.py"))
    assert changeable_globs("# ralph: globs = a") == ()


@pytest.mark.parametrize(
    ("glob", "path", "is_asked"),
    [
        ("*.ts", "a.ts", True),
        ("*.ts", "deep/in/a.ts", True),
        ("*.ts", "a.tsx", False),
        ("client/**", "client/src/a.ts", True),
        ("client/**", "clients/a.ts", False),
        ("client/**", "my/client/a.ts", False),
        ("client/", "my/client/a.ts", True),
        ("src", "src/a", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/deep/in/a.py", True),
        ("**/test/*", "a/test/b", True),
        ("/setup.py", "setup.py", True),
        ("/setup.py", "inner/setup.py", False),
        ("./docs/a.md", "docs/a.md", True),
        ("file?.txt", "file1.txt", True),
        ("file?.txt", "file/.txt", False),
        ("a.b", "axb", False),
        ("[a]", "a", False),
        ("*", "anything/at all\nhere", True),
    ],
)
def test_a_glob_names_paths_as_gitignore_does(glob: str, path: str, is_asked: bool) -> None:
    assert matches_globs((glob,), (path,)) is is_asked


def test_one_glob_and_one_path_of_several_are_enough() -> None:
    assert matches_globs(("a", "b"), ("c", "b"))
    assert not matches_globs((), ("c",))
    assert not matches_globs(("a",), ())
