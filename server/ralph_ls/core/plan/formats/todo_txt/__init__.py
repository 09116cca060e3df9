"""todo.txt: one task a line, read and edited.

What is common to formats of lines is in the room above.
"""
