"""`python -m langgraph_filesystem` is the command line."""

import sys

from langgraph_filesystem.command_line import main

if __name__ == "__main__":
    sys.exit(main())
