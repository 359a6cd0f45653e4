"""What is refused has a path, apart from what is said of it."""

from langgraph_filesystem.state.backends.inventory import Inventory, NotMovable


def test_what_can_not_be_moved_has_its_path() -> None:
    refused = NotMovable("/a", "/a: is odd.")
    assert (refused.path, str(refused)) == ("/a", "/a: is odd.")


def test_an_inventory_is_empty_at_first_and_shares_nothing() -> None:
    one, other = Inventory(), Inventory()
    one.files.append({"path": "/a"})
    assert other == Inventory()
