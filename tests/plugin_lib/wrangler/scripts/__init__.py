"""Tests of recipes as programs."""
