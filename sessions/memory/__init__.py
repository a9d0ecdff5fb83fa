"""Memory of an agent, and what its model was shown at a step."""
