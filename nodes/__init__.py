"""What acts: one file per node, named as the node."""

from langgraph_filesystem.nodes.evict import evict_node
from langgraph_filesystem.nodes.model import model_node
from langgraph_filesystem.nodes.operation import operation_node
from langgraph_filesystem.nodes.operations import OPERATIONS, Operation
from langgraph_filesystem.nodes.prepare import prepare_node
from langgraph_filesystem.nodes.respond import respond_node
from langgraph_filesystem.nodes.router import router_node
from langgraph_filesystem.nodes.tools import tools_node

__all__ = (
    "OPERATIONS",
    "Operation",
    "evict_node",
    "model_node",
    "operation_node",
    "prepare_node",
    "respond_node",
    "router_node",
    "tools_node",
)
