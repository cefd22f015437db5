"""Tests of the files that properties name."""
