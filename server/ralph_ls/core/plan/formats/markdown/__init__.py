"""Plans in Markdown as a plan format, with the dialects in which tools write them.

How Markdown is parsed, checked and edited does not belong here but in the other rooms of the plan.
"""
