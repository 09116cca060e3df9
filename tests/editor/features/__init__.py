"""LSP features as a client receives them."""
