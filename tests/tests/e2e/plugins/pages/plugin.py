"""Asks a server for one page after the other."""

from mindhost import Column, Scanner, Table, http

PAGES = Table(columns=[Column("n", "int64"), Column("key", "text")])


class Plugin(Scanner):
    def check(self):
        return "Pages", " ".join(sorted(self.config))

    def tables(self):
        return [("main", "pages")]

    def describe(self, table):
        return PAGES if table == ("main", "pages") else None

    def scan(self, table, asked):
        for n in range(self.config["pages"]):
            yield http.get(f"{self.config['url']}/{n}").json()
