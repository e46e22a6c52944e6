"""A page as a browser reads it, for tests."""

from html.parser import HTMLParser

EMPTY = {"meta", "img", "br", "path", "use", "rect", "circle", "line", "link", "image"}


class Page(HTMLParser):
    """Checks that tags are closed in order; keeps titles, and what the page loads."""

    def __init__(self, text):
        super().__init__()
        self.open, self.titles, self.loads, self.ids = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        if tag in ("script", "link", "iframe"):
            self.loads.append(tag)
        self.loads += [v for k, v in attrs if k in ("src", "href") and not v.startswith("data:")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.titles.append(data)
