"""`read_file`: pages that join to the exact file, and what can't be paged."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langchain_openai.chat_models.base import _convert_message_to_dict

from langgraph_filesystem import FilesystemBackend, create_filesystem_agent
from langgraph_filesystem.nodes.read_file import ROW
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answer, answers, arun, call, run, says


def read(path: str = "/a", **args: Any) -> dict[str, Any]:
    return call("read_file", file_path=path, **args)


def pages(content: str, limit: int, **options: Any) -> list[Any]:
    """Read a file as a model would, following the footer of each page to the next."""
    found: list[Any] = []
    args: dict[str, Any] = {"offset": 0, "column": 0}
    for _ in range(1_000):
        page = answer(read(limit=limit, **args), files={"/a": content}, **options)
        assert page.status == "success", page.content
        found.append(page)
        if not (follow := re.search(r"offset=(\d+)(?: column=(\d+))?\]$", page.text)):
            return found
        args = {"offset": int(follow[1]), "column": int(follow[2] or 0)}
        assert page.artifact["next_offset"] == args["offset"]
        assert page.artifact["next_column"] == args["column"]
    raise AssertionError("the pages don't end")


def joined(replies: list[Any]) -> str:
    """Put a file together again from its numbered rows."""
    lines: dict[int, str] = {}
    for reply in replies:
        for row in reply.text.split("\n")[:-1]:
            label, _, text = row.partition("\t")
            number = int(label.strip().partition(".")[0])
            lines[number] = lines.get(number, "") + text
    assert list(lines) == list(range(1, len(lines) + 1))
    ends = "no newline" not in replies[-1].text.rpartition("\n")[2]
    return "\n".join(lines.values()) + ("\n" if ends else "")


ODD_CHARACTERS = "ab \t\r\f\v\x1c\x85\u2028\u2029\ufeffé😀\n\n"
CONTENTS = {
    "plain": "one\ntwo\n",
    "no last newline": "one\ntwo",
    "only a newline": "\n",
    "blank lines": "\n\n\nx\n\n",
    "crlf": "one\r\ntwo\r\n",
    "cr": "one\rtwo\r",
    "form feed": "one\ftwo\n\fthree",
    "line separators": "one\u2028two\u2029three\x85four\n",
    "byte order mark": "\ufeffone\n",
    "a line of exactly a row": "x" * ROW + "\nend\n",
    "a long line": "".join(map(str, range(5_000))) + "\nend",
    "a megabyte in a line": "0123456789" * 100_000,
    "long lines in a row": "\n".join(str(n) * 30_000 for n in range(1, 6)) + "\n",
}


@pytest.mark.parametrize("limit", [1, 2, 10_000])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_pages_join_to_the_exact_file(content: str, limit: int) -> None:
    replies = pages(content, limit)
    assert joined(replies) == content
    assert all(len(reply.text) <= 100_000 for reply in replies)


@settings(max_examples=25)
@given(
    st.lists(
        st.text(ODD_CHARACTERS, max_size=20)
        | st.integers(ROW - 1, 3 * ROW).map(lambda size: "y" * size),
        min_size=1,
        max_size=8,
    ).map("".join),
    st.integers(1, 4),
    st.sampled_from([None, 1, 700, 20_000]),
)
def test_pages_of_any_file_join_to_it(content: str, limit: int, evict_over: int | None) -> None:
    if content:
        assert joined(pages(content, limit, evict_over=evict_over)) == content


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_lines_are_numbered_as_by_grep(content: str) -> None:
    numbers = [
        int(row.split("\t")[0].strip().partition(".")[0])
        for reply in pages(content, 10_000)
        for row in reply.text.split("\n")[:-1]
    ]
    found = answer(
        call("grep", pattern="^", regex=True, output_mode="content", path="/a"),
        files={"/a": content},
    )
    rows = [int(row.split(":")[1]) for row in found.text.split("\n") if row.startswith("/a:")]
    assert rows == sorted(set(numbers))


def test_rows_and_footer_look_like_this() -> None:
    reply = answer(read(limit=2), files={"/a": "one\n\tindented\nthree\n"})
    assert reply.text == "     1\tone\n     2\t\tindented\n[2 of 3 lines: next page with offset=2]"
    assert reply.artifact == {"lines": 3, "next_offset": 2, "next_column": 0}


def test_a_long_line_is_split_into_numbered_rows() -> None:
    reply = answer(read(), files={"/a": "short\n" + "x" * (2 * ROW + 1) + "\n"})
    labels = [row.partition("\t")[0] for row in reply.text.split("\n")]
    assert labels == ["     1", "   2.1", "   2.2", "   2.3", "[end of file: 2 lines]"]


def test_a_page_begins_at_its_true_line_number() -> None:
    content = "".join(f"line {n}\n" for n in range(1, 301))
    reply = answer(read(offset=250, limit=1), files={"/a": content})
    assert reply.text.startswith("   251\tline 251\n")


@pytest.mark.parametrize(
    ("content", "footer"),
    [("a\n", "[end of file: 1 line]"), ("a", "[end of file: 1 line, no newline at the end]")],
)
def test_the_last_newline_can_be_told(content: str, footer: str) -> None:
    reply = answer(read(), files={"/a": content})
    assert reply.text.endswith(footer)
    assert reply.artifact["next_offset"] is None


def test_a_hundred_lines_are_read_unless_told_otherwise() -> None:
    reply = answer(read(), files={"/a": "x\n" * 101})
    assert reply.text.endswith("[100 of 101 lines: next page with offset=100]")


def test_an_empty_file_gives_a_reminder() -> None:
    reply = answer(read(), files={"/a": ""})
    assert (reply.status, reply.text) == ("success", "/a exists and is empty.")


@pytest.mark.parametrize(
    ("path", "args", "problem"),
    [
        ("/gone", {}, "/gone: no such file or directory"),
        ("/d", {}, "/d: is a directory, not a file"),
        ("/", {}, "/: is a directory, not a file"),
        ("/d/a", {"offset": 3}, "offset 3 is past the end, the file has 3 lines"),
        ("/d/a", {"offset": 10**30}, "is past the end, the file has 3 lines"),
        ("/empty", {"offset": 1}, "is past the end, the file has 0 lines"),
        ("/d/a", {"column": 4}, "line 1 has 3 characters, so column 4 is past its end"),
        ("/d/a", {"offset": 1, "column": 1}, "line 2 has 0 characters"),
        ("/d/a", {"offset": -1}, "`offset`: Input should be greater than or equal to 0"),
        ("/d/a", {"limit": 0}, "`limit`: Input should be greater than or equal to 1"),
        ("/d/a", {"limit": 10**5_000}, "`limit`: Input should be a valid integer"),
        ("../d/a", {}, "it has a `..` part"),
        ("~/a", {}, "`~` is not expanded"),
        ("C:/a", {}, "there are no drive letters"),
        ("/a\0", {}, "it has a NUL character"),
        ("", {}, "it is empty"),
    ],
)
def test_errors_say_why_and_what_to_do(path: str, args: dict[str, Any], problem: str) -> None:
    reply = answer(read(path, **args), files={"/d/a": "one\n\nthree\n", "/empty": ""})
    assert reply.status == "error"
    assert problem in reply.text


@pytest.mark.parametrize("path", ["a", "//a", "/./a", "\\a", "a/"])
def test_a_path_is_normalized(path: str) -> None:
    assert answer(read(path), files={"/a": "found\n"}).text.startswith("     1\tfound\n")


def in_base64(content: bytes) -> dict[str, str]:
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
MEDIA = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "image/gif": b"GIF89a\x01\0\x01\0\xf0",
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 \xff",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "audio/mpeg": b"ID3\x04\0\0\0\0\0\x23\xff\xfb",
    "audio/wav": b"RIFF\x24\0\0\0WAVEfmt \xff",
    "audio/ogg": b"OggS\0\x02\xff",
    "audio/flac": b"fLaC\0\0\0\x22\xff",
    "audio/mp4": b"\0\0\0\x20ftypM4A \xff",
    "video/mp4": b"\0\0\0\x20ftypisom\xff",
    "video/quicktime": b"\0\0\0\x14ftypqt  \xff",
    "video/webm": b"\x1aE\xdf\xa3\x9fB\x82\x84webm",
}


@pytest.mark.parametrize("mime_type", MEDIA)
@pytest.mark.parametrize("name", ["/a.png", "/a.txt", "/a"])
def test_media_are_content_blocks_with_the_type_of_their_bytes(name: str, mime_type: str) -> None:
    file = in_base64(MEDIA[mime_type])
    reply = answer(read(name), files={name: file})
    [block] = list(reply.content)
    assert isinstance(block, dict)
    assert block["type"] == mime_type.partition("/")[0].replace("application", "file")
    assert (block["base64"], block["mime_type"]) == (file["content"], mime_type)
    size = len(MEDIA[mime_type])
    assert reply.artifact == {"mime_type": mime_type, "size": size, "path": name}


@pytest.mark.parametrize("mime_type", ["image/png", "application/pdf"])
def test_a_provider_takes_the_blocks_without_a_warning(mime_type: str) -> None:
    reply = answer(read("/a"), files={"/a": in_base64(MEDIA[mime_type])})
    assert _convert_message_to_dict(HumanMessage(reply.content))["content"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"BM\x3a\0\0\0\0\0\0\0\x36\xff", "image/bmp"),
        (b"II*\0\x08\xff", "image/tiff"),
        (b"\0\0\0\x18ftypheic\xff", "image/heic"),
    ],
)
def test_an_image_that_few_providers_take_is_named_instead(content: bytes, kind: str) -> None:
    reply = answer(read("/a.png"), files={"/a.png": in_base64(content)})
    size = f"({len(content)} bytes)"
    assert f"/a.png: {kind}, which models can't be shown {size}" in reply.text


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"PK\x03\x04\xff", "application/zip"), (b"\x1f\x8b\x08\xff", "application/gzip")],
)
def test_another_file_is_named_by_what_its_bytes_are(content: bytes, kind: str) -> None:
    reply = answer(read("/a.png"), files={"/a.png": in_base64(content)})
    assert f"/a.png: {kind} ({len(content)} bytes)" in reply.text


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_media_that_happen_to_be_valid_text_are_shown(mode: str, tmp_path: Path) -> None:
    content = b"RIFF\x24\0\0\0WAVEfmt \0\0"
    (tmp_path / "a").write_bytes(content)
    options: Any = {
        "files": {"/a": content.decode()},
        "mounts": {"/disk": FilesystemBackend(tmp_path)},
    }
    turn = [read("/a"), read("/disk/a")]
    state = await arun(turn, **options) if mode == "async" else run(turn, **options)
    for reply in answers(state):
        [block] = list(reply.content)
        assert isinstance(block, dict)
        assert (block["type"], block["mime_type"]) == ("audio", "audio/wav")


PDF = "%PDF-1.4\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_pdf_that_is_all_ascii_is_shown_as_a_file(mode: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_text(PDF)
    turn = [read("/a.txt"), read("/disk/a.pdf"), read("/disk/a.pdf", offset=3)]
    options: Any = {"files": {"/a.txt": PDF}, "mounts": {"/disk": FilesystemBackend(tmp_path)}}
    state = await arun(turn, **options) if mode == "async" else run(turn, **options)
    for reply in answers(state):
        [block] = list(reply.content)
        assert isinstance(block, dict)
        assert (block["type"], block["mime_type"]) == ("file", "application/pdf")
        assert base64.b64decode(block["base64"]) == PDF.encode()


@pytest.mark.parametrize("name", ["/a.pdf", "/a.svg", "/a.ts", "/a.png"])
@pytest.mark.parametrize("text", ["<text>", "%PDF-1.7 is how a PDF begins", "GIF89a", "ID3"])
def test_text_is_read_as_text_whatever_it_is_called(name: str, text: str) -> None:
    assert answer(read(name), files={name: f"{text}\n"}).text.startswith(f"     1\t{text}\n")


@pytest.mark.parametrize("name", ["/a.bin", "/a", "/a.txt", "/a.png", "/a.zip"])
def test_binary_content_is_an_error(name: str) -> None:
    reply = answer(read(name), files={name: in_base64(b"\xff\x00\x01")})
    assert reply.status == "error"
    assert f"{name}: binary content (3 bytes)" in reply.text


def test_a_file_that_can_not_be_shown_can_be_replaced_once_it_was_read() -> None:
    write = call("write_file", file_path="/a.bin", content="new", overwrite=True)
    state = run(read("/a.bin"), write, files={"/a.bin": in_base64(b"\xff\x00")})
    assert [reply.status for reply in answers(state)] == ["error", "success"]
    assert state["files"]["/a.bin"]["content"] == "new"


@pytest.mark.parametrize("repeat", [1, 10_000])
def test_text_in_another_encoding_is_called_that(repeat: int) -> None:
    latin = "Stra\xdfe\n".encode("latin-1") * repeat
    reply = answer(read("/a.txt"), files={"/a.txt": in_base64(latin)})
    assert reply.status == "error"
    assert f"/a.txt: text that is not UTF-8 ({7 * repeat:,} bytes)" in reply.text


def test_media_that_no_provider_takes_are_an_error() -> None:
    reply = answer(read("/a.png"), files={"/a.png": in_base64(PNG.ljust(8_000_000))})
    assert "image/png too large to be shown (8,000,000 bytes)" in reply.text


def test_a_page_of_five_megabytes_stays_within_bounds() -> None:
    reply = answer(read(limit=10**9), files={"/a": "é" * 5_000_000}, evict_over=None)
    assert len(reply.text) <= 100_000
    assert "[line 1 continues: next page with offset=0 column=" in reply.text


def test_a_small_token_budget_makes_small_pages() -> None:
    reply = answer(read(), files={"/a": "x" * 50 + "\n" + "y\n" * 2_000}, evict_over=10)
    assert len(reply.text) <= 2_000
    assert "next page with offset=" in reply.text


def test_a_read_that_fails_does_not_make_the_file_known() -> None:
    edit = call("edit_file", file_path="/a", old_string="one", new_string="two")
    state = run(read(column=99), edit, files={"/a": "one"})
    assert "has not been read" in answers(state)[-1].text


async def test_reading_is_the_same_in_async_graphs() -> None:
    files = {"/a": "one\ntwo"}
    state = await arun(read(), files=files)
    assert answers(state)[-1].text == answer(read(), files=files).text


@pytest.mark.parametrize(
    ("offset", "limit", "footer"),
    [
        (0, 2, "[2 lines: next page with offset=2]"),
        (2, 2, "[end of file: 3 lines]"),
        (0, 100, "[end of file: 3 lines]"),
    ],
)
def test_a_backend_that_does_not_count_lines_can_be_paged(
    offset: int, limit: int, footer: str
) -> None:
    reply = answer(read("/s/a", offset=offset, limit=limit), mounts={"/s": Shelf(a="1\n2\n3\n")})
    assert reply.text.rpartition("\n")[2] == footer


def test_reads_of_one_message_are_answered_one_by_one() -> None:
    script = [says(read(id="x"), read(id="y", offset=1), read("/b", id="z"))]
    agent = create_filesystem_agent(ScriptedModel(script))
    state = agent.invoke({"messages": [HumanMessage("go")], "files": {"/a": "1\n2\n", "/b": "3"}})
    texts = {reply.tool_call_id: reply.text for reply in answers(state)}
    assert [texts[id].split("\n")[0].strip() for id in "xyz"] == ["1\t1", "2\t2", "1\t3"]
