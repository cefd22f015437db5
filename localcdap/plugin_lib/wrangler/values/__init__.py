"""Changes of single values, with the results of the libraries that the original uses."""
