"""The code that runs inside the Python workers of Spark.

Nothing here imports pyspark at the top: the workers have imported it, and previews run this code without
Spark.
:mod:`~localcdap.engine.tasks.pass_plan` is the contract with the driver,
:mod:`~localcdap.engine.tasks.fused_pass` what runs in a task.
"""
