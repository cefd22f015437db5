"""Commands for namespaces and what is set in them."""
