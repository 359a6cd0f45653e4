"""An agent as a node of another graph: `filesystem_node`."""
