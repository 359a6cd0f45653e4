"""The command line: `langgraph-filesystem`, or `lgfs` for short. It needs the extra `cli`."""

import sys

__all__ = ("main",)


def main() -> int:
    """Run the command line, or say how to install what it needs."""
    try:
        import click  # noqa: F401
        import rich.console  # noqa: F401
    except ImportError:
        print(
            "The command line needs the extra `cli`: pip install 'langgraph-filesystem[cli]'",
            file=sys.stderr,
        )
        return 1
    from langgraph_filesystem.command_line.main import cli

    return int(cli() or 0)
