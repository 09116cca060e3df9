"""The editor's face: whole servers over standard input and output, and the values behind them."""
