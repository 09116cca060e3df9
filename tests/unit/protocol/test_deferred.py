"""Models are built when they are first used, which may be in several threads at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pydantic import TypeAdapter
from ralph_ls.protocol.run.events import EVENT_TYPES, parse_event

texts = [path.read_text() for path in sorted(Path(sys.argv[1]).glob("*.json"))]
types = {str(cls.model_fields["kind"].default): cls for cls in EVENT_TYPES}
n_unbuilt = sum(not cls.__pydantic_complete__ for cls in EVENT_TYPES)
together = threading.Barrier(8, timeout=60)

def use(number):
    together.wait()
    made = []
    for text in texts:
        if number % 2:
            made.append(parse_event(text))
        else:
            made.append(types[json.loads(text)["kind"]].model_validate_json(text))
    return [event.model_dump_json(by_alias=True) for event in made]

with ThreadPoolExecutor(8) as pool:
    answers = list(pool.map(use, range(8)))
print(json.dumps({"unbuilt": n_unbuilt, "texts": len(texts), "answers": answers}))
"""


def test_threads_that_use_a_model_first_at_the_same_moment_all_get_it_whole() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, ROOT / "tests/golden/events"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    told = json.loads(ran.stdout)
    assert told["unbuilt"] > 0, "nothing is left to be built by the threads"
    assert told["texts"] > 20
    assert all(answer == told["answers"][0] for answer in told["answers"])
