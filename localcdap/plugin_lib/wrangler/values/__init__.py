"""How directives change single values, as the libraries do that the original uses."""
