"""What must hold when several things happen at once."""

from langgraph_filesystem.testing.driven import Call, Driven

__all__ = ("Concurring",)


class Concurring:
    """Calls at the same time, none of which may get lost."""

    def test_edits_of_different_places_all_land(self, fs: Driven) -> None:
        fs.put("/a", "".join(f"<{number}>\n" for number in range(12)))
        results = fs.together(*(("edit", "/a", f"<{n}>", f"[{n}]") for n in range(12)))
        assert [result.error for result in results] == [None] * 12
        assert fs.content("/a") == "".join(f"[{number}]\n" for number in range(12)).encode()

    def test_edits_of_one_place_happen_one_after_the_other(self, fs: Driven) -> None:
        fs.put("/a", "x")
        results = fs.together(*[("edit", "/a", "x", "xy", True)] * 8)
        assert [result.error for result in results] == [None] * 8
        assert fs.content("/a") == b"xyyyyyyyy"

    def test_new_files_all_arrive(self, fs: Driven) -> None:
        calls: list[Call] = [("write", f"/dir/{n % 3}/{n}", str(n)) for n in range(16)]
        assert [result.error for result in fs.together(*calls)] == [None] * 16
        assert fs.found("**") == sorted(str(call[1]) for call in calls)

    def test_of_several_that_create_a_file_one_does(self, fs: Driven) -> None:
        fs.need("write", "overwrite")
        results = fs.together(*(("write", "/a", str(n)) for n in range(8)))
        [winner] = [str(n) for n, result in enumerate(results) if result.error is None]
        assert fs.content("/a") == winner.encode()

    def test_a_reader_sees_a_file_whole(self, fs: Driven) -> None:
        one, two = b"1" * 100_000, b"2" * 100_000
        fs.put("/a", one)
        fs.need("upload_files")
        calls: list[Call] = [("upload_files", [("/a", raw)]) for raw in (two, one, two)]
        calls[1:1] = [("download_files", ["/a"])] * 5
        for answer in fs.together(*calls):
            assert getattr(answer[0], "content", None) in (None, one, two)
            assert answer[0].error is None

    def test_one_of_several_that_delete_a_file_did(self, fs: Driven) -> None:
        fs.put("/a", "x")
        results = fs.together(*[("delete", "/a")] * 6)
        assert sum(result.error is None for result in results) == 1
        assert fs.names() == []
