"""The sink FailPipeline."""
