"""Expectations: rules for the records of a stage, and what was found when they were checked.

A rule is a typed value (:mod:`.rules`) that a document states in the key ``expectations`` of a stage. It is
read by :mod:`.reader`, compared with the schema of the records by :mod:`.schema_checks`, and checked by
:mod:`.batches`; the engine checks the same rules as columns of Spark. :mod:`.results` has the outcome.
"""
