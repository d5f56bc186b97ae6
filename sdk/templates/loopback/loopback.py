"""What the test server of this project, server.py, stands on. Needs nothing but Python."""

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

KEY = os.environ.get("API_KEY", "open sesame")


class Handler(BaseHTTPRequestHandler):
    """Answers requests that have the key as their bearer token."""

    protocol_version = "HTTP/1.1"
    # What is written is sent in large pieces, or when it is flushed.
    wbufsize = 64 * 1024
    disable_nagle_algorithm = True

    def body(self):
        """What was sent. Read it to its end, or the rest is taken for the next request."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return whole

    def allowed(self):
        """Whether the key is right; if not, that is the answer."""
        if self.headers.get("authorization") == f"Bearer {KEY}":
            return True
        self.answer(401, {"error": "the key is wrong"})
        return False

    def answer(self, status, value, headers=()):
        """A whole answer as JSON."""
        body = json.dumps(value).encode()
        self.send_response_only(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-type", "application/json")
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind):
        """An answer in pieces: `piece` for each, and `end`."""
        self.send_response_only(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def piece(self, piece):
        """A piece of the answer: a text, or bytes."""
        piece = piece.encode() if isinstance(piece, str) else piece
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def end(self):
        """The answer is whole."""
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        """A client that went away is no news."""


def serve_http(handler):
    """Serves HTTP; `{url}` in the arguments of the command is its address."""
    return serve(handler, lambda port: {"{url}": f"http://127.0.0.1:{port}"})


def serve(handler, words):
    """Serves for ever, or until the command in the arguments has ended, in which words are replaced."""
    command = sys.argv[1:]
    server = Server(("127.0.0.1", 0 if command else 8123), handler)
    port = server.server_address[1]
    if not command:
        print(f"serving at 127.0.0.1:{port}; the key is {KEY!r}")
        return server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for word, value in words(port).items():
        command = [argument.replace(word, value) for argument in command]
    try:
        child = subprocess.Popen(command)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    # Whoever ends this program means the command too. Ctrl-C reaches both, and the command says what comes of it.
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return child.wait()
