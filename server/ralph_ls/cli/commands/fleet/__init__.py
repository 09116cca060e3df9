"""``ralph fleet``: the verb, and what each of its actions does.

Nothing here imports the optional extra before it is known to be installed.
"""
