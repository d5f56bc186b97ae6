"""A vendor with the API of OpenAI to try the plugin with, without a model.

    POST /chat/completions   a streamed answer: it counts ("Count to 10"), calls a tool that the question names (or has
                             to, by `tool_choice`), says what a tool gave, or else repeats the question
    GET /models              the names of the models

`python3 server.py` serves at http://127.0.0.1:8123. With a command as arguments it takes a free port, runs the command
with `{url}` replaced in its arguments, and ends with it.
"""

import json
import sys
import time

import loopback

MODEL = "parrot-1"
# Between two pieces, as a model takes its time.
PAUSE_SECONDS = 0.02


class Vendor(loopback.Handler):
    def do_GET(self):
        if self.allowed():
            self.answer(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self):
        body = self.body()
        if not self.allowed():
            return None
        asked = json.loads(body)
        if asked["model"] != MODEL:
            return self.answer(404, {"error": {"message": f"there is no model {asked['model']}"}})
        if not asked["messages"]:
            return self.answer(400, {"error": {"message": "there are no messages"}})
        self.begin("text/event-stream")
        self.chunk({"delta": {"role": "assistant", "content": ""}})
        tool = chosen(asked)
        count = self.call(tool) if tool else self.say(words(asked["messages"][-1]))
        self.chunk({"delta": {}, "finish_reason": "tool_calls" if tool else "stop"})
        usage = {"prompt_tokens": len(str(asked["messages"]).split()), "completion_tokens": count}
        self.event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
        self.piece("data: [DONE]\n\n")
        return self.end()

    def say(self, pieces):
        for text in pieces:
            self.chunk({"delta": {"content": text}})
            time.sleep(PAUSE_SECONDS)
        return len(pieces)

    def call(self, tool):
        """Calls a tool, with some text for each argument that it needs. The arguments come in pieces."""
        needed = tool.get("parameters", {}).get("required", [])
        arguments = json.dumps({name: "colour" for name in needed})
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": tool["name"], "arguments": ""}}
        self.chunk({"delta": {"tool_calls": [first]}})
        pieces = [arguments[at : at + 8] for at in range(0, len(arguments), 8)]
        for piece in pieces:
            self.chunk({"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}})
        return len(pieces)

    def chunk(self, choice):
        self.event({"object": "chat.completion.chunk", "choices": [{"index": 0, "finish_reason": None, **choice}]})

    def event(self, value):
        self.piece(f"data: {json.dumps(value)}\n\n")
        self.wfile.flush()


def chosen(asked):
    """The tool that is called; none if there is nothing to call."""
    choice = asked.get("tool_choice", "auto")
    tools = [tool["function"] for tool in asked.get("tools", [])]
    if not tools or choice == "none" or asked["messages"][-1]["role"] == "tool":
        return None
    if isinstance(choice, dict):
        return next((tool for tool in tools if tool["name"] == choice["function"]["name"]), None)
    named = [tool for tool in tools if f"`{tool['name']}`" in str(asked["messages"][-1]["content"])]
    return (named + tools)[0] if named or choice == "required" else None


def words(message):
    """What is said, in pieces."""
    text = message["content"] or ""
    if message["role"] == "tool":
        return ["The tool says: ", text]
    start, _, number = text.partition("Count to ")
    if not start and number.isdecimal():
        return [f"{one} " for one in range(1, min(int(number), 1000) + 1)]
    return ["You said: ", text[:1000]]


sys.exit(loopback.serve_http(Vendor))
