"""From a work order to one lazy Spark plan: schemas, flows, phases, fused passes, counts."""
