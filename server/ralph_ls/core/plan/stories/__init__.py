"""Plans of stories: ``tasks.json`` and the common ``prd.json`` (R; SPEC §8, Stories).

Start reading in ``reading``: it makes a file of stories of a text. ``moves`` has the rules of the
review cycle, ``guard`` puts back what breaks them, ``verdict`` says what the stop hook answers.
"""
