"""Semantic types: what the texts of a column mean, such as e-mail addresses, and how to protect them.

:mod:`.detection` finds the type of a column from a sample, by the tests of single values in :mod:`.values`;
:mod:`.findings` has the directives that mask or hash them, and the tags for the field.
"""
