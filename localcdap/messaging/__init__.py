"""Messaging: topics with system events, and the spools through which runs send messages to the host.

:class:`~localcdap.messaging.topics.Topics` stores and delivers messages,
:class:`~localcdap.messaging.listeners.EventDispatcher` calls listeners of system events, and
:class:`~localcdap.messaging.consumer.SpoolConsumer` applies each message of a spool exactly once.
"""
