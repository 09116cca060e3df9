"""A model that says what a test scripts, behind the APIs that real agents speak.

It exists so that a real agent's command line can run with no network and no key. What it answers is
a list of ``Answer``, given out in order; what it was asked is kept. It must never know which agent
asks: everything it does is in the words of the API that was asked: Messages, Responses, Chat
Completions, Gemini.
"""

from __future__ import annotations

from tests.fakes.model_stub.script import Answer, ToolCall, load_script
from tests.fakes.model_stub.server import ModelStub

__all__ = ["Answer", "ModelStub", "ToolCall", "load_script"]
