"""Stages configured in order, their schemas carried on, and the specification that comes of it."""
