"""Dashboard page: its script and style, the file they are written to, and the loopback server.

The figures come from store and core; how they are drawn is in ``client-vscode/src/webview``.
"""
