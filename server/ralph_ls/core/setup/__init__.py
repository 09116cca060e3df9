"""Set-up of a loop: rules of a draft, task templates, and the texts of the files it writes.

Nothing here asks the user or knows a folder.
"""
