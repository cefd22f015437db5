"""The language of recipes: text to calls of directives, with all errors."""
