"""The nodes of the graph: one file per node, named as the node."""
