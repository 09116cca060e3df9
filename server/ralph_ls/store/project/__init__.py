"""Files that outlive a run: settings, plan, prompts, request, trust and shared project state.

May use `external`, never `run`.
"""
