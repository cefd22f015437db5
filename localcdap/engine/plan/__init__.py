"""Builds one lazy Spark plan from a work order: schemas, flows, phases, fused passes, counts."""
