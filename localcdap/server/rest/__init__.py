"""The REST API of CDAP over the services of an instance, for clients of the original.

``router`` finds the route of a request, ``routes`` has one module for each area, whose functions read the
request, call a service and return an answer; ``app`` checks who asks, and runs them in threads.
"""
