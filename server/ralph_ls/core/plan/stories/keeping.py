"""What the guard has put back in a story, made again as the agent had it: a person wants it so.

Only what this is about is taken from the agent's version; what came later stays. Where that cannot
be, the answer is why not, in words. It must never write a file.
"""

from __future__ import annotations

from ralph_ls.core.plan.comparing.keeping import Kept
from ralph_ls.core.plan.stories.edits import with_member
from ralph_ls.core.plan.stories.model import REVIEW_FIELDS
from ralph_ls.core.plan.stories.moves import CRITERIA, PRIORITY
from ralph_ls.core.plan.stories.persons import without
from ralph_ls.core.plan.stories.reading import dependencies_key, read
from ralph_ls.protocol.run.iteration_events import Forbidden

FIELDS = {
    Forbidden.REVIEW: REVIEW_FIELDS,
    Forbidden.CRITERIA: (CRITERIA,),
    Forbidden.PRIORITY: (PRIORITY,),
}
"""What is about which fields; dependencies have a name of their own in each file."""


def keep(text: str, agents: str, what: Forbidden, story_id: str) -> Kept:
    """Make a file say of one story what ``agents``, the file as the agent left it, says. Total."""
    here, theirs = read(text).stories, read(agents).stories
    story, wanted = here.by_id().get(story_id), theirs.by_id().get(story_id)
    if story is None:
        return Kept(refusal="the story is not in the plan any more")
    if what is Forbidden.DROPPED:
        return Kept(text=without(text, story))
    if wanted is None:
        return Kept(refusal="the agent's version of the plan does not have the story")
    names = FIELDS.get(what, (dependencies_key(wanted.fields),))
    if what not in {*FIELDS, Forbidden.DEPENDENCY}:
        return Kept(refusal="that is about a whole file")
    for name in names:
        now = read(text).stories.by_id()[story_id]
        if name in wanted.fields:
            node = wanted.fields[name].node
            text = with_member(text, now.node, name, theirs.text[node.start : node.end])
        elif name in now.fields:
            return Kept(refusal=f"the agent had taken {name} out; take it out yourself")
    return Kept(text=text)
