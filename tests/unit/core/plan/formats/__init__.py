"""Plan formats besides Markdown, stories and ``bd``: each read, edited and found again."""
