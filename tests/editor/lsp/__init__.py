"""The LSP layer: framing, codec, transport, and the patches of pygls beside stock pygls."""
