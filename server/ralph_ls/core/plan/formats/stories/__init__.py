"""Plans of stories (tasks.json, prd.json): file, review cycle, edits, guard, stop verdict.

Start with story_file; other plan formats do not belong here.
"""
