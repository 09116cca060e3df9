"""From the bytes that an agent prints to messages for viewers and a final word for the loop.

One file for each dialect. A decoder takes ``feed(bytes)`` in whatever pieces they come and holds
its own partial line; it never awaits, and it must never know what becomes of what it reads.
"""
