"""Uses of private parts of Textual and of textual-autocomplete.

Only this package does. ``tests/tui/test_textual_internals.py`` fails when an upgrade changes one of these
parts, so that the change is found there and not on a screen.
"""
