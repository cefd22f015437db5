"""The runs screen: the history of a namespace, the details of a run, its log, and reruns."""
