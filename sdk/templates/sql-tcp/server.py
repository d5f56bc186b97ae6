"""A SQL engine over TCP to try the plugin with. Needs the program `openssl` for its certificate.

A client sends the line `tls`, gets it back, and begins the handshake of TLS. From there on both sides send JSON, one
value a line:

    {"password": "…"}                  {"product": …, "version": …}
    {"query": "…", "timeout_ms": 1}    {"columns": …}, one array a row, in which {"hex": "00ff"} stands for bytes, and
                                       {"end": true}
    in the place of any answer         {"error": "…", "code": "auth" or "timeout" or "statement"}

`python3 server.py` serves at 127.0.0.1:8123. With a command as arguments it takes a free port, runs the command with
`{port}` and `{certificate}` replaced in its arguments, and ends with it.
"""

import json
import select
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import loopback
import planets


class Engine(socketserver.BaseRequestHandler):
    def handle(self):
        if self.request.recv(4, socket.MSG_WAITALL) != b"tls\n":
            return
        self.request.sendall(b"tls\n")
        with TLS.wrap_socket(self.request, server_side=True) as self.stream, self.stream.makefile("rwb") as self.file:
            if json.loads(self.file.readline()).get("password") != loopback.KEY:
                return self.say({"error": "the password is wrong", "code": "auth"})
            self.say({"product": "Planets", "version": planets.VERSION})
            for line in self.file:
                self.query(json.loads(line))

    def query(self, asked):
        try:
            columns, rows = planets.ask(asked["query"], asked["timeout_ms"], self.is_gone)
            self.write({"columns": columns})
            for row in rows:
                self.write(row)
            self.say({"end": True})
        except planets.Refused as error:
            self.say({"error": str(error), "code": "timeout" if error.is_timeout else "statement"})

    def is_gone(self):
        """Whether the client has left: it says nothing while it waits."""
        return bool(select.select([self.stream], [], [], 0)[0])

    def say(self, value):
        self.write(value)
        self.file.flush()

    def write(self, value):
        self.file.write(json.dumps(value).encode() + b"\n")


def certified():
    """A certificate for this run, and TLS that shows it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        command = ["openssl", "req", "-x509", *kind, *names, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
        context.load_cert_chain(certificate, key)
        return certificate.read_text(), context


CERTIFICATE, TLS = certified()
sys.exit(
    loopback.serve(
        Engine,
        # In JSON a port is a number, and a line's end is written as `\n`.
        lambda port: {
            '"{port}"': str(port),
            "{port}": str(port),
            "{certificate}": json.dumps(CERTIFICATE)[1:-1],
        },
    )
)
