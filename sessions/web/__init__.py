"""Pages and parts that combine several features, and the wiring at start."""
