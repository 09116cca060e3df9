"""BMAD: the stories of ``sprint-status.yaml``, read and edited.

What is common to formats of lines is in the room above.
"""
