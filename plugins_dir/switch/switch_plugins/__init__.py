"""The splitter RoutingSwitch, which later versions call Router."""
