"""The run process from its order to its end.

:class:`~localcdap.engine.driver.run_driver.RunDriver` carries a work order out;
:class:`~localcdap.engine.driver.workflow.Workflow` runs the steps of the pipeline.
"""
