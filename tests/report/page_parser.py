"""Read an HTML page as a browser would, as far as tests need it."""

from html.parser import HTMLParser

_VOID = {"meta", "img", "br", "hr", "input", "link"}


class ParsedPage(HTMLParser):
    """Tags with attributes, tables as lists of rows, and the text of the page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.tables, self.words = [], [], []
        self._open, self._cell = [], None
        self.feed(text)
        self.close()
        assert not self._open, f"tags that were not closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag in ("td", "th"):
            self.tables[-1][-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data):
        if self._open and self._open[-1] in ("style", "script"):
            return
        self.words.append(data)
        if self._cell is not None:
            self._cell.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def named(self, tag):
        """The attributes of every tag of this name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def table(self, *header):
        """The rows of the last table whose header begins so: the sortable one, if there are two."""
        found = [rows for rows in self.tables if tuple(rows[0][: len(header)]) == header]
        return found[-1]


def assert_self_contained(page):
    """No tag can load anything from elsewhere, and only the page's own script runs."""
    assert not {tag for tag, _ in page.tags} & {"link", "iframe", "object", "embed", "form", "base"}
    assert len(page.named("script")) <= 1
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        source = attributes.get("src", "data:")
        assert source.startswith(("data:image/svg+xml;base64,", "data:image/png;base64,", "data:"))
        assert tag == "a" or not attributes.get("href")
    (policy,) = [m["content"] for m in page.named("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
