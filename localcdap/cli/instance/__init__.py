"""Commands for the instance as a whole: what shows it, its engine and its database."""
