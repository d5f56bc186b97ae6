"""A SQL engine over HTTP to try the plugin with.

    POST /query    the statement as text; answers with lines of JSON: the columns, then one array a row, in which
                   {"hex": "00ff"} stands for bytes
    GET /version   who answers

`python3 server.py` serves at http://127.0.0.1:8123. With a command as arguments it takes a free port, runs the command
with `{url}` replaced in its arguments, and ends with it.
"""

import json
import sys

import loopback
import planets


class Engine(loopback.Handler):
    def do_GET(self):
        if self.allowed():
            self.answer(200, {"product": "Planets", "version": planets.VERSION})

    def do_POST(self):
        statement = self.body().decode()
        if not self.allowed():
            return
        try:
            columns, rows = planets.ask(statement, float(self.headers.get("x-timeout-ms", 60_000)))
        except planets.Refused as error:
            return self.answer(408 if error.is_timeout else 400, {"error": str(error)})
        self.begin("application/x-ndjson")
        try:
            self.line({"columns": columns})
            for row in rows:
                self.line(row)
            self.end()
        except planets.Refused:
            # The client learns from the missing end that the answer is not whole.
            self.close_connection = True

    def line(self, value):
        self.piece(json.dumps(value) + "\n")


sys.exit(loopback.serve_http(Engine))
